package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"piloto/internal/access/auth"
	"piloto/internal/access/rate"
	"piloto/internal/access/replay"
	"piloto/internal/chats/turn"
	"piloto/internal/ground/ids"
)

// asyncSite is a site with asynchronous answers. A turn ends when the test releases it.
type asyncSite struct {
	*site
	apart   AsyncServer
	letGo   chan struct{}
	served  sync.WaitGroup
	started []string // account and id of each started turn
	failed  error    // error of Start
}

func newAsyncSite(change ...func(*Config)) *asyncSite {
	a := &asyncSite{site: newSite(), letGo: make(chan struct{})}
	var n atomic.Int64
	a.config.NewID = func(time.Time) string { return fmt.Sprintf("01K00000000000000000001%03d", n.Add(1)) }
	for _, f := range change {
		f(&a.config)
	}
	turns := waiting{a.world, a.letGo}
	serving := a.config
	a.apart = AsyncServer{Config: serving, Handler: Apart(serving, turns, a.settings.services(serving))}
	later := Async{Most: 5 * time.Second}
	later.Start = func(_ context.Context, account ids.Account, id string) error {
		if a.failed != nil {
			return a.failed
		}
		a.started = append(a.started, string(account)+" "+id)
		a.served.Go(func() {
			for a.apart.Serve(context.Background(), account, id) != nil {
				time.Sleep(time.Millisecond)
			}
		})
		return nil
	}
	a.config.Async = &later
	a.made[FunctionChat], a.made[FunctionRouter] = Chat(a.config, turns, nil), Router(a.config, turns)
	return a
}

// fullStore is a store that accepts no more claims.
type fullStore struct{ replay.Store }

func (fullStore) ClaimReplay(context.Context, replay.Claim, time.Time) (replay.Claim, error) {
	return replay.Claim{}, errDown
}

// waiting are turns that end when the test releases them.
type waiting struct {
	*world
	letGo chan struct{}
}

func (w waiting) Send(ctx context.Context, r turn.Request) (turn.Reply, error) {
	<-w.letGo
	return w.world.Send(ctx, r)
}

func (w waiting) Route(ctx context.Context, r turn.Request) (turn.Reply, error) {
	<-w.letGo
	return w.world.Route(ctx, r)
}

func (w waiting) Answer(ctx context.Context, r turn.Request) (turn.Reply, error) {
	<-w.letGo
	return w.world.Answer(ctx, r)
}

// longTurns are the routes with asynchronous answers, and a valid request for each.
var longTurns = []struct{ path, body string }{
	{"/api/send", bodies["send"]},
	{"/operator/chat", `{"message":"hola","session_id":"` + sessionID + `"}`},
	{"/api/agent/chat", bodies["agentChat"]},
	{"/api/chats/" + chatID + "/answer", `{}`},
}

func TestALongTurnIsAnsweredAtItsLocation(t *testing.T) {
	t.Parallel()
	for _, one := range longTurns {
		t.Run(one.path, func(t *testing.T) {
			t.Parallel()
			at := newSite().do(ask(talker, "POST", one.path, one.body))
			a := newAsyncSite()
			w := a.do(ask(talker, "POST", one.path, one.body, headerPrefer, "respond-async"))
			said := decode(t, w)
			read, _ := said["read"].(string)
			if w.Code != http.StatusAccepted || said["status"] != "working" || said["message"] == "" || read != "/api/turns/"+said["turn_id"].(string) ||
				w.Header().Get("Location") != read || w.Header().Get("Retry-After") == "" || w.Header().Get("Preference-Applied") != "respond-async" {
				t.Fatalf("%d %v %s", w.Code, w.Header(), w.Body)
			}
			if again := a.do(ask(talker, "GET", read, "")); again.Code != http.StatusAccepted || again.Body.String() != w.Body.String() {
				t.Errorf("while it goes on: %d %s", again.Code, again.Body)
			}
			for name, who := range map[string]auth.Principal{"another user": {Account: "a", User: "eva", Scopes: talker.Scopes}, "another account": other} {
				if w := a.do(ask(who, "GET", read, "")); w.Code != http.StatusNotFound || decode(t, w)["code"] != "turn.not_found" {
					t.Errorf("%s: %d %s", name, w.Code, w.Body)
				}
			}
			close(a.letGo)
			a.served.Wait()
			got := a.do(ask(talker, "GET", read, ""))
			if got.Code != at.Code || got.Body.String() != at.Body.String() || got.Header().Get("Content-Type") != at.Header().Get("Content-Type") {
				t.Errorf("%d %s\nand at once it would have been\n%d %s", got.Code, got.Body, at.Code, at.Body)
			}
			if w := a.do(ask(other, "GET", read, "")); w.Code != http.StatusNotFound {
				t.Errorf("once it is answered, another account: %d", w.Code)
			}
			if len(a.turns) != 1 || a.turns[0].Principal.User != "ana" {
				t.Errorf("served as %+v", a.turns)
			}
		})
	}
}

