package tool

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"encoding/json"
	"strings"
)

// KeyHeader is the header that makes a service recognize a request that it has had before.
const KeyHeader = "Idempotency-Key"

// KeyForm is how a document wants its Idempotency-Key to be written. The zero form is the key as it is.
type KeyForm string

// The forms of a key. Each but the first is made of its SHA-256, so that one key is always written in the same way.
const (
	keyPlain KeyForm = ""
	keyUUID5 KeyForm = "uuid5" // of version 5, which is made of a hash
	keyUUID4 KeyForm = "uuid4" // of version 4, which some documents insist on
	keyHex32 KeyForm = "hex32"
	keyHex64 KeyForm = "hex64"
	keyULID  KeyForm = "ulid"
	keyHex16 KeyForm = "hex16"
	keyNone  KeyForm = "none" // none fits, and none is required: it is not sent
)

// keyForms lists the forms that are tried, the usual ones first.
var keyForms = []KeyForm{keyPlain, keyUUID5, keyUUID4, keyHex32, keyHex64, keyULID, keyHex16}

// triedKeys are keys as runs make them: the shortest, long ones, and others, because a pattern may fit some of a form.
var triedKeys = []string{
	"01M80000000000000000000000:s1", "01M8ZZZZZZZZZZZZZZZZZZZZZZ:undo:s40[499]", "01M8A1B2C3D4E5F6G7H8J9K0MN:s12:3", "01M8QRSTVWXYZ0123456789ABC:s2",
	"01M8000000000000000000000A:s3", "01M8000000000000000000000B:s4", "01M8000000000000000000000C:s5", "01M8000000000000000000000D:s6",
	"01M8000000000000000000000E:s7", "01M8000000000000000000000F:s8", "01M8000000000000000000000G:s9", "01M8000000000000000000000H:s10",
}

// FormOfKey returns the first form in which a document accepts keys in its header p. It returns false when none fits: then no
// key is to be sent.
func FormOfKey(s Compiler, p Parameter) (KeyForm, bool) {
	for _, form := range keyForms {
		if form.fits(s, p) {
			return form, true
		}
	}
	return keyNone, false
}

func (f KeyForm) fits(s Compiler, p Parameter) bool {
	if !f.isNamed(p.Schema) {
		return false
	}
	left := budget
	c := checker{schemas: s, left: &left}
	for _, key := range triedKeys {
		c.text("", p, f.Write(key))
	}
	return len(c.problems) == 0
}

// isNamed reports whether a schema asks for the form by a name that is no format of JSON Schema, or names none of these.
func (f KeyForm) isNamed(raw json.RawMessage) bool {
	var s struct{ Format string }
	if json.Unmarshal(raw, &s) != nil {
		return true
	}
	switch name := strings.ToLower(s.Format); {
	case strings.Contains(name, "ulid"):
		return f == keyULID
	case !strings.Contains(name, "uuid") && !strings.Contains(name, "guid"):
		return true
	case strings.HasSuffix(name, "4"):
		return f == keyUUID4
	}
	return f == keyUUID5 || f == keyUUID4
}

// Write returns a key in the form; "" for a form that is not sent.
func (f KeyForm) Write(key string) string {
	sum := sha256.Sum256([]byte(key))
	switch f {
	case keyUUID5:
		return uuidOf(sum, 5)
	case keyUUID4:
		return uuidOf(sum, 4)
	case keyHex16:
		return hex.EncodeToString(sum[:8])
	case keyHex32:
		return hex.EncodeToString(sum[:16])
	case keyHex64:
		return hex.EncodeToString(sum[:])
	case keyULID:
		sum[0] &= 0x3f // its first sign is at most 7
		return crockford.EncodeToString(sum[:16])
	case keyNone:
		return ""
	}
	return key
}

// crockford is the alphabet of ULIDs.
var crockford = base32.NewEncoding("0123456789ABCDEFGHJKMNPQRSTVWXYZ").WithPadding(base32.NoPadding)

// uuidOf returns a UUID of a version, made of a hash (RFC 9562 §5).
func uuidOf(sum [sha256.Size]byte, version byte) string {
	sum[6] = sum[6]&0x0f | version<<4
	sum[8] = sum[8]&0x3f | 0x80
	h := hex.EncodeToString(sum[:16])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}
