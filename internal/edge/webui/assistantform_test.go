package webui

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"piloto/internal/models/eligibility"
)

// TestTheFormOfAnAssistantSendsAllOfIt: saving replaces the assistant, so that a setting without a field would be lost.
func TestTheFormOfAnAssistantSendsAllOfIt(t *testing.T) {
	script, err := os.ReadFile("asset/assistants.js")
	if err != nil {
		t.Fatal(err)
	}
	_, form, _ := strings.Cut(string(script), `"save-assistant"`)
	form, _, _ = strings.Cut(form, "await api(")
	for f := range reflect.TypeFor[eligibility.Assistant]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		theirs := slices.Contains([]string{"scope", "updated_at"}, name) // of the server
		if sent := regexp.MustCompile(`\b` + name + `:`).MatchString(form); sent == theirs {
			t.Errorf("%s is sent: %v", name, sent)
		}
	}
}
