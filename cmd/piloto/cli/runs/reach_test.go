package runs

import (
	"encoding/json"
	"testing"

	"piloto/infra/local/fixture/reach"
	"piloto/infra/local/fixture/reach/planned"
	"piloto/internal/edge/httpapi"
)

// TestEveryMemberThatMayBeEditedIsInTheEditor: whatever an edit may write is in the text that a person gets to change, so that
// no edit at a terminal takes a member away.
func TestEveryMemberThatMayBeEditedIsInTheEditor(t *testing.T) {
	v := planned.Values()
	v["Needs"] = [2]any{&[]string{"s1"}, &[]string{}}
	reach.Of[httpapi.StepRequest](v).Check(t, reach.Reader[httpapi.StepRequest]{
		Name: "the plan in a person's editor (editable in cmd/piloto/cli/runs/decide.go), or the answer of which it is made (PlannedStep in internal/edge/httpapi/run.go)",
		Read: func(s httpapi.StepRequest) any {
			var answered httpapi.Step
			text, err := json.Marshal(s)
			if err == nil {
				err = json.Unmarshal(text, &answered)
			}
			if err != nil {
				t.Fatal(err)
			}
			text, err = json.Marshal(editable(httpapi.Run{Steps: []httpapi.Step{answered}}))
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		},
	})
}
