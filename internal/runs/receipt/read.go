package receipt

import (
	"bytes"
	"encoding/json"
	"errors"

	"piloto/internal/ground/jcs"
)

// ErrOther means that a text differs from the receipt that Piloto issued: it has more members, or
// other spellings.
var ErrOther = errors.New("it holds more than was signed: a member of another name, or of one in other letters, or one that is missing")

// Read parses a receipt. It refuses a text with content that the result does not hold, because a
// reader would see members that Verify does not check: members of other names, or duplicates that
// differ in letter case.
func Read(raw []byte) (Receipt, error) {
	var r Receipt
	return r, decodeExact(raw, &r)
}

// ReadLink parses a link of a chain in the same way.
func ReadLink(raw []byte) (Link, error) {
	var l Link
	return l, decodeExact(raw, &l)
}

// decodeExact decodes a value and checks that the text holds nothing else.
func decodeExact(raw []byte, into any) error {
	if err := jcs.Check(raw); err != nil {
		return err
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return err
	}
	said, err := jcs.Canonical(json.RawMessage(raw))
	if err != nil {
		return err
	}
	read, err := jcs.Canonical(into)
	if err == nil && !bytes.Equal(said, read) {
		err = ErrOther
	}
	return err
}
