package webui

import (
	"strings"
	"testing"

	"piloto/internal/conversation"
)

// TestNotesAreShownAtTheirMessage: below a text, and before a card that is shown again; always escaped.
func TestNotesAreShownAtTheirMessage(t *testing.T) {
	w, run := recordedWorld(t, "reserva")
	w.mu.Lock()
	said := w.say("c1", conversation.RoleAssistant, conversation.KindText, "", "Ya he reservado la sala.")
	card := w.say("c1", conversation.RoleAssistant, conversation.KindPlan, run.ID, "…")
	list := w.messages["c1"]
	for i := range list {
		switch list[i].ID {
		case said.ID:
			list[i].Notes = []conversation.Note{{Code: conversation.NoteNothingDone, Text: "No se ha ejecutado nada <b>desde</b> tu mensaje."}}
		case card.ID:
			list[i].Notes = []conversation.Note{{Code: conversation.NoteNotConfirmed, Text: "No he ejecutado nada."}}
		}
	}
	w.mu.Unlock()
	body := get(t, w.page, "/ui/chats/c1", ana).Body.String()
	text, after, ok := strings.Cut(body, "Ya he reservado la sala.")
	if !ok || strings.Contains(text, "remark") || strings.Count(after, `class="remark"`) != 2 {
		t.Fatalf("%s", body)
	}
	if !strings.Contains(after, "No se ha ejecutado nada &lt;b&gt;desde&lt;/b&gt; tu mensaje.") {
		t.Error("the note is not escaped, or not there")
	}
	if note, cardAt := strings.Index(after, "No he ejecutado nada."), strings.Index(after, `class="card"`); note < 0 || cardAt < note {
		t.Error("the note does not stand before the card")
	}
}