func TestAShortAsyncTurnIsAnsweredDirectly(t *testing.T) {
	t.Parallel()
	for _, one := range longTurns {
		want := newSite().do(ask(talker, "POST", one.path, one.body))
		a := newAsyncSite()
		close(a.letGo)
		got := a.do(ask(talker, "POST", one.path, one.body, headerPrefer, `respond-async, wait=4`))
		if got.Code != want.Code || got.Body.String() != want.Body.String() || got.Header().Get("Location") != "" {
			t.Errorf("%s: %d %s, want %d %s", one.path, got.Code, got.Body, want.Code, want.Body)
		}
		a = newAsyncSite()
		close(a.letGo)
		if got := a.do(ask(talker, "POST", one.path, one.body)); got.Code != want.Code || len(a.started) != 0 {
			t.Errorf("%s: who prefers nothing is answered apart", one.path)
		}
	}
}

func TestADeploymentMayAnswerEveryTurnAsync(t *testing.T) {
	t.Parallel()
	a := newAsyncSite()
	a.config.Async.Wait = 4 * time.Second
	close(a.letGo)
	if w := a.do(ask(talker, "POST", "/api/send", bodies["send"])); w.Code != http.StatusOK || len(a.started) != 1 {
		t.Errorf("%d %s, started %v", w.Code, w.Body, a.started)
	}
}

func TestAnInvalidRequestIsRefusedBeforeItIsAccepted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		who        auth.Principal
		path, body string
		status     int
	}{
		"nobody":         {auth.Principal{}, "/api/send", bodies["send"], 401},
		"no scope":       {scopeNo, "/api/send", bodies["send"], 403},
		"no JSON":        {talker, "/api/send", "{", 400},
		"no message":     {talker, "/api/send", `{"chat_id":"` + chatID + `","message":" "}`, 422},
		"no chat":        {talker, "/api/send", `{"chat_id":"` + ghostID + `","message":"hola"}`, 404},
		"a foreign chat": {other, "/api/send", bodies["send"], 404},
	} {
		a := newAsyncSite()
		close(a.letGo)
		want := newSite().do(ask(c.who, "POST", c.path, c.body))
		got := a.do(ask(c.who, "POST", c.path, c.body, headerPrefer, "respond-async"))
		if got.Code != c.status || got.Code != want.Code || got.Body.String() != want.Body.String() || got.Header().Get("Content-Type") != want.Header().Get("Content-Type") {
			t.Errorf("%s: %d %s, want %d %s", name, got.Code, got.Body, want.Code, want.Body)
		}
	}
}

func TestAnAsyncRequestWithAKeyIsServedOnce(t *testing.T) {
	t.Parallel()
	a := newAsyncSite()
	send := func() *httptest.ResponseRecorder {
		return a.do(ask(talker, "POST", "/api/send", bodies["send"], headerKey, "k1", headerPrefer, "respond-async"))
	}
	first, second := send(), send() // the second one is served by the first one's process
	close(a.letGo)
	a.served.Wait()
	third := send()
	if first.Code != 202 || second.Code != 202 || third.Code != 200 || third.Header().Get("Idempotency-Replayed") != "true" || len(a.turns) != 1 {
		t.Errorf("%d %d %d, %d turns", first.Code, second.Code, third.Code, len(a.turns))
	}
	for _, w := range []*httptest.ResponseRecorder{first, second} {
		if got := a.do(ask(talker, "GET", w.Header().Get("Location"), "")); got.Body.String() != third.Body.String() {
			t.Errorf("%s, want %s", got.Body, third.Body)
		}
	}
}

