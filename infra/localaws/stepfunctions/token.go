package stepfunctions

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"encoding/binary"
)

// A task token names its execution and thread and holds a secret. The thread keeps the whole token
// in the journal while it waits for it.
const (
	tokenSecret  = 24
	tokenVersion = 1
	tokenLength  = 1 + 8 + 4 + tokenSecret
)

func newToken(seq uint64, th uint32) string {
	b := make([]byte, 0, tokenLength)
	b = append(b, tokenVersion)
	b = binary.BigEndian.AppendUint64(b, seq)
	b = binary.BigEndian.AppendUint32(b, th)
	secret := make([]byte, tokenSecret)
	_, _ = rand.Read(secret) // never fails
	return base64.StdEncoding.EncodeToString(append(b, secret...))
}

// parseToken returns the execution and thread that a token names.
func parseToken(token string) (seq uint64, th uint32, ok bool) {
	b, err := base64.StdEncoding.DecodeString(token)
	if err != nil || len(b) != tokenLength || b[0] != tokenVersion {
		return 0, 0, false
	}
	return binary.BigEndian.Uint64(b[1:]), binary.BigEndian.Uint32(b[9:]), true
}

// holds reports whether the thread waits for exactly this token.
func (th *thread) holds(token string) bool {
	waits := th.phase == phaseTask || th.phase == phaseSubmitted
	return waits && th.token != "" && subtle.ConstantTimeCompare([]byte(th.token), []byte(token)) == 1
}
