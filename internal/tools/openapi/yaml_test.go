package openapi

import (
	"slices"
	"strings"
	"testing"
)

// A merge of YAML is read as every reader of YAML reads it: own members win, and then the earlier ones.
func TestAMergeOfYAMLKeepsTheEarlierMember(t *testing.T) {
	const document = `openapi: 3.0.3
x-a: &a {summary: a, operationId: a, tags: [a]}
x-b: &b {summary: b, operationId: b, description: b}
x-own: &own {<<: [*a, *b], summary: own}
x-list: &list [*a, *b]
paths: {/o: {post: {OP}}}
`
	for op, want := range map[string]string{
		"<<: *a":                               "a a -",
		"<<: [*a, *b]":                         "a a b",
		"<<: [*b, *a]":                         "b b b",
		"<<: *list":                            "a a b",
		"<<: [*a, *b], summary: c":             "c a b",
		"summary: c, <<: [*a, *b]":             "c a b",
		"<<: *own":                             "own a b",
		"<<: [*own, *b]":                       "own a b",
		"<<: [*b, *own]":                       "b b b",
		"<<: *a, <<: *b":                       "a a b",
		"<<: [{summary: x}, *b, *a]":           "x b b",
		"<<: [], summary: c":                   "c - -",
		"<<: {}, summary: c":                   "c - -",
		`"<<": {summary: x}, summary: c`:       "c - -",
		"<<: [*a, *b], summary: c, summary: d": "d a b !",
		"<<: null":                             "error",
		"<<: a":                                "error",
		"<<: [*a, null]":                       "error",
		"<<: [*a, [*b]]":                       "error",
		"<<: [*a, x]":                          "error",
	} {
		text := strings.Replace(document, "OP", op, 1)
		found, err := parse(t.Context(), text, "https://api.example.com/openapi.yaml", "https://api.example.com")
		got := "error"
		if err == nil {
			c := found.Operations[0]
			words := []string{c.Summary, c.OperationID, c.Description}
			for i, s := range words {
				if s == "" {
					words[i] = "-"
				}
			}
			if slices.ContainsFunc(found.Warnings, func(s string) bool { return strings.Contains(s, "twice") }) {
				words = append(words, "!")
			}
			got = strings.Join(words, " ")
		}
		if got != want {
			t.Errorf("%s: %q, want %q: %v", op, got, want, err)
		}
	}
}