func TestASignedRequestMayBeAnsweredAsync(t *testing.T) {
	t.Parallel()
	a := newAsyncSite()
	send := func() *httptest.ResponseRecorder {
		return a.do(sign(t, noon, hookID, "d1", agentPath, bodies["agentChat"], set(headerPrefer, "respond-async")))
	}
	first := send()
	close(a.letGo)
	a.served.Wait()
	if second := send(); first.Code != 202 || second.Code != 200 || second.Header().Get("Idempotency-Replayed") != "true" || len(a.turns) != 1 {
		t.Errorf("%d, then %d %s: %d turns", first.Code, second.Code, second.Body, len(a.turns))
	}
}

func TestATurnThatCannotBeServedIsGivenUp(t *testing.T) {
	t.Parallel()
	a := newAsyncSite()
	a.config.Async.Start = func(context.Context, ids.Account, string) error { return nil }
	w := a.do(ask(talker, "POST", "/api/send", bodies["send"], headerPrefer, "respond-async"))
	id := strings.TrimPrefix(w.Header().Get("Location"), turnsPath)
	if err := a.apart.GiveUp(t.Context(), "a", id); err != nil {
		t.Fatal(err)
	}
	close(a.letGo)
	if err := a.apart.Serve(t.Context(), "a", id); err != nil || len(a.turns) != 0 {
		t.Errorf("served all the same: %v", err)
	}
	got := a.do(ask(talker, "GET", turnsPath+id, ""))
	if got.Code != http.StatusServiceUnavailable || decode(t, got)["code"] != "turn.given_up" || got.Header().Get("Content-Type") != "application/problem+json" {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	if err := a.apart.Serve(t.Context(), "a", ghostID); err != nil {
		t.Errorf("one that never was: %v", err)
	}
}

func TestATurnWithAFailedStartIsNotAccepted(t *testing.T) {
	t.Parallel()
	a := newAsyncSite()
	a.failed = errDown
	w := a.do(ask(talker, "POST", "/api/send", bodies["send"], headerPrefer, "respond-async"))
	if w.Code != http.StatusServiceUnavailable || decode(t, w)["code"] != "turn.not_begun" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	a = newAsyncSite(func(c *Config) {
		full := *c.Once
		full.Store = fullStore{c.Once.Store}
		c.Once = &full
	})
	if w := a.do(ask(talker, "POST", "/api/send", bodies["send"], headerPrefer, "respond-async")); w.Code < 500 || len(a.started) != 0 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestAStoredRequestHoldsNoSecret(t *testing.T) {
	t.Parallel()
	a := newAsyncSite()
	a.do(ask(talker, "POST", "/api/send", bodies["send"], headerPrefer, "respond-async", "Authorization", "Bearer canary-1", "X-Vx11-Token", "canary-2",
		"Cookie", "piloto=canary-3", "Accept-Language", "en"))
	defer close(a.letGo)
	kept := 0
	for _, c := range a.hooks.claims {
		if c.Request == nil {
			continue
		}
		kept++
		var b storedRequest
		if err := json.Unmarshal(c.Request, &b); err != nil || strings.Contains(string(c.Request), "canary") {
			t.Errorf("%v %s", err, c.Request)
		}
		if b.Header.Get("Accept-Language") != "en" || string(b.Body) != bodies["send"] || b.Header.Get(headerTrace) != "trace-1" {
			t.Errorf("%+v", b)
		}
	}
	if kept != 1 {
		t.Errorf("%d requests are kept", kept)
	}
}

func TestAnAnswerTooLargeToStoreIsAnError(t *testing.T) {
	t.Parallel()
	a := newAsyncSite()
	a.apart.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(strings.Repeat("x", replay.MaxAnswer)))
	})
	w := a.do(ask(talker, "POST", "/api/send", bodies["send"], headerPrefer, "respond-async, wait=5"))
	if w.Code != http.StatusInternalServerError || decode(t, w)["code"] != replay.ErrTooLarge.Code {
		t.Errorf("%d %.200s", w.Code, w.Body)
	}
}

