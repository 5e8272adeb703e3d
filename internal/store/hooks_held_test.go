package store_test

import (
	"strings"
	"testing"
	"time"

	"piloto/infra/local/fixture"
	"piloto/internal/live/hook"
	"piloto/internal/runs/run"
	"piloto/internal/tools/tool"
)

// TestTheBacklogOfAHookHoldsNoOther (guarantee I40): although it is larger than what one sweep reads.
func TestTheBacklogOfAHookHoldsNoOther(t *testing.T) {
	if testing.Short() {
		t.Skip("thousands of deliveries")
	}
	for name, answer := range map[string]func(h hooked) (int, error){
		"no answer": func(hooked) (int, error) { return 0, tool.ErrLost.With("reason", "timeout") },
		"slow 503":  func(h hooked) (int, error) { h.Pass(9 * time.Second); return 503, nil },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHooked(t)
			dead, _ := h.make("https://dead.example", hook.PlanProposed)
			h.to.answer = func(url string) (int, error) {
				if url == dead.URL {
					return answer(h)
				}
				return 204, nil
			}
			for range 1300 {
				h.Propose(fixture.To("GET", "/rooms", ""))
			}
			h.sweep()
			h.sweep()
			h.Pass(time.Minute)
			h.make("https://well.example", hook.PlanProposed)
			h.Propose(fixture.To("GET", "/rooms", ""))
			h.to.take()
			for range 3 {
				h.Pass(time.Minute)
				h.sweep()
			}
			for _, p := range h.to.take() {
				if strings.HasPrefix(p.url, "https://well") {
					return
				}
			}
			t.Error("in three sweeps nothing was sent to the hook that answers")
		})
	}
}

// TestAPlanMadeAgainIsToldToTheHooksOfNow: not to those of the time of the first plan.
func TestAPlanMadeAgainIsToldToTheHooksOfNow(t *testing.T) {
	for name, status := range map[string]int{"repeated": 200, "retried": 404} {
		t.Run(name, func(t *testing.T) {
			h := newHooked(t)
			h.World.Answer(func(tool.Request) (tool.Answer, error) { return tool.Answer{Status: status}, nil })
			r := h.run()
			made, _ := h.make("https://x.example", hook.PlanProposed)
			var err error
			if name == "repeated" {
				_, err = h.World.Runs.Repeat(ctx, run.Again{Account: fixture.Account, RunID: r.ID, User: "ana"})
			} else {
				_, err = h.World.Runs.Retry(ctx, run.Again{Account: fixture.Account, RunID: r.ID, User: "ana"})
			}
			if err != nil {
				t.Fatal(err)
			}
			h.sweep()
			if got := h.to.take(); len(got) != 1 {
				t.Errorf("%s was told of %d plans", made.URL, len(got))
			}
		})
	}
}
