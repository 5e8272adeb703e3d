package locale

import (
	"encoding/json"
	"maps"
	"path"
	"slices"
	"testing"
)

func TestLanguagesHaveSameKeysAndPlaceholders(t *testing.T) {
	for key, es := range catalogue[Spanish]() {
		for _, tag := range Tags()[1:] {
			other, ok := catalogue[tag]()[key]
			if !ok {
				t.Errorf("%s: missing in %s", key, tag)
				continue
			}
			if a, b := names(es), names(other); !slices.Equal(a, b) {
				t.Errorf("%s: placeholders differ: es %v, %s %v", key, a, tag, b)
			}
			if other == "" || es == "" {
				t.Errorf("%s: empty", key)
			}
		}
	}
	for _, tag := range Tags()[1:] {
		for key := range catalogue[tag]() {
			if _, ok := catalogue[Spanish]()[key]; !ok {
				t.Errorf("%s: in %s, missing in Spanish", key, tag)
			}
		}
	}
}

func names(sentence string) []string {
	var out []string
	for _, p := range placeholder().FindAllString(sentence, -1) {
		name := p[1 : len(p)-1]
		for i := range name {
			if name[i] == ':' {
				name = name[:i]
				break
			}
		}
		out = append(out, name)
	}
	slices.Sort(out)
	return slices.Compact(out)
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
