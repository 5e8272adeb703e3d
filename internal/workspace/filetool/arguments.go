package filetool

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
	kindText   = "string"
	kindNumber = "integer"
	kindFlag   = "boolean"
)

// param describes an argument. Its schema and the judgement of its value are made of the same description.
type param struct {
	name, kind string
	about      string
	required   bool
	oneOf      []string
	min, max   int  // of a number; of a text the most bytes. max 0: no limit
	oneLine    bool // a text without line ends
}

// paramPath is the argument that names a file.
func paramPath(about string) param {
	return param{name: "path", kind: kindText, about: about, required: true, max: 1_024, oneLine: true}
}

// schema returns the JSON Schema of an object with these members.
func schema(params []param) json.RawMessage {
	properties, required := map[string]any{}, []string{}
	for _, p := range params {
		one := map[string]any{"type": p.kind, "description": p.about}
		if p.oneOf != nil {
			one["enum"] = p.oneOf
		}
		if p.kind == kindNumber {
			one["minimum"] = p.min
			if p.max > 0 {
				one["maximum"] = p.max
			}
		}
		if p.kind == kindText && p.required && p.min > 0 {
			one["minLength"] = p.min
		}
		properties[p.name] = one
		if p.required {
			required = append(required, p.name)
		}
	}
	text, err := json.Marshal(map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false})
	if err != nil {
		panic(err) // strings and numbers only
	}
	return text
}

// arguments are the values of a call, by name: string, int or bool.
type arguments map[string]any

func (a arguments) text(name string) string { v, _ := a[name].(string); return v }

func (a arguments) flag(name string) bool { v, _ := a[name].(bool); return v }

func (a arguments) number(name string, absent int) int {
	if v, ok := a[name].(int); ok {
		return v
	}
	return absent
}

// judge reads the arguments of a call, and returns all that is wrong with them.
func judge(params []param, raw json.RawMessage) (a arguments, wrong []string) {
	if len(bytes.TrimSpace(raw)) == 0 {
		raw = json.RawMessage(`{}`) // models send nothing for no arguments
	}
	members, ok := jcs.Members(raw)
	if !ok {
		return nil, []string{"they must be one JSON object, and this is none, or it ends early"}
	}
	a = arguments{}
	seen := map[string]bool{}
	for _, m := range members {
		i := slices.IndexFunc(params, func(p param) bool { return p.name == m.Name })
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
		if p.required && !seen[p.name] {
			wrong = append(wrong, p.name+" is missing")
		}
	}
	return a, wrong
}

func names(params []param) string {
	var all []string
	for _, p := range params {
		all = append(all, p.name)
	}
	return strings.Join(all, ", ")
}

// value reads one value, and says why it cannot be taken.
func (p param) value(raw json.RawMessage) (value any, why string) {
	switch p.kind {
	case kindText:
		return p.textValue(raw)
	case kindNumber:
		var n float64
		switch err := json.Unmarshal(raw, &n); {
		case err != nil || n != math.Trunc(n):
			return nil, "must be a whole number"
		case n < float64(p.min):
			return nil, fmt.Sprintf("must be at least %d", p.min)
		case p.max > 0 && n > float64(p.max) || n > math.MaxInt32:
			return nil, fmt.Sprintf("must be at most %d", p.max)
		}
		return int(n), ""
	}
	var v bool
	if json.Unmarshal(raw, &v) != nil {
		return nil, "must be true or false"
	}
	return v, ""
}

func (p param) textValue(raw json.RawMessage) (value any, why string) {
	var v string
	switch err := json.Unmarshal(raw, &v); {
	case err != nil:
		return nil, "must be a string"
	case jcs.HalfPair(raw):
		return nil, `has half of a character: a \ud800 to \udfff alone is no character`
	case strings.Contains(v, "\x00"):
		return nil, "has a zero byte: these tools write text"
	case len(v) < p.min:
		return nil, "must not be empty"
	case p.max > 0 && len(v) > p.max:
		return nil, fmt.Sprintf("must have at most %d bytes, and has %d", p.max, len(v))
	case p.oneLine && strings.ContainsAny(v, "\r\n"):
		return nil, "must be on one line"
	case p.oneOf != nil && !slices.Contains(p.oneOf, v):
		return nil, "must be " + strings.Join(p.oneOf, " or ")
	}
	return v, ""
}
