package redact

import (
	"bytes"
	"encoding/json"
	"net/url"
	"strings"
)

// MinSecret is the length from which a known secret is looked for in what others say,
// in bytes; a shorter one would take ordinary text with it.
const MinSecret = 6

// Known takes a secret out of a text, as it is and as JSON and URLs write it.
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
