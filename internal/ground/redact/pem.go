package redact

import (
	"bytes"
	"strings"
)

// pems finds private keys of many lines.
type pems struct {
	v     *view
	rules rules
	noEnd bool // no private key after this position has an end line
}

// pem returns the end of the private key whose first line begins at i, with its last line. A key without a last line ends
// with the text, or with the quotes around it. It returns 0 when no private key begins there.
func (s *pems) pem(i int) int {
	from := s.pemLine(i, "BEGIN ")
	if from == 0 || s.rules.evident && !s.hasBody(from) {
		return 0
	}
	if !s.noEnd {
		for k := from; k < len(s.v.signs); k++ {
			if s.v.sign(k) == '-' && (s.v.has(k, "-----END") || s.v.has(k, "---- END")) {
				return max(s.pemLine(k, "END "), k)
			}
		}
		s.noEnd = true
	}
	k := from
	for k < len(s.v.signs) && !isQuote(s.v.sign(k)) && !(s.rules.evident && s.v.sign(k) == '\n' && !s.goesOn(k+1)) {
		k++
	}
	return k
}

// goesOn reports whether the line at p may be one of a key.
func (s *pems) goesOn(p int) bool {
	for isBlank(s.v.sign(p)) || s.v.sign(p) == '\r' {
		p++
	}
	from := p
	for c := s.v.sign(p); isAlnum(c) || c == '+' || c == '/' || c == '=' || c == gap; c = s.v.sign(p) {
		p++
	}
	return s.v.sign(p) == ':' || p-from >= leastBody || isSpace(s.v.sign(p)) && p == from && s.v.sign(p) != end
}

// pemLine returns the end of the line of a private key that begins at i with a text, or 0.
func (s *pems) pemLine(i int, begins string) int {
	if !s.v.has(i, "-----"+begins) && !s.v.has(i, "---- "+begins) { // the other is that of SSH2
		return 0
	}
	from := i + len("-----") + len(begins)
	j := from
	for ; j < from+50 && (isUpperOrDigit(s.v.sign(j)) || s.v.sign(j) == ' '); j++ {
	}
	label := strings.TrimSuffix(s.v.lower(from, j), " ")
	if !strings.HasSuffix(label, "private key") && !strings.HasSuffix(label, "private key block") || !s.v.has(j, "----") {
		return 0
	}
	return min(j+5, len(s.v.signs))
}

// hasBody reports whether a key follows its first line, and not only a text about it.
func (s *pems) hasBody(p int) bool {
	n := 0
	for j := p; j < p+400 && n < leastBody; j++ {
		switch c := s.v.sign(j); {
		case isAlnum(c) || c == '+' || c == '/':
			n++
		case c == ':' || isSpace(c) || isQuote(c): // the headers of an encrypted key; lines, also as literals
			n = 0
		}
	}
	return n >= leastBody
}

// leastBody is the least length of a line of a key, in characters.
const leastBody = 16

// span is the characters between two positions.
type span struct{ from, to int }

// pemRests returns the rests of private keys whose first lines are missing. They are found before any other rule takes one
// of their lines.
func (s *pems) pemRests() (all []span) {
	after := 0
	for k := 0; ; {
		n := bytes.Index(s.v.signs[k:], []byte("END "))
		if n < 0 {
			return all
		}
		k += n + len("END ")
		if i := k - len("-----END "); i >= after {
			if from, to := s.pemRest(i, after); to > from {
				all, after = append(all, span{from, to}), to
			}
			after = max(after, k) // no rest of a key has such a sign, and each is walked back once
		}
	}
}

// fullLine is the least length of a line of a key that is followed by another one, in characters.
const fullLine = 60

// pemRest returns a private key whose first line is missing: its last line begins at i. The lines before it have base64
// only, after the prefix of a program on each line, and do not begin before after.
func (s *pems) pemRest(i, after int) (int, int) {
	to := s.pemLine(i, "END ")
	if to == 0 {
		return 0, 0
	}
	from, line := i, i-1
	for line >= after && isBlank(s.v.sign(line)) {
		line--
	}
	mark := s.v.sign(line) // such as > or 12: at the begin of each line
	if line < after || isQuote(mark) || isPadded(mark) && (mark != '+' || s.v.sign(line-1) != '\n') {
		mark = '\n'
	}
	for mark != '\n' && line >= after && s.v.sign(line) != '\n' {
		line--
	}
	for line >= after {
		j := line
		for j >= after && s.v.sign(j) != '\n' && isSpace(s.v.sign(j)) {
			j--
		}
		if s.v.sign(j) == '\n' {
			j--
		}
		if s.v.sign(j) == '\r' {
			j--
		}
		last := j
		for j >= after && isPadded(s.v.sign(j)) {
			j--
		}
		body := j
		for j >= after && s.v.sign(j) != '\n' && isBlank(s.v.sign(j)) {
			j--
		}
		whole := j < after || s.v.sign(j) == '\n' || isQuote(s.v.sign(j))
		marked := s.v.sign(j) == mark
		if n := last - body; n == 0 || n < leastBody && (from != i || !whole && !marked) {
			break
		}
		from = body + 1
		if isQuote(s.v.sign(j)) || !whole && !marked && last-body < fullLine {
			break
		}
		for !whole && j >= after && s.v.sign(j) != '\n' {
			j--
		}
		line = j
	}
	if from == i && s.rules.evident {
		return 0, 0
	}
	return from, to
}

// isPadded reports whether a line of a key may have a character.
func isPadded(c byte) bool { return isAlnum(c) || c == '+' || c == '/' || c == '=' }

// pemAfter returns where a private key begins that is the value at p, or 0. Quotes, and the sign of a block of lines, may
// come before it. Such a key is taken whole, even if its value would end earlier.
func (s *pems) pemAfter(p int) int {
	for j := p; j < p+60; j++ {
		switch c := s.v.sign(j); {
		case c == '-' && s.v.has(j, "-----BEGIN"):
			if s.pemLine(j, "BEGIN ") > 0 {
				return j
			}
			return 0
		case !isSpace(c) && !isQuote(c) && c != '|' && c != '>' && c != '-' && c != '+' || c == end:
			return 0
		}
	}
	return 0
}

// puttyName is before the number of lines that a private key has in a file of PuTTY.
const puttyName = "Private-Lines"

const mostPuttyLines = 200

// putty returns the lines of the private key that follow the word from i to to.
func (s *pems) putty(i, to int) (int, int) {
	if to-i != len(puttyName) || s.v.sign(i) != 'P' || !s.v.has(i, puttyName) || s.v.sign(to) != ':' {
		return 0, 0
	}
	n, p := 0, to+1
	for ; p < to+8 && s.v.sign(p) != '\n'; p++ {
		if c := s.v.sign(p); isDigit(c) {
			n = 10*n + int(c-'0')
		}
	}
	if s.v.sign(p) != '\n' {
		return 0, 0
	}
	from := p + 1
	for p = from; n > 0 && n <= mostPuttyLines && p < len(s.v.signs); n-- {
		e, blanks := p, p
		for ; s.v.sign(e) != '\n' && s.v.sign(e) != end; e++ {
			if c := s.v.sign(e); !isAlnum(c) && c != '+' && c != '/' && c != '=' && c != '\r' {
				blanks = e + 1 // a program may have put something before the line
			}
		}
		if e-blanks == 0 {
			break
		}
		p = e + 1
	}
	return from, min(p-1, len(s.v.signs))
}
