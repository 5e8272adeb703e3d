package openapi

import (
	"slices"
	"strings"
)

// answersJSONOnly reports whether the document describes JSON, and nothing else, as the answer of success of an operation:
// its default answer where it describes no other. One that describes no content says nothing.
func (d *document) answersJSONOnly(method, path string) bool {
	op := d.operationAt(path, strings.ToLower(method))
	var media, usual []string
	succeeds := false
	op.get("responses").each(func(status string, answer *node) {
		switch {
		case strings.HasPrefix(status, "2"):
			succeeds = true
			media = append(media, d.mediaOf(op, answer)...)
		case status == "default":
			usual = d.mediaOf(op, answer)
		}
	})
	if !succeeds {
		media = usual
	}
	return len(media) > 0 && !slices.ContainsFunc(media, func(m string) bool { return !isJSON(m) })
}

// mediaOf returns the media types of an answer.
func (d *document) mediaOf(op, answer *node) []string {
	answer = d.targetOf(answer)
	var media []string
	if d.version != swagger2 {
		answer.get("content").each(func(m string, _ *node) { media = append(media, m) })
		return media
	}
	if answer.get("schema") == nil {
		return nil
	}
	return d.produces(op)
}

// produces returns the media types in which an operation of Swagger 2 answers.
func (d *document) produces(op *node) []string {
	list := op.get("produces")
	if list == nil {
		list = d.root.get("produces")
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
