package httpapi

import (
	"encoding/json"
	"fmt"
	"testing"

	"piloto/internal/chats/turn"
	"piloto/internal/conversation"
	"piloto/internal/ground/locale"
	"piloto/internal/runs/plan"
)

// TestALineStaysWithItsText: the texts of an Operator's answer are joined, and each line that contradicts one stands before it.
func TestALineStaysWithItsText(t *testing.T) {
	note := func(code, text string) []conversation.Note { return []conversation.Note{{Code: code, Text: text}} }
	got := showOperator(turn.Reply{
		Kind: turn.KindPlan, Run: &plan.Run{ID: "r1", Status: plan.Draft},
		Before: []conversation.Message{
			{Content: "Ya está reservado.", Notes: note(conversation.NoteNothingDone, "Nada hecho.")},
			{Content: "Son 7.", Notes: append(note(conversation.NoteNotInResults, "No está: 7."), note(conversation.NoteCost, "Ha costado.")...)},
		},
		Message: conversation.Message{Content: "El plan.", Notes: note(conversation.NotePartial, "Falta algo.")},
	}, "s", locale.Spanish)
	if want := "⚠️ Aviso: Nada hecho.\n\nYa está reservado.\n\n⚠️ Aviso: No está: 7.\n\nSon 7.\n\nEl plan."; got.Response != want {
		t.Errorf("%q", got.Response)
	}
	if codes := fmt.Sprint(got.Notes); codes != "[{nothing_done Nada hecho.} {not_in_results No está: 7.} {cost Ha costado.} {partial Falta algo.}]" {
		t.Error(codes)
	}
}

// TestATextNamesThePlanThatWaits: a client that shows a text beside a draft knows what to confirm, in each contract. It is no
// plan that was proposed.
func TestATextNamesThePlanThatWaits(t *testing.T) {
	reply := turn.Reply{Kind: turn.KindMessage, Pending: &plan.Run{ID: "r1", Status: plan.Draft, Digest: "ab"}, Routed: &turn.Routed{}}
	for _, v := range []any{showTurn(reply, locale.Spanish), showRouted(reply, "s", locale.Spanish), showOperator(reply, "s", locale.Spanish)} {
		raw, err := json.Marshal(v)
		var got struct {
			Run       *Run
			Pending   Run        `json:"pending_run"`
			ToolCalls []ToolCall `json:"tool_calls"`
		}
		if err != nil || json.Unmarshal(raw, &got) != nil || got.Pending.RunID != "r1" || got.Pending.Digest != "ab" || got.Run != nil || got.ToolCalls != nil {
			t.Errorf("%s, %v", raw, err)
		}
	}
}
