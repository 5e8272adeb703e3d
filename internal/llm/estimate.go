package llm

import (
	"unicode"
	"unicode/utf8"
)

// What the protocol itself costs, in tokens, at most.
const (
	perRequest = 16 // what opens the answer, and the forced choice of a tool
	perMessage = 8  // the role and what parts messages
	perTool    = 24 // the frame around a tool
	perCall    = 24 // the frame around a tool call, and its id
)

// EstimateText returns how many tokens a text is, pessimistically: not fewer than
// the byte-pair tokenizers of the models in use count on prose, source, JSON and
// ids in Latin and other scripts (see the test), and about twice as many for
// prose. A tokenizer never merges across kinds of character, so that each run of
// one kind is counted by itself.
func EstimateText(s string) int {
	total := 0
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		k := kindOf(r)
		run, bytes := 1, size
		for i+bytes < len(s) {
			next, size := utf8.DecodeRuneInString(s[i+bytes:])
			if kindOf(next) != k {
				break
			}
			run++
			bytes += size
		}
		total += k.tokens(run, bytes)
		i += bytes
	}
	return total
}

// kind is what a run of characters is, as far as a tokenizer cares.
type kind int

const (
	lower kind = iota // of the Latin alphabet, without marks
	upper
	digit
	space
	sign   // ASCII punctuation
	letter // of any other alphabet, and Latin ones with marks
	other  // ideographs, emoji, controls, broken bytes
)

func kindOf(r rune) kind {
	switch {
	case r >= 'a' && r <= 'z':
		return lower
	case r >= 'A' && r <= 'Z':
		return upper
	case r >= '0' && r <= '9':
		return digit
	case r == ' ':
		return space
	case r > ' ' && r < utf8.RuneSelf && r != 0x7F:
		return sign
	case r < 0x1200 && r >= utf8.RuneSelf && r != utf8.RuneError && unicode.IsLetter(r):
		return letter
	}
	return other
}

// tokens returns how many tokens a run of n characters in so many bytes is.
func (k kind) tokens(n, bytes int) int {
	switch k {
	case lower:
		return (n + 2) / 3
	case upper:
		return (n + 1) / 2
	case space:
		return (n + 15) / 16 // a single one belongs to the word that follows
	case digit, sign, letter:
		return n
	}
	return bytes
}

// Estimate returns how many tokens the prompt is, pessimistically: every message,
// tool call and tool, each with its frame.
func (r Request) Estimate() int {
	total := perRequest
	for _, m := range r.Messages {
		total += perMessage + EstimateText(m.Content) + EstimateText(m.CallID)
		for _, c := range m.Calls {
			total += c.estimate()
		}
	}
	for _, t := range r.Tools {
		total += perTool + EstimateText(t.Name) + EstimateText(t.Description) + EstimateText(string(t.Parameters))
	}
	return total
}

func (c Call) estimate() int {
	return perCall + EstimateText(c.ID) + EstimateText(c.Name) + EstimateText(c.Arguments)
}

// Estimate returns how many tokens the answer is, pessimistically.
func (r Reply) Estimate() int {
	total := EstimateText(r.Text)
	for _, c := range r.Calls {
		total += c.estimate()
	}
	return total
}
