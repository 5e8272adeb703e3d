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
	total, before := 0, space
	if s != "" {
		total = 1 // some tokenizers begin every text with a space
	}
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		k, run := kindOf(r), 1
		end, after := i+size, space
		for end < len(s) {
			next, size := utf8.DecodeRuneInString(s[end:])
			if after = kindOf(next); after != k {
				break
			}
			run++
			end += size
		}
		total += k.tokens(run, end-i, before == digit || after == digit, after)
		i, before = end, k
	}
	return total
}

// longestWord is the most letters of what is likely a word of a language, and not
// an id.
const longestWord = 20

// kind is what a run of characters is, as far as a tokenizer cares.
type kind int

const (
	lower kind = iota // of the Latin alphabet, without marks
	upper
	digit
	space
	sign   // ASCII punctuation
	letter // of two bytes: Latin with marks, Greek, Cyrillic, Hebrew, Arabic
	other  // longer ones, ideographs, emoji, controls, broken bytes
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
	case r >= utf8.RuneSelf && r < 0x800 && unicode.IsLetter(r):
		return letter
	}
	return other
}

// tokens returns how many tokens a run of n characters in so many bytes is, when
// it stands beside a digit (it is part of an id) and before a run of kind after.
func (k kind) tokens(n, bytes int, id bool, after kind) int {
	switch k {
	case lower:
		switch {
		case id:
			return n
		case n > longestWord:
			return (2*n + 2) / 3
		}
		return (n + 2) / 3
	case space:
		if n == 1 && (after == lower || after == upper || after == sign) {
			return 0 // it belongs to the word that follows
		}
		return (n + 15) / 16
	case sign:
		return (2*n + 2) / 3
	case upper, digit, letter:
		return n
	}
	return bytes
}

// Estimate returns how many tokens the prompt is, pessimistically: every message,
// tool call and tool, each with its frame. A Format counts as the tool that it is
// for models that know no other way; the tools beside it are not sent.
func (r Request) Estimate() int {
	total := perRequest
	for _, m := range r.Messages {
		total += perMessage + EstimateText(m.Content) + EstimateText(m.CallID)
		for _, c := range m.Calls {
			total += c.estimate()
		}
	}
	if f := r.Format; f != nil {
		return total + perTool + EstimateText(f.Name) + EstimateText(string(f.Schema))
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
