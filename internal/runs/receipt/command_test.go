package receipt

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"piloto/internal/runs/plan"
)

// commandReceipt returns the receipt of a run whose command failed and was replaced. asked is the
// command that a person approved before, "" without an approval.
func commandReceipt(t *testing.T, failed, other, asked, sent string) Receipt {
	t.Helper()
	p := plan.Plan{
		ID: "01PLAN", Revision: 1, Goal: "Mirar", ExpiresAt: time.Date(2026, 3, 1, 11, 0, 0, 0, time.UTC),
		Steps:    []plan.Step{{ID: plan.EffectOf("s1"), Title: "Mirar", MCPID: "m", Method: "POST", Path: "/command", Body: json.RawMessage(`{"command":"` + failed + `"}`), Needs: []string{}, Risk: plan.Write}},
		Bindings: []plan.Binding{{StepID: plan.EffectOf("s1"), MCPID: "m", ServerName: "Salas", BaseURL: base, Template: "/command", Fingerprint: "f1"}},
	}
	s, url := begin(t, p), base+"/command"
	s.confirm()
	s.send("s1", 1, url, `{"command":"`+failed+`"}`)
	s.add("s1", plan.EventStepWait, data{"attempt": 1})
	s.add("s1", plan.EventStepReasoned, data{"was": failed, "now": other, "because": "x"})
	if asked != "" {
		d := s.request("s1", url, `{"command":"`+asked+`"}`)
		d["reason"], d["expires_at"] = "otro comando", s.at.Add(time.Hour)
		s.askWith("s1", d)
		s.add("s1", plan.EventStepApproved, data{"by": "ana", "request": d["request"]})
		s.run.Status = plan.Running
	}
	s.send("s1", 2, url, `{"command":"`+sent+`"}`)
	s.finishStep("s1", 200)
	s.finish(plan.Done)
	return s.receipt()
}

// The receipt shows who approved a substitute command before it was sent.
func TestSubstituteCommandNeedsApprovalInReceipt(t *testing.T) {
	for name, c := range map[string]struct{ failed, other, asked, sent, reason string }{
		"approved":                         {"mv a b", "mv -n a b", "mv -n a b", "mv -n a b", ""},
		"the same safe program":            {"ls -z a", "ls -l a", "", "ls -l a", ""},
		"the same command again":           {"mv a b", "mv a b", "", "mv a b", ""},
		"nobody approved":                  {"mv a b", "mv -n a b", "", "mv -n a b", "nobody had approved it"},
		"another was approved":             {"mv a b", "mv -n a b", "mv -n a b", "mv * c", "another request than was approved"},
		"another was sent than was said":   {"ls -z a", "ls -l a", "", "ls b", "another body than that command's"},
		"another was approved than was so": {"mv a b", "mv -n a b", "mv * c", "mv * c", "another body than that command's"},
	} {
		t.Run(name, func(t *testing.T) {
			problems := Verify(commandReceipt(t, c.failed, c.other, c.asked, c.sent))
			found := slices.ContainsFunc(problems, func(p Problem) bool { return strings.Contains(p.What, c.reason) })
			if c.reason == "" && len(problems) > 0 || c.reason != "" && !found {
				t.Errorf("%v, want %q", problems, c.reason)
			}
		})
	}
}
