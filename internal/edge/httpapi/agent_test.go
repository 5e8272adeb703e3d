package httpapi_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"piloto/infra/local/fixture"
	"piloto/internal/access/auth"
	"piloto/internal/access/replay"
	"piloto/internal/chats/agent"
	"piloto/internal/chats/turn"
	"piloto/internal/conversation"
	"piloto/internal/edge/httpapi"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/locale"
)

// scripted returns its replies in order, and repeats the last one.
type scripted struct {
	httpapi.Turns
	replies []turn.Reply
	asked   []turn.Request
}

func (d *scripted) Route(_ context.Context, req turn.Request) (turn.Reply, error) {
	d.asked = append(d.asked, req)
	next := d.replies[0]
	if len(d.replies) > 1 {
		d.replies = d.replies[1:]
	}
	return next, nil
}

// postAgentChat returns the response of POST /api/agent/chat.
func postAgentChat(t *testing.T, h http.Handler, body, key string) (int, map[string]any) {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, "/api/agent/chat", strings.NewReader(body))
	r.Header.Set("Idempotency-Key", key)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r.WithContext(auth.NewContext(r.Context(), auth.Principal{Account: "a", User: "ana", Scopes: []auth.Scope{auth.ScopeChat}})))
	var got map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	return w.Code, got
}

func chatOf(t *testing.T, turns httpapi.Turns) http.Handler {
	now, newID, log := func() time.Time { return fixture.Epoch }, ids.NewSource(nil).New, slog.New(slog.DiscardHandler)
	return httpapi.Router(httpapi.Config{
		Now: now, NewID: newID, Trace: func(context.Context) string { return "trace" }, Log: log,
		Once: &replay.Once{Store: fixture.Table(t).Access, NewID: newID, Now: now, Log: log},
	}, turns)
}

const goodChat = `{"message":"hola","session_id":"s","config":{"id_empresa":1}}`

// TestAnAgentsFailureIsReportedAndNotReplayed: a failed turn is not stored under its key.
func TestAnAgentsFailureIsReportedAndNotReplayed(t *testing.T) {
	said := func(text string, r turn.Routed) turn.Reply {
		return turn.Reply{Message: conversation.Message{Content: text}, Routed: &r}
	}
	until := fixture.Epoch.Add(4 * time.Minute).Format(time.RFC3339)
	d := &scripted{replies: []turn.Reply{
		said("no puedo", turn.Routed{Action: agent.Delegate, Asked: "reserva", Failure: agent.ErrOpen.With("retry_at", until)}),
		said("no llega", turn.Routed{Action: agent.Delegate, Asked: "reserva", Failure: agent.ErrLate}),
		said("una persona", turn.Routed{Action: agent.Respond, Manual: true}),
		said("ya está", turn.Routed{Action: agent.Delegate, Asked: "reserva", Agent: "reserva"}),
	}}
	h := chatOf(t, d)
	for i, want := range []map[string]any{
		{"reply": "no puedo", "agent": "reserva", "failure": map[string]any{"code": "agent.open", "retry_at": until}},
		{"reply": "no llega", "agent": "reserva", "failure": map[string]any{"code": "agent.timeout"}},
		{"reply": "una persona", "manual": true},
		{"reply": "ya está", "agent_used": "reserva"},
		{"reply": "ya está", "agent_used": "reserva"},
	} {
		code, got := postAgentChat(t, h, goodChat, "k")
		for _, member := range []string{"reply", "agent", "failure", "manual", "agent_used"} {
			a, _ := json.Marshal(got[member])
			b, _ := json.Marshal(want[member])
			if code != 200 || string(a) != string(b) {
				t.Errorf("%d: %s is %s, want %s", i, member, a, b)
			}
		}
	}
	if len(d.asked) != 4 || d.asked[0].MessageID != d.asked[3].MessageID {
		t.Errorf("served %d times", len(d.asked))
	}
}

// TestARefusalHasAMessageForTheCustomer: about a fault that they can correct, and about another.
func TestARefusalHasAMessageForTheCustomer(t *testing.T) {
	h := chatOf(t, &scripted{})
	for body, c := range map[string]struct {
		status int
		key    string
	}{
		`{"message":"","session_id":"s","config":{"id_empresa":1}}`:                                    {422, "empty"},
		`{"message":"  \n","session_id":"s","config":{"id_empresa":1}}`:                                {422, "empty"},
		`{"session_id":"s","config":{"id_empresa":1}}`:                                                 {422, "empty"},
		`{"message":"` + strings.Repeat("a", 40<<10) + `","session_id":"s","config":{"id_empresa":1}}`: {413, "long"},
		`{"message":"hola","session_id":"s","config":{"id_empresa":-1}}`:                               {422, "setup"},
		`{"message":"hola","config":{"id_empresa":1}}`:                                                 {422, "setup"},
		`{"message":`: {400, "setup"},
	} {
		status, got := postAgentChat(t, h, body, "k")
		if status != c.status || got["reply"] != locale.Text(locale.Spanish, "router.invalid."+c.key) {
			t.Errorf("%.60s: %d %v", body, status, got["reply"])
		}
	}
}

func TestTheConfigChoosesTheLanguage(t *testing.T) {
	for written, want := range map[string]locale.Tag{
		`"en"`: locale.English, `"en-GB"`: locale.English, `"Inglés"`: locale.English, `"es-PE"`: locale.Spanish, `"español"`: locale.Spanish,
		`null`: locale.Spanish, `""`: locale.Spanish, `"klingon"`: locale.Spanish,
	} {
		d := &scripted{replies: []turn.Reply{{Routed: &turn.Routed{}}}}
		body := `{"message":"hola","session_id":"s","config":{"id_empresa":1,"idioma":` + written + `}}`
		if status, _ := postAgentChat(t, chatOf(t, d), body, "k"); status != 200 || d.asked[0].Locale != want {
			t.Errorf("%s: %d %+v", written, status, d.asked)
		}
	}
}
