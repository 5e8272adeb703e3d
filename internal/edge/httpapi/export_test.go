package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"piloto/internal/conversation"
	"piloto/internal/conversation/wire"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/locale"
)

// pagedMessages is a store whose chat has so many messages of so many bytes.
type pagedMessages struct {
	storedChats
	n, size int
}

func (p pagedMessages) Chat(context.Context, ids.Account, string) (conversation.Chat, error) {
	return conversation.Chat{ID: chatID, Title: "Una\nsala"}, nil
}

func (p pagedMessages) Messages(_ context.Context, _ conversation.Key, cursor string, limit int) ([]conversation.Message, string, error) {
	last := p.n
	if cursor != "" {
		_, _ = fmt.Sscan(cursor, &last)
	}
	first := max(0, last-limit)
	var list []conversation.Message
	for i := first; i < last; i++ {
		list = append(list, conversation.Message{ID: fmt.Sprint(i), Role: conversation.RoleUser, Content: strings.Repeat("é", p.size/2)})
	}
	if first == 0 {
		return list, "", nil
	}
	return list, fmt.Sprint(first), nil
}

func TestAnExportHasTheNewestInOrder(t *testing.T) {
	for _, c := range []struct {
		n, size, want int
		cut           bool
	}{{0, 10, 0, false}, {1, 10, 1, false}, {250, 10, 250, false}, {2000, 20_000, 208, true}, {1, 5 << 20, 0, true}} {
		r := chatRecords{chats: pagedMessages{n: c.n, size: c.size}}
		got, err := r.exported(context.Background(), chatID, ExportFormat{})
		if err != nil {
			t.Fatal(err)
		}
		e := got.Body.(ChatExport)
		raw, _ := json.Marshal(e)
		if len(e.Messages) != c.want || e.Truncated != c.cut || len(raw) > mostExported+1000 {
			t.Errorf("%d messages of %d bytes: %d of %d bytes, cut %v", c.n, c.size, len(e.Messages), len(raw), e.Truncated)
		}
		for i, m := range e.Messages {
			if m.ID != fmt.Sprint(c.n-len(e.Messages)+i) {
				t.Fatalf("message %d is %s", i, m.ID)
			}
		}
	}
}

