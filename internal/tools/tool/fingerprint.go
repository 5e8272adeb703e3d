package tool

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"

	"piloto/internal/ground/jcs"
	"piloto/internal/ground/order"
)

// Fingerprint returns the lower-case hex SHA-256 of everything that decides the effect of a call of op: the base
// URL, method, template, parameters, the form of the Idempotency-Key, and the body's schema, media type and encoding. Titles, summaries, descriptions and
// examples are not part of it, and neither is the order of the document.
//
// The fingerprint of a tool with a name covers everything that its server declares, because the server describes
// itself to the model, and a description acts as an instruction.
func Fingerprint(baseURL string, op Operation) string {
	if op.Name != "" {
		return sum(struct {
			V                           int
			BaseURL, Name, Title, About string
			Input, Output               any
			Destructive                 bool
			Writes                      bool `json:",omitempty"`
		}{1, baseURL, op.Name, op.Summary, op.Description, decodeSchema(op.input()), decodeSchema(op.Output), op.Hints.Destroys(), op.Hints.Writes()})
	}
	type parameter struct {
		Name, In, Style   string
		Required, Explode bool
		Schema            any
	}
	type body struct {
		Required  bool
		MediaType string
		Schema    any
		Encoding  map[string]Encoding `json:",omitempty"`
	}
	meaning := struct {
		V          int
		BaseURL    string
		Method     string
		Path       string
		Parameters []parameter
		Body       *body
		Others     []body   `json:",omitempty"`
		Refused    *Refusal `json:",omitempty"`
		KeyForm    KeyForm  `json:",omitempty"`
	}{V: 1, Refused: op.Refused, KeyForm: op.KeyForm, BaseURL: baseURL, Method: op.Method, Path: op.Path}
	for _, p := range op.Parameters {
		meaning.Parameters = append(meaning.Parameters, parameter{p.Name, p.In, p.Style, p.Required, p.Explode, decodeBareSchema(p.Schema)})
	}
	order.By(meaning.Parameters, func(a, b parameter) int {
		return cmp.Or(cmp.Compare(a.In, b.In), cmp.Compare(a.Name, b.Name))
	})
	for i, b := range op.bodies() {
		one := body{b.Required, b.MediaType, decodeBareSchema(b.Schema), b.Encoding}
		if i == 0 {
			meaning.Body = &one
			continue
		}
		meaning.Others = append(meaning.Others, one)
	}
	return sum(meaning)
}

func sum(meaning any) string {
	sum, err := jcs.Sum(meaning)
	if err != nil { // only a schema that is not JSON fails; discovery never stores one
		return ""
	}
	return sum
}

func (op Operation) input() json.RawMessage {
	if op.Body == nil {
		return nil
	}
	return op.Body.Schema
}

// decodeSchema decodes a schema with all its keywords.
func decodeSchema(raw json.RawMessage) any {
	v, err := decodeNumbers(raw)
	if err != nil {
		return string(raw)
	}
	return v
}

// These maps group the JSON Schema keywords: annotations, and keywords whose value is a map of schemas, a list of
// schemas, or one schema.
var (
	annotations = map[string]bool{
		"title": true, "description": true, "$comment": true, "example": true,
		"examples": true, "deprecated": true, "readOnly": true, "writeOnly": true,
	}
	schemaMaps  = map[string]bool{"properties": true, "patternProperties": true, "$defs": true, "dependentSchemas": true}
	schemaLists = map[string]bool{"allOf": true, "anyOf": true, "oneOf": true, "prefixItems": true}
	schemaOnes  = map[string]bool{
		"items": true, "additionalProperties": true, "not": true, "if": true, "then": true, "else": true,
		"contains": true, "propertyNames": true, "unevaluatedProperties": true, "unevaluatedItems": true,
	}
)

// decodeBareSchema decodes a schema without its annotations, and with its required names sorted.
func decodeBareSchema(raw json.RawMessage) any {
	v, err := decodeNumbers(raw)
	if err != nil {
		return string(raw)
	}
	return bareSchema(v)
}

// bareSchema removes the annotations of a decoded schema.
func bareSchema(v any) any {
	object, ok := v.(map[string]any)
	if !ok {
		return v
	}
	for k, e := range object {
		switch {
		case annotations[k]:
			delete(object, k)
		case schemaMaps[k]:
			bareMembers(e)
		case schemaLists[k]:
			bareElements(e)
		case schemaOnes[k]:
			bareSchema(e)
		case k == "required":
			object[k] = sortedNames(e)
		}
	}
	return object
}

func bareMembers(v any) {
	members, _ := v.(map[string]any)
	for _, e := range members {
		bareSchema(e)
	}
}

func bareElements(v any) {
	elements, _ := v.([]any)
	for _, e := range elements {
		bareSchema(e)
	}
}

func sortedNames(v any) any {
	list, ok := v.([]any)
	if !ok {
		return v
	}
	names := make([]string, 0, len(list))
	for _, e := range list {
		s, ok := e.(string)
		if !ok {
			return v
		}
		names = append(names, s)
	}
	slices.Sort(names)
	return names
}

// decodeNumbers decodes one JSON value. Numbers keep their digits (json.Number).
func decodeNumbers(raw json.RawMessage) (any, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return map[string]any{}, nil
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	err := dec.Decode(&v)
	return v, err
}
