package claim

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"piloto/internal/ground/clip"
	"piloto/internal/ground/lazy"
)

// sentence is a part of a text that says one thing, folded: lower case, without accents but on a word's last letter («reservé» is
// a past, «reserve» is none), without marks of style, with single spaces.
type sentence struct {
	text     string
	question bool
	row      bool // of a list or of a table
	quoted   bool // of a quoted block: a draft of somebody else's text
}

var (
	fences  = regexp.MustCompile("(?s)```.*?(```|$)")
	quotes  = regexp.MustCompile(`«[^«»]*»|“[^“”]*”|"[^"\n]*"`)
	spaces  = regexp.MustCompile(`\s+`)
	letter  = regexp.MustCompile(`(?i)^[\s*_>]*(subject|asunto|dear |estimad[oa]s?[ ,]|querid[oa]s? )`)
	rowMark = regexp.MustCompile(`^\s*(?:[-*•|]|\d+[.)])\s`)
	ends    = regexp.MustCompile(`[.!?…]+["”»)*_]*(\s|$)|[?]|\s¿|:\s*$`)
)

// sentencesOf splits a text. Quotations are nobody's claim, and neither is code.
func sentencesOf(text string) []sentence {
	text = fences.ReplaceAllString(norm.NFC.String(text), " ")
	var list []sentence
	lines := slices.Collect(strings.Lines(text))
	from, to := draftIn(lines)
	for n, line := range lines {
		row := rowMark.MatchString(line)
		quoted := n >= from && n < to || strings.HasPrefix(strings.TrimSpace(line), ">")
		line = quotes.ReplaceAllStringFunc(rowMark.ReplaceAllString(line, ""), unquoted)
		for line != "" {
			at := ends.FindStringIndex(line)
			part, rest := line, ""
			if at != nil {
				part, rest = line[:at[1]], line[at[1]:]
				if strings.HasSuffix(part, "¿") {
					part, rest = strings.TrimSuffix(part, "¿"), "¿"+rest
				}
			}
			question := strings.Contains(part, "?")
			for part = range slices.Values(pieces(fold(part))) {
				list = append(list, sentence{text: part, question: question, row: row, quoted: quoted})
			}
			line = rest
		}
	}
	return list
}

// draftIn returns the lines of a letter that a text drafts: from its subject or its salutation, if a text before it presents it,
// to its last paragraph, which may be the model's own again, unless the letter has no other.
func draftIn(lines []string) (from, to int) {
	from = slices.IndexFunc(lines, letter.MatchString)
	if from <= 0 || !presents().MatchString(strings.Join(lines[:from], "")) {
		return len(lines), len(lines)
	}
	to = len(lines)
	body := false
	for n := from + 1; n < len(lines); n++ {
		if strings.TrimSpace(lines[n-1]) != "" || strings.TrimSpace(lines[n]) == "" || letter.MatchString(lines[n]) {
			continue
		}
		if body {
			to = n
		}
		body = true
	}
	return from, to
}

// presents matches a text before a letter that introduces it, or agrees to write it.
var presents = lazy.Pattern(`(?i):\W*$|\b(?:draft|e-?mail|mail|letter|message|note|reply|template|text|version|wording|here|sure|of course|certainly|absolutely|ok|okay|borrador|correo|carta|mensaje|nota|respuesta|plantilla|texto|versi[oó]n|propuesta|aqu[ií]|claro|por supuesto|desde luego|vale|perfecto|listo)(?:\P{L}|$)`)

// longest is the length of the longest sentence that is read as one, in words, and longestOf in bytes: the rules read
// back over a sentence, and a line without blanks may have many words.
const longest, longestOf = 80, 1000

// pieces returns a folded sentence that has words, cut where it is too long.
func pieces(folded string) []string {
	if strings.IndexFunc(folded, unicode.IsLetter) < 0 {
		return nil
	}
	words := strings.Fields(folded)
	if len(words) <= longest && len(folded) <= longestOf {
		return []string{folded}
	}
	var list []string
	for part := range slices.Chunk(words, longest) {
		for text := strings.Join(part, " "); text != ""; {
			end := len(text)
			if end > longestOf {
				end = clip.Boundary(text, longestOf)
			}
			list, text = append(list, text[:end]), text[end:]
		}
	}
	return list
}

// unquoted keeps a quotation of one word, which is a name or a button, and drops a longer one.
func unquoted(quoted string) string {
	if inner := strings.Trim(quoted, "«»“”\""); len(strings.Fields(inner)) <= 1 {
		return inner
	}
	return "…"
}

// fold returns a part of a text as the rules are written.
func fold(text string) string {
	var b strings.Builder
	letters := []rune(strings.ToLower(text))
	for i, r := range letters {
		switch last := i+1 == len(letters) || !unicode.IsLetter(letters[i+1]); {
		case strings.ContainsRune("*_`#¡!¿", r), unicode.In(r, unicode.Cf):
		case r == '’' || r == '‘' || r == '´':
			b.WriteByte('\'')
		case unicode.Is(unicode.So, r):
			b.WriteByte(' ')
		case strings.ContainsRune("áéíóú", r) && !last:
			b.WriteByte(plainOf[r])
		case r == 'ñ' || r == 'ü':
			b.WriteByte(plainOf[r])
		default:
			b.WriteRune(r)
		}
	}
	return strings.TrimSpace(spaces.ReplaceAllString(b.String(), " "))
}

var plainOf = map[rune]byte{'á': 'a', 'é': 'e', 'í': 'i', 'ó': 'o', 'ú': 'u', 'ñ': 'n', 'ü': 'u'}
