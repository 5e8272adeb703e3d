package intent

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"piloto/internal/ground/lazy"
)

// accent ends a folded word whose last letter had an accent: «reservó» is "reservo´".
const accent = "´"

// token is one word of a sentence, folded: in lower case, with no accent except on the last
// letter. quoted marks a word in quotation marks; opens, a word that begins a clause (after a
// comma, colon, dash, bracket or nothing).
type token struct {
	word          string
	form          form
	quoted, opens bool
	colon         bool // follows a colon
	asks          bool // follows an opening question mark, or opens a question with its verb
}

// sentence is the text between two full stops or line ends.
type sentence struct {
	tokens             []token
	question, trailing bool // has a question mark; ends in an ellipsis
	asksLate           bool // the question is only its last clause
	item               bool // a bullet, a number, a row of a table
	editing            bool // in a text that works on a text of the user
	whole              bool // is a whole line and ends in a letter
	heading            bool // a markdown heading, or ends in a colon
	numbered           bool // an item with a number
	label              bool // begins with «Paso 2», "Step 2"
	raw                string
}

// page is a parsed text of the assistant. Only a closed fence contains code or a draft, so that
// an open one hides nothing.
type page struct {
	sentences []sentence
	folded    string
	fenced    bool // contains code or a draft
}

func readPage(text string) page {
	folded := foldPage(text)
	var p page
	p.folded = folded
	lines := strings.Split(folded, "\n")
	for i := 0; i < len(lines); i++ {
		mark := strings.TrimLeft(lines[i], " ")
		if strings.HasPrefix(mark, ">") && len(p.sentences) > 0 {
			continue // a citation; a text of only such lines is none
		}
		if strings.HasPrefix(mark, "```") {
			if end := closingFence(lines, i+1); end > 0 {
				if lang := strings.Trim(mark, "` "); prose()[lang] && !p.announcesDraft() {
					p.addLines(lines[i+1 : end])
				}
				p.fenced, i = true, end
				continue
			}
			// No closing fence follows, also for later fences.
			for ; i < len(lines); i++ {
				p.addLine(lines[i])
			}
			break
		}
		p.addLine(lines[i])
	}
	return p
}

// announcesDraft reports whether the last sentence announces a text for another person.
func (p *page) announcesDraft() bool {
	return len(p.sentences) > 0 && mentions(p.sentences[len(p.sentences)-1].tokens, drafts())
}

var (
	prose = sync.OnceValue(func() map[string]bool {
		return map[string]bool{"": true, "text": true, "markdown": true, "plaintext": true, "md": true}
	})
	drafts = lazy.Words(`draft borrador correo email mail mensaje message texto text carta letter plantilla template version traduccion translation sms respuesta reply ejemplo example nota note asunto asuntos subject lines titulos titles titulares headlines eslogan slogans frases anuncio ad listing dialogo dialogue`)
)

func closingFence(lines []string, from int) int {
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

// foldPage returns a text in lower case and in NFKC, with straight quotes and without marks of
// emphasis.
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
			case r == '\n' && isWrapped(text, i):
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

// isWrapped reports a line end inside a sentence: a lower-case letter or a comma before it and a
// lower-case letter after it.
func isWrapped(text string, at int) bool {
	if at == 0 || at+1 >= len(text) || text[at+1] < 'a' || text[at+1] > 'z' {
		return false
	}
	c := text[at-1]
	return c == ',' || c >= 'a' && c <= 'z'
}

// addLine splits a line into sentences.
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
	if whole := strings.Trim(rest, " "); len(p.sentences) == 0 && len(whole) > 2 && whole[0] == '"' && strings.IndexByte(whole[1:], '"') == len(whole)-2 {
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
		p.sentences[first].whole = first == last && rest[len(rest)-1] >= 'a'
	}
}

// cutMarker removes a bullet, a number or a bar of a table.
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
	if s.question {
		s.findAsking()
	}
	if n := len(s.tokens); n > 1 && stepWords()[s.tokens[0].word] && (isNumber(s.tokens[1].word) || ordinals()[s.tokens[1].word]) {
		s.label, s.item = true, true
	}
	p.sentences = append(p.sentences, s)
}

// findAsking marks a final clause that is a question: «Ya está, ¿sigo?», "I've booked it, shall
// I go on?".
func (s *sentence) findAsking() {
	for i := range s.tokens {
		if t := &s.tokens[i]; i > 0 && (t.asks || t.opens && askers()[t.word]) {
			t.asks, s.asksLate = true, !s.tokens[0].asks
			return
		}
	}
}

var (
	askers    = lazy.Words(`shall should want would do can may could is are ok okay right sound`)
	stepWords = lazy.Words(`paso step accion action etapa fase`)
	ordinals  = lazy.Words(`uno dos tres cuatro one two three four i ii iii iv`)
)

func isNumber(w string) bool { return w != "" && w[0] >= '0' && w[0] <= '9' }

// tokens splits folded text into words, and removes accents.
func tokens(text string) []token {
	operations.Add(int64(len(text)))
	out := make([]token, 0, len(text)/5+1)
	var b strings.Builder
	opens, quoted, asks, colon := true, false, false, false
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
		out = append(out, token{word: w, form: formOf(w), quoted: quoted, opens: opens, asks: asks, colon: colon})
		opens, colon = false, false
	}
	for i, r := range text {
		switch {
		case r == '\'' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			if b.Len() == 0 && r == '\'' {
				continue
			}
			b.WriteRune(plain(r))
			last = r
		case (r == '.' || r == '@') && b.Len() > 0 && i+1 < len(text) && alphanumeric(text[i+1]):
			b.WriteRune(r) // 9.30, 1.8.2, ana@example.org
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
			colon = colon || r == ':'
			asks = asks && r != '?' || r == '¿'
		default:
			flush()
			opens = opens || r > 0xff && isEmoji(r)
		}
	}
	flush()
	return out
}

func alphanumeric(c byte) bool { return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' }

// unaccented lists words whose accent makes no difference for the rules.
var unaccented = lazy.Words(`esta este aqui asi ahi alli mi tu el`)

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
