package httpapi

import (
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"piloto/internal/access/auth"
	"piloto/internal/access/replay"
	"piloto/internal/ground/ids"
)

const (
	hookID      = "wh_01K0000000000000000000000H"
	otherHookID = "wh_01K0000000000000000000000J"
)

// hookSecret is the secret of both webhooks of the test world.
var hookSecret = "whsec_" + base64.StdEncoding.EncodeToString([]byte("canary-secret-of-32-bytes-canary"))

// webhookStore is an in-memory store of webhooks, their secrets and answers. Account a has one webhook, and account
// b another.
type webhookStore struct {
	world   *world
	mu      sync.Mutex
	hooks   map[string]auth.Webhook
	secrets map[string]string
	claims  map[string]replay.Claim
	down    bool
}

func newWebhookStore(w *world) *webhookStore {
	at := noon.Add(-time.Hour)
	return &webhookStore{
		world: w, claims: map[string]replay.Claim{}, secrets: map[string]string{"a " + hookID: hookSecret, "b " + otherHookID: hookSecret},
		hooks: map[string]auth.Webhook{
			hookID:      {ID: hookID, Account: "a", User: "ana", Name: "n8n", Scopes: []auth.Scope{auth.ScopeChat}, CreatedAt: at},
			otherHookID: {ID: otherHookID, Account: "b", User: "eva", Name: "n8n", Scopes: []auth.Scope{auth.ScopeChat}, CreatedAt: at},
		},
	}
}

func (h *webhookStore) services(c Config) (Webhooks, *replay.Once) {
	var n atomic.Int64
	newID := func(time.Time) string { return fmt.Sprintf("01K0000000000000000000%04d", n.Add(1)) }
	return &auth.Webhooks{Store: h, Secrets: h, NewID: newID, Now: c.Now},
		&replay.Once{Store: h, NewID: newID, Now: c.Now, Log: c.Log}
}

func (h *webhookStore) Webhook(_ context.Context, id string) (auth.Webhook, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.down {
		return auth.Webhook{}, errDown
	}
	w, ok := h.hooks[id]
	if !ok {
		return w, auth.ErrWebhookNotFound
	}
	return w, nil
}

func (h *webhookStore) Webhooks(_ context.Context, account ids.Account) ([]auth.Webhook, error) {
	err := h.world.called(account, "", "", nil)
	h.mu.Lock()
	defer h.mu.Unlock()
	var list []auth.Webhook
	for _, id := range slices.Sorted(maps.Keys(h.hooks)) {
		if h.hooks[id].Account == account {
			list = append(list, h.hooks[id])
		}
	}
	return list, err
}

func (h *webhookStore) CreateWebhook(_ context.Context, w auth.Webhook) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.hooks[w.ID] = w
	return nil
}

func (h *webhookStore) DeleteWebhook(_ context.Context, account ids.Account, id string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.hooks[id].Account != account {
		return auth.ErrWebhookNotFound
	}
	delete(h.hooks, id)
	return nil
}

func (h *webhookStore) WebhookSecret(_ context.Context, account ids.Account, id string) (string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	secret, ok := h.secrets[string(account)+" "+id]
	if !ok {
		return "", auth.ErrNoSecret
	}
	return secret, nil
}

func (h *webhookStore) PutWebhookSecret(_ context.Context, account ids.Account, id, secret string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.secrets[string(account)+" "+id] = secret
	return nil
}

func (h *webhookStore) DeleteWebhookSecret(_ context.Context, account ids.Account, id string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.secrets, string(account)+" "+id)
	return nil
}

func (h *webhookStore) ClaimReplay(_ context.Context, c replay.Claim, at time.Time) (replay.Claim, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	there, ok := h.claims[string(c.Account)+" "+c.Key]
	if ok && at.Before(there.ExpiresAt) {
		return there, nil
	}
	h.claims[string(c.Account)+" "+c.Key] = c
	return c, nil
}

func (h *webhookStore) Replay(_ context.Context, account ids.Account, key string) (replay.Claim, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	there, ok := h.claims[string(account)+" "+key]
	if !ok {
		return there, replay.ErrUnknown
	}
	return there, nil
}

func (h *webhookStore) TakeReplay(_ context.Context, c replay.Claim, holder string) (bool, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	there := h.claims[string(c.Account)+" "+c.Key]
	if there.Holder != holder || there.Done {
		return false, nil
	}
	h.claims[string(c.Account)+" "+c.Key] = c
	return true, nil
}

