package ref

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"piloto/internal/ground/clip"
)

// Condition is a small boolean expression over results: one comparison, or All, Any or Not of conditions.
type Condition struct {
	Value string          `json:"value,omitempty"` // exactly one reference: "${s1.status}"
	Is    Comparison      `json:"is,omitempty"`
	To    json.RawMessage `json:"to,omitempty"` // a scalar, or one reference; empty for present and absent
	All   []Condition     `json:"all,omitempty"`
	Any   []Condition     `json:"any,omitempty"`
	Not   *Condition      `json:"not,omitempty"`
}

// Comparison names how two values are compared.
type Comparison string

// The comparisons. Numbers are compared exactly, as decimals; less and more also compare two texts, by code points.
// Values of different types are not equal, and neither less nor more.
const (
	Equal    Comparison = "equal"
	NotEqual Comparison = "not_equal"
	Less     Comparison = "less"
	AtMost   Comparison = "at_most"
	More     Comparison = "more"
	AtLeast  Comparison = "at_least"
	Present  Comparison = "present" // the value exists and is not null
	Absent   Comparison = "absent"
)

// Limits of a condition.
const (
	maxConditionDepth = 5
	maxComparisons    = 20
)

var symbols = map[Comparison]string{
	Equal: "=", NotEqual: "≠", Less: "<", AtMost: "≤", More: ">", AtLeast: "≥", Present: "∃", Absent: "∄",
}

func (c Comparison) isUnary() bool    { return c == Present || c == Absent }
func (c Comparison) isOrdering() bool { return c == Less || c == AtMost || c == More || c == AtLeast }

// Check returns the fault of the condition as it is written. It does not read the results.
func (c Condition) Check() error {
	n := 0
	return c.check(1, &n)
}

func (c Condition) check(depth int, comparisons *int) error {
	if depth > maxConditionDepth {
		return fmt.Errorf("a condition is at most %d deep", maxConditionDepth)
	}
	forms := 0
	for _, has := range []bool{c.Value != "" || c.Is != "" || len(c.To) > 0, len(c.All) > 0, len(c.Any) > 0, c.Not != nil} {
		if has {
			forms++
		}
	}
	if forms != 1 {
		return errors.New("a condition is one of value (with is and to), all, any, not")
	}
	if parts := c.parts(); len(parts) > 0 {
		for _, p := range parts {
			if err := p.check(depth+1, comparisons); err != nil {
				return err
			}
		}
		return nil
	}
	if *comparisons++; *comparisons > maxComparisons {
		return fmt.Errorf("a condition has at most %d comparisons", maxComparisons)
	}
	return c.checkComparison()
}

// parts returns the conditions inside this one; a comparison has none.
func (c Condition) parts() []Condition {
	if c.Not != nil {
		return []Condition{*c.Not}
	}
	return append(append([]Condition{}, c.All...), c.Any...)
}

func (c Condition) checkComparison() error {
	if _, err := wholeReference(c.Value); err != nil {
		return fmt.Errorf("value: %w", err)
	}
	if _, known := symbols[c.Is]; !known {
		return fmt.Errorf("is: %q is no comparison; they are equal, not_equal, less, at_most, more, at_least, present and absent", c.Is)
	}
	if c.Is.isUnary() {
		if len(c.To) > 0 {
			return fmt.Errorf("to: %s compares with nothing", c.Is)
		}
		return nil
	}
	if len(c.To) == 0 {
		return fmt.Errorf("to: %s needs something to compare with", c.Is)
	}
	to, err := c.operand()
	if err != nil {
		return fmt.Errorf("to: %w", err)
	}
	if to.ref == nil && c.Is.isOrdering() && to.literal.kind != number && to.literal.kind != text {
		return fmt.Errorf("to: only numbers and texts are %s", c.Is)
	}
	return nil
}

// operand is the second value of a comparison: a literal, or a reference.
type operand struct {
	ref     *Reference
	literal value
}

func (c Condition) operand() (operand, error) {
	v, err := valueOf(c.To)
	if err != nil {
		return operand{}, err
	}
	switch v.kind {
	case object, list:
		return operand{}, errors.New("a text, a number, true, false, null or one reference, and not an object or a list")
	case number:
		if v.number == nil {
			return operand{}, fmt.Errorf("%s is too large or too small a number", c.To)
		}
	case text:
		return operandOf(v)
	}
	return operand{literal: v}, nil
}

// operandOf parses a text: one reference, or a literal in which "$${" is "${".
func operandOf(v value) (operand, error) {
	parts, err := split(v.text)
	if err != nil {
		return operand{}, err
	}
	if len(parts) == 1 && parts[0].ref != nil {
		return operand{ref: parts[0].ref}, nil
	}
	v.text = ""
	for _, p := range parts {
		if p.ref != nil {
			return operand{}, errors.New("a reference stands alone here, with no text around it")
		}
		v.text += p.text
	}
	return operand{literal: v}, nil
}

func wholeReference(s string) (Reference, error) {
	parts, err := split(s)
	if err != nil {
		return Reference{}, err
	}
	if len(parts) != 1 || parts[0].ref == nil {
		return Reference{}, fmt.Errorf("%q is not one reference such as ${s1.status}", s)
	}
	return *parts[0].ref, nil
}

// References returns every reference of the condition, in order.
func (c Condition) References() ([]Reference, error) {
	var refs []Reference
	for _, p := range c.parts() {
		found, err := p.References()
		if err != nil {
			return nil, err
		}
		refs = append(refs, found...)
	}
	if c.Value != "" {
		r, err := wholeReference(c.Value)
		if err != nil {
			return nil, err
		}
		refs = append(refs, r)
	}
	if len(c.To) > 0 {
		to, err := c.operand()
		if err != nil {
			return nil, err
		}
		if to.ref != nil {
			refs = append(refs, *to.ref)
		}
	}
	return refs, nil
}

// Text writes the condition in symbols, which need no translation: "s1.status = 200 ∧ ¬(s1.body.x ∃)".
func (c Condition) Text() string {
	switch {
	case c.Not != nil:
		return "¬(" + c.Not.Text() + ")"
	case len(c.All) > 0:
		return joinConditions(c.All, " ∧ ")
	case len(c.Any) > 0:
		return joinConditions(c.Any, " ∨ ")
	}
	said := strings.TrimSuffix(strings.TrimPrefix(c.Value, "${"), "}") + " " + symbols[c.Is]
	if len(c.To) == 0 {
		return clip.Line(said)
	}
	if to, err := c.operand(); err == nil && to.ref != nil {
		return clip.Line(said + " " + to.ref.String())
	}
	return clip.Line(said + " " + string(bytes.TrimSpace(c.To)))
}

func joinConditions(list []Condition, by string) string {
	said := make([]string, len(list))
	for i, c := range list {
		said[i] = c.Text()
		if len(list) > 1 && len(c.All)+len(c.Any) > 1 {
			said[i] = "(" + said[i] + ")"
		}
	}
	return strings.Join(said, by)
}
