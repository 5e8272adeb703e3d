package redact

import (
	"bytes"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
)

// MinSecret is the minimum length of a known secret that is searched for in foreign texts, in bytes. A shorter one
// would match ordinary text.
const MinSecret = 6

// Known replaces secrets in a text, in their plain form and in their JSON and URL encodings. One that contains another is replaced
// before it.
func Known(text []byte, secrets ...string) []byte {
	if len(secrets) > 1 {
		secrets = slices.SortedFunc(slices.Values(secrets), func(a, b string) int { return len(b) - len(a) })
	}
	for _, secret := range secrets {
		text = withoutSecret(text, secret)
	}
	return text
}

func withoutSecret(text []byte, secret string) []byte {
	if len(secret) < MinSecret || len(text) == 0 {
		return text
	}
	for _, form := range Forms(secret) {
		text = bytes.ReplaceAll(text, []byte(form), []byte(Mark))
	}
	return text
}

// Forms returns a secret in its plain form, and in its JSON and URL encodings where they differ.
func Forms(secret string) []string {
	forms := []string{secret, url.QueryEscape(secret), url.PathEscape(secret)}
	if quoted, err := json.Marshal(secret); err == nil {
		forms = append(forms, strings.Trim(string(quoted), `"`))
	}
	slices.Sort(forms[1:])
	return slices.Compact(forms)
}
