package redact

import "strings"

// isNothing reports whether a value is a word that means none, or the mask of another program.
func (v *view) isNothing(p, e int) bool {
	return e-p <= 24 && nothing()[strings.Trim(v.lower(p, e), "[](){}<>*-_#.")]
}

// isWordy reports whether all characters are letters, without a capital inside.
func (v *view) isWordy(p, e int) bool {
	for j := p; j < e; j++ {
		c := v.sign(j)
		if !isLower(c) && c != other && !(j == p && isUpper(c)) && !(j == e-1 && (c == '.' || c == ',' || c == '?')) {
			return false
		}
	}
	return true
}

func (v *view) areDigits(p, e int) bool {
	for j := p; j < e; j++ {
		if !isDigit(v.sign(j)) {
			return false
		}
	}
	return true
}

// isIdentifier reports whether a value is an id: a ULID, a UUID, a digest.
func (v *view) isIdentifier(p, e int) bool {
	n, hexes, dashes, ulid := e-p, 0, 0, 0
	if n != 26 && n != 36 && n != 32 && n != 40 && n != 64 {
		return false
	}
	for j := p; j < e; j++ {
		switch c := v.sign(j); {
		case c == '-':
			dashes++
		case isHex(lower(c)):
			hexes++
			ulid++
		case isUpper(c):
			ulid++
		}
	}
	return n == 26 && ulid == 26 && v.sign(p) <= '7' || n == 36 && dashes == 4 && hexes == 32 || n != 26 && hexes == n
}

// isRandom reports whether a value seems machine-generated: long, with digits and letters, and no id, path or date.
func (v *view) isRandom(p, e int) bool {
	if e-p < 16 || v.isIdentifier(p, e) {
		return false
	}
	digit, small, large, odd, slashes := 0, 0, 0, 0, 0
	for j := p; j < min(e, p+200); j++ {
		switch c := v.sign(j); {
		case isDigit(c):
			digit++
		case isLower(c):
			small++
		case isUpper(c):
			large++
		case c == '/':
			slashes++
		case c == '.' || c == ':' || c == ' ' || c == other:
			odd++
		}
	}
	return (digit >= 2 && small+large >= 4 || e-p >= 20 && small >= 4 && large >= 4) && odd <= 1 && (slashes == 0 || e-p >= 32 && small >= 4 && large >= 4)
}

// looksSecret reports whether a word of a sentence is a secret: it has digits or signs among its letters, and is no
// id.
func (v *view) looksSecret(p, e int) bool {
	if e-p < 6 || e-p > 512 || e-p != 32 && v.isIdentifier(p, e) {
		return false
	}
	digit, letter, odd, dots := 0, 0, 0, 0
	for j := p; j < e; j++ {
		switch c := v.sign(j); {
		case isDigit(c):
			digit++
		case isLetter(c):
			letter++
		case c == '!' || c == '$' || c == '#' || c == '&' || c == '*' || c == '+':
			odd++
		case c == '/' || c == ':' || c == '(' || c == '=' || c == '{' || c == other:
			dots++
		}
	}
	return letter > 0 && digit+odd > 0 && dots == 0
}

// isMixed reports whether the text is no word, and no joined words.
func (v *view) isMixed(from, to int) bool {
	digit, turn := false, false
	for i := from; i < to; i++ {
		c := v.sign(i)
		digit = digit || isDigit(c)
		turn = turn || isUpper(c) && isAlnum(v.sign(i-1)) && i > from && isLower(v.sign(i+1)) || isLower(c) && isUpper(v.sign(i+1)) && i+1 < to
	}
	return digit || turn
}

// hasDigits reports whether a text has two digits or more: the name of a package has fewer.
func (v *view) hasDigits(from, to int) bool {
	n := 0
	for j := from; j < to; j++ {
		n += flagOf(isDigit(v.sign(j)))
	}
	return n >= 2
}

// isBlob reports whether a text has base64 characters only, also such as are not letters.
func (v *view) isBlob(p, e int) bool {
	digit := false
	for j := p; j < e; j++ {
		c := v.sign(j)
		if !isBase64(c) {
			return false
		}
		digit = digit || isDigit(c)
	}
	return digit
}

// endsLine reports whether nothing but blanks follows before the end of the line.
func (v *view) endsLine(e int) bool {
	for isBlank(v.sign(e)) {
		e++
	}
	c := v.sign(e)
	return c == '\n' || c == '\r' || c == end || c == '#'
}

// isAssigned reports whether the value at p follows its name as in a file of settings: NAME=X, name: X.
func (v *view) isAssigned(p int) bool {
	return v.sign(p-1) == '=' || v.sign(p-1) == ' ' && v.sign(p-2) == ':'
}

// isSentence reports whether a text has no capital.
func (v *view) isSentence(p, e int) bool {
	for j := p; j < e; j++ {
		if isUpper(v.sign(j)) {
			return false
		}
	}
	return true
}
