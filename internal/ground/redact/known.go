package redact

import (
	"bytes"
	"encoding/json"
	"net/url"
	"strings"
)

// MinSecret is the minimum length of a known secret that is searched for in foreign texts, in bytes. A shorter one
// would match ordinary text.
const MinSecret = 6

// Known replaces a secret in a text, in its plain form and in its JSON and URL encodings.
func Known(text []byte, secret string) []byte {
	if len(secret) < MinSecret || len(text) == 0 {
		return text
	}
	forms := []string{secret, url.QueryEscape(secret), url.PathEscape(secret)}
	if quoted, err := json.Marshal(secret); err == nil {
		forms = append(forms, strings.Trim(string(quoted), `"`))
	}
	for _, form := range forms {
		text = bytes.ReplaceAll(text, []byte(form), []byte(Mark))
	}
	return text
}
