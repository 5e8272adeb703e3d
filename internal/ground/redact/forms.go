package redact

import (
	"strings"
	"sync"
)

// form is a kind of key with a known prefix.
type form struct {
	prefix string
	least  int             // minimum length after the prefix
	of     func(byte) bool // accepts the bytes after the prefix
	random bool            // the part after the prefix is no word: it has a digit, or letters of both cases
}

// encodedPEM is how -----BEGIN begins in base64.
const encodedPEM = "LS0tLS1CRUdJTi"

func isUpperOrDigit(c byte) bool { return isUpper(c) || isDigit(c) }
func isDotted(c byte) bool       { return isWord(c) || c == '.' }

// forms is indexed by the first byte of the prefix.
var forms = sync.OnceValue(func() map[byte][]form {
	m := map[byte][]form{}
	add := func(least int, of func(byte) bool, random bool, prefixes string) {
		for p := range strings.FieldsSeq(prefixes) {
			m[p[0]] = append(m[p[0]], form{p, least, of, random})
		}
	}
	add(8, isWord, true, `sk- sk_ pk- pk_ rk- rk_ gsk- gsk_ xai- xai_ hf_ hf- r8_ r8- pat_ pat- npm_ npm- pypi- pypi_ xoxa- xoxb- xoxe-
		xoxo- xoxp- xoxr- xoxs- xapp- ghp_ ghp- gho_ gho- ghu_ ghu- ghs_ ghs- ghr_ ghr- github_pat_ glpat- glpat_ gldt- glrt- glcbt- glptt-
		glsa_ glc_ GOCSPX- dop_v1_ doo_v1_ dor_v1_ shpat_ shpss_ shpca_ shppa_ sq0atp- sq0csp- lin_api_ dckr_pat_ rubygems_
		xkeysib- PMAK- NRAK- figd_ nfp_ sbp_ sb_secret_ pscale_tkn_ pscale_pw_ AGE-SECRET-KEY-1 sess-`)
	add(20, isWord, true, "AIza secret_ ntn_ tfp_ pul- re_")
	add(8, isBase64, false, "whsec_ whsec-")
	add(12, isUpperOrDigit, false, "AKIA ASIA AIDA AROA")
	add(20, isDotted, true, "ya29. hvs. hvb. SG. xoxe.xoxp- xoxe.xoxb-")
	add(20, isWord, true, "1//0")
	add(20, isBase64, false, encodedPEM)
	add(32, isHex, false, "SK key- dapi")
	return m
})

// mostRead is the most that is read of a candidate before it is judged, in characters. A rejected one is not read to its
// end, because many may follow it.
const mostRead = 200

// keys finds the keys of known forms.
type keys struct {
	v     *view
	rules rules
}

// knownForm returns the secret with a known form in the word from i to to.
func (s keys) knownForm(i, to int) (int, int) {
	if !s.rules.evident && s.isOwnToken(i, to) {
		return i, to
	}
	if from, end := s.twilio(i, to); end > 0 {
		return from, end
	}
	if end := s.telegram(i, to); end > 0 {
		return i, end
	}
	for j := i; j < to; j++ {
		if j == i || !isAlnum(s.v.sign(j-1)) {
			if end := s.keyEnd(j, to); end > 0 {
				return j, end
			}
		}
	}
	return 0, 0
}

// afterScheme returns the credentials after Bearer and Basic, if they are no word.
func (s keys) afterScheme(i, to int) (int, int) {
	if n := to - i; n != 5 && n != 6 {
		return 0, 0
	}
	if w := s.v.lower(i, to); w != "basic" && w != "bearer" {
		return 0, 0
	}
	from := to
	for isBlank(s.v.sign(from)) || s.v.sign(from) == '+' {
		from++
	}
	j := from
	goesOn := func() bool { c := s.v.sign(j); return isBase64(c) || c == '.' || c == '~' }
	for j < from+mostRead && goesOn() {
		j++
	}
	if from == to || j-from < 6 || !s.v.isMixed(from, j) || s.rules.evident && !s.v.isRandom(from, j) {
		return 0, 0
	}
	for goesOn() {
		j++
	}
	return from, j
}

