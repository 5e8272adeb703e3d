package ref

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/jcs"
)

// Result holds the parts of a finished step that a reference can name.
type Result struct {
	Status  int
	Headers map[string]string
	Body    json.RawMessage
}

// Lookup returns the result of a step, and false when there is none yet. For "item" it returns the current element
// of a list, as a Body.
type Lookup func(step string) (Result, bool)

// The faults of a reference whose value cannot be used. The locale files hold their sentences under the same codes.
var (
	ErrUnresolved = fault.Reason("ref.unresolved") // it has no value: Args["reference"], and the fault "why"
	ErrForm       = fault.Reason("ref.form")       // its value is no text, number or boolean: Args["reference"]
	ErrTooLarge   = fault.Reason("ref.too_large")  // with the values the text is too large: Args["most"], in bytes
)

// maxResolved limits the size of a text after its references are replaced, in bytes: a small plan can refer to a
// large result thousands of times.
const maxResolved = 1 << 20

var errTooLarge = ErrTooLarge.With("most", strconv.Itoa(maxResolved))

// unresolved returns ErrUnresolved for a reference, with the reason.
func unresolved(r Reference, why *fault.Error) error {
	return ErrUnresolved.With("reference", "${"+r.String()+"}").WithFault("why", why)
}

// noResult returns ErrUnresolved: the step of the reference has no result yet.
func noResult(r Reference) error {
	if r.Step == item {
		return unresolved(r, fault.Reason("ref.no_element"))
	}
	return unresolved(r, fault.Reason("ref.no_result").With("step", r.Step))
}

// ResolveText replaces every reference in a text by its value as text. literal, when given, is applied to the text
// between references, and escape to each replacement. Objects and arrays cannot stand inside text. The error is one of the
// faults of a reference, or that of a text with a malformed one.
func ResolveText(text string, lookup Lookup, literal, escape func(string) string) (string, error) {
	return newResults(lookup).text(text, literal, escape)
}

// ResolveKnownText does the same as ResolveText for the references to results that there are. The others stay, and a reference
// inside a value is literal.
func ResolveKnownText(text string, lookup Lookup, literal, escape func(string) string) (string, error) {
	return newKnown(lookup).text(text, literal, escape)
}

func (rs results) text(text string, literal, escape func(string) string) (string, error) {
	parts, err := split(text)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, p := range parts {
		if p.ref == nil {
			if literal != nil {
				p.text = literal(p.text)
			}
			b.WriteString(rs.written(p.text))
			continue
		}
		if rs.later(*p.ref) {
			b.WriteString("${" + p.ref.String() + "}")
			continue
		}
		s, err := rs.scalar(*p.ref)
		if err != nil {
			return "", err
		}
		if escape != nil {
			s = escape(s)
		}
		if s = rs.written(s); b.Len()+len(s) > maxResolved {
			return "", errTooLarge
		}
		b.WriteString(s)
	}
	return b.String(), nil
}

// scalar returns the value of a reference as text.
func (rs results) scalar(r Reference) (string, error) {
	v, err := rs.follow(r)
	if err != nil {
		return "", err
	}
	text, why := scalarText(v)
	switch {
	case why == nil:
		return text, nil
	case why.Is(ErrForm):
		return "", why.With("reference", "${"+r.String()+"}")
	}
	return "", unresolved(r, why)
}

// ResolveJSON replaces every reference in the string values of a JSON text. An empty text stays empty.
func ResolveJSON(raw json.RawMessage, lookup Lookup) (json.RawMessage, error) {
	return newResults(lookup).json(raw)
}

// ResolveKnownJSON does the same as ResolveJSON for the references to results that there are. The others stay, and a reference
// inside a value is literal.
func ResolveKnownJSON(raw json.RawMessage, lookup Lookup) (json.RawMessage, error) {
	return newKnown(lookup).json(raw)
}

