package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"piloto/infra/local/fixture"
)

// documentOf returns an OpenAPI document with the operations that the stand-in for a service answers.
func documentOf(d document) ([]byte, error) {
	paths := map[string]map[string]any{}
	for at := range d.answers {
		method, path, _ := strings.Cut(at, " ")
		var parameters []any
		for n := 0; strings.Contains(path, "*"); n++ {
			name := fmt.Sprint("id", n)
			path = strings.Replace(path, "*", "{"+name+"}", 1)
			parameters = append(parameters, fields{"name": name, "in": "path", "required": true, "schema": fields{"type": "string"}})
		}
		operation := fields{"responses": fields{"200": fields{"description": "ok"}}, "parameters": parameters}
		if method == "GET" {
			for _, name := range []string{"search", "status", "tags", "startDate", "endDate", "origin", "destination", "date"} {
				parameters = append(parameters, fields{"name": name, "in": "query", "schema": fields{}})
			}
			operation["parameters"] = parameters
		} else if method != "DELETE" {
			operation["requestBody"] = fields{"content": fields{"application/json": fields{"schema": fields{"type": "object"}}}}
		}
		if paths[path] == nil {
			paths[path] = fields{}
		}
		paths[path][strings.ToLower(method)] = operation
	}
	return json.Marshal(fields{"openapi": "3.1.0", "info": fields{"title": d.name, "version": "1"}, "paths": paths})
}

// TestFortyRequests asks for everything, over documents of its own: no question needs a confirmation that reads one service,
// each order needs one, and nothing needs more of them than before.
func TestFortyRequests(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs the deployment twice")
	}
	folder := t.TempDir()
	for _, d := range documents {
		text, err := documentOf(d)
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, d.file), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	template := fixture.Root(t, "template.yaml")
	before, err := measure(t.Context(), template, folder, "off")
	if err != nil {
		t.Fatal(err)
	}
	after, err := measure(t.Context(), template, folder, "on")
	if err != nil {
		t.Fatal(err)
	}
	if len(requests) != 40 || len(before) != 40 || len(after) != 40 {
		t.Fatalf("%d requests, %d and %d counts", len(requests), len(before), len(after))
	}
	for i, r := range requests {
		services := map[string]bool{}
		for _, c := range r.reads {
			services[c.of] = true
		}
		want := max(0, len(services)-1)
		if len(r.writes) > 0 {
			want = 1
		}
		asked := min(1, len(r.reads)+len(r.writes))
		if after[i].confirmations != want || before[i].confirmations < asked || after[i].messages > before[i].messages || after[i].confirmations > before[i].confirmations {
			t.Errorf("%q: %+v, then %+v", r.says, before[i], after[i])
		}
	}
	var page strings.Builder
	if err := write(&page, before, after); err != nil || !strings.Contains(page.String(), "| questions | 24 | 20 | 1 | 24 | 24 |") {
		t.Errorf("%v\n%s", err, page.String())
	}
}

// TestTheResultsAreOfTheseRequests: with the text and the requests of now.
func TestTheResultsAreOfTheseRequests(t *testing.T) {
	raw, err := os.ReadFile("results.md")
	if err != nil {
		t.Fatal(err)
	}
	var page strings.Builder
	if err := write(&page, make([]count, len(requests)), make([]count, len(requests))); err != nil {
		t.Fatal(err)
	}
	have, want := withoutCounts(string(raw)), withoutCounts(page.String())
	if have != want {
		t.Errorf("results.md is not as it is written now: write it again with -update\n%s", want)
	}
}

// withoutCounts leaves out how often a person had to say something.
func withoutCounts(page string) string {
	return regexp.MustCompile(`(?: \| \d+){4} \|\n`).ReplaceAllString(page, "\n")
}
