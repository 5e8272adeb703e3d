package openapi

import (
	"maps"
	"slices"
	"strings"

	"piloto/internal/ground/ref"
	"piloto/internal/tools/tool"
)

// answerReader reads which answers a document describes for its operations.
type answerReader struct{ document *document }

// answersJSONOnly reports whether the document describes JSON, and nothing else, as the answer of success of an operation:
// its default answer where it describes no other. One that describes no content says nothing.
func (r answerReader) answersJSONOnly(method, path string) bool {
	op := r.operationAt(path, strings.ToLower(method))
	var media, usual []string
	succeeds := false
	op.get("responses").each(func(status string, answer *node) {
		switch {
		case strings.HasPrefix(status, "2"):
			succeeds = true
			media = append(media, r.mediaOf(op, answer)...)
		case status == "default":
			usual = r.mediaOf(op, answer)
		}
	})
	if !succeeds {
		media = usual
	}
	return len(media) > 0 && !slices.ContainsFunc(media, func(m string) bool { return !isJSON(m) })
}

// Limits of the description of an answer's object.
const (
	answerMembers = 50
	answerSteps   = 200 // schemas that are visited
)

// answerMembers returns the members of the only object with which an operation succeeds; nil where the document describes
// none, several answers, or an object that may have others.
func (r answerReader) answerMembers(method, path string) []string {
	var schemas []*node
	r.operationAt(path, strings.ToLower(method)).get("responses").each(func(status string, answer *node) {
		if strings.HasPrefix(status, "2") {
			schemas = append(schemas, r.schemasOf(answer)...)
		}
	})
	names, steps := map[string]bool{}, answerSteps
	if len(schemas) != 1 || !r.listsMembers(schemas[0], names, &steps) || len(names) > answerMembers {
		return nil
	}
	return slices.Sorted(maps.Keys(names))
}

// listsMembers collects the names of an object's members, and reports whether its schema lists all of them.
func (r answerReader) listsMembers(schema *node, names map[string]bool, left *int) bool {
	schema = r.document.targetOf(schema)
	if *left--; schema == nil || *left < 0 {
		return false
	}
	for _, opens := range []string{"oneOf", "anyOf", "if", "patternProperties", "additionalProperties", "items"} {
		if n := schema.get(opens); n != nil && !n.isFalse() {
			return false
		}
	}
	parts := schema.get("allOf").elements()
	for i := range parts {
		if !r.listsMembers(&parts[i], names, left) {
			return false
		}
	}
	schema.get("properties").each(func(name string, _ *node) { names[name] = true })
	return true
}

// titleDepth bounds the nesting of the schemas from which titles are read.
const titleDepth = 6

// answerNames returns the members of the answers of success that the document gives a title, at any depth. A name with two
// titles has none.
func (r answerReader) answerNames(method, path string) []ref.Named {
	titles, left := tool.Titles{}, answerSteps
	r.operationAt(path, strings.ToLower(method)).get("responses").each(func(status string, answer *node) {
		if strings.HasPrefix(status, "2") {
			for _, schema := range r.schemasOf(answer) {
				r.titles(schema, titles, titleDepth, &left)
			}
		}
	})
	return titles.Named()
}

// titles notes the titles of the members of a schema, and of their own members.
func (r answerReader) titles(schema *node, titles tool.Titles, depth int, left *int) {
	schema = r.document.targetOf(schema)
	if *left--; schema == nil || *left < 0 || depth == 0 {
		return
	}
	for _, of := range []string{"allOf", "oneOf", "anyOf"} {
		parts := schema.get(of).elements()
		for i := range parts {
			r.titles(&parts[i], titles, depth-1, left)
		}
	}
	r.titles(schema.get("items"), titles, depth-1, left)
	schema.get("properties").each(func(name string, member *node) {
		titles.Note(name, member.get("title").str())
		r.titles(member, titles, depth-1, left)
	})
}

// schemasOf returns the schemas of an answer in JSON.
func (r answerReader) schemasOf(answer *node) (schemas []*node) {
	answer = r.document.targetOf(answer)
	if r.document.version == swagger2 {
		if schema := answer.get("schema"); schema != nil {
			schemas = append(schemas, schema)
		}
		return schemas
	}
	answer.get("content").each(func(media string, m *node) {
		if schema := m.get("schema"); schema != nil && isJSON(media) {
			schemas = append(schemas, schema)
		}
	})
	return schemas
}

// mediaOf returns the media types of an answer.
func (r answerReader) mediaOf(op, answer *node) []string {
	answer = r.document.targetOf(answer)
	var media []string
	if r.document.version != swagger2 {
		answer.get("content").each(func(m string, _ *node) { media = append(media, m) })
		return media
	}
	if answer.get("schema") == nil {
		return nil
	}
	return r.produces(op)
}

// produces returns the media types in which an operation of Swagger 2 answers.
func (r answerReader) produces(op *node) []string {
	list := op.get("produces")
	if list == nil {
		list = r.document.root.get("produces")
	}
	var media []string
	for _, one := range list.elements() {
		media = append(media, one.str())
	}
	return media
}

// isJSON reports whether a media type is one of JSON.
func isJSON(media string) bool {
	media, _, _ = strings.Cut(media, ";")
	media = strings.ToLower(strings.TrimSpace(media))
	return media == jsonMedia || media == "text/json" || strings.HasSuffix(media, "+json")
}