func (rs results) json(raw json.RawMessage) (json.RawMessage, error) {
	size := len(raw)
	return mapStrings(raw, func(s string) (json.RawMessage, error) {
		v, err := rs.value(s)
		if size += len(v) - len(s); err == nil && size > maxResolved {
			return nil, errTooLarge
		}
		return v, err
	})
}

// Values returns the value of a reference, and false when it is not known.
type Values func(Reference) (json.RawMessage, bool)

// FillText does the same as ResolveKnownText for the references whose values are known.
func FillText(text string, by Values, escape func(string) string) (string, error) {
	return newFilled(by).text(text, nil, escape)
}

// FillJSON does the same as ResolveKnownJSON for the references whose values are known.
func FillJSON(raw json.RawMessage, by Values) (json.RawMessage, error) {
	return newFilled(by).json(raw)
}

// Literal returns a JSON text in which no string value is read as a reference.
func Literal(raw json.RawMessage) (json.RawMessage, error) {
	return mapStrings(raw, func(s string) (json.RawMessage, error) { return jcs.Marshal(strings.ReplaceAll(s, "${", "$${")) })
}

// Replace replaces every reference in the string values of a JSON text by the result of by: a number, true or false.
func Replace(raw json.RawMessage, by func(Reference) json.RawMessage) (json.RawMessage, error) {
	return mapStrings(raw, func(s string) (json.RawMessage, error) {
		parts, err := split(s)
		if err != nil {
			return nil, err
		}
		if len(parts) == 1 && parts[0].ref != nil {
			return by(*parts[0].ref), nil
		}
		var b strings.Builder
		for _, p := range parts {
			b.WriteString(p.text)
			if p.ref != nil {
				b.Write(by(*p.ref))
			}
		}
		return jcs.Marshal(b.String())
	})
}

// value returns the JSON value that replaces a string value.
func (rs results) value(s string) (json.RawMessage, error) {
	parts, err := split(s)
	if err != nil {
		return nil, err
	}
	if len(parts) == 1 && parts[0].ref != nil {
		if rs.later(*parts[0].ref) {
			return nil, nil //nolint:nilnil // it stays
		}
		v, err := rs.follow(*parts[0].ref)
		if err == nil && rs.known {
			return Literal(v)
		}
		return v, err
	}
	text, err := rs.text(s, nil, nil)
	if err != nil {
		return nil, err
	}
	return jcs.Marshal(text)
}

// results caches the results that references name. Each part of a result is parsed once, however many references go
// through it.
type results struct {
	lookUp Lookup
	opened map[string]container // by the reference that names it
	by     Values               // instead of lookUp, where the values are known by their references
	known  bool                 // references without a result stay
}

func newResults(lookup Lookup) results {
	return results{lookUp: lookup, opened: map[string]container{}}
}

func newKnown(lookup Lookup) results {
	rs := newResults(lookup)
	rs.known = true
	return rs
}

func newFilled(by Values) results {
	return results{by: by, known: true}
}

// later reports whether a reference stays, because its step has no result yet, or its value is not known.
func (rs results) later(r Reference) bool {
	if !rs.known {
		return false
	}
	if rs.by != nil {
		_, has := rs.by(r)
		return !has
	}
	_, has := rs.lookUp(r.Step)
	return !has
}

// written returns a text beside references that stay: it has none itself.
func (rs results) written(text string) string {
	if !rs.known {
		return text
	}
	return strings.ReplaceAll(text, "${", "$${")
}

// container is an object or a list of a result; both fields are nil for a scalar.
type container struct {
	object map[string]json.RawMessage
	list   []json.RawMessage
}

