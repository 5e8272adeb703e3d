package runs

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"piloto/internal/runs/plan"
	"piloto/internal/store/kv"
)

// TestTheEndKeepsARequestWithItsState: the states of a large run are written in several transactions, and a process may die
// between two. What the chat keeps of a request is in that of its state.
func TestTheEndKeepsARequestWithItsState(t *testing.T) {
	at := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	r := plan.Run{ID: "r", Account: "a", ChatID: "c"}
	var closed []plan.StepState
	for i := range 3*mostStates + 1 {
		id := plan.ParseEffect(fmt.Sprint("s", i))
		r.Plan.Steps = append(r.Plan.Steps, plan.Step{ID: id, Method: "POST", Path: fmt.Sprint("/", i), Risk: plan.Write})
		st := plan.StepState{StepID: id, Status: plan.StepRunning, UpdatedAt: at, Attempts: 1, Last: plan.Attempt{Number: 1, URL: fmt.Sprint("https://x.example/", i), Key: fmt.Sprint("k", i), Open: true}}
		r.Steps = append(r.Steps, st)
		st.Status, st.Last.Open = plan.StepInDoubt, false
		if i == 0 { // it was not sent, and so the pairs behind it do not fill a transaction evenly
			st.Status, st.Last.Key = plan.StepCancelled, ""
		}
		closed = append(closed, st)
	}
	tr := &transition{from: r, next: r}
	kept := 0
	for _, part := range divide(tr.closings(closed)) {
		states, notes := 0, 0
		for _, w := range part {
			switch {
			case strings.HasPrefix(kv.Text(w.Row(), "SK"), "UNANSWERED#"):
				notes++
			case kv.Text(w.Row(), "status") == string(plan.StepInDoubt):
				states++
			}
		}
		if kept += notes; states != notes || len(part) > mostStates {
			t.Errorf("a part of %d writes has %d states in doubt and %d requests", len(part), states, notes)
		}
	}
	if kept != 3*mostStates {
		t.Errorf("%d requests are kept", kept)
	}
}
