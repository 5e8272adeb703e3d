package run_test

import (
	"encoding/json"
	"strings"
	"testing"

	"piloto/internal/locale"
	"piloto/internal/plan"
	"piloto/internal/ref"
	"piloto/internal/run"
)

// Whoever confirms in words sees all that may be sent: also what an undo and a check
// send.
func TestAPlanAsTextTellsAllThatIsSent(t *testing.T) {
	call := func(method, path, body string) plan.Call {
		return plan.Call{MCPID: "m1", Method: method, Path: path, Body: json.RawMessage(body)}
	}
	check := call("GET", "/orders", "")
	check.Query = json.RawMessage(`{"memo":"${s1.body.memo}"}`)
	p := plan.Plan{
		Goal: "Pagar",
		Steps: []plan.Step{{
			ID: "s1", Title: "Pagar", MCPID: "m1", Method: "POST", Path: "/payments", Body: json.RawMessage(`{"amount":10}`), Risk: plan.Write,
			Undo:   &plan.Undo{Call: call("POST", "/payments", `{"amount":-10000,"to":"x\u202e"}`)},
			Verify: &plan.Check{Call: check, Expect: ref.Condition{Value: "${check.status}", Is: ref.Equal, To: json.RawMessage("200")}},
		}},
		Bindings: []plan.Binding{
			{StepID: "s1", BaseURL: "https://bank.example"}, {StepID: "undo:s1", BaseURL: "https://bank.example"}, {StepID: "check:s1", BaseURL: "https://other.example"},
		},
	}
	for _, tag := range []locale.Tag{locale.Spanish, locale.English} {
		text := run.Describe(tag, p, false)
		for _, want := range []string{
			`POST https://bank.example/payments`, `{"amount":10}`, `{"amount":-10000,"to":"x\u202e"}`, `GET https://other.example/orders {"memo":"${s1.body.memo}"}`,
		} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %s is not in\n%s", tag, want, text)
			}
		}
	}
}