func (rs results) follow(r Reference) (json.RawMessage, error) {
	if rs.by != nil {
		v, _ := rs.by(r) // later asked for it before
		return v, nil
	}
	res, ok := rs.lookUp(r.Step)
	if !ok {
		return nil, noResult(r)
	}
	switch r.Part {
	case "status":
		return json.RawMessage(strconv.Itoa(res.Status)), nil
	case "headers":
		for k, v := range res.Headers {
			if strings.EqualFold(k, r.Path[0].Name) {
				return jcs.Marshal(v)
			}
		}
		return nil, unresolved(r, fault.Reason("ref.no_header").With("step", r.Step).With("name", r.Path[0].Name))
	}
	v := res.Body
	if len(v) == 0 {
		return nil, unresolved(r, fault.Reason("ref.no_body").With("step", r.Step))
	}
	for i, seg := range r.Path {
		next, ok := rs.open(Reference{Step: r.Step, Part: r.Part, Path: r.Path[:i]}, v).down(seg)
		if !ok {
			return nil, unresolved(r, fault.Reason("ref.nothing_at").With("at", Reference{Step: r.Step, Part: r.Part, Path: r.Path[:i+1]}.String()))
		}
		v = next
	}
	return v, nil
}

// open parses the value of a reference.
func (rs results) open(r Reference, v json.RawMessage) container {
	name := r.String()
	c, ok := rs.opened[name]
	if !ok {
		if json.Unmarshal(v, &c.object) != nil {
			c = container{}
			_ = json.Unmarshal(v, &c.list) // a scalar has no parts
		}
		rs.opened[name] = c
	}
	return c
}

func (c container) down(seg Segment) (json.RawMessage, bool) {
	if seg.IsIdx {
		if seg.Index >= len(c.list) {
			return nil, false
		}
		return c.list[seg.Index], true
	}
	next, ok := c.object[seg.Name]
	return next, ok
}

// scalarText returns a scalar as text, or the reason why a value is no text: ErrForm, or one of ErrUnresolved.
func scalarText(v json.RawMessage) (string, *fault.Error) {
	v = bytes.TrimSpace(v)
	switch {
	case len(v) == 0 || v[0] == '{' || v[0] == '[':
		return "", ErrForm
	case jcs.HalfPair(v):
		return "", fault.Reason("ref.lost_character")
	case v[0] == '"':
		var s string
		if json.Unmarshal(v, &s) != nil {
			return "", fault.Reason("ref.lost_character")
		}
		return s, nil
	case string(v) == "null":
		return "", fault.Reason("ref.null")
	}
	return string(v), nil
}

// mapStrings replaces every string value of a JSON text; a nil replacement keeps it. Order, numbers and member
// names are unchanged.
func mapStrings(raw json.RawMessage, f func(string) (json.RawMessage, error)) (json.RawMessage, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return raw, nil
	}
	m := mapper{dec: json.NewDecoder(bytes.NewReader(raw)), f: f}
	m.dec.UseNumber()
	if err := m.value(); err != nil {
		return nil, err
	}
	if _, err := m.dec.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("more than one JSON value")
	}
	return m.out.Bytes(), nil
}

type mapper struct {
	dec *json.Decoder
	out bytes.Buffer
	f   func(string) (json.RawMessage, error)
}

func (m *mapper) value() error {
	t, err := m.dec.Token()
	if err != nil {
		return err
	}
	switch t := t.(type) {
	case json.Delim:
		return m.container(t)
	case string:
		v, err := m.f(t)
		if err != nil {
			return err
		}
		if v == nil {
			if v, err = jcs.Marshal(t); err != nil {
				return err
			}
		}
		m.out.Write(v)
	case json.Number:
		m.out.WriteString(t.String())
	case bool:
		m.out.WriteString(strconv.FormatBool(t))
	default:
		m.out.WriteString("null")
	}
	return nil
}

func (m *mapper) container(open json.Delim) error {
	m.out.WriteByte(byte(open))
	for n := 0; m.dec.More(); n++ {
		if n > 0 {
			m.out.WriteByte(',')
		}
		if open == '{' {
			name, err := m.dec.Token()
			if err != nil {
				return err
			}
			quoted, err := jcs.Marshal(name)
			if err != nil {
				return err
			}
			m.out.Write(quoted)
			m.out.WriteByte(':')
		}
		if err := m.value(); err != nil {
			return err
		}
	}
	end, err := m.dec.Token()
	if err != nil {
		return err
	}
	m.out.WriteByte(byte(end.(json.Delim)))
	return nil
}
