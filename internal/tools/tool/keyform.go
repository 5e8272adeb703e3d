package tool

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"encoding/hex"
	"math"
	"strconv"
	"strings"

	"piloto/internal/ground/ids"
)

// KeyHeader is the header that makes a service recognize a request that it has had before.
const KeyHeader = "Idempotency-Key"

// KeyForm is how a document wants its Idempotency-Key to be written. The zero form is the key as it is.
type KeyForm string

// The forms of a key. Each but the first is made of its SHA-256, so that one key is always written in the same way. None keeps less
// than 60 bits of it: two keys that are written as one would make of two requests one. For that reason none has ten signs.
const (
	keyPlain  KeyForm = ""
	keyUUID5  KeyForm = "uuid5" // of version 5, which is made of a hash
	keyUUID4  KeyForm = "uuid4" // of version 4, which some documents insist on
	keyUUID7  KeyForm = "uuid7" // of version 7, with the time of the run
	keyHex32  KeyForm = "hex32"
	keyHex64  KeyForm = "hex64"
	keyULID   KeyForm = "ulid"
	keyHex16  KeyForm = "hex16"
	keyDigits KeyForm = "digits" // 19 of them, an integer of 64 bits
	KeyNone   KeyForm = "none"   // none fits, and none is required: it is not sent
)

// Before the name of a form: in capitals, or in quotes, which are a part of the header (draft-ietf-httpapi-idempotency-key-header).
const (
	inCapitals = "capitals-"
	inQuotes   = "quoted-"
)

// keyForms lists the forms that are tried, the usual ones first.
var keyForms = func() []KeyForm {
	hashed := []KeyForm{keyUUID5, keyUUID4, keyHex32, keyHex64, keyULID, keyHex16}
	forms := append([]KeyForm{keyPlain}, hashed...)
	forms = append(forms, keyUUID7, keyDigits)
	for _, f := range append(hashed, keyUUID7) {
		forms = append(forms, inCapitals+f)
	}
	for _, f := range append([]KeyForm{keyPlain}, append(hashed, keyUUID7)...) {
		forms = append(forms, inQuotes+f)
	}
	return forms
}()

// triedKeys are keys as runs make them: the shortest, long ones, and others, because a pattern may fit some of a form.
var triedKeys = []string{
	"01M80000000000000000000000:s1", "01M8ZZZZZZZZZZZZZZZZZZZZZZ:undo:s40[499]", "01M8A1B2C3D4E5F6G7H8J9K0MN:s12:3", "01M8QRSTVWXYZ0123456789ABC:s2",
	"01M8000000000000000000000A:s3", "01M8000000000000000000000B:s4", "01M8000000000000000000000C:s5", "01M8000000000000000000000D:s6",
	"01M8000000000000000000000E:s7", "01M8000000000000000000000F:s8", "01M8000000000000000000000G:s9", "01M8000000000000000000000H:s10",
}

// maxKeySchema limits the schema of a key, in bytes: it is tried many times.
const maxKeySchema = 8 << 10

// FormOfKey returns the first form in which a document accepts keys in its header p, and KeyNone when none fits.
func FormOfKey(s Compiler, p Parameter) KeyForm {
	if len(p.Schema) > maxKeySchema {
		return KeyNone
	}
	p.Schema = withFormats(p.Schema)
	for _, form := range keyForms {
		var written []string
		for _, key := range triedKeys {
			written = append(written, form.Write(key))
		}
		if p.accepts(s, written) {
			return form
		}
	}
	return KeyNone
}

// accepts reports whether a document accepts each of some texts in its header p. A text is read as a number or a list only
// where the document wants no text, because a schema without a type accepts each number and each list under any keyword of
// texts.
func (p Parameter) accepts(s Compiler, texts []string) bool {
	left := budget
	c := checker{schemas: s, left: &left}
	compiled := compile(s, p.Schema)
	for _, text := range texts {
		problems := c.validate("", compiled, text)
		if WrongType(problems, "") {
			c.text("", p, text)
		} else {
			c.problems = append(c.problems, problems...)
		}
	}
	return len(c.problems) == 0
}

// Write returns a key in the form; "" for a form that is not sent.
func (f KeyForm) Write(key string) string {
	if form, is := strings.CutPrefix(string(f), inCapitals); is {
		return strings.ToUpper(KeyForm(form).Write(key))
	}
	if form, is := strings.CutPrefix(string(f), inQuotes); is {
		return `"` + KeyForm(form).Write(key) + `"`
	}
	sum := sha256.Sum256([]byte(key))
	switch f {
	case keyUUID5:
		return uuidOf(sum, 5)
	case keyUUID4:
		return uuidOf(sum, 4)
	case keyUUID7:
		if at, ok := ids.Time(key[:min(len(key), ulidSigns)]); ok { // the key begins with its run
			var ms [8]byte
			binary.BigEndian.PutUint64(ms[:], uint64(at.UnixMilli()))
			copy(sum[:6], ms[2:])
		}
		return uuidOf(sum, 7)
	case keyDigits:
		return strconv.FormatUint(leastDigits+binary.BigEndian.Uint64(sum[:8])%(math.MaxInt64-leastDigits), 10)
	case keyHex16:
		return hex.EncodeToString(sum[:8])
	case keyHex32:
		return hex.EncodeToString(sum[:16])
	case keyHex64:
		return hex.EncodeToString(sum[:])
	case keyULID:
		sum[0] &= 0x3f // its first sign is at most 7
		return crockford.EncodeToString(sum[:16])
	case KeyNone:
		return ""
	}
	return key
}

const (
	ulidSigns   = 26
	leastDigits = 1_000_000_000_000_000_000 // of 19 digits
)

// crockford is the alphabet of ULIDs.
var crockford = base32.NewEncoding("0123456789ABCDEFGHJKMNPQRSTVWXYZ").WithPadding(base32.NoPadding)

// uuidOf returns a UUID of a version, made of a hash (RFC 9562 §5).
func uuidOf(sum [sha256.Size]byte, version byte) string {
	sum[6] = sum[6]&0x0f | version<<4
	sum[8] = sum[8]&0x3f | 0x80
	h := hex.EncodeToString(sum[:16])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}