// keyEnd returns the end of a key that begins at i, or 0. The word around it ends at to.
func (s keys) keyEnd(i, to int) int {
	for _, f := range forms()[s.v.sign(i)] {
		if !s.v.has(i, f.prefix) {
			continue
		}
		from := i + len(f.prefix)
		j := from
		for j < from+mostRead && f.of(s.v.sign(j)) {
			j++
		}
		if j-from < s.least(f) || f.random && !s.v.isMixed(from, j) || s.rules.evident && !s.isEvidentKey(i, from, j, f) {
			continue
		}
		for f.of(s.v.sign(j)) {
			j++
		}
		return s.checkedEnd(i, j, f.prefix)
	}
	if s.v.has(i, "eyJ") && to-i >= 8 && s.v.sign(to) == '.' {
		j := to
		for isDotted(s.v.sign(j)) {
			j++
		}
		return j
	}
	return 0
}

// isEvidentKey reports whether a key of a form, from i to j, is hardly anything else. Its prefix ends at from.
func (s keys) isEvidentKey(i, from, j int, f form) bool {
	switch text := string(s.v.signs[i:j]); {
	case f.prefix == "AIDA", f.prefix == "AROA", s.v.sign(i) == 'A' && strings.HasSuffix(text, "EXAMPLE"):
		return false
	case f.prefix == encodedPEM:
		return s.isEncodedKey(i)
	}
	return !f.random || s.v.hasDigits(from, j) && !strings.Contains(string(s.v.signs[from:j]), "---")
}

// checkedEnd returns the end of a key. For a kind of fixed length it returns 0 when the length differs.
func (s keys) checkedEnd(i, j int, prefix string) int {
	if prefix == "AKIA" || prefix == "ASIA" {
		return s.secretKeyEnd(j)
	}
	if (prefix == "SK" || prefix == "dapi") && (j-i != len(prefix)+32 || isWord(s.v.sign(j))) {
		return 0
	}
	return j
}

// secretKeyEnd returns the end of the 40 base64 characters that may follow the id of an AWS key, or the end of the
// id.
func (s keys) secretKeyEnd(j int) int {
	k := j
	for c := s.v.sign(k); k < j+3 && (c == ':' || c == ',' || isBlank(c)); c = s.v.sign(k) {
		k++
	}
	from := k
	for k < from+41 && isBase64(s.v.sign(k)) {
		k++
	}
	if k-from != 40 || from == j {
		return j
	}
	return k
}

// hooks maps the first word of a host to the webhook addresses whose path is the secret.
var hooks = map[string]string{
	"hooks":      "hooks.slack.com/services/ hooks.slack.com/workflows/ hooks.slack.com/triggers/ hooks.zapier.com/hooks/catch/",
	"discord":    "discord.com/api/webhooks/",
	"discordapp": "discordapp.com/api/webhooks/",
	"webhook":    "webhook.office.com/webhookb2/",
	"outlook":    "outlook.office.com/webhook/",
	"maker":      "maker.ifttt.com/trigger/",
}

// hook returns the secret path of an address that begins with the word from i to to.
func (s keys) hook(i, to int) (int, int) {
	if to-i > len("discordapp") {
		return 0, 0
	}
	for host := range strings.FieldsSeq(hooks[s.v.lower(i, to)]) {
		if s.v.has(i, host) {
			j := i + len(host)
			for c := s.v.sign(j); isWord(c) || c == '/' || c == '@' || c == '.'; c = s.v.sign(j) {
				j++
			}
			if j-i-len(host) >= 8 {
				return i + len(host), j
			}
		}
	}
	return 0, 0
}

// telegram returns the end of a bot token, NUMBER:KEY, with or without "bot".
func (s keys) telegram(i, to int) int {
	if s.v.has(i, "bot") {
		i += 3
	}
	if to-i < 6 || to-i > 12 || s.v.sign(to) != ':' {
		return 0
	}
	for j := i; j < to; j++ {
		if !isDigit(s.v.sign(j)) {
			return 0
		}
	}
	j := to + 1
	for isWord(s.v.sign(j)) {
		j++
	}
	if j-to > 30 {
		return j
	}
	return 0
}

// twilio returns the secret after an account id: AC, 32 digits, a colon.
func (s keys) twilio(i, to int) (int, int) {
	if to-i != 34 || !s.v.has(i, "AC") || s.v.sign(to) != ':' {
		return 0, 0
	}
	j := to + 1
	for isHex(s.v.sign(j)) {
		j++
	}
	if j-to != 33 {
		return 0, 0
	}
	return to + 1, j
}

// isOwnToken reports whether a word has the length of this program's tokens, 256 bits in base64, and is no digest
// of a Go module.
func (s keys) isOwnToken(i, to int) bool {
	return to-i == 43 && !(s.v.sign(i-1) == ':' && s.v.sign(i-2) == '1' && s.v.sign(i-3) == 'h')
}
