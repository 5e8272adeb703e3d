package locale

import (
	"encoding/json"
	"maps"
	"path"
	"slices"
	"testing"
)

// TestEveryLanguageIsFound by its tag and by its name, and has a catalogue of its own.
func TestEveryLanguageIsFound(t *testing.T) {
	named := slices.Collect(maps.Values(inWords))
	for i, tag := range Tags() {
		if got := Match(string(tag)); got != tag {
			t.Errorf("Match(%q) = %s: add the language to matcher, in the order of Tags", tag, got)
		}
		if got := Parse(string(tag), Tags()[(i+1)%len(Tags())]); got != tag {
			t.Errorf("Parse(%q) = %s: add the language to matcher, in the order of Tags", tag, got)
		}
		if !slices.Contains(named, tag) {
			t.Errorf("no word names the language %s: add those that people write to inWords", tag)
		}
		if catalogue[tag] == nil {
			t.Errorf("the language %s has the sentences of another one: add it to catalogue", tag)
		}
	}
}

func TestMatchFallsBackToSpanish(t *testing.T) {
	for accept, want := range map[string]Tag{
		"": Spanish, "en": English, "en-GB,en;q=0.8": English, "es-AR": Spanish, "de": Spanish,
		"de,en;q=0.5": English, "\x00": Spanish, "*": Spanish, "fr;q=x": Spanish,
	} {
		if got := Match(accept); got != want {
			t.Errorf("Match(%q) = %s, want %s", accept, got, want)
		}
	}
}

func TestFillChoosesPlural(t *testing.T) {
	catalogue[Spanish]()["test.plural"] = "{n} {n:paso|pasos} de {goal}"
	defer delete(catalogue[Spanish](), "test.plural")
	if got := Text(Spanish, "test.plural", "n", "1", "goal", "x"); got != "1 paso de x" {
		t.Error(got)
	}
	if got := Text(Spanish, "test.plural", "n", "3", "goal", "{n}"); got != "3 pasos de {n}" {
		t.Error(got)
	}
}

// TestCatalogueIsValidJSON compares the own parser of the catalogue with package json.
func TestCatalogueIsValidJSON(t *testing.T) {
	for _, tag := range Tags() {
		want := map[string]string{}
		eachFile(files, path.Join("text", string(tag)), func(name string, raw []byte) {
			if err := json.Unmarshal(raw, &want); err != nil {
				t.Errorf("%s/%s: %v", tag, name, err)
			}
		})
		if got := catalogue[tag](); !maps.Equal(got, want) {
			t.Errorf("%s: %d sentences, and package json reads %d others", tag, len(got), len(want))
		}
	}
	got := map[string]string{}
	if err := read(`{"a\"": "\u00e9\n\\", "b": ""}`, got); err != nil || !maps.Equal(got, map[string]string{"a\"": "é\n\\", "b": ""}) {
		t.Errorf("%q %v", got, err)
	}
	for _, text := range []string{`{"a": "b`, `{"a"`, `{"a": "b", "a": "c"}`, `{"a": "\x"}`, `{"a": "b\"}`} {
		if err := read(text, map[string]string{}); err == nil {
			t.Errorf("%s is read", text)
		}
	}
}
