package proposal

import (
	"encoding/json"
	"testing"

	"piloto/infra/local/fixture/reach"
	"piloto/infra/local/fixture/reach/planned"
	"piloto/internal/ground/fault"
	"piloto/internal/runs/plan"
)

// TestEveryMemberOfAStepIsProposedAgain: a model, and a person's edit, read a draft in the form in which they write one.
func TestEveryMemberOfAStepIsProposedAgain(t *testing.T) {
	worked := "it is worked out again for each revision"
	without := map[string]string{"Risk": worked, "Ask": worked, "Targets": worked, "Unanswered": worked}
	planned.Step().Check(t, reach.Reader[plan.Step]{
		Name: "a step as a proposal (proposedStep in internal/chats/proposal/revise.go)", Without: without,
		Read: func(s plan.Step) any { return proposedStep(s) },
	})
	planned.Step().Check(t, reach.Reader[plan.Step]{
		Name: "a draft as the model reads it (Encode in internal/chats/proposal/revise.go)", Without: without,
		Read: func(s plan.Step) any {
			r := planned.Run(s)
			text, err := Encode(&r)
			if err != nil {
				t.Error(err)
			}
			return text
		},
	})
}

// TestEveryMemberOfAProposalIsReadFromAModel, with no fault.
func TestEveryMemberOfAProposalIsReadFromAModel(t *testing.T) {
	steps := planned.Proposed()
	read := func(s plan.ProposedStep) (plan.ProposedStep, []fault.Field) {
		raw, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		return readStep(raw)
	}
	if _, wrong := read(steps.Full()); len(wrong) > 0 {
		t.Errorf("a step with every member is refused: %v. Add a member that a model may write to stepKeys or requestKeys in internal/chats/proposal/parse.go", wrong)
	}
	steps.Check(t, reach.Reader[plan.ProposedStep]{Name: "a step that a model wrote (readStep in internal/chats/proposal/parse.go)", Read: func(s plan.ProposedStep) any {
		got, _ := read(s)
		return got
	}})
}
