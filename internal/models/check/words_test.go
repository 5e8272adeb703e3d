package check_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"piloto/internal/ground/locale"
	"piloto/internal/models/eligibility"
	"piloto/internal/models/openai"
)

// TestEachQuirkIsToldInWords: what a client stores of a model can be read by a person.
func TestEachQuirkIsToldInWords(t *testing.T) {
	for f := range reflect.TypeFor[openai.Quirks]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		value := map[reflect.Kind]any{reflect.Bool: true, reflect.Int: 8192, reflect.String: "words"}[f.Type.Kind()]
		raw, err := json.Marshal(map[string]any{name: value})
		if err != nil {
			t.Fatal(err)
		}
		found := eligibility.Known{Quirks: raw}.Findings()
		if len(found) != 1 {
			t.Errorf("%s is told by %v", name, found)
			continue
		}
		for _, lang := range []locale.Tag{locale.Spanish, locale.English} {
			said := found[0].Text().In(lang)
			if v := fmt.Sprint(value); said == "" || strings.Contains(said, "check.finding") || f.Type.Kind() == reflect.Int && !strings.Contains(said, v) {
				t.Errorf("%s is told as %q", name, said)
			}
		}
	}
}
