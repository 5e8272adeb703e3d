package demo

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// objection is one fault that a caller found in a call.
type objection struct {
	names []string // folded names of the parameters
	step  int      // number of the step, from 0; -1 when unknown
	part  string   // query, body or path; "" when unknown
	text  string   // folded
}

var (
	unknowns = regexp.MustCompile(`unknown|unexpected|not allowed|additional|unrecogni|unsupported|is not a (?:query parameter|property)|no permitid|desconocid|no se admite|no admitid|no es un (?:campo|parametro)|sobra`)
	absences = regexp.MustCompile(`required|missing|must have|put a value|falta|obligatori|requerid`)
)

// readObjections reads a tool's refusal: either {"problems": [{"where": "steps.0.body.date",
// "what": …}]}, or a sentence that names parameters.
func readObjections(reason string) []objection {
	var listed struct {
		Problems []struct{ Where, What string } `json:"problems"`
	}
	if json.Unmarshal([]byte(reason), &listed) == nil && len(listed.Problems) > 0 {
		var out []objection
		for _, p := range listed.Problems {
			o := objection{step: -1, text: fold(p.What)}
			where := strings.FieldsFunc(fold(p.Where), func(r rune) bool { return r == '.' || r == '/' })
			if len(where) > 1 && where[0] == "steps" {
				o.step, _ = strconv.Atoi(where[1])
				where = where[2:]
			}
			if len(where) > 1 {
				o.part, o.names = where[0], where[1:2]
			}
			out = append(out, o)
		}
		return out
	}
	text, _, _ := strings.Cut(fold(plainReason(reason)), "; known") // the known parameters are not at fault
	return []objection{{names: wholeWords(text), step: -1, text: text}}
}

// plainReason returns the sentence of an error object.
func plainReason(reason string) string {
	var object struct {
		Error    json.RawMessage                `json:"error"`
		Detail   string                         `json:"detail"`
		Text     string                         `json:"message"`
		Problems []struct{ Where, What string } `json:"problems"`
	}
	if json.Unmarshal([]byte(reason), &object) != nil {
		return reason
	}
	if len(object.Problems) > 0 {
		return strings.TrimSpace(object.Problems[0].Where + " " + object.Problems[0].What)
	}
	var inner string
	if json.Unmarshal(object.Error, &inner) != nil && len(object.Error) > 0 {
		inner = plainReason(string(object.Error))
	}
	return cmp.Or(inner, object.Detail, object.Text, reason)
}

// repairArguments returns the arguments of a call without the unknown members, "" when there are
// none, and the names of the missing values.
func repairArguments(arguments string, objections []objection, ops []operation) (string, []string) {
	var tree map[string]any
	if json.Unmarshal([]byte(arguments), &tree) != nil {
		return "", nil
	}
	dropped, missing := false, []string{}
	for _, o := range objections {
		switch {
		case unknowns.MatchString(o.text):
			dropped = o.drop(tree) || dropped
		case absences.MatchString(o.text):
			for _, name := range knownNames(o.names, ops) {
				if !strings.Contains(arguments, `"`+name+`":`) && !slices.Contains(missing, name) {
					missing = append(missing, name)
				}
			}
		}
	}
	if !dropped {
		return "", missing
	}
	return string(encode(tree)), missing
}

// drop removes the members that an objection names from the call.
func (o objection) drop(tree map[string]any) bool {
	requests := []any{tree}
	if steps, ok := tree["steps"].([]any); ok {
		requests = steps
	}
	dropped := false
	for i, one := range requests {
		request, ok := one.(map[string]any)
		if !ok || o.step >= 0 && o.step != i && len(requests) > 1 {
			continue
		}
		for _, part := range []string{"query", "body"} {
			if o.part == "" || o.part == part {
				dropped = without(request, part, o.names) || dropped
			}
		}
	}
	return dropped
}

func without(request map[string]any, part string, names []string) bool {
	members, ok := request[part].(map[string]any)
	before := len(members)
	for name := range members {
		if slices.Contains(names, fold(name)) {
			delete(members, name)
		}
	}
	if ok && len(members) == 0 {
		delete(request, part)
	}
	return len(members) < before
}

// knownNames returns the parameters of the catalogue that names contains.
func knownNames(names []string, ops []operation) []string {
	var out []string
	for _, op := range ops {
		for _, p := range slices.Concat(op.placeholders(), op.Query, op.Body) {
			if slices.Contains(names, fold(p.Name)) && !slices.Contains(out, p.Name) {
				out = append(out, p.Name)
			}
		}
	}
	return out
}

// wholeWords cuts text into words, keeping names such as room_id whole.
func wholeWords(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool {
		return r != '_' && r != '-' && (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
}
