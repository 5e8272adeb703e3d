package openapi

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// Limits of the outline of a response.
const (
	outputMembers = 50
	outputName    = 100 // bytes
	outputSteps   = 200 // schemas that are visited
)

// output returns an outline of the response of a POST: a JSON Schema that lists the text and integer members of its
// 2xx JSON object with their types. It returns nil when the document declares none.
//
// The outline is no part of an operation's fingerprint: it is only used to suggest an undo, and the undo's own call
// is checked as any other.
func (r answerReader) output(path string) json.RawMessage {
	op := r.operationAt(path, "post")
	schema := r.responseSchema(op.get("responses"))
	types := map[string]string{}
	steps := outputSteps
	r.members(schema, types, &steps)
	if len(types) == 0 {
		return nil
	}
	type member struct {
		Type string `json:"type"`
	}
	outline := struct {
		Type       string            `json:"type"`
		Properties map[string]member `json:"properties"`
	}{"object", map[string]member{}}
	for _, name := range slices.Sorted(maps.Keys(types)) {
		if len(outline.Properties) < outputMembers {
			outline.Properties[name] = member{types[name]}
		}
	}
	raw, err := json.Marshal(outline)
	if err != nil {
		return nil
	}
	return raw
}

// operationAt returns the operation of a path by its method in the lower case, nil when there is none.
func (r answerReader) operationAt(path, method string) *node {
	return r.document.targetOf(r.document.targetOf(r.document.root.get("paths").get(path)).get(method))
}

// tellsMissing reports whether the document describes an answer of the operation for a missing object.
func (r answerReader) tellsMissing(method, path string) bool {
	op := r.operationAt(path, strings.ToLower(method))
	described := false
	op.get("responses").each(func(status string, _ *node) {
		described = described || status == "404" || status == "410" || strings.EqualFold(status, "4XX")
	})
	return described
}

// responseSchema returns the schema of the first 2xx response that has one in JSON.
func (r answerReader) responseSchema(responses *node) *node {
	var found *node
	responses.each(func(status string, answer *node) {
		if found != nil || len(status) != 3 || status[0] != '2' {
			return
		}
		if schemas := r.schemasOf(answer); len(schemas) > 0 {
			found = schemas[0]
		}
	})
	return found
}

// members collects the types of an object's plain members.
func (r answerReader) members(schema *node, types map[string]string, left *int) {
	schema = r.document.targetOf(schema)
	if *left--; schema == nil || *left < 0 {
		return
	}
	parts := schema.get("allOf").elements()
	for i := range parts {
		r.members(&parts[i], types, left)
	}
	schema.get("properties").each(func(name string, member *node) {
		if *left--; *left < 0 || len(name) > outputName {
			return
		}
		if t := plainType(r.document.targetOf(member).get("type")); t != "" {
			types[name] = t
		}
	})
}

// plainType returns "string" or "integer" for such a type, also for one that may be null, else "".
func plainType(n *node) string {
	names := []string{n.str()}
	for _, one := range n.elements() {
		names = append(names, one.str())
	}
	for _, name := range names {
		if name == "string" || name == "integer" {
			return name
		}
	}
	return ""
}

// targetOf returns the target of an object's references; nil for none.
func (d *document) targetOf(n *node) *node {
	target, _ := d.resolve(n)
	return target
}
