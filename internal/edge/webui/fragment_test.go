package webui

import (
	"strings"
	"testing"
	"time"

	"piloto/internal/conversation"
)

// dialogue adds a conversation with every kind of line.
func (w *world) dialogue() {
	w.mu.Lock()
	defer w.mu.Unlock()
	run, events := finishedRun()
	w.runs[run.ID], w.events[run.ID] = run, events
	line := func(i int, role conversation.Role, kind conversation.Kind, runID, text string) conversation.Message {
		return conversation.Message{ID: "m" + itoa(i), Role: role, Kind: kind, RunID: runID, Content: text, At: noon.Add(time.Duration(i) * time.Minute)}
	}
	w.chats["c1"] = conversation.Chat{ID: "c1", Title: "Salas <mañana>", ProjectID: "p1", ActiveRunID: "r", UpdatedAt: noon.Add(-3 * time.Hour)}
	w.projects["p1"] = conversation.Project{ID: "p1", Name: "Lima", Context: "Planta 3 </textarea>", MCPIDs: []string{"rooms"}}
	w.messages["c1"] = []conversation.Message{
		line(1, conversation.RoleUser, conversation.KindText, "", "hola\n<b>dos</b> 👩\u200d🚀"),
		line(2, conversation.RoleAssistant, conversation.KindText, "", "**Hola** [aquí](https://example.org)"),
		line(3, conversation.RoleAssistant, conversation.KindPlan, run.ID, "Plan propuesto"),
		line(4, conversation.RoleSystem, conversation.KindProgress, run.ID, "⏳ Paso 1 de 3"),
		line(5, conversation.RoleSystem, conversation.KindFinal, run.ID, "❓ En duda: «Reservar»."),
		line(6, conversation.RoleSystem, conversation.KindNotice, run.ID, "Plan cancelado."),
		line(7, conversation.RoleAssistant, conversation.KindNotice, "", "No hay **ningún** plan pendiente."),
		line(8, conversation.RoleAssistant, conversation.KindPlan, "gone", "Plan propuesto"),
		{ID: "m9", Role: conversation.RoleSystem, Kind: conversation.KindBlocked, Code: "no_api_key", Content: "La IA no está configurada.", At: noon},
		{
			ID: "m10", Role: conversation.RoleAssistant, Kind: conversation.KindConclusion, RunID: run.ID, Content: "Nadie sabe si se **reservó**.", At: noon,
			By:      &conversation.By{Provider: "openai", Model: "gpt-<4o>"},
			Sources: []conversation.Source{{ID: "s1", MCPID: "rooms", Service: "Salas", Method: "GET", URL: "https://rooms.example/rooms", Status: 200, At: noon}},
			Notes:   []conversation.Note{{Code: conversation.NoteNotInResults, Text: "No está en los resultados: 7."}},
		},
	}
}

func TestALongPlanDoesNotHideItsOwnCard(t *testing.T) {
	w := newWorld(at(noon), Facts{Provider: "openai", Model: "gpt-4o-mini"})
	w.furnish()
	w.dialogue()
	chat := w.messages["c1"][:3]
	for i := range 3 * messagesPage { // progress messages of a run with fifty steps
		chat = append(chat, conversation.Message{
			ID: "p" + itoa(i), Role: conversation.RoleAssistant, Kind: conversation.KindProgress, RunID: chat[2].RunID, Content: "⏳", At: noon,
		})
	}
	w.messages["c1"] = chat
	body := get(t, w.page, "/ui/chats/c1", ana).Body.String()
	if !strings.Contains(body, `id="run-`+chat[2].RunID) || !strings.Contains(body, "dos") || strings.Contains(body, `id="older"`) {
		t.Error(body)
	}
}

func TestFragmentsLookLikeTheirGoldens(t *testing.T) {
	w := newWorld(at(noon), Facts{Provider: "openai", Model: "gpt-4o-mini"})
	w.furnish()
	w.dialogue()
	for name, path := range map[string]string{
		"chat.html": "/ui/chats/c1", "chats.html": "/ui/chats?chat=c1", "new.html": "/ui/new", "servers.html": "/ui/servers",
		"server.html": "/ui/servers/rooms", "projects.html": "/ui/projects", "project.html": "/ui/projects/p1", "missing.html": "/ui/chats/none",
	} {
		t.Run(name, func(t *testing.T) { golden(t, name, dense(get(t, w.page, path, ana).Body.String())) })
	}
}
