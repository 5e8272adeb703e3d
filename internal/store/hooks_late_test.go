package store_test

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"piloto/infra/local/fixture"
	"piloto/internal/live/hook"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/rule"
	"piloto/internal/tools/tool"
)

// types returns what the receiver got since it was asked last, in the order of the alphabet.
func (h hooked) types() []string {
	h.t.Helper()
	var list []string
	for _, m := range h.messages() {
		list = append(list, string(m.Type))
	}
	slices.Sort(list)
	return list
}

// messages sends what is due and returns it.
func (h hooked) messages() []hook.Message {
	h.t.Helper()
	h.sweep()
	var list []hook.Message
	for _, p := range h.to.take() {
		var m hook.Message
		if err := json.Unmarshal([]byte(p.body), &m); err != nil {
			h.t.Fatal(err)
		}
		list = append(list, m)
	}
	return list
}

// TestAHookHearsOfARunThatIsUnderWay (guarantee I40): it was made after the plan was proposed, or confirmed. It hears
// nothing of what happened before it, and one that was removed hears nothing more.
func TestAHookHearsOfARunThatIsUnderWay(t *testing.T) {
	ask := rule.Set{Rules: []rule.Rule{{ID: "ask", Effect: rule.Ask, Path: "/rooms*", Reason: "se mira"}}}
	t.Run("after it was proposed", func(t *testing.T) {
		h := newHooked(t)
		if err := h.World.Store.Runs.SetRules(ctx, fixture.Account, 0, ask); err != nil {
			t.Fatal(err)
		}
		draft := h.Propose(fixture.To("GET", "/rooms", ""))
		h.make("https://x.example", hook.Events...)
		if err := h.Confirm(draft); err != nil {
			t.Fatal(err)
		}
		h.Execute(draft.ID)
		got := h.messages()
		if len(got) != 1 || got[0].Type != hook.RunWaiting {
			t.Fatalf("%s: it heard of %v", h.Read(draft.ID).Status, got)
		}
		var data hook.RunData
		request := h.Read(draft.ID).State(plan.EffectOf("s1")).Approval.Request
		if err := json.Unmarshal(got[0].Data, &data); err != nil || len(request) != 64 || len(data.Approvals) != 1 ||
			data.Approvals[0] != (hook.ApprovalData{StepID: "s1", Request: request}) || data.Path != "/?approve="+draft.ID+"&step=s1&request_digest="+request {
			t.Errorf("%v: %s", err, got[0].Data)
		}
	})
	t.Run("after it was confirmed", func(t *testing.T) {
		h := newHooked(t)
		h.World.Answer(func(tool.Request) (tool.Answer, error) { return tool.Answer{}, tool.ErrLost.Because(errors.New("cut")) })
		draft := h.Propose(fixture.To("POST", "/bookings", `{"room":"norte"}`))
		if err := h.Confirm(draft); err != nil {
			t.Fatal(err)
		}
		h.make("https://x.example", hook.Events...)
		h.Execute(draft.ID)
		if r := h.Read(draft.ID); r.Status != plan.InDoubt {
			t.Fatal(r.Status)
		}
		if got := h.types(); !slices.Equal(got, []string{"run.finished", "run.in_doubt"}) {
			t.Errorf("it heard of %v", got)
		}
	})
	t.Run("it was removed", func(t *testing.T) {
		h := newHooked(t)
		made, _ := h.make("https://x.example", hook.Events...)
		draft := h.Propose(fixture.To("GET", "/rooms", ""))
		h.types()
		if err := h.service.Delete(ctx, fixture.Account, made.ID); err != nil {
			t.Fatal(err)
		}
		if err := h.Confirm(draft); err != nil {
			t.Fatal(err)
		}
		h.Execute(draft.ID)
		if due, err := h.World.Store.Hooks.DueHooks(ctx, h.Clock(), 10); err != nil || len(due) > 0 {
			t.Errorf("%v %v", due, err)
		}
	})
}
