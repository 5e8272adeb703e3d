package secrets

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"piloto/internal/ground/ids"
)

// mostSegment is the longest part of an id, in bytes: a prefix of 200, two parts and their separators stay below
// the limit of 512 for a name.
const mostSegment = 128

// ProviderID returns the name of the secret with an account's key of a provider: prefix/providers/account/provider.
// Different pairs have different names, with any characters.
func (m *Manager) ProviderID(account ids.Account, provider string) string {
	return m.prefix + "/providers/" + segment(string(account)) + "/" + segment(provider)
}

// WebhookID returns the name of the secret of an account's webhook: prefix/webhooks/account/id. Different pairs
// have different names.
func (m *Manager) WebhookID(account ids.Account, id string) string {
	return m.prefix + "/webhooks/" + segment(string(account)) + "/" + segment(id)
}

// segment encodes a text with letters, digits, "_", "." and "@". Every other byte becomes "=" and two hexadecimal
// digits. A longer text than mostSegment becomes "=." and its SHA-256, which no other text does. It writes no
// hyphen, because the service takes a hyphen and the last six characters of a name for the end of an ARN.
func segment(text string) string {
	var out strings.Builder
	for _, c := range []byte(text) {
		if isPlain(c) {
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

func isPlain(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '.' || c == '@'
}
