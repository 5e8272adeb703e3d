package turn

import (
	"encoding/json"
	"testing"

	"piloto/internal/chats/consent"
	"piloto/internal/chats/intent"
	"piloto/internal/ground/ref"
	"piloto/internal/runs/plan"
)

// TestACardIsNamedByWhatIsSent: the values, the document and the names that were read for ids; no title.
func TestACardIsNamedByWhatIsSent(t *testing.T) {
	s1 := plan.EffectOf("s1")
	r := plan.Run{Taken: []plan.Taken{{StepID: s1, Where: "body.item", Value: "1008", Label: "Running Sneakers"}}, Plan: plan.Plan{
		Goal:     "Tell a joke",
		Steps:    []plan.Step{{ID: s1, Title: "Refund the kettle", Method: "POST", Path: "/orders/W123/return", Body: json.RawMessage(`{"item":"1008","to":"gift_card_77"}`), Targets: []plan.Target{{Label: "Order of Ana"}}}},
		Bindings: []plan.Binding{{StepID: s1, Template: "/orders/{id}/return", Summary: "Return some items", Names: []ref.Named{{Name: "to", Label: "Payment method"}}}},
	}}
	for message, want := range map[string]intent.Intent{
		"Yes, please return the sneakers.": intent.Confirm, "Yes, please initiate the return process for the sneakers.": intent.Confirm, "yes, return it to my gift card": intent.Confirm, "yes, return W123": intent.Confirm, "yes, return the order of Ana": intent.Confirm,
		"yes, tell a joke": intent.Other, "yes, refund the kettle": intent.Other, "yes, return the kettle": intent.Other,
	} {
		if got := consent.Read(message, cardOf(r)).Meaning; got != want {
			t.Errorf("%q is %v", message, got)
		}
	}
}
