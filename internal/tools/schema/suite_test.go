package schema

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// beyond lists the cases of the suite that are about what a schema here does not have, by a part of their text:
// other documents, identifiers, and dialects of their own.
var beyond = []string{`"$id"`, `"$ref":"http`, `"$ref":"./`, `"$ref":"urn:`, `"$vocabulary"`, `"$dynamicRef":"http`}

// TestSuite holds the validator to JSON-Schema-Test-Suite, draft 2020-12, which one of the linked modules carries.
func TestSuite(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/google/jsonschema-go").Output()
	if err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(strings.TrimSpace(string(out)), "jsonschema", "testdata", "draft2020-12", "*.json"))
	judged, left := 0, 0
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var groups []struct {
			Description string
			Schema      json.RawMessage
			Tests       []struct {
				Description string
				Data        json.RawMessage
				Valid       bool
			}
		}
		if err := json.Unmarshal(raw, &groups); err != nil {
			t.Fatal(err)
		}
		for _, g := range groups {
			var text bytes.Buffer
			_ = json.Compact(&text, g.Schema)
			if slices.ContainsFunc(beyond, func(s string) bool { return strings.Contains(text.String(), s) }) {
				left += len(g.Tests)
				continue
			}
			s := parse(g.Schema)
			for _, c := range g.Tests {
				judged++
				if s == nil {
					t.Errorf("%s: %s: the schema is not usable: %s", filepath.Base(file), g.Description, g.Schema)
				} else if got := fits(t, s, decode(t, string(c.Data))); got != c.Valid {
					t.Errorf("%s: %s: %s: %v, want %v: %s with %s", filepath.Base(file), g.Description, c.Description, got, c.Valid, g.Schema, c.Data)
				}
			}
		}
	}
	if judged < 900 || left > judged/5 {
		t.Errorf("%d cases were judged, and %d left out", judged, left)
	}
}

// fits reports whether there is no problem with a value. It also asks only whether the value fits.
func fits(t interface{ Errorf(string, ...any) }, s *node, v any) bool {
	left := 1 << 30
	problems := s.Problems(v, "", nil, &left)
	r := run{left: &left, quiet: 1}
	if unfit := r.apply(s, v, nil).unfit; unfit != (len(problems) > 0) {
		t.Errorf("%v: %v, and when nothing is told, unfit is %v", v, problems, unfit)
	}
	return len(problems) == 0
}

func decode(t interface{ Fatal(...any) }, text string) any {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}
