package filespec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"piloto/internal/ground/jcs"
)

// The kinds of arguments, as JSON Schema names them.
const (
	KindText   = "string"
	KindNumber = "integer"
	KindFlag   = "boolean"
)

// A Param describes an argument. Its schema and the judgement of its value are made of the same description.
type Param struct {
	Name, Kind string
	About      string
	Required   bool
	OneOf      []string
	Min, Max   int  // of a number; of a text the most bytes. Max 0: no limit
	OneLine    bool // a text without line ends
}

// Schema returns the JSON Schema of the arguments, in the order of Params: a model writes them in this order, and what is cut at
// its end is a content.
func (s Spec) Schema() json.RawMessage {
	var properties []string
	required := []string{}
	for _, p := range s.Params {
		one := map[string]any{"type": p.Kind, "description": p.About}
		if p.OneOf != nil {
			one["enum"] = p.OneOf
		}
		if p.Kind == KindNumber {
			one["minimum"] = p.Min
			if p.Max > 0 {
				one["maximum"] = p.Max
			}
		}
		if p.Kind == KindText && p.Required && p.Min > 0 {
			one["minLength"] = p.Min
		}
		properties = append(properties, encode(p.Name)+":"+encode(one))
		if p.Required {
			required = append(required, p.Name)
		}
	}
	return json.RawMessage(`{"type":"object","properties":{` + strings.Join(properties, ",") + `},"required":` + encode(required) + `,"additionalProperties":false}`)
}

func encode(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings and numbers only
	}
	return string(text)
}

// Arguments are the values of a call, by name: string, int or bool.
type Arguments map[string]any

// Text returns an argument that is a text; "" if it is absent.
func (a Arguments) Text(name string) string { v, _ := a[name].(string); return v }

// Flag returns an argument that is a flag; false if it is absent.
func (a Arguments) Flag(name string) bool { v, _ := a[name].(bool); return v }

// Number returns an argument that is a number; absent if it is absent.
func (a Arguments) Number(name string, absent int) int {
	if v, ok := a[name].(int); ok {
		return v
	}
	return absent
}

// Judge reads the arguments of a call, and returns all that is wrong with them.
func (s Spec) Judge(raw json.RawMessage) (a Arguments, wrong []string) {
	params := s.Params
	if len(bytes.TrimSpace(raw)) == 0 {
		raw = json.RawMessage(`{}`) // models send nothing for no arguments
	}
	members, ok := jcs.Members(raw)
	if !ok {
		return nil, []string{"they must be one JSON object, and this is none, or it ends early"}
	}
	a = Arguments{}
	seen := map[string]bool{}
	for _, m := range members {
		i := slices.IndexFunc(params, func(p Param) bool { return p.Name == m.Name })
		switch {
		case i < 0:
			wrong = append(wrong, fmt.Sprintf("%.60q is no argument of this tool (it has %s)", m.Name, names(params)))
		case seen[m.Name]:
			wrong = append(wrong, m.Name+" stands twice")
		case string(m.Value) == "null": // as if it were absent
		default:
			value, why := params[i].value(m.Value)
			if why != "" {
				wrong = append(wrong, m.Name+" "+why)
			}
			seen[m.Name], a[m.Name] = true, value
		}
	}
	for _, p := range params {
		if p.Required && !seen[p.Name] {
			wrong = append(wrong, p.Name+" is missing")
		}
	}
	return a, wrong
}

func names(params []Param) string {
	var all []string
	for _, p := range params {
		all = append(all, p.Name)
	}
	return strings.Join(all, ", ")
}

// value reads one value, and says why it cannot be taken.
func (p Param) value(raw json.RawMessage) (value any, why string) {
	switch p.Kind {
	case KindText:
		return p.textValue(raw)
	case KindNumber:
		var n float64
		switch err := json.Unmarshal(raw, &n); {
		case err != nil || n != math.Trunc(n):
			return nil, "must be a whole number"
		case n < float64(p.Min):
			return nil, fmt.Sprintf("must be at least %d", p.Min)
		case p.Max > 0 && n > float64(p.Max) || n > math.MaxInt32:
			return nil, fmt.Sprintf("must be at most %d", p.Max)
		}
		return int(n), ""
	}
	var v bool
	if json.Unmarshal(raw, &v) != nil {
		return nil, "must be true or false"
	}
	return v, ""
}

func (p Param) textValue(raw json.RawMessage) (value any, why string) {
	var v string
	switch err := json.Unmarshal(raw, &v); {
	case err != nil:
		return nil, "must be a string"
	case jcs.HalfPair(raw):
		return nil, `has half of a character: a \ud800 to \udfff alone is no character`
	case strings.Contains(v, "\x00"):
		return nil, "has a zero byte: these tools write text"
	case len(v) < p.Min:
		return nil, "must not be empty"
	case p.Max > 0 && len(v) > p.Max:
		return nil, fmt.Sprintf("must have at most %d bytes, and has %d", p.Max, len(v))
	case p.OneLine && strings.ContainsAny(v, "\r\n"):
		return nil, "must be on one line"
	case p.OneOf != nil && !slices.Contains(p.OneOf, v):
		return nil, "must be " + strings.Join(p.OneOf, " or ")
	}
	return v, ""
}
