package dynamodb

import "strings"

// tokenKind is the kind of one token of an expression.
type tokenKind byte

const (
	tokenEnd    tokenKind = iota
	tokenWord             // attribute name, function or keyword
	tokenName             // #placeholder
	tokenValue            // :placeholder
	tokenNumber           // list index
	tokenSign             // operator or punctuation
	tokenBad              // anything else: always a syntax error
)

type token struct {
	kind     tokenKind
	text     string
	from, to int // position in the source
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func isWordPart(c byte) bool { return isLetter(c) || isDigit(c) || c == '_' }

// lex splits an expression. It never fails: text that is no token becomes a tokenBad, which no
// grammar accepts.
func lex(src string) []token {
	tokens := make([]token, 0, len(src)/4+2)
	for i := 0; i < len(src); {
		if strings.IndexByte(" \t\r\n", src[i]) >= 0 {
			i++
			continue
		}
		kind, end := lexOne(src, i)
		tokens = append(tokens, token{kind: kind, text: src[i:end], from: i, to: end})
		i = end
	}
	return append(tokens, token{kind: tokenEnd, text: "<EOF>", from: len(src), to: len(src)})
}

func lexOne(src string, i int) (kind tokenKind, end int) {
	span := func(from int, part func(byte) bool) int {
		for from < len(src) && part(src[from]) {
			from++
		}
		return from
	}
	switch c := src[i]; {
	case isLetter(c):
		return tokenWord, span(i, isWordPart)
	case isDigit(c):
		return tokenNumber, span(i, isDigit)
	case c == '#' || c == ':':
		end := span(i+1, isWordPart)
		switch {
		case end == i+1:
			return tokenBad, end
		case c == '#':
			return tokenName, end
		default:
			return tokenValue, end
		}
	case strings.HasPrefix(src[i:], "<>"), strings.HasPrefix(src[i:], "<="), strings.HasPrefix(src[i:], ">="):
		return tokenSign, i + 2
	case strings.IndexByte("()[],.=<>+-", c) >= 0:
		return tokenSign, i + 1
	default:
		end := i + 1
		for end < len(src) && src[end] >= 0x80 && src[end] < 0xC0 { // the rest of one character
			end++
		}
		return tokenBad, end
	}
}
