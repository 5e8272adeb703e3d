package secrets

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// mostSegment is how long a part of an id may be, in bytes: a prefix of 200, two
// parts and what joins them stay below the 512 that a name may have.
const mostSegment = 128

// ProviderID is the name of the secret that holds an account's key of a provider:
// prefix/providers/account/provider. No two pairs share one, whatever characters
// they have.
func (m *Manager) ProviderID(account, provider string) string {
	return m.prefix + "/providers/" + segment(account) + "/" + segment(provider)
}

// WebhookID is the name of the secret of an account's webhook:
// prefix/webhooks/account/id. No two pairs share one.
func (m *Manager) WebhookID(account, id string) string {
	return m.prefix + "/webhooks/" + segment(account) + "/" + segment(id)
}

// segment writes a text with letters, digits, "_", "." and "@"; every other byte
// becomes "=" and two hexadecimal digits. A text that grows too long becomes "=."
// and its SHA-256, which nothing else becomes. There is no hyphen in it: after
// one, the last six characters of a name look like the end of an ARN to the
// service.
func segment(text string) string {
	var out strings.Builder
	for _, c := range []byte(text) {
		if plain(c) {
			out.WriteByte(c)
		} else {
			fmt.Fprintf(&out, "=%02X", c)
		}
	}
	if out.Len() <= mostSegment {
		return out.String()
	}
	sum := sha256.Sum256([]byte(text))
	return "=." + hex.EncodeToString(sum[:])
}

func plain(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '.' || c == '@'
}
