package show_test

import (
	"testing"

	"piloto/cmd/piloto/show"
	"piloto/infra/local/fixture/reach"
	"piloto/infra/local/fixture/reach/planned"
	"piloto/internal/edge/httpapi"
	"piloto/internal/ground/locale"
	"piloto/internal/runs/plan"
)

// TestEveryMemberOfAStepIsAtTheTerminal: of a step as the API answers it, nothing that is confirmed is left out.
func TestEveryMemberOfAStepIsAtTheTerminal(t *testing.T) {
	v := planned.Values()
	v["Needs"] = [2]any{[]string{"s1"}, []string{}}
	v["Risk"] = [2]any{plan.Write, plan.Destructive}
	v["Unanswered.StepID"] = [2]any{plan.EffectOf("s7"), plan.EffectOf("s8")}
	inURL, server := "the address has it", "the address names the server"
	reach.Of[httpapi.PlannedStep](v).Check(t, reach.Reader[httpapi.PlannedStep]{
		Name: "the plan at a terminal (step in cmd/piloto/show/plan.go)",
		Read: func(s httpapi.PlannedStep) any {
			w := &show.Writer{Tag: locale.Spanish}
			w.Plan(httpapi.Run{Status: plan.Draft, Steps: []httpapi.Step{{PlannedStep: s}}})
			return w.String()
		},
		Without: map[string]string{
			"ID":   "the steps have numbers",
			"Path": inURL, "Undo.Path": inURL, "Verify.Path": inURL,
			"Target": inURL, "Undo.Target": inURL, "Verify.Target": inURL,
			"MCPID": "the name of the service is shown", "Undo.MCPID": server, "Verify.MCPID": server, "Undo.Server": server, "Verify.Server": server,
			"Undo.Suggested":    "the call is the same, whoever found it",
			"NoUndo":            "no undo is shown then",
			"Ask.Rule":          "its reason is shown",
			"Ask.Minutes":       "the approval says until when, once it is asked for",
			"Targets.About":     "the label and the value are shown",
			"Unanswered.StepID": "the run is named, where all of it can be read",
		},
	})
}
