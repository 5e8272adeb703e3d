package redact

import (
	"strings"

	"piloto/internal/ground/lazy"
)

// maxUser limits how much of a URL is searched for the end of its user information.
const maxUser = 200

// stores lists the schemes whose passwords may contain characters that a URL may not.
var stores = lazy.Words(`postgres postgresql mysql mariadb mongodb mongodb+srv redis rediss amqp amqps mssql sqlserver
	clickhouse nats ldap ldaps smtp smtps imap imaps ftp sftp cockroachdb snowflake oracle db`)

// user removes the user information of the URL whose authority begins at i. It returns the next position.
func (s *scan) user(i int) int {
	name := s.schemeBefore(i - 3)
	at, colon := -1, -1
	for j := i; j < i+maxUser; j++ {
		c := s.v.sign(j)
		if isSpace(c) || c == '"' || c == '<' || c == '>' || c == '/' && !stores()[name] || (c == '?' || c == '#') && !stores()[name] ||
			c == ':' && s.v.sign(j+1) == '/' && s.v.sign(j+2) == '/' || c == '\'' && !isAlnum(s.v.sign(j+1)) {
			if c == ' ' && stores()[name] && colon > 0 {
				if late := s.lateAt(j, at); late > at {
					at = late
				}
			}
			break
		}
		if c == ':' && colon < 0 {
			colon = j
		}
		if c == '@' {
			if at < 0 || colon < 0 || !stores()[name] || s.isHostStart(j+1) {
				at = j
			}
		}
	}
	if at < 0 {
		return i
	}
	if colon < 0 && (name == "ssh" || name == "git+ssh" || name == "sftp") {
		return at
	}
	if s.rules.evident && !s.judge.isEvidentUser(i, colon, at) {
		return i
	}
	return s.out.takeAll(i, at)
}

func (s *scan) schemeBefore(colon int) string {
	from := colon
	for c := s.v.sign(from - 1); colon-from < 12 && (isAlnum(c) || c == '+'); c = s.v.sign(from - 1) {
		from--
	}
	return s.v.lower(from, colon)
}

// lateAt returns the @ after a password with blanks: a port or a path follows its host. When the first word has no
// @, a host is enough.
func (s *scan) lateAt(from, at int) int {
	for j := from; j < from+60; j++ {
		c := s.v.sign(j)
		if c == '\n' || c == end || c == '"' || c == ':' && s.v.sign(j+1) == '/' {
			return at
		}
		if c == '@' && s.isHostStart(j+1) {
			k := j + 1
			for ; k < j+80 && (isWord(s.v.sign(k)) || s.v.sign(k) == '.'); k++ {
			}
			if after := s.v.sign(k); after == '/' || after == ':' && isDigit(s.v.sign(k+1)) {
				return j
			}
		}
	}
	return at
}

func (s *scan) isHostStart(i int) bool { return isAlnum(s.v.sign(i)) || s.v.sign(i) == '[' }

// addressed lists the words before a mail address that is no password.
var addressed = lazy.Words(`mailto to from cc bcc email mail correo para de sip sips xmpp acct user usuario by reply-to author npm
	github sender`)

// login returns the password of user:password@host without a scheme.
func (s *scan) login(i, to int) (int, int) {
	if s.v.sign(to) != ':' || !isLetter(s.v.sign(i)) || to-i > 64 || s.v.sign(to+1) == '/' {
		return 0, 0
	}
	j := to + 1
	for c := s.v.sign(j); c != '@' && c != ':'; c = s.v.sign(j) {
		if isSpace(c) || isQuote(c) || c == ',' || j > to+64 {
			return 0, 0
		}
		j++
	}
	if s.v.sign(j) != '@' || j-to < 4 || addressed()[s.v.lower(i, to)] {
		return 0, 0
	}
	k := j + 1
	for ; k < j+100 && (isWord(s.v.sign(k)) || s.v.sign(k) == '.'); k++ {
	}
	host, after := s.v.lower(j+1, k), s.v.sign(k)
	switch {
	case host == "tcp" && after == '(', host == "unix" && after == '(', host == "localhost":
	case host == "", strings.HasPrefix(host, "sha"):
		return 0, 0
	case isDigit(host[0]) && strings.Count(host, ".") != 3, host[0] == 'v' && len(host) > 1 && isDigit(host[1]):
		return 0, 0
	case after == ':' && isDigit(s.v.sign(k+1)), after == '/':
	case !strings.Contains(host, "."):
		return 0, 0
	}
	return to + 1, j
}

// isEvidentUser reports whether the user information of a URL has a password that is no word, or is a token.
func (s *judge) isEvidentUser(from, colon, at int) bool {
	if colon < 0 || colon > at {
		return s.v.isRandom(from, at)
	}
	digit, odd := false, false
	for j := colon + 1; j < at; j++ {
		c := s.v.sign(j)
		if c == '$' || c == '{' || c == '}' || c == '(' || c == '[' || c == '\\' || c == '*' {
			return false // a reference
		}
		digit, odd = digit || isDigit(c), odd || !isAlnum(c) && c != gap
	}
	low := s.v.lower(colon+1, at)
	for _, word := range samples {
		if strings.Contains(low, word) {
			return false
		}
	}
	if s.rules.settings && !digit && !odd {
		return at-colon > 4 && !strings.HasPrefix(low, "pass") && !sorts()[low] && low != "secret" && low != "user" && low != s.v.lower(from, colon)
	}
	return low != "p@ssword" && at-colon > 5 && (digit || odd)
}
