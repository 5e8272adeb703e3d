package intent

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// accent ends a folded word whose last letter bore one: «reservó» is "reservo´".
const accent = "´"

// token is one word of a sentence, folded: lower case, without accents but the
// last one. quoted is a word that the text cites; opens, one that begins a
// clause (after a comma, colon, dash, bracket or nothing).
type token struct {
	word          string
	form          form
	quoted, opens bool
}

// sentence is what stands between two full stops or line ends.
type sentence struct {
	tokens             []token
	question, trailing bool // has a question mark; ends in an ellipsis
	item               bool // a bullet, a number, a row of a table
	heading            bool // a markdown heading, or ends in a colon
	numbered           bool // an item with a number
	label              bool // begins with «Paso 2», "Step 2"
	raw                string
}

// page is an assistant's text, read once. fenced holds the code blocks; only
// closed ones are code, so that nothing hides behind a fence left open.
type page struct {
	sentences []sentence
	fenced    []string
	folded    string
}

func readPage(text string) page {
	folded := foldPage(text)
	var p page
	p.folded = folded
	lines := strings.Split(folded, "\n")
	for i := 0; i < len(lines); i++ {
		if mark := strings.TrimLeft(lines[i], " "); strings.HasPrefix(mark, "```") {
			if end := closing(lines, i+1); end > 0 {
				body := strings.Join(lines[i+1:end], "\n")
				p.fenced = append(p.fenced, body)
				if lang := strings.Trim(mark, "` "); lang == "" || lang == "text" || lang == "markdown" || lang == "plaintext" || lang == "md" {
					p.addLines(lines[i+1 : end])
				}
				i = end
				continue
			}
			// No fence closes below this one, nor below any other.
			for ; i < len(lines); i++ {
				p.addLine(lines[i])
			}
			break
		}
		p.addLine(lines[i])
	}
	return p
}

func closing(lines []string, from int) int {
	for i := from; i < len(lines); i++ {
		if strings.HasPrefix(strings.TrimLeft(lines[i], " "), "```") {
			return i
		}
	}
	return -1
}

func (p *page) addLines(lines []string) {
	for _, line := range lines {
		p.addLine(line)
	}
}

// foldPage lower-cases, composes and straightens quotes; marks of emphasis go.
func foldPage(text string) string {
	if !norm.NFKC.IsNormalString(text) {
		text = norm.NFKC.String(text)
	}
	var b strings.Builder
	b.Grow(len(text))
	for i, r := range text {
		switch {
		case r < utf8.RuneSelf:
			switch {
			case r == '\n' && wrapped(text, i):
				b.WriteByte(' ')
			case r == '*':
			case r == '\t' || r == '\r':
				b.WriteByte(' ')
			case 'A' <= r && r <= 'Z':
				b.WriteByte(byte(r) + 'a' - 'A')
			default:
				b.WriteByte(byte(r))
			}
		case r == '’' || r == '‘':
			b.WriteByte('\'')
		case r == '“' || r == '”' || r == '„' || r == '«' || r == '»':
			b.WriteByte('"')
		case r == '\u00ad' || r >= '\u200b' && r <= '\u200f' || r == '\u2060' || r == '\ufeff' || r == '\ufe0f' || r == '\u20e3':
		case r == '\u2028' || r == '\u2029' || r == '\u0085':
			b.WriteByte('\n')
		default:
			b.WriteRune(unicode.ToLower(r))
		}
	}
	return b.String()
}

// wrapped reports a line end inside a sentence: a letter or a comma before it
// and a small letter after it.
func wrapped(text string, at int) bool {
	if at == 0 || at+1 >= len(text) || text[at+1] < 'a' || text[at+1] > 'z' {
		return false
	}
	c := text[at-1]
	return c == ',' || c >= 'a' && c <= 'z'
}

