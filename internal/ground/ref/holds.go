package ref

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// Holds reports whether the results fulfil the condition. A reference without a value is absent, and not_equal to
// every value; all other comparisons with it are false. A step without a result is an error, and so is a condition
// that Check refuses.
func (c Condition) Holds(lookup Lookup) (bool, error) {
	if err := c.Check(); err != nil {
		return false, err
	}
	return c.holds(newResults(lookup))
}

func (c Condition) holds(rs results) (bool, error) {
	if c.Not != nil {
		holds, err := c.Not.holds(rs)
		return !holds && err == nil, err
	}
	parts, wanted := c.All, false
	if len(c.Any) > 0 {
		parts, wanted = c.Any, true
	}
	if len(parts) == 0 {
		return c.compare(rs)
	}
	// Every part is evaluated, so that a missing result is always reported.
	found := false
	for _, p := range parts {
		holds, err := p.holds(rs)
		if err != nil {
			return false, err
		}
		found = found || holds == wanted
	}
	return found == wanted, nil
}

// Fits reports whether the results have the form that the condition expects: each header that it names is there, and each body,
// with every member on the path to the named one. Only null and the end of a list end a path, because they say themselves that
// there is no more. Another form is another thing's answer: whether the condition holds for it proves nothing.
func (c Condition) Fits(lookup Lookup) bool { return c.fits(newResults(lookup)) }

func (c Condition) fits(rs results) bool {
	if parts := c.parts(); len(parts) > 0 {
		return !slices.ContainsFunc(parts, func(p Condition) bool { return !p.fits(rs) })
	}
	refs, err := c.References()
	return err == nil && !slices.ContainsFunc(refs, func(r Reference) bool { return !rs.leads(r) })
}

// leads reports whether a reference leads to a value, to null or to the end of a list.
func (rs results) leads(r Reference) bool {
	_, err := rs.follow(r)
	for at := len(r.Path); err != nil && r.Part == "body" && at > 0; at-- {
		before := r
		before.Path = r.Path[:at-1]
		var v json.RawMessage
		if v, err = rs.follow(before); err == nil {
			isNull := string(bytes.TrimSpace(v)) == "null"
			return isNull || r.Path[at-1].IsIdx && rs.open(before, v).list != nil
		}
	}
	return err == nil
}

// Proven reports whether the condition holds because of values of the results, and not only because a value is missing:
// not_equal, and the opposite of a comparison, hold for every missing value. The end of a list and null prove that there is
// nothing; null is otherwise no value.
func (c Condition) Proven(lookup Lookup) bool {
	return c.Check() == nil && c.proven(newResults(lookup), true)
}

// proven reports whether the results prove that the condition holds, or that it does not.
func (c Condition) proven(rs results, holding bool) bool {
	if c.Not != nil {
		return c.Not.proven(rs, !holding)
	}
	parts := c.parts()
	isProven := func(p Condition) bool { return p.proven(rs, holding) }
	switch {
	case len(parts) == 0:
		holds, err := c.compare(rs)
		return err == nil && holds == holding && c.compares(rs)
	case holding == (len(c.All) > 0):
		return !slices.ContainsFunc(parts, func(p Condition) bool { return !isProven(p) })
	}
	return slices.ContainsFunc(parts, isProven)
}

// compares reports whether the values that a comparison compares are there, and of types that can be compared so.
func (c Condition) compares(rs results) bool {
	if c.Is.isUnary() {
		return c.fits(rs)
	}
	r, errOfValue := wholeReference(c.Value)
	to, err := c.operand()
	if errOfValue != nil || err != nil {
		return false
	}
	a, found, _ := rs.lookup(r)
	b, known := to.literal, true
	if to.ref != nil {
		b, known, _ = rs.lookup(*to.ref)
		known = known && b.kind != null
	}
	if !found || !known || a.kind == null && b.kind != null {
		return false
	}
	_, comparable := a.order(b)
	return comparable || !c.Is.isOrdering()
}