func TestAnExportInMarkdownIsForPeople(t *testing.T) {
	e := ChatExport{Chat: conversation.Chat{Title: "Una\nsala"}, Truncated: true, Messages: []wire.Message{
		{Role: conversation.RoleUser, Content: "¿Cuál?"},
		{Role: conversation.RoleUser, Content: "gone", ReplacedBy: "x"},
		{Role: conversation.RoleAssistant, Content: "- Norte\n", Notes: []conversation.Note{{Code: conversation.NoteCost, Text: "Ha costado."}, {Code: conversation.NoteNothingDone, Text: "Nada\nhecho."}, {Code: conversation.NoteInDoubt, Text: "No se sabe."}}, Sources: []conversation.Source{{Service: "Salas", Method: "GET", URL: "https://a/`b`", Status: 200}}},
	}}
	text := string(e.markdown(locale.Spanish, time.UTC))
	for _, want := range []string{"# Una sala\n", "**Tú**", "¿Cuál?", "**Piloto**", "UTC\n\n> ⚠️ **Aviso: Nada hecho.**\n\n> ⚠️ **Aviso: No se sabe.**\n\n- Norte\n\n_Ha costado._\n", "Salas: `GET https://a/'b'` (200)", "más antiguos"} {
		if !strings.Contains(text, want) {
			t.Errorf("it lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "gone") {
		t.Error("it has what was replaced")
	}
}

func TestAnExportIsServedAsAFile(t *testing.T) {
	for query, kind := range map[string]string{"": "application/json", "?format=json": "application/json", "?format=md": "text/markdown; charset=utf-8", "?format=pdf&tz=Europe/Madrid": "application/pdf"} {
		got := newSite().do(ask(talker, http.MethodGet, "/api/chats/"+chatID+"/export"+query, ""))
		if got.Code != http.StatusOK || got.Header().Get("Content-Type") != kind || !strings.HasPrefix(got.Header().Get("Content-Disposition"), `attachment; filename="piloto-`+chatID+`.`) {
			t.Errorf("%s: %d %v", query, got.Code, got.Header())
		}
	}
	for path, want := range map[string]int{chatID + "/export?format=doc": 422, chatID + "/export?format=md&tz=Local": 422, chatID + "/export?format=pdf&tz=Mars/Base": 422, chatID + "/export?tz=../../etc/passwd": 422, "none/export": 404} {
		if got := newSite().do(ask(talker, http.MethodGet, "/api/chats/"+path, "")); got.Code != want {
			t.Errorf("%s: %d", path, got.Code)
		}
	}
}

// TestAPaperIsForPeople: times are in the reader's zone. A plan has its steps, and not how to confirm it. Messages that
// were replaced are left out.
func TestAPaperIsForPeople(t *testing.T) {
	madrid, err := time.LoadLocation("Europe/Madrid")
	if err != nil {
		t.Fatal(err)
	}
	e := ChatExport{Chat: conversation.Chat{Title: "Una\nsala"}, Truncated: true, Messages: []wire.Message{
		{Role: conversation.RoleUser, Kind: conversation.KindText, Content: "**¿Cuál?**", At: noon},
		{Role: conversation.RoleUser, Kind: conversation.KindText, Content: "gone", ReplacedBy: "x"},
		{Role: conversation.RoleAssistant, Kind: conversation.KindText, Content: "- Norte", At: noon.AddDate(0, 4, 0), Notes: []conversation.Note{{Code: conversation.NoteNotInResults, Text: "no consta"}, {Code: conversation.NotePartial, Text: "falta algo"}}, Sources: []conversation.Source{{Service: "Salas", Tool: "rooms"}}, Feedback: &conversation.Feedback{Rating: conversation.Down, Note: "sin\nprecio"}},
		{Role: conversation.RoleAssistant, Kind: conversation.KindPlan, Content: "Plan propuesto: x. Responde «confirmo».\n1. Reservar\n   POST /x"},
		{Role: conversation.RoleAssistant, Kind: conversation.KindFinal, Content: "✅ Hecho"},
		{Role: conversation.RoleAssistant, Kind: conversation.KindText, Content: "¿Cuál?\n1. Norte\n2. Sur", Asks: true, Options: conversation.NewOptions([]string{"Norte", "Sur"})},
	}}
	p := e.paper(locale.Spanish, madrid, noon)
	if p.Title != "Una sala" || len(p.Notes) != 2 || !strings.Contains(p.Notes[0], "2026-03-01 13:00:00 CET") || len(p.Entries) != 5 {
		t.Fatalf("%+v", p)
	}
	for i, want := range []conversation.PaperEntry{
		{Author: "Tú", Time: "2026-03-01 13:00:00 CET", Text: "**¿Cuál?**"},
		{Author: "Piloto", Time: "2026-07-01 14:00:00 CEST", Text: "- Norte", Markdown: true, Above: []string{"Aviso: no consta"}, Notes: []string{"falta algo", "Salas: rooms (0)", "Valoración: mala. sin precio"}},
		{Text: "Plan propuesto\n1. Reservar\n   POST /x"},
		{Text: "Hecho"},
		{Text: "¿Cuál?\n1. Norte\n2. Sur", Markdown: true},
	} {
		got := p.Entries[i]
		if got.Text != want.Text || got.Markdown != want.Markdown || fmt.Sprint(got.Above, got.Notes) != fmt.Sprint(want.Above, want.Notes) || want.Time != "" && (got.Time != want.Time || got.Author != want.Author) {
			t.Errorf("%d: %+v", i, got)
		}
	}
}
