package jcs

import (
	"bytes"
	"encoding/json"
)

// Member is one member of a JSON object. Value is its text.
type Member struct {
	Name  string
	Value json.RawMessage
}

// Members returns the members of a JSON object in their order, duplicates too. ok is false for another value, and for an
// object that ends early; the list then has the members before.
func Members(object json.RawMessage) (list []Member, ok bool) {
	dec := json.NewDecoder(bytes.NewReader(object))
	if first, err := dec.Token(); err != nil || first != json.Delim('{') {
		return nil, false
	}
	for dec.More() {
		name, err := dec.Token()
		var m Member
		if err != nil || dec.Decode(&m.Value) != nil {
			return list, false
		}
		m.Name, _ = name.(string)
		list = append(list, m)
	}
	_, err := dec.Token()
	return list, err == nil
}
