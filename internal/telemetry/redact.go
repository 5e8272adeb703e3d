package telemetry

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// redacted stands where a secret stood. While the rules run, gap stands for it:
// a character that no text has and no rule takes for a secret.
const (
	redacted = "[redacted]"
	gap      = "\x00"
)

// maxPasses is how often the rules run until they find nothing more. Text that
// needs more than this is no text, and is not shown at all.
const maxPasses = 5

// names are the words that announce a secret, as a header, a query parameter, a
// JSON member or an attribute.
const names = `authorization|proxy-authorization|cookie|set-cookie|x-vx11-token|x-api-key|x-amz-security-token|` +
	`api[_-]?keys?|apikey|access[_-]?token|refresh[_-]?token|id[_-]?token|session[_-]?token|auth[_-]?token|token|` +
	`client[_-]?secret|secret|secret[_-]?key|secret[_-]?access[_-]?key|private[_-]?key|password|passwd|pwd|passphrase|` +
	`credential|credentials|signature|x-amz-signature|x-amz-credential|piloto_session`

// scheme is what may stand before a secret in a header.
const scheme = `(?:(?:bearer|basic|token|digest|apikey)(?:\s+|%20|\+))?`

// rule replaces what re matches, but for its first group. Go's regexp runs in
// time linear in the text.
type rule struct {
	sign string   // stands in every match
	hint []string // so does one of these, in lower case
	re   func() *regexp.Regexp
}

// Most text holds no secret, and is not worth a regular expression.
var (
	stems = []string{"auth", "cookie", "token", "key", "secret", "passw", "pwd", "passphrase", "credential", "signature", "piloto_session"}
	heads = []string{
		"sk", "pk", "rk", "gsk", "xai", "hf", "r8", "pat", "ghp", "gho", "ghu", "ghs", "ghr", "glpat", "xoxa", "xoxb",
		"xoxe", "xoxo", "xoxp", "xoxr", "xoxs", "npm", "pypi",
	}
	keys = slices.Concat(each(heads, "-"), each(heads, "_"))
)

func each(words []string, end string) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = w + end
	}
	return out
}

var rules = []rule{
	// Cookie: to the end of the line
	{":", []string{"cookie:"}, lazily(`(?i)(\bcookie:\s*)[^\s\x00][^\r\n]*`)},
	// "name": "value" and "name": ["value", as it is and inside of a string
	{`"`, stems, lazily(`(?is)("(?:[a-z0-9_]+[_-])?(?:` + names + `)"\s*:\s*\[?\s*")(?:[^"\\\x00]|\\.)(?:[^"\\]|\\.)*`)},
	{`\"`, stems, lazily(`(?is)(\\"(?:[a-z0-9_]+[_-])?(?:` + names + `)\\"\s*:\s*\[?\s*\\")(?:[^"\\\x00]|\\\\\\"|\\\\[^"])(?:[^"\\]|\\\\\\"|\\[^"])*`)},
	// name=value (also in a query) and name: value; a value may be quoted or in brackets
	{"=", append([]string{"sig=", "code="}, stems...), lazily(`(?i)((?:\b(?:[a-z0-9_]+[_-])?(?:` + names + `)|[?&;](?:key|sig|code))=["'\[]?)` + scheme + `[^\s"'&;,\x00]+`)},
	{":", stems, lazily(`(?i)(\b(?:[a-z0-9_]+[_-])?(?:` + names + `):\s*\[?["']?)` + scheme + `[^\s"'&;,\x00]+`)},
	// schemes
	{"", []string{"bearer", "basic"}, lazily(`(?i)(\b(?:bearer|basic)(?:\s+|%20|\+))[A-Za-z0-9._~+/=\-]{6,}`)},
	// user:password@host
	{"@", []string{"://"}, lazily(`(://)[^\s/?#@"'\x00]+@`)},
	// keys known by their form
	{"", keys, lazily(`()\b(?:github_pat|` + strings.Join(heads, "|") + `)[_-][A-Za-z0-9_\-]{8,}`)},
	{"", []string{"akia", "asia", "aida", "aroa"}, lazily(`()\b(?:AKIA|ASIA|AIDA|AROA)[0-9A-Z]{12,}`)},
	{"", []string{"aiza"}, lazily(`()\bAIza[0-9A-Za-z_\-]{20,}`)},
	{"", []string{"whsec_"}, lazily(`()\bwhsec_[A-Za-z0-9+/=]{8,}`)},
	{"", []string{"eyj"}, lazily(`()\beyJ[A-Za-z0-9_\-]{5,}(?:\.[A-Za-z0-9_\-]*){1,4}`)},
	{"", []string{"private key"}, lazily(`(-----BEGIN [A-Z ]*PRIVATE KEY-----)[^\x00-][^-]*`)},
}

// lazily compiles an expression when the first text needs it.
func lazily(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

// Redact returns text with every secret in it replaced by a mark: values that
// their name announces, authorization schemes, user information in URLs, keys
// of known forms, and this program's own 43-character tokens. It takes time
// linear in the text, and redacting twice is redacting once.
func Redact(text string) string {
	if len(text) < 6 {
		return text
	}
	text = strings.ReplaceAll(strings.ReplaceAll(text, gap, "\uFFFD"), redacted, gap)
	for range maxPasses {
		next := pass(text)
		if next == text {
			return strings.ReplaceAll(text, gap, redacted)
		}
		text = next
	}
	return redacted
}

func pass(text string) string {
	lower := strings.ToLower(text)
	for _, r := range rules {
		if strings.Contains(text, r.sign) && slices.ContainsFunc(r.hint, func(h string) bool { return strings.Contains(lower, h) }) {
			text = r.re().ReplaceAllString(text, "${1}"+gap)
		}
	}
	return ownTokens(text)
}

// ownTokens marks every run of exactly 43 URL-safe base64 characters: 256 bits.
func ownTokens(text string) string {
	const size = 43
	var b strings.Builder
	from, start := 0, -1
	for i := 0; i <= len(text); i++ {
		if i < len(text) && urlSafe(text[i]) {
			if start < 0 {
				start = i
			}
			continue
		}
		if start >= 0 && i-start == size {
			b.WriteString(text[from:start])
			b.WriteString(gap)
			from = i
		}
		start = -1
	}
	if from == 0 {
		return text
	}
	b.WriteString(text[from:])
	return b.String()
}

func urlSafe(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_'
}

var secretNames = lazily(`(?i)^(?:[a-z0-9_]+[_-])?(?:` + names + `)$`)

// secretName reports whether an attribute's name says that its value is secret.
// "token_id" and "tokens" are not: they name a hash, and a count.
func secretName(name string) bool {
	if len(name) > 64 {
		return false
	}
	lower := strings.ToLower(name)
	return slices.ContainsFunc(stems, func(s string) bool { return strings.Contains(lower, s) }) && secretNames().MatchString(name)
}
