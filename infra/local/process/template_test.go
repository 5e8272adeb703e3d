package process

import (
	"encoding/json"
	"localaws/template"
	"path/filepath"
	"strings"
	"testing"
)

func TestTemplateIsReadWhole(t *testing.T) {
	tpl, err := template.Read("../../../template.yaml")
	if err != nil {
		t.Fatal(err)
	}
	d, err := tpl.Resolve(tpl.Names())
	if err != nil {
		t.Fatal(err)
	}
	if len(tpl.Tables) != 1 || len(tpl.StateMachines) != 3 {
		t.Fatalf("%d tables and %d state machines, want one and three", len(tpl.Tables), len(tpl.StateMachines))
	}
	for _, m := range tpl.StateMachines {
		definition, err := tpl.Definition(m, d)
		if err != nil {
			t.Fatal(err)
		}
		if !json.Valid(definition) || strings.Contains(string(definition), "${") {
			t.Errorf("the definition of %s is not whole:\n%s", m.ID, definition)
		}
	}
	for _, f := range tpl.Functions {
		if f.Folder != filepath.Join("functions", f.Name) || d.Environment[f.ID]["TABLE_NAME"] == "" {
			t.Errorf("%s: folder %s, environment %v", f.ID, f.Folder, d.Environment[f.ID])
		}
	}
}
