package jcs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/gowebpki/jcs"
)

// formerCanonical returns the canonical form as it was first written: in five passes, by the library.
func formerCanonical(v any) ([]byte, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("canon: encode: %w", err)
	}
	if err := formerCheck(raw); err != nil {
		return nil, fmt.Errorf("canon: %w", err)
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var tree any
	if err := dec.Decode(&tree); err != nil {
		return nil, fmt.Errorf("canon: read: %w", err)
	}
	if raw, err = json.Marshal(markInexact(tree)); err != nil {
		return nil, fmt.Errorf("canon: encode exact: %w", err)
	}
	form, err := jcs.Transform(raw)
	if err != nil {
		return nil, fmt.Errorf("canon: %w", err)
	}
	return form, nil
}

func markInexact(v any) any {
	switch v := v.(type) {
	case map[string]any:
		marked := make(map[string]any, len(v))
		for k, e := range v {
			if strings.HasSuffix(k, numberMark) && strings.Trim(k[:len(k)-len(numberMark)], "$") == "" {
				k = "$" + k
			}
			marked[k] = markInexact(e)
		}
		return marked
	case []any:
		for i, e := range v {
			v[i] = markInexact(e)
		}
	case json.Number:
		if !exactDouble(v.String()) {
			return map[string]any{numberMark: v.String()}
		}
	}
	return v
}

// formerCheck returns the reason why a text has no canonical form: it is not one JSON value, or one of its objects has a
// member twice.
func formerCheck(raw json.RawMessage) error {
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
