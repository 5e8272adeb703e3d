package llm

import (
	"unicode"
	"unicode/utf8"
)

// Upper bounds of the protocol's own tokens.
const (
	perRequest = 16 // the start of the answer, and the forced choice of a tool
	perMessage = 8  // the role and the separator of messages
	perTool    = 24 // the frame around a tool
	perCall    = 24 // the frame around a tool call, and its id
)

// EstimateText returns an upper bound of a text's tokens. The byte-pair tokenizers of the models in use count no
// more than that for prose, source, JSON and ids in Latin and other scripts (the test has samples), and about half
// for prose. A tokenizer never merges across kinds of character, so each run of one kind is counted separately.
func EstimateText(s string) int {
	total, before := 0, space
	if s != "" {
		total = 1 // some tokenizers put a space before every text
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

// longestWord is the number of letters above which a word is taken for an id.
const longestWord = 20

// kind is a class of characters that tokenizers treat alike.
type kind int

const (
	lower kind = iota // Latin without diacritics
	upper
	digit
	space
	sign   // ASCII punctuation
	letter // two bytes: Latin with diacritics, Greek, Cyrillic, Hebrew, Arabic
	other  // longer characters, ideographs, emoji, controls, invalid bytes
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

// tokens returns the tokens of a run of n characters in that many bytes. id means that the run is beside a digit,
// so it belongs to an id; after is the kind of the next run.
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
			return 0 // it belongs to the next word
		}
		return (n + 15) / 16
	case sign:
		return (2*n + 2) / 3
	case upper, digit, letter:
		return n
	}
	return bytes
}

// Estimate returns an upper bound of the prompt's tokens: every message, tool call and tool, each with its frame. A
// Format counts as a tool, because some models get it as one; the other tools are not sent with it.
func (r Request) Estimate() int { return r.sum(EstimateText) }

// Most returns the highest usage of the request.
func (r Request) Most() Usage { return Usage{Input: r.Estimate(), Output: r.MaxTokens} }

// MostTokens returns a number that Estimate does not exceed. It reads no text, only their lengths.
func (r Request) MostTokens() int { return r.sum(func(s string) int { return len(s) + 1 }) }

// sum adds the measures of all texts, and the frames.
func (r Request) sum(of func(string) int) int {
	total := perRequest
	for _, m := range r.Messages {
		total += m.sum(of)
	}
	if f := r.Format; f != nil {
		return total + perTool + of(f.Name) + of(string(f.Schema))
	}
	for _, t := range r.Tools {
		total += perTool + of(t.Name) + of(t.Description) + of(string(t.Parameters))
	}
	return total
}

// Estimate returns an upper bound of the message's tokens, with its frame.
func (m Message) Estimate() int { return m.sum(EstimateText) }

func (m Message) sum(of func(string) int) int {
	total := perMessage + of(m.Content) + of(m.CallID) + of(m.Thought) + of(string(m.Extra))
	for _, c := range m.Calls {
		total += c.sum(of)
	}
	return total
}

func (c Call) sum(of func(string) int) int {
	return perCall + of(c.ID) + of(c.Name) + of(c.Arguments) + of(string(c.Extra))
}

// Estimate returns an upper bound of the answer's tokens.
func (r Reply) Estimate() int {
	total := EstimateText(r.Text) + EstimateText(r.Thought)
	for _, c := range r.Calls {
		total += c.sum(EstimateText)
	}
	return total
}
