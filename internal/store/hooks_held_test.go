package store_test

import (
	"strings"
	"testing"
	"time"

	"piloto/infra/local/fixture"
	"piloto/internal/live/hook"
	"piloto/internal/tools/tool"
)

// TestTheBacklogOfAHookHoldsNoOther (guarantee H3): although it is larger than what one sweep reads.
func TestTheBacklogOfAHookHoldsNoOther(t *testing.T) {
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
