package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"piloto/internal/access/auth"
	"piloto/internal/chats/agent"
	"piloto/internal/ground/ids"
)

// memoryStore is a store of memories, all in one list.
type memoryStore struct {
	mu    sync.Mutex
	kept  []kept
	calls int
	more  bool
	down  bool
}

type kept struct {
	account ids.Account
	memory  agent.Memory
}

func (a *memoryStore) put(account ids.Account, company int64, session string, list ...agent.Exchange) {
	m := agent.Memory{Company: company, Session: session}
	for _, e := range list {
		m = m.Add(e)
	}
	a.kept = append(a.kept, kept{account, m})
}

// called counts a call, and fails while the store is down.
func (a *memoryStore) called() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls++
	if a.down {
		return errDown
	}
	return nil
}

func (a *memoryStore) Memory(ctx context.Context, account ids.Account, company int64, session string, at time.Time) (agent.Memory, error) {
	list, _, err := a.Memories(ctx, account, session, at)
	for _, m := range list {
		if m.Company == company {
			return m, err
		}
	}
	return agent.Memory{Company: company, Session: session}, err
}

func (a *memoryStore) Remember(_ context.Context, account ids.Account, m agent.Memory, e agent.Exchange) error {
	a.put(account, m.Company, m.Session, e)
	return a.called()
}

func (a *memoryStore) Memories(_ context.Context, account ids.Account, session string, at time.Time) ([]agent.Memory, bool, error) {
	var list []agent.Memory
	for _, k := range a.kept {
		if m := k.memory.At(at); k.account == account && m.Session == session && len(m.Exchanges) > 0 {
			list = append(list, m)
		}
	}
	return list, a.more, a.called()
}

func (a *memoryStore) Forget(_ context.Context, account ids.Account, session string, company int64) error {
	a.kept = slices.DeleteFunc(a.kept, func(k kept) bool {
		return k.account == account && k.memory.Session == session && (company == 0 || k.memory.Company == company)
	})
	return a.called()
}

func (a *memoryStore) MemoryStats(_ context.Context, account ids.Account, _ time.Time) (agent.MemoryStats, error) {
	stats := agent.MemoryStats{More: a.more}
	for _, k := range a.kept {
		if k.account == account {
			stats.Sessions, stats.Companies, stats.Exchanges = stats.Sessions+1, stats.Companies+1, stats.Exchanges+len(k.memory.Exchanges)
		}
	}
	return stats, a.called()
}

// memoryRoutes returns the routes of memory over a store with three exchanges.
func memoryRoutes() (*memoryStore, http.Handler) {
	a := &memoryStore{}
	at := noon.Add(-time.Hour)
	a.put("a", 7, "+51 999", agent.Exchange{User: "hola", Response: "¡Hola!", At: at},
		agent.Exchange{User: "quiero <mesa>", Agent: "reserva", Response: "¿Para cuándo?", At: at.Add(2 * time.Minute)})
	a.put("a", 8, "+51 999", agent.Exchange{User: "precio", Agent: "venta", Response: "10", At: at.Add(time.Minute)})
	a.put("a", 7, "stats", agent.Exchange{User: "x", Response: "y", At: at})
	a.put("b", 7, "suya", agent.Exchange{User: "secreto", Response: "secreto", At: at})
	made := newAPI(newSite().config)
	made.function = FunctionRecords
	made.memory(agent.Sessions{Store: a, Now: func() time.Time { return noon }})
	return a, made.handler()
}

func send(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func memoryPath(session string) string { return "/memory/" + url.PathEscape(session) }

func TestAMemoryHasTheFormOfDocument001(t *testing.T) {
	const (
		first  = `{"user":"hola","agent":null,"response":"¡Hola!","timestamp":"2026-03-01T11:00:00Z","id_empresa":7}`
		second = `{"user":"precio","agent":"venta","response":"10","timestamp":"2026-03-01T11:01:00Z","id_empresa":8}`
		third  = `{"user":"quiero <mesa>","agent":"reserva","response":"¿Para cuándo?","timestamp":"2026-03-01T11:02:00Z","id_empresa":7}`
	)
	for _, c := range []struct{ path, want string }{
		{memoryPath("+51 999"), `{"session_id":"+51 999","turns":[` + first + "," + second + "," + third + `],"current_agent":"reserva"}`},
		{memoryPath("+51 999") + "?id_empresa=7", `{"session_id":"+51 999","turns":[` + first + "," + third + `],"current_agent":"reserva"}`},
		{memoryPath("+51 999") + "?id_empresa=9", `{"session_id":"+51 999","turns":[],"current_agent":null}`},
		{"/memory/nadie", `{"session_id":"nadie","turns":[],"current_agent":null}`},
		{"/memory/%73tats", `{"session_id":"stats","turns":[{"user":"x","agent":null,"response":"y","timestamp":"2026-03-01T11:00:00Z","id_empresa":7}],"current_agent":null}`},
		{"/memory/stats", `{"sessions":3,"companies":3,"turns":4,"max_turns":10,"shown_turns":5,"ttl_hours":24}`},
	} {
		_, h := memoryRoutes()
		w := send(h, ask(talker, "GET", c.path, ""))
		var got, want any
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
			t.Fatalf("%s: %d %s", c.path, w.Code, w.Body)
		}
		_ = json.Unmarshal([]byte(c.want), &want)
		if a, b := canonical(got), canonical(want); w.Code != 200 || a != b {
			t.Errorf("%s: %d\n got %s\nwant %s", c.path, w.Code, a, b)
		}
	}
}

