package run_test

import (
	"testing"

	"piloto/infra/local/fixture/reach"
	"piloto/infra/local/fixture/reach/planned"
	"piloto/internal/ground/locale"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
)

// TestEveryMemberOfAStepIsDescribed: a chat client without a card shows all that is confirmed.
func TestEveryMemberOfAStepIsDescribed(t *testing.T) {
	for _, tag := range locale.Tags() {
		planned.Step().Check(t, reach.Reader[plan.Step]{
			Name: "the description of a plan (extraLines in internal/runs/run/describe.go)",
			Read: func(s plan.Step) any { return run.Describe(planned.Of(s), nil).In(tag) },
			Without: map[string]string{
				"ID": "the steps have numbers", "Needs": "the steps stand in their order", "Risk": "the method says it, and a step that destroys has an Ask",
				"Undo.Suggested": "the call is the same, whoever found it", "NoUndo": "no undo is told then",
				"Ask.Rule": "its reason is told", "Ask.Minutes": "the message that asks says until when",
				"Targets":           "the description is in prompts, and the label is data of a service; the API's answer has it",
				"Unanswered.StepID": "the run is named, where all of it can be read",
			},
		})
	}
}
