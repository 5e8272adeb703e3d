package turn

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"piloto/internal/runs/plan"
)

// TestTheSchemaOfAPlanHasEveryMemberOfAStep, but for those of which a model is not told.
func TestTheSchemaOfAPlanHasEveryMemberOfAStep(t *testing.T) {
	untold := map[string]string{
		"tool":    "a plan of HTTP calls is much more frequent; the catalogue says it of a service with tools",
		"no_undo": "a model leaves the undo out; a person says that the effect is to stay",
	}
	var schema struct {
		Items struct {
			Properties map[string]any `json:"properties"`
		} `json:"items"`
	}
	if err := json.Unmarshal([]byte(steps), &schema); err != nil {
		t.Fatal(err)
	}
	members := map[string]bool{}
	for f := range reflect.TypeFor[plan.ProposedStep]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		members[name] = true
		if told := schema.Items.Properties[name] != nil; told == (untold[name] != "") {
			t.Errorf("%s of plan.ProposedStep: in the schema of a plan's steps (steps in internal/chats/turn/tools.go): %v; a reason to leave it out: %q", name, told, untold[name])
		}
	}
	for name := range schema.Items.Properties {
		if !members[name] {
			t.Errorf("the schema of a plan's steps (steps in internal/chats/turn/tools.go) has %s, which plan.ProposedStep has not", name)
		}
	}
}
