package receipt

import (
	"bytes"
	"encoding/json"
	"errors"

	"piloto/internal/ground/jcs"
)

// ErrOther says that a text holds more than what was given out, or says it in other words.
var ErrOther = errors.New("it holds more than was signed: a member of another name, or of one in other letters, or one that is missing")

// Read reads a receipt. All that stands in the text is in what is returned, so that who
// looks at the text sees nothing that Verify did not: a member of another name, or a
// second one that differs in letter case, would be neither counted nor signed.
func Read(raw []byte) (Receipt, error) {
	var r Receipt
	return r, all(raw, &r)
}

// ReadLink reads a link of a chain in the same way.
func ReadLink(raw []byte) (Link, error) {
	var l Link
	return l, all(raw, &l)
}

// all reads a value and holds the text to what was read of it.
func all(raw []byte, into any) error {
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