func canonical(v any) string {
	raw, _ := json.Marshal(v)
	return string(raw)
}

// TestAForeignSessionHasNoMemory: another account's session, a missing one and an invalid name get the same answer.
func TestAForeignSessionHasNoMemory(t *testing.T) {
	shown := func(who auth.Principal, session string) string {
		a, h := memoryRoutes()
		w := send(h, ask(who, "GET", memoryPath(session), ""))
		if w.Code != 200 {
			t.Errorf("%q: %d %s", session, w.Code, w.Body)
		}
		if !isPrintable(session) && a.calls != 0 {
			t.Errorf("%q is no name, and yet %d calls", session, a.calls)
		}
		body := decode(t, w)
		if body["session_id"] != session {
			t.Errorf("%q answers for %q", session, body["session_id"])
		}
		delete(body, "session_id")
		return canonical(body)
	}
	missing := shown(talker, "nadie")
	for _, session := range []string{"suya", "a\nb", strings.Repeat("s", 129), "..."} {
		if got := shown(talker, session); got != missing {
			t.Errorf("%q: %s, want %s", session, got, missing)
		}
	}
	if got := shown(other, "suya"); got == missing {
		t.Error("its own account does not see it either")
	}
}

func TestForgetDeletesOnlyTheOwnMemory(t *testing.T) {
	for _, c := range []struct {
		path string
		left int
	}{
		{memoryPath("+51 999"), 2},
		{memoryPath("+51 999") + "?id_empresa=8", 3},
		{"/memory/nadie", 4},
		{"/memory/suya", 4},
		{"/memory/stats", 3}, // the session with this name
		{"/memory/a%0Ab", 4},
	} {
		a, h := memoryRoutes()
		for range 2 {
			w := send(h, ask(talker, "DELETE", c.path, ""))
			if w.Code != 204 || w.Body.Len() != 0 {
				t.Errorf("%s: %d %s", c.path, w.Code, w.Body)
			}
		}
		if len(a.kept) != c.left {
			t.Errorf("%s: %d left, want %d", c.path, len(a.kept), c.left)
		}
	}
}

func TestMemoryRefusesAnInvalidCompany(t *testing.T) {
	for _, method := range []string{"GET", "DELETE"} {
		for query, want := range map[string]string{
			"0": "[query id_empresa] greater_than_equal", "-1": "[query id_empresa] greater_than_equal",
			"x": "[query id_empresa] int_parsing", "9223372036854775808": "[query id_empresa] int_parsing",
		} {
			a, h := memoryRoutes()
			w := send(h, ask(talker, method, "/memory/s?id_empresa="+query, ""))
			if got := wrong(t, w); w.Code != 422 || got != want || a.calls != 0 {
				t.Errorf("%s %s: %d %s, want %s", method, query, w.Code, got, want)
			}
		}
	}
}

func TestMemoryReportsTruncationAndFailure(t *testing.T) {
	a, h := memoryRoutes()
	a.more = true
	for _, path := range []string{memoryPath("+51 999"), "/memory/stats"} {
		if w := send(h, ask(talker, "GET", path, "")); decode(t, w)["truncated"] != true {
			t.Errorf("%s: %s", path, w.Body)
		}
	}
	a.down = true
	for _, path := range []string{memoryPath("+51 999"), "/memory/s?id_empresa=1", "/memory/stats"} {
		if w := send(h, ask(talker, "GET", path, "")); w.Code != 500 || strings.Contains(w.Body.String(), "canary") {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	if w := send(h, ask(talker, "DELETE", "/memory/s", "")); w.Code != 500 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestMemoryNeedsTheScopeChat(t *testing.T) {
	for _, r := range []struct{ method, path string }{{"GET", "/memory/s"}, {"DELETE", "/memory/s"}, {"GET", "/memory/stats"}} {
		for who, want := range map[*auth.Principal]int{{}: 401, &scopeNo: 403, &biller: 403, &manager: 200, &talker: 200} {
			a, h := memoryRoutes()
			w := send(h, ask(*who, r.method, r.path, ""))
			if w.Code/100*100 != want/100*100 || want/100 == 4 && (w.Code != want || a.calls != 0) {
				t.Errorf("%s %s: %v: %d", r.method, r.path, who.Scopes, w.Code)
			}
		}
	}
}