func (h *webhookStore) FinishReplay(_ context.Context, c replay.Claim) (replay.Claim, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	there := h.claims[string(c.Account)+" "+c.Key]
	if there.Ticket != c.Ticket || there.Done {
		return there, nil
	}
	c.Done = true
	h.claims[string(c.Account)+" "+c.Key] = c
	return c, nil
}

func (h *webhookStore) FreeReplay(ctx context.Context, c replay.Claim) error {
	c.Until = time.Time{}
	_, err := h.TakeReplay(ctx, c, c.Holder)
	return err
}

// echo is the response of the tests' signed route.
type echo struct {
	Text string `json:"text"`
	Who  string `json:"who"`
	ID   string `json:"id"`
}

// echoes is a function with one signed route, which counts its effects.
type echoes struct {
	*site
	http.Handler
	effects atomic.Int32
	slow    chan struct{} // if set, an effect waits for it
}

func newEchoes() *echoes {
	e := &echoes{site: newSite()}
	a := newAPI(e.config)
	a.function = FunctionChat
	register(a, operation{
		method: http.MethodPost, path: "/test/echo", id: "echo", access: withChat, signed: true, summary: "Echo", failures: []int{409, 422},
	}, e.echo)
	register(a, operation{method: http.MethodPost, path: "/test/admin", id: "adminEcho", access: withAdmin, signed: true, summary: "Echo"}, e.echo)
	register(a, operation{method: http.MethodPost, path: "/test/unsigned", id: "unsigned", access: withChat, summary: "Echo"}, e.echo)
	e.Handler = a.handler()
	return e
}

func (e *echoes) echo(ctx context.Context, in *struct {
	Keyed
	Body struct {
		Text string `json:"text"`
	}
},
) (*replayed[echo], error) {
	return serveTurn(ctx, e.config, func(ctx context.Context, t ticket) (echo, error) {
		e.effects.Add(1)
		if e.slow != nil {
			<-e.slow
		}
		if in.Body.Text == "fail" {
			return echo{}, errDown
		}
		return echo{in.Body.Text, string(caller(ctx).Account) + " " + caller(ctx).User, t.ID}, nil
	})
}

func (e *echoes) do(r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	e.ServeHTTP(w, r)
	return w
}

// sign returns a signed request; change alters it after signing.
func sign(t testing.TB, at time.Time, webhook, id, path, body string, change ...func(*http.Request)) *http.Request {
	t.Helper()
	signature, err := auth.Delivery{ID: id, Body: []byte(body)}.Sign(hookSecret, at)
	if err != nil {
		t.Fatal(err)
	}
	r := ask(auth.Principal{}, "POST", path, body, headerWebhook, webhook, headerDelivery, id,
		headerTimestamp, strconv.FormatInt(at.Unix(), 10), headerSignature, signature)
	for _, f := range change {
		f(r)
	}
	return r
}

func set(name, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set(name, value) }
}

