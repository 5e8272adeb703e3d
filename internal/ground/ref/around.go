package ref

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"piloto/internal/ground/clip"
	"piloto/internal/ground/jcs"
	"piloto/internal/ground/order"
)

// Limits of a label.
const (
	maxLabel  = 120 // characters
	mostParts = 4
)

// nameLike lists the members that name a thing best.
var nameLike = []string{"name", "title", "label", "nombre", "título", "titulo"}

// secretLike lists parts of member names that may hold a secret. A secret is never needed to distinguish things.
var secretLike = []string{
	"password", "passwd", "passphrase", "secret", "token", "apikey", "api_key", "api-key", "accesskey", "access_key", "privatekey", "private_key",
	"credential", "authorization", "cookie", "contraseña", "contrasena", "clave", "cvv", "cvc",
}

// ValueAndLabel returns the value of a reference, and a label of the thing that it belongs to: the first scalar members of
// the object that holds it, names first ("Sala Norte, 6"), in one line of at most 120 characters, without members
// that may be secret. It returns ErrUnresolved when the reference has no value.
func ValueAndLabel(r Reference, lookup Lookup) (json.RawMessage, string, error) {
	v, holder, itself, err := around(r, lookup)
	if err != nil {
		return nil, "", err
	}
	return v, label(holder, itself), nil
}

// FactsAround returns the facts of the thing that the value of a reference belongs to; none when it has no value or belongs
// to nothing.
func FactsAround(r Reference, lookup Lookup) []Fact {
	_, holder, itself, err := around(r, lookup)
	if err != nil {
		return nil
	}
	return Facts(holder, itself)
}

// around returns the value of a reference, and the object that holds it, in the member with the name itself.
func around(r Reference, lookup Lookup) (v, holder json.RawMessage, itself string, err error) {
	rs := newResults(lookup)
	if v, err = rs.follow(r); err != nil {
		return nil, nil, "", err
	}
	holder = v
	if n := len(r.Path); r.Part == "body" && n > 0 && !isObject(v) && !r.Path[n-1].IsIdx {
		itself = r.Path[n-1].Name
		holder, err = rs.follow(Reference{Step: r.Step, Part: r.Part, Path: r.Path[:n-1]})
	}
	return v, holder, itself, err
}

// Fact is a member of an object that describes its thing: a text, a number or a boolean.
type Fact struct {
	Name  string          `json:"name"`
	Value json.RawMessage `json:"value"`
}

// Limits of facts.
const (
	mostFacts   = 12
	longestFact = 160 // bytes of a value
)

// Facts returns the first facts of an object, in its order, without the member itself and without possible secrets.
func Facts(object json.RawMessage, itself string) (list []Fact) {
	if !isObject(object) {
		return nil
	}
	members, _ := jcs.Members(object)
	for _, m := range members {
		text, err := scalarText(m.Value)
		if err == nil && clip.Line(text) != "" && len(m.Value) <= longestFact && len(m.Name) <= longestFact && m.Name != itself && !isSecretName(m.Name) && len(list) < mostFacts {
			list = append(list, Fact(m))
		}
	}
	return list
}

// NameIn returns the fact that names a thing best, as NameOf does; "" when none does.
func NameIn(facts []Fact) string {
	object := map[string]any{}
	for _, f := range facts {
		var text string
		if json.Unmarshal(f.Value, &text) == nil {
			object[f.Name] = text
		}
	}
	return NameOf(object)
}

// NameOf returns the member that names the thing that an object describes, such as its title; "" when it has none.
func NameOf(object map[string]any) string {
	for _, like := range nameLike {
		for name, v := range object {
			if text, ok := v.(string); ok && strings.EqualFold(name, like) && clip.Line(text) != "" {
				return clip.Line(text)
			}
		}
	}
	return ""
}

type member struct{ name, text string }

// label returns a label from the scalar members of an object. The member itself is used only when there is no
// other.
func label(holder json.RawMessage, itself string) string {
	members := slices.DeleteFunc(scalars(holder), isSecretMember)
	others := slices.DeleteFunc(slices.Clone(members), func(m member) bool { return m.name == itself })
	if len(others) > 0 {
		members = others
	}
	order.By(members, func(a, b member) int { return rank(a.name) - rank(b.name) })
	var said []string
	for _, m := range members[:min(mostParts, len(members))] {
		said = append(said, m.text)
	}
	return clip.Runes(clip.Line(strings.Join(said, ", ")), maxLabel)
}

func isSecretMember(m member) bool { return isSecretName(m.name) }

// Secret reports whether the value of a reference may be a secret, by its name.
func (r Reference) Secret() bool {
	return slices.ContainsFunc(r.Path, func(s Segment) bool { return isSecretName(s.Name) })
}

// HoldsSecret reports whether a value has a member, at any depth, that may hold a secret.
func HoldsSecret(v json.RawMessage) bool {
	dec := json.NewDecoder(bytes.NewReader(v))
	type level struct{ object, name bool } // whether this is an object, and whether its next text is a name
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
			if name, ok := t.(string); ok && isSecretName(name) {
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

func isSecretName(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(secretLike, func(part string) bool { return strings.Contains(name, part) })
}

func rank(name string) int {
	if i := slices.Index(nameLike, strings.ToLower(name)); i >= 0 {
		return i
	}
	return len(nameLike)
}

// scalars returns the members of an object that are texts, numbers or booleans, in their order. For a scalar it
// returns the scalar itself.
func scalars(raw json.RawMessage) []member {
	if !isObject(raw) {
		if s, err := scalarText(raw); err == nil {
			return []member{{text: s}}
		}
		return nil
	}
	var members []member
	all, _ := jcs.Members(raw)
	for _, m := range all {
		if s, err := scalarText(m.Value); err == nil && clip.Line(s) != "" {
			members = append(members, member{m.Name, s})
		}
	}
	return members
}

func isObject(raw json.RawMessage) bool { return bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{")) }
