package ref

import "encoding/json"

// Condition is a small boolean over results: one comparison, or All, Any or Not of
// some.
type Condition struct {
	Value string          `json:"value,omitempty"` // one reference and nothing else: "${s1.status}"
	Is    Comparison      `json:"is,omitempty"`
	To    json.RawMessage `json:"to,omitempty"` // a scalar, or one reference; of present and absent none
	All   []Condition     `json:"all,omitempty"`
	Any   []Condition     `json:"any,omitempty"`
	Not   *Condition      `json:"not,omitempty"`
}

// Comparison is how two values are compared.
type Comparison string

// The comparisons. Numbers are compared exactly, as decimals; less and more also
// compare two texts, as Unicode has them. Values of different types are not equal,
// and neither less nor more.
const (
	Equal    Comparison = "equal"
	NotEqual Comparison = "not_equal"
	Less     Comparison = "less"
	AtMost   Comparison = "at_most"
	More     Comparison = "more"
	AtLeast  Comparison = "at_least"
	Present  Comparison = "present" // it names something that is not null
	Absent   Comparison = "absent"
)

// Limits of a condition.
const (
	maxConditionDepth = 5
	maxComparisons    = 20
)
