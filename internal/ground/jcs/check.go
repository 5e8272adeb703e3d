package jcs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Check returns the reason why a text has no canonical form: it is not one JSON value, or one of its objects has a
// member twice.
func Check(raw json.RawMessage) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var open []object
	for {
		t, err := dec.Token()
		switch {
		case errors.Is(err, io.EOF) && len(open) == 0:
			return nil
		case err != nil:
			return fmt.Errorf("not JSON: %w", err)
		}
		if n := len(open); n > 0 && open[n-1].expects(t) {
			name, _ := t.(string)
			if open[n-1].names[name] {
				return fmt.Errorf("the member %q stands twice", name)
			}
			open[n-1].names[name] = true
			continue
		}
		switch t {
		case json.Delim('{'):
			open = append(open, object{names: map[string]bool{}})
		case json.Delim('['):
			open = append(open, object{})
		case json.Delim('}'), json.Delim(']'):
			open = open[:len(open)-1]
		}
		if n := len(open); n > 0 && t != json.Delim('{') && t != json.Delim('[') {
			open[n-1].inValue = false // the token was, or ended, a member's value
		}
	}
}

// object is an open object or, with nil names, an open list.
type object struct {
	names   map[string]bool
	inValue bool
}

// expects reports whether a token is a member's name, and records that its value follows.
func (o *object) expects(t json.Token) bool {
	if o.names == nil || o.inValue || t == json.Delim('}') {
		return false
	}
	o.inValue = true
	return true
}