func TestThePreferHeaderIsParsed(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]struct {
		wait  time.Duration
		async bool
	}{
		"":                                   {},
		"return=minimal":                     {},
		"wait=10":                            {10 * time.Second, false},
		"respond-async":                      {0, true},
		"Respond-Async, WAIT=7":              {7 * time.Second, true},
		`wait="7";x=1 ,respond-async;foo`:    {7 * time.Second, true},
		"respond-async, wait=-1":             {0, true},
		"respond-async, wait=99999999999":    {0, true},
		"respond-async=no, wait = 3":         {3 * time.Second, true},
		",,;=,respond-asynchronous,wait=abc": {},
	} {
		wait, async := preferredWait(http.Header{headerPrefer: {said}})
		if wait != want.wait || async != want.async {
			t.Errorf("%q: %v %v", said, wait, async)
		}
	}
	if wait, async := preferredWait(http.Header{headerPrefer: {"respond-async", "wait=2"}}); wait != 2*time.Second || !async {
		t.Errorf("two fields: %v %v", wait, async)
	}
}

func TestAClientMayLeaveWhileItWaits(t *testing.T) {
	t.Parallel()
	a := newAsyncSite()
	defer close(a.letGo)
	w := a.do(ask(talker, "POST", "/api/send", bodies["send"], headerPrefer, "respond-async"))
	r := ask(talker, "GET", w.Header().Get("Location"), "", headerPrefer, "wait=5")
	ctx, cancel := context.WithCancelCause(r.Context())
	cancel(errors.New("left"))
	if got := a.do(r.WithContext(ctx)); got.Code != http.StatusServiceUnavailable {
		t.Errorf("%d %s", got.Code, got.Body)
	}
}

// TestAnAsyncTurnCountsOnceAndAtOnce: a request beyond the limit is refused before it is stored.
func TestAnAsyncTurnCountsOnceAndAtOnce(t *testing.T) {
	t.Parallel()
	a := newAsyncSite(func(c *Config) {
		c.Meter = &rate.Meter{Limits: rate.Limits{Turns: 2}, Own: rate.NewMemory(), Log: c.Log}
	})
	close(a.letGo)
	send := func(key string) *httptest.ResponseRecorder {
		return a.do(ask(talker, "POST", "/api/send", bodies["send"], headerPrefer, "respond-async, wait=5", headerKey, key))
	}
	first, second, third := send("k1"), send("k2"), send("k3")
	if first.Code != 200 || second.Code != 200 || third.Code != 429 || third.Header().Get("Retry-After") == "" || len(a.started) != 2 || len(a.turns) != 2 {
		t.Errorf("%d %d %d: %d begun, %d served", first.Code, second.Code, third.Code, len(a.started), len(a.turns))
	}
	if again := send("k1"); again.Code != 200 || again.Header().Get("Idempotency-Replayed") != "true" || len(a.started) != 2 {
		t.Errorf("an answer that is given again: %d, %d begun", again.Code, len(a.started))
	}
}

// keptTurn stores a turn of account a.
func keptTurn(c Config) {
	raw, err := json.Marshal(storedRequest{Principal: boss, Method: http.MethodPost, URL: "/api/send"})
	if err == nil {
		err = c.Once.Begin(context.Background(), "a", asyncKey(turnID), ticket{ID: turnID, At: noon}, raw)
	}
	if err == nil {
		answered := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("{}")) })
		err = AsyncServer{Config: c, Handler: answered}.Serve(context.Background(), "a", turnID)
	}
	if err != nil {
		panic(err)
	}
}
