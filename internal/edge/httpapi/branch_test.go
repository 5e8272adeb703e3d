package httpapi

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"

	"piloto/internal/conversation"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/locale"
)

// storedChats is Chats under a name that its method does not have.
type storedChats = Chats

// named is a store with chats of some titles.
type named struct {
	storedChats
	titles []string
}

func (n named) Chats(context.Context, ids.Account, conversation.ChatFilter, string, int) ([]conversation.Chat, string, error) {
	var list []conversation.Chat
	for _, title := range n.titles {
		list = append(list, conversation.Chat{Title: title})
	}
	return list, "", nil
}

func TestABranchHasATitleOfItsOwn(t *testing.T) {
	for _, c := range []struct {
		title string
		there []string
		want  string
	}{
		{"Salas", nil, "Salas (rama)"},
		{"Salas", []string{"Salas", "Salas (rama)"}, "Salas (rama 2)"},
		{"Salas (rama)", []string{"Salas (rama)"}, "Salas (rama 2)"},
		{"Salas (rama 7)", []string{"Salas (rama)", "Salas (rama 2)"}, "Salas (rama 3)"},
		{"", nil, "(rama)"},
		{strings.Repeat("ñ", 200), nil, strings.Repeat("ñ", 188) + "… (rama)"},
	} {
		got, err := chatRecords{chats: named{titles: c.there}}.branchTitle(t.Context(), "a", c.title, locale.Spanish)
		if err != nil || got != c.want || utf8.RuneCountInString(got) > 200 {
			t.Errorf("%s: %q %v", c.title, got, err)
		}
	}
}

func TestAChatAndAProjectAreMadeOnceUnderAKey(t *testing.T) {
	for path, body := range map[string]string{"/api/chats": `{"title":"Salas"}`, "/api/projects": `{"name":"Oficina"}`} {
		s := newSite()
		post := func(body string, headers ...string) *httptest.ResponseRecorder {
			return s.do(ask(boss, http.MethodPost, path, body, headers...))
		}
		first := post(body, "Idempotency-Key", "k")
		made := s.count()
		again := post(body, "Idempotency-Key", "k")
		if first.Code != http.StatusCreated || again.Code != first.Code || again.Body.String() != first.Body.String() ||
			again.Header().Get("Idempotency-Replayed") != "true" || s.count() != made {
			t.Errorf("%s: %d %s, then %d %s", path, first.Code, first.Body, again.Code, again.Body)
		}
		if other := post(strings.Replace(body, `":"`, `":"x`, 1), "Idempotency-Key", "k"); decode(t, other)["code"] != "request.key_reused" {
			t.Errorf("%s: another request: %d %s", path, other.Code, other.Body)
		}
		if free := post(body); free.Code != http.StatusCreated || s.count() == made {
			t.Errorf("%s: without a key: %d %s", path, free.Code, free.Body)
		}
	}
}

func (w *world) Branch(_ context.Context, account ids.Account, b conversation.Branch) (conversation.Chat, error) {
	to := b.To
	to.BranchedFrom = &conversation.Origin{ChatID: b.From, MessageID: b.MessageID}
	if b.MessageID != messageID {
		return to, conversation.ErrMessageNotFound
	}
	if err := b.Takes(2 << 20); err != nil {
		return to, err
	}
	return to, w.called(account, chatOr(b.From), chatID, conversation.ErrChatNotFound)
}

func TestAChatIsBranchedOnceUnderAKey(t *testing.T) {
	s := newSite()
	post := func(body, key string) (int, string) {
		r := ask(talker, http.MethodPost, "/api/chats/"+chatID+"/branch", body, "Content-Type", "application/json")
		if key != "" {
			r.Header.Set("Idempotency-Key", key)
		}
		got := s.do(r)
		return got.Code, got.Body.String()
	}
	code, first := post(`{"message_id":"`+messageID+`"}`, "k")
	if code != http.StatusCreated || !strings.Contains(first, `"branched_from":{"chat_id":"`+chatID+`","message_id":"`+messageID+`"}`) || !strings.Contains(first, "Reservas (rama)") {
		t.Fatalf("%d %s", code, first)
	}
	calls := s.count()
	if code, again := post(`{"message_id":"`+messageID+`"}`, "k"); code != http.StatusCreated || again != first || s.count() != calls {
		t.Errorf("again: %d %s", code, again)
	}
	for body, want := range map[string]int{`{"message_id":"` + ghostID + `"}`: 404, `{}`: 422, `{"message_id":""}`: 422, `{"message_id":"` + messageID + `","x":1}`: 422} {
		if code, got := post(body, ""); code != want {
			t.Errorf("%s: %d %s", body, code, got)
		}
	}
	s.chat.Company = 7
	if code, got := post(`{"message_id":"`+messageID+`"}`, ""); code != http.StatusConflict {
		t.Errorf("a chat of the router: %d %s", code, got)
	}
}

func TestFeedbackIsARatingWithANote(t *testing.T) {
	for body, want := range map[string]string{
		`{"rating":"up"}`: `"feedback":{"rating":"up","by":"ana","at":"2026-03-01T12:00:00Z"}`,
		`{"rating":"down","note":" falta el precio "}`:               `"note":"falta el precio"`,
		`{"rating":"up","note":"` + strings.Repeat("ñ", 2000) + `"}`: `"rating":"up"`,
		`{"rating":null}`:            `"content":"Hola","at"`,
		`{"rating":null,"note":"x"}`: "422",
		`{"rating":"bad"}`:           "422",
		`{"note":"x"}`:               "422",
		`{}`:                         "422",
		`{"rating":"up","note":"` + strings.Repeat("ñ", 2001) + `"}`: "422",
	} {
		got := newSite().do(ask(talker, http.MethodPut, "/api/messages/"+messageID+"/feedback", body, "Content-Type", "application/json"))
		if want == "422" && got.Code != 422 || want != "422" && (got.Code != 200 || !strings.Contains(got.Body.String(), want)) {
			t.Errorf("%.60s: %d %s", body, got.Code, got.Body)
		}
	}
	for path, want := range map[string]int{
		messageID + "/feedback?chat_id=" + chatID:  200,
		messageID + "/feedback?chat_id=" + ghostID: 404,
		ghostID + "/feedback":                      404,
		ghostID + "%23final/feedback":              404,
		"nope/feedback":                            404,
	} {
		if got := newSite().do(ask(talker, http.MethodPut, "/api/messages/"+path, `{"rating":"up"}`, "Content-Type", "application/json")); got.Code != want {
			t.Errorf("%s: %d %s", path, got.Code, got.Body)
		}
	}
	s := newSite()
	if got := s.do(ask(talker, http.MethodPut, "/api/messages/"+runID+"%23final/feedback", `{"rating":"up"}`, "Content-Type", "application/json")); got.Code != 404 || s.count() != 2 {
		t.Errorf("the end of a run is looked for in the run's chat: %d %s, %d calls", got.Code, got.Body, s.count())
	}
}
