package ref

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// Limits of a label.
const (
	maxLabel  = 120 // characters
	mostParts = 4
)

// nameLike are the members that say best what a thing is.
var nameLike = []string{"name", "title", "label", "nombre", "título", "titulo"}

// secretLike are parts of the names of members that may hold a secret, which nobody
// needs to tell one thing from another.
var secretLike = []string{
	"password", "passwd", "passphrase", "secret", "token", "apikey", "api_key", "api-key", "accesskey", "access_key", "privatekey", "private_key",
	"credential", "authorization", "cookie", "contraseña", "contrasena", "clave", "cvv", "cvc",
}

// Around returns what a reference names, and what a person would call the thing
// that it is of: the first scalar members of the object that holds it, those that
// are names first ("Sala Norte, 6"), in one line of at most 120 characters, and none
// that may be a secret. It is ErrUnresolved when the reference names nothing.
func Around(r Reference, look Lookup) (json.RawMessage, string, error) {
	rs := newResults(look)
	v, err := rs.follow(r)
	if err != nil {
		return nil, "", err
	}
	holder, itself := v, ""
	if n := len(r.Path); r.Part == "body" && n > 0 && !isObject(v) && !r.Path[n-1].IsIdx {
		itself = r.Path[n-1].Name
		if holder, err = rs.follow(Reference{Step: r.Step, Part: r.Part, Path: r.Path[:n-1]}); err != nil {
			return nil, "", err
		}
	}
	return v, label(holder, itself), nil
}

type member struct{ name, text string }

// label is what the scalar members of an object say of it. The one that is named
// already counts only when there is no other.
func label(holder json.RawMessage, itself string) string {
	members := slices.DeleteFunc(scalars(holder), secretly)
	others := slices.DeleteFunc(slices.Clone(members), func(m member) bool { return m.name == itself })
	if len(others) > 0 {
		members = others
	}
	slices.SortStableFunc(members, func(a, b member) int { return rank(a.name) - rank(b.name) })
	var said []string
	for _, m := range members[:min(mostParts, len(members))] {
		said = append(said, m.text)
	}
	line := Line(strings.Join(said, ", "))
	if runes := []rune(line); len(runes) > maxLabel {
		return string(runes[:maxLabel-1]) + "…"
	}
	return line
}

func secretly(m member) bool { return secret(m.name) }

// Secret reports whether what a reference names may be a secret, by its name.
func (r Reference) Secret() bool {
	return slices.ContainsFunc(r.Path, func(s Segment) bool { return secret(s.Name) })
}

// Secretive reports whether a value has a member, however deep, that may hold a secret.
func Secretive(v json.RawMessage) bool {
	dec := json.NewDecoder(bytes.NewReader(v))
	type level struct{ object, name bool } // in an object, and whether its next text is a name
	var open []level
	for {
		t, err := dec.Token()
		if err != nil {
			return false
		}
		last := len(open) - 1
		if d, ok := t.(json.Delim); ok {
			if d == '}' || d == ']' {
				open = open[:last]
				last--
			} else {
				open = append(open, level{object: d == '{', name: d == '{'})
				continue
			}
		} else if last >= 0 && open[last].name {
			if name, ok := t.(string); ok && secret(name) {
				return true
			}
			open[last].name = false
			continue
		}
		if last >= 0 && open[last].object {
			open[last].name = true
		}
	}
}

func secret(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(secretLike, func(part string) bool { return strings.Contains(name, part) })
}

func rank(name string) int {
	if i := slices.Index(nameLike, strings.ToLower(name)); i >= 0 {
		return i
	}
	return len(nameLike)
}

// scalars are the members of an object that are texts, numbers or truths, in their
// order; of a scalar, itself.
func scalars(raw json.RawMessage) []member {
	if !isObject(raw) {
		if s, err := scalarText(raw); err == nil {
			return []member{{text: s}}
		}
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	var members []member
	if _, err := dec.Token(); err != nil {
		return nil
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return members
		}
		var v json.RawMessage
		if dec.Decode(&v) != nil {
			return members
		}
		if s, err := scalarText(v); err == nil && Line(s) != "" {
			members = append(members, member{name.(string), s})
		}
	}
	return members
}

func isObject(raw json.RawMessage) bool { return bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{")) }
