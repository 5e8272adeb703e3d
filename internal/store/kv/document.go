package kv

import (
	"encoding/json"
	"errors"
	"fmt"

	"piloto/internal/ground/fault"
)

// Format is the number of the format in which everything is stored. A data folder says it in one row; the row of a run and
// that of a wallet say it in the attribute "v". Nothing of another format is read or changed: neither of an older one
// nor of a newer one.
const Format = 6

// ErrFormat is a row, or a table, of another format.
var ErrFormat = fault.New(fault.Internal, "storage_format")

// ErrUnreadable is a row that is there and cannot be read: it is damaged, or of another format (ErrFormat, too).
var ErrUnreadable = errors.New("kv: the row cannot be read")

// Document is a kind of JSON value that rows keep in one attribute, as bytes. Every field of T
// has a JSON name of its own, so that renaming it in Go changes nothing that is stored.
type Document[T any] struct{ Name string }

// Encode returns v as JSON.
func (d Document[T]) Encode(v T) ([]byte, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("kv: encode %s: %w", d.Name, err)
	}
	return raw, nil
}

// Decode reads JSON; ErrUnreadable.
func (d Document[T]) Decode(raw []byte) (T, error) {
	var v T
	if err := json.Unmarshal(raw, &v); err != nil {
		return v, fmt.Errorf("%w: decode %s: %w", ErrUnreadable, d.Name, err)
	}
	return v, nil
}

// Pack returns v as JSON, compressed when that is shorter.
func (d Document[T]) Pack(v T) ([]byte, error) {
	raw, err := d.Encode(v)
	if err != nil {
		return nil, err
	}
	return Zip(raw)
}

// Unpack reads the bytes that Pack returned; ErrUnreadable.
func (d Document[T]) Unpack(packed []byte) (T, error) {
	raw, err := Unzip(packed)
	if err != nil {
		var none T
		return none, fmt.Errorf("%w: decode %s: %w", ErrUnreadable, d.Name, err)
	}
	return d.Decode(raw)
}