func TestASignedRequestActsAsTheWebhooksCreator(t *testing.T) {
	for name, c := range map[string]struct {
		r   *http.Request
		who string
	}{
		"ours":            {sign(t, noon, hookID, "d1", "/test/echo", `{"text":"ñ"}`), "a ana"},
		"another account": {sign(t, noon, otherHookID, "d1", "/test/echo", `{"text":"ñ"}`), "b eva"},
		"early":           {sign(t, noon.Add(5*time.Minute), hookID, "d1", "/test/echo", `{"text":"ñ"}`), "a ana"},
		"late":            {sign(t, noon.Add(-5*time.Minute), hookID, "d1", "/test/echo", `{"text":"ñ"}`), "a ana"},
		"odd spaces":      {sign(t, noon, hookID, "d1", "/test/echo", "{ \"text\":\n\"ñ\" }\n"), "a ana"},
		"two signatures": {sign(t, noon, hookID, "d1", "/test/echo", `{"text":"ñ"}`, func(r *http.Request) {
			r.Header.Set(headerSignature, "v1a,xyz v1,AAAA "+r.Header.Get(headerSignature)+" v2,?")
		}), "a ana"},
	} {
		e := newEchoes()
		w := e.do(c.r)
		if w.Code != 200 || decode(t, w)["who"] != c.who || decode(t, w)["text"] != "ñ" || w.Header().Get("Idempotency-Replayed") != "" {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
}

// TestEveryBadSignatureGetsTheSameAnswer (guarantees I23 and I14).
func TestEveryBadSignatureGetsTheSameAnswer(t *testing.T) {
	const body = `{"text":"hola"}`
	signed := func(change ...func(*http.Request)) *http.Request {
		return sign(t, noon, hookID, "d1", "/test/echo", body, change...)
	}
	del := func(name string) func(*http.Request) { return func(r *http.Request) { r.Header.Del(name) } }
	add := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Add(name, value) }
	}
	at := func(by time.Duration) *http.Request { return sign(t, noon.Add(by), hookID, "d1", "/test/echo", body) }
	other, _ := auth.Delivery{ID: "d1", Body: []byte(body)}.Sign(auth.NewWebhookSecret(), noon)
	good, _ := auth.Delivery{ID: "d1", Body: []byte(body)}.Sign(hookSecret, noon)
	refusals := map[string]*http.Request{
		"another body":        sign(t, noon, hookID, "d1", "/test/echo", body, func(r *http.Request) { *r = *withBody(r, `{"text":"holb"}`) }),
		"a space more":        sign(t, noon, hookID, "d1", "/test/echo", body, func(r *http.Request) { *r = *withBody(r, body+" ") }),
		"no body":             sign(t, noon, hookID, "d1", "/test/echo", body, func(r *http.Request) { *r = *withBody(r, "") }),
		"another delivery":    signed(set(headerDelivery, "d2")),
		"another time":        signed(set(headerTimestamp, strconv.FormatInt(noon.Unix()+1, 10))),
		"six minutes old":     at(-6 * time.Minute),
		"six minutes early":   at(6 * time.Minute),
		"a second too old":    at(-5*time.Minute - time.Second),
		"a second too early":  at(5*time.Minute + time.Second),
		"another's secret":    signed(set(headerSignature, other)),
		"a webhook of nobody": signed(set(headerWebhook, "wh_"+ghostID)),
		"no webhook's id":     signed(set(headerWebhook, ghostID)),
		"in lower case":       signed(set(headerWebhook, strings.ToLower(hookID))),
		"empty":               signed(set(headerSignature, "")),
		"version 2":           signed(set(headerSignature, strings.Replace(good, "v1,", "v2,", 1))),
		"no version":          signed(set(headerSignature, strings.TrimPrefix(good, "v1,"))),
		"hexadecimal":         signed(set(headerSignature, "v1,"+strings.Repeat("ab", 32))),
		"cut":                 signed(set(headerSignature, good[:len(good)-4])),
		"with a comma":        signed(set(headerSignature, "v1,AAAA,"+strings.TrimPrefix(good, "v1,"))),
		"very long":           signed(set(headerSignature, strings.Repeat("v1,AAAA ", 300)+good)),
		"no id":               signed(del(headerDelivery)),
		"no time":             signed(del(headerTimestamp)),
		"no webhook":          signed(del(headerWebhook)),
		"two webhooks":        signed(add(headerWebhook, otherHookID)),
		"two ids":             signed(add(headerDelivery, "d2")),
		"two times":           signed(add(headerTimestamp, "1")),
		"two signatures":      signed(add(headerSignature, good)),
		"an id with a dot":    sign(t, noon, hookID, "d.1", "/test/echo", body),
		"an id with a space":  sign(t, noon, hookID, "d 1", "/test/echo", body),
		"an id of 256":        sign(t, noon, hookID, strings.Repeat("d", 256), "/test/echo", body),
		"milliseconds":        signed(set(headerTimestamp, strconv.FormatInt(noon.UnixMilli(), 10))),
		"a signed time":       signed(set(headerTimestamp, "+"+strconv.FormatInt(noon.Unix(), 10))),
		"an unsigned route":   sign(t, noon, hookID, "d1", "/test/unsigned", body),
		"a bad token, too":    signed(set("Authorization", "Bearer nobody's")),
		"another scheme, too": signed(set("Authorization", "Basic bm9ib2R5Og==")),
		"a bad vx11, too":     signed(set("X-VX11-Token", "nobody's")),
	}
	want := newEchoes().do(ask(auth.Principal{}, "POST", "/test/echo", body)).Body.String()
	for name, r := range refusals {
		e := newEchoes()
		w := e.do(r)
		got := strings.ReplaceAll(w.Body.String(), "/test/unsigned", "/test/echo")
		if w.Code != 401 || got != want || w.Header().Get("Www-Authenticate") == "" || e.effects.Load() != 0 {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
		if strings.Contains(e.logs.String(), "canary") || strings.Contains(e.logs.String(), "v1,") {
			t.Errorf("%s: log %s", name, e.logs)
		}
	}
}

func withBody(r *http.Request, body string) *http.Request {
	c := ask(auth.Principal{}, r.Method, r.URL.Path, body)
	c.Header = r.Header
	return c
}

func TestATokenComesBeforeASignature(t *testing.T) {
	e := newEchoes()
	r := sign(t, noon, otherHookID, "d1", "/test/echo", `{"text":"x"}`, set("Authorization", "Bearer T"), set(headerSignature, "v1,bad"))
	w := e.do(r.WithContext(auth.NewContext(r.Context(), talker)))
	if w.Code != 200 || decode(t, w)["who"] != "a ana" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	r = sign(t, noon, otherHookID, "d1", "/test/echo", `{"text":"x"}`) // with the page's cookie
	if w := e.do(r.WithContext(auth.NewContext(r.Context(), talker))); w.Code != 200 || decode(t, w)["who"] != "a ana" {
		t.Errorf("a session: %d %s", w.Code, w.Body)
	}
	r = sign(t, noon, hookID, "d1", "/test/echo", `{"text":"x"}`)
	w = e.do(r.WithContext(auth.WithRefusal(r.Context(), auth.ErrCrossOrigin)))
	if w.Code != 403 {
		t.Errorf("what the gateway refused: %d %s", w.Code, w.Body)
	}
}

func TestAWebhookHasTheScopeChatOnly(t *testing.T) {
	e := newEchoes()
	h := e.hooks.hooks[hookID]
	h.Scopes = auth.Scopes() // even if the table has more scopes
	e.hooks.hooks[hookID] = h
	if w := e.do(sign(t, noon, hookID, "d1", "/test/admin", `{"text":"x"}`)); w.Code != 403 || e.effects.Load() != 0 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestASignedBodyIsReadStrictlyAndBounded(t *testing.T) {
	for body, want := range map[string]string{
		`{"text":"x","text":"y"}`: "request.invalid", `{"text":`: "request.json_invalid", `{"text":"x","TEXT":"y"}`: "request.invalid",
		"{\"text\":\"\xff\"}": "request.encoding", `{"text":"` + strings.Repeat("x", MaxBody) + `"}`: "request.too_large",
	} {
		e := newEchoes()
		if w := e.do(sign(t, noon, hookID, "d1", "/test/echo", body)); decode(t, w)["code"] != want || e.effects.Load() != 0 {
			t.Errorf("%.40s: %d %s", body, w.Code, w.Body)
		}
	}
}

func TestAFailingStoreIsNoRefusal(t *testing.T) {
	e := newEchoes()
	e.hooks.down = true
	w := e.do(sign(t, noon, hookID, "d1", "/test/echo", `{"text":"x"}`))
	if w.Code < 500 || strings.Contains(w.Body.String(), "canary") || e.effects.Load() != 0 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestARepeatedDeliveryGetsTheSameAnswer(t *testing.T) {
	e := newEchoes()
	first := e.do(sign(t, noon, hookID, "d1", "/test/echo", `{"text":"<a>&ñ"}`))
	again := e.do(sign(t, noon.Add(time.Minute), hookID, "d1", "/test/echo", `{"text":"<a>&ñ"}`))
	if again.Code != 200 || again.Body.String() != first.Body.String() || again.Header().Get("Idempotency-Replayed") != "true" || e.effects.Load() != 1 {
		t.Errorf("%d %s %v\nfirst %s", again.Code, again.Body, again.Header(), first.Body)
	}
	if !strings.Contains(first.Body.String(), `"<a>&ñ"`) || first.Header().Get("Content-Type") != "application/json" {
		t.Errorf("not written as other answers are: %s %v", first.Body, first.Header())
	}
	for name, r := range map[string]*http.Request{
		"another body":             sign(t, noon, hookID, "d1", "/test/echo", `{"text":"other"}`),
		"another address":          sign(t, noon, hookID, "d1", "/test/echo?lang=en", `{"text":"<a>&ñ"}`),
		"a key that is not signed": sign(t, noon, hookID, "d1", "/test/echo", `{"text":"other"}`, set(headerKey, "k2")),
	} {
		w := e.do(r)
		if w.Code != 422 || decode(t, w)["code"] != "request.key_reused" || wrong(t, w) != "[header Webhook-Id] value_error" || e.effects.Load() != 1 {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
	if w := e.do(sign(t, noon, otherHookID, "d1", "/test/echo", `{"text":"theirs"}`)); decode(t, w)["who"] != "b eva" || e.effects.Load() != 2 {
		t.Errorf("another account's delivery of that name: %d %s", w.Code, w.Body)
	}
	second := "wh_" + ghostID
	e.hooks.hooks[second], e.hooks.secrets["a "+second] = auth.Webhook{ID: second, Account: "a", User: "ana"}, hookSecret
	if w := e.do(sign(t, noon, second, "d1", "/test/echo", `{"text":"of the second"}`)); w.Code != 200 || e.effects.Load() != 3 {
		t.Errorf("another webhook's delivery of that name: %d %s", w.Code, w.Body)
	}
}

// TestOneDeliveryAHundredTimesAtOnceHasOneEffect (guarantee I23).
func TestOneDeliveryAHundredTimesAtOnceHasOneEffect(t *testing.T) {
	e := newEchoes()
	e.slow = make(chan struct{}, 1)
	var start, done sync.WaitGroup
	start.Add(1)
	bodies := make(chan string, 100)
	for i := range 100 {
		r := sign(t, noon.Add(time.Duration(i)*time.Second), hookID, "d1", "/test/echo", `{"text":"x"}`)
		done.Go(func() {
			start.Wait()
			w := e.do(r)
			switch {
			case w.Code == 200:
				bodies <- w.Body.String()
			case w.Code != 409 || decode(t, w)["code"] != "request.in_progress" || w.Header().Get("Retry-After") != "5":
				t.Errorf("%d %s %v", w.Code, w.Body, w.Header())
			}
			if w.Code == 409 { // a 409 is sent only while the first request is served
				select {
				case e.slow <- struct{}{}:
				default:
				}
			}
		})
	}
	start.Done()
	go func() { done.Wait(); close(bodies) }()
	seen := map[string]bool{}
	for b := range bodies {
		seen[b] = true
	}
	if e.effects.Load() != 1 || len(seen) != 1 {
		t.Errorf("%d effects, %d answers", e.effects.Load(), len(seen))
	}
}

func TestAnIdempotencyKeyBelongsToItsUserAndAccount(t *testing.T) {
	e := newEchoes()
	colleague := auth.Principal{Account: "a", User: "bea", Scopes: talker.Scopes}
	for i, who := range []auth.Principal{talker, other, colleague} {
		w := e.do(ask(who, "POST", "/test/echo", fmt.Sprintf(`{"text":"%d"}`, i), headerKey, "k"))
		if w.Code != 200 || decode(t, w)["who"] != string(who.Account)+" "+who.User {
			t.Errorf("%d: %d %s", i, w.Code, w.Body)
		}
	}
	w := e.do(ask(talker, "POST", "/test/echo", `{"text":"0"}`, headerKey, "k"))
	if w.Header().Get("Idempotency-Replayed") != "true" || decode(t, w)["text"] != "0" || e.effects.Load() != 3 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := e.do(sign(t, noon, hookID, "k", "/test/echo", `{"text":"0"}`)); w.Header().Get("Idempotency-Replayed") != "" || e.effects.Load() != 4 {
		t.Errorf("a delivery's id is a user's key: %d %s", w.Code, w.Body)
	}
}

func TestAnInvalidIdempotencyKeyIsRefused(t *testing.T) {
	for _, c := range []struct {
		keys []string
		want int
	}{
		{nil, 200},
		{[]string{"k"}, 200},
		{[]string{strings.Repeat("~", 255)}, 200},
		{[]string{""}, 422},
		{[]string{strings.Repeat("k", 256)}, 422},
		{[]string{"a b"}, 200},
		{[]string{" "}, 422},
		{[]string{"ñ"}, 422},
		{[]string{"a\x7f"}, 422},
		{[]string{"k", "k"}, 422},
	} {
		e := newEchoes()
		r := ask(talker, "POST", "/test/echo", `{"text":"x"}`)
		if c.keys != nil {
			r.Header[headerKey] = c.keys
		}
		w := e.do(r)
		if w.Code != c.want || c.want == 422 && (wrong(t, w) != "[header Idempotency-Key] string_pattern_mismatch" || e.effects.Load() != 0) {
			t.Errorf("%q: %d %s", c.keys, w.Code, w.Body)
		}
	}
}

func TestRequestsWithoutAKeyAndFailuresAreServedEachTime(t *testing.T) {
	e := newEchoes()
	for range 2 {
		if w := e.do(ask(talker, "POST", "/test/echo", `{"text":"x"}`)); w.Code != 200 || w.Header().Get("Idempotency-Replayed") != "" {
			t.Errorf("%d %s", w.Code, w.Body)
		}
		if w := e.do(ask(talker, "POST", "/test/echo", `{"text":"fail"}`, headerKey, "k")); w.Code != 500 {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	}
	if e.effects.Load() != 4 {
		t.Errorf("%d effects", e.effects.Load())
	}
}

func TestAKeyWithoutAStoreOfAnswersIsAnError(t *testing.T) {
	e := newEchoes()
	e.config.Once = nil
	for _, r := range []*http.Request{
		ask(talker, "POST", "/test/echo", `{"text":"x"}`, headerKey, "k"), sign(t, noon, hookID, "d1", "/test/echo", `{"text":"x"}`),
	} {
		if w := e.do(r); w.Code != 500 || e.effects.Load() != 0 {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	}
}

// FuzzSignedHeaders: only the true signature is accepted, and no header causes an internal error.
func FuzzSignedHeaders(f *testing.F) {
	const body = `{"text":"x"}`
	good, _ := auth.Delivery{ID: "d1", Body: []byte(body)}.Sign(hookSecret, noon)
	stamp := strconv.FormatInt(noon.Unix(), 10)
	f.Add(hookID, "d1", stamp, good)
	f.Add(hookID, "d1", stamp, "v1,"+good)
	f.Add(hookID, "d.1", stamp, "v1, v1,"+good)
	f.Add(otherHookID, "", "-1", "v2,x v1")
	f.Add("wh_", "\x00", "99999999999999999999", " ")
	f.Add(hookID, "d1", "0"+stamp, good+" "+good)
	f.Fuzz(func(t *testing.T, webhook, id, timestamp, signature string) {
		e := newEchoes()
		r := ask(auth.Principal{}, "POST", "/test/echo", body)
		for name, value := range map[string]string{headerWebhook: webhook, headerDelivery: id, headerTimestamp: timestamp, headerSignature: signature} {
			r.Header[name] = []string{value}
		}
		w := e.do(r)
		right := id == "d1" && timestamp == stamp && slices.Contains(strings.Split(signature, " "), good) && len(signature) <= 2048
		if let := (webhook == hookID || webhook == otherHookID) && right; let != (w.Code == 200) || !let && w.Code != 401 {
			t.Errorf("%q %q %q %q: %d %s", webhook, id, timestamp, signature, w.Code, w.Body)
		}
	})
}

// TestOnlyRequestsWithAKeyAreKept: no route keeps the answer to a request that has no key, on any contract; a turn,
// a job, a new chat, a branch and a new project keep it under a key. A decision and a movement of credit have their key in their own rows.
// A check is served after it was answered, so its request is kept, once: while it runs no other begins.
func TestOnlyRequestsWithAKeyAreKept(t *testing.T) {
	keeping := map[string]bool{"startJob": true, "send": true, "operatorChat": true, "agentChat": true, "branchChat": true, "branchSession": true, "createChat": true, "createProject": true}
	eachRoute(t, func(t *testing.T, r *route, id, body string) {
		s := newSite()
		hooks := s.world.hooks
		for _, key := range []string{"", "k-1"} {
			before := maps.Clone(hooks.claims)
			request := validRequest(boss, r, id, body)
			if key != "" {
				request.Header.Set("Idempotency-Key", key)
			}
			if w := s.do(request); w.Code/100 != 2 && key == "" {
				t.Fatalf("%d %s", w.Code, w.Body)
			}
			if kept, want := !reflect.DeepEqual(before, hooks.claims), key != "" && keeping[id] || key == "" && id == "checkProvider"; kept != want {
				t.Errorf("key %q: it is kept: %v", key, kept)
			}
		}
	})
}