func (c Condition) compare(rs results) (bool, error) {
	r, err := wholeReference(c.Value)
	if err != nil {
		return false, err
	}
	a, found, err := rs.lookup(r)
	if err != nil {
		return false, err
	}
	there := found && a.kind != null
	if c.Is.isUnary() {
		return there == (c.Is == Present), nil
	}
	to, err := c.operand()
	if err != nil {
		return false, err
	}
	b, known := to.literal, true
	if to.ref != nil {
		if b, known, err = rs.lookup(*to.ref); err != nil {
			return false, err
		}
	}
	if !found || !known {
		return c.Is == NotEqual, nil
	}
	switch c.Is {
	case Equal:
		return equal(a, b), nil
	case NotEqual:
		return !equal(a, b), nil
	}
	order, comparable := a.order(b)
	if !comparable {
		return false, nil
	}
	switch c.Is {
	case Less:
		return order < 0, nil
	case AtMost:
		return order <= 0, nil
	case More:
		return order > 0, nil
	}
	return order >= 0, nil
}

// lookup returns the value of a reference, and whether it exists.
func (rs results) lookup(r Reference) (value, bool, error) {
	if _, known := rs.lookUp(r.Step); !known {
		return value{}, false, noResult(r)
	}
	raw, err := rs.follow(r)
	if errors.Is(err, ErrUnresolved) {
		return value{}, false, nil
	}
	if err != nil {
		return value{}, false, err
	}
	v, err := valueOf(raw)
	return v, err == nil, err
}

// kind is the type of a JSON value.
type kind int

const (
	null kind = iota
	boolean
	number
	text
	object
	list
)

// value is a parsed JSON value. number is nil when it is too large to be stored exactly; it then equals only a
// number that is written alike.
type value struct {
	kind   kind
	raw    json.RawMessage
	text   string
	number *big.Rat
}

func valueOf(raw json.RawMessage) (value, error) {
	raw = bytes.TrimSpace(raw)
	if !json.Valid(raw) {
		return value{}, errors.New("not a JSON value")
	}
	v := value{raw: raw}
	switch raw[0] {
	case 'n':
	case 't', 'f':
		v.kind = boolean
	case '"':
		v.kind = text
		return v, json.Unmarshal(raw, &v.text)
	case '{':
		v.kind = object
	case '[':
		v.kind = list
	default:
		v.kind, v.number = number, decimal(string(raw))
	}
	return v, nil
}

// Limits of a number that is compared exactly: a short text can name a number of a thousand million digits.
const (
	maxDigits   = 1000
	maxExponent = 1000
)

func decimal(s string) *big.Rat {
	digits, exponent := s, ""
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		digits, exponent = s[:i], s[i+1:]
	}
	if len(digits) > maxDigits {
		return nil
	}
	if exponent != "" {
		if e, err := strconv.Atoi(exponent); err != nil || e > maxExponent || e < -maxExponent {
			return nil
		}
	}
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		return nil
	}
	return r
}

// order compares two numbers or two texts, and returns false for other values.
func (v value) order(w value) (int, bool) {
	switch {
	case v.kind == number && w.kind == number && v.number != nil && w.number != nil:
		return v.number.Cmp(w.number), true
	case v.kind == text && w.kind == text:
		return strings.Compare(v.text, w.text), true // UTF-8 sorts by code points
	}
	return 0, false
}

// equal reports whether two values are the same: of one kind, and for objects in any order of members.
func equal(v, w value) bool {
	if v.kind != w.kind {
		return false
	}
	if order, comparable := v.order(w); comparable {
		return order == 0
	}
	if v.kind == object || v.kind == list {
		return sameTree(tree(v.raw), tree(w.raw))
	}
	return bytes.Equal(v.raw, w.raw)
}

// tree parses a JSON value once, so that comparing a deep value takes no longer than parsing it.
func tree(raw json.RawMessage) any {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	_ = dec.Decode(&v) // it was validated
	return v
}

func sameTree(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for name, v := range a {
			if w, has := b[name]; !has || !sameTree(v, w) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, sameTree)
	case json.Number:
		b, ok := b.(json.Number)
		if !ok {
			return false
		}
		x, y := decimal(a.String()), decimal(b.String())
		if x == nil || y == nil {
			return a == b
		}
		return x.Cmp(y) == 0
	}
	return a == b
}

// Same reports whether two JSON values are the same: numbers exactly, objects in any order of members.
func Same(a, b json.RawMessage) bool {
	v, errV := valueOf(a)
	w, errW := valueOf(b)
	return errV == nil && errW == nil && equal(v, w)
}