// addLine cuts a line into sentences.
func (p *page) addLine(line string) {
	line = strings.TrimLeft(line, "> ")
	bare := strings.TrimLeft(line, "#")
	heading := len(bare) < len(line)
	line = strings.TrimSpace(bare)
	if line == "" {
		return
	}
	rest, item := cutMarker(line)
	numbered := item && strings.IndexByte("0123456789", line[0]) >= 0
	if whole := strings.Trim(rest, " "); len(whole) > 2 && whole[0] == '"' && strings.IndexByte(whole[1:], '"') == len(whole)-2 {
		rest = whole[1 : len(whole)-1]
	}
	first := len(p.sentences)
	start, quoted := 0, false
	for i := 0; i < len(rest); i++ {
		switch c := rest[i]; {
		case (c == '"' || c == '`') && (quoted || strings.IndexByte(rest[i+1:], c) >= 0):
			quoted = !quoted
		case !quoted && (c == '.' || c == '!' || c == '?'):
			for i+1 < len(rest) && strings.IndexByte(".!?)\"'", rest[i+1]) >= 0 {
				i++
			}
			if i+1 == len(rest) || rest[i+1] == ' ' || rest[i+1] >= utf8.RuneSelf {
				p.addSentence(rest[start:i+1], item)
				start = i + 1
			}
		case c == ';':
			p.addSentence(rest[start:i], item)
			start = i + 1
		}
	}
	p.addSentence(rest[start:], item)
	if last := len(p.sentences) - 1; last >= first {
		p.sentences[last].heading = heading || strings.HasSuffix(rest, ":")
		p.sentences[first].heading = p.sentences[first].heading || heading
		p.sentences[first].numbered = numbered
	}
}

// cutMarker takes off a bullet, a number or a bar of a table.
func cutMarker(line string) (string, bool) {
	rest := strings.TrimLeft(line, "-•◦▪–—+|☐✅✔→ ▶")
	item := len(rest) < len(line)
	digits := 0
	for digits < len(rest) && digits < 3 && rest[digits] >= '0' && rest[digits] <= '9' {
		digits++
	}
	switch {
	case digits > 0 && digits < len(rest) && strings.IndexByte(".)-:", rest[digits]) >= 0:
		return strings.TrimSpace(rest[digits+1:]), true
	case digits > 0 && strings.HasPrefix(rest[digits:], " "):
		return strings.TrimSpace(rest[digits:]), item || digits < len(rest)
	}
	return rest, item
}

func (p *page) addSentence(text string, item bool) {
	s := sentence{item: item, raw: text}
	s.question = strings.ContainsAny(text, "?¿")
	s.trailing = strings.HasSuffix(strings.TrimRight(text, " )"), "..")
	s.tokens = tokens(text)
	if len(s.tokens) == 0 {
		return
	}
	if n := len(s.tokens); n > 1 && stepWords()[s.tokens[0].word] && (isNumber(s.tokens[1].word) || ordinals()[s.tokens[1].word]) {
		s.label, s.item = true, true
	}
	p.sentences = append(p.sentences, s)
}

var (
	stepWords = setOf(`paso step accion action etapa fase`)
	ordinals  = setOf(`uno dos tres cuatro one two three four i ii iii iv`)
)

func isNumber(w string) bool { return w != "" && w[0] >= '0' && w[0] <= '9' }

// tokens splits folded text into words; letters lose their accents here.
func tokens(text string) []token {
	out := make([]token, 0, len(text)/5+1)
	var b strings.Builder
	opens, quoted := true, false
	var quote rune
	last := rune(0)
	flush := func() {
		if b.Len() == 0 {
			return
		}
		w := strings.Trim(b.String(), "_'")
		b.Reset()
		if w == "" {
			return
		}
		if strings.ContainsRune("áéíóú", last) && !unaccented()[w] {
			w += accent
		}
		out = append(out, token{word: w, form: formOf(w), quoted: quoted, opens: opens})
		opens = false
	}
	for i, r := range text {
		switch {
		case r == '\'' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			if b.Len() == 0 && r == '\'' {
				continue
			}
			b.WriteRune(plain(r))
			last = r
		case r == '"' || r == '`':
			flush()
			if quoted && r == quote {
				quoted = false
			} else if !quoted && strings.ContainsRune(text[i+1:], r) {
				quoted, quote = true, r
			}
		case strings.ContainsRune(",:;([—–¿¡!?.…|", r):
			flush()
			opens = opens || r != '.' || len(out) == 0
		default:
			flush()
			opens = opens || r > 0xff && emoji(r)
		}
	}
	flush()
	return out
}

// unaccented are words whose accent parts them from nothing the rules read.
var unaccented = setOf(`esta este aqui asi ahi alli mi tu el`)

func plain(r rune) rune {
	switch r {
	case 'á', 'à', 'â', 'ä':
		return 'a'
	case 'é', 'è', 'ê', 'ë':
		return 'e'
	case 'í', 'ì', 'ï':
		return 'i'
	case 'ó', 'ò', 'ö':
		return 'o'
	case 'ú', 'ù', 'ü':
		return 'u'
	case 'ñ':
		return 'n'
	}
	return r
}
