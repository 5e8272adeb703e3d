package run_test

import (
	"strings"
	"sync"
	"testing"

	"piloto/infra/local/fixture"
	"piloto/internal/conversation"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/rule"
)

// TestARuleSinceTheProposalLeavesANote in the chat: which it is, once, however often and at the same time it is confirmed.
func TestARuleSinceTheProposalLeavesANote(t *testing.T) {
	w := newManualWorld(t)
	draft := w.Draft(plan.Proposal{Goal: "Reservar", Steps: []plan.ProposedStep{undoable("a")}})
	deny := func(version int, id string) {
		if err := w.Store.Runs.SetRules(t.Context(), fixture.Account, version, rule.Set{Rules: []rule.Rule{{ID: id, Effect: rule.Deny, Method: "POST", Reason: "Hoy no."}}}); err != nil {
			t.Fatal(err)
		}
	}
	notes := func() (list []conversation.Message) {
		for _, m := range w.Messages() {
			if len(m.Notes) > 0 {
				list = append(list, m)
			}
		}
		return list
	}
	deny(0, "sin-reservas")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if err := w.Confirm(draft); err == nil || !strings.Contains(err.Error(), "stale") {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if err := w.Confirm(draft); err == nil {
		t.Error("it is confirmed")
	}
	list := notes()
	if len(list) != 1 || list[0].RunID != draft.ID || list[0].Kind != conversation.KindNotice || list[0].Notes[0].Code != conversation.NoteRuleDenied ||
		!strings.Contains(list[0].Notes[0].Text, "Hoy no. («sin-reservas»; se cambia en «Reglas»)") || !strings.Contains(list[0].Content, "«Reservar» no se puede confirmar") {
		t.Errorf("%+v", list)
	}
	if all := w.Messages(); len(all) == 0 || len(all[len(all)-1].Notes) != 1 {
		t.Errorf("it is not the last message: %+v", all)
	}
	deny(1, "otra")
	if _ = w.Confirm(draft); len(notes()) != 2 || !strings.Contains(notes()[1].Notes[0].Text, "otra") {
		t.Errorf("%+v", notes())
	}
}
