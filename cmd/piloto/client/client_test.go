package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

type thing struct{ ID string }

// serve returns a client of a server that answers with each handler in turn, and the number of requests.
func serve(t *testing.T, handlers ...http.HandlerFunc) (*Client, *atomic.Int32) {
	t.Helper()
	var n atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i := int(n.Add(1)) - 1
		if i >= len(handlers) {
			t.Errorf("request %d: %s %s", i+1, r.Method, r.URL)
			return
		}
		handlers[i](w, r)
	}))
	t.Cleanup(s.Close)
	return New(Target{Origin: s.URL, Token: "token-of-ana"}, "es"), &n
}

func reply(status int, body string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// lose ends the connection without an answer.
func lose(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

func TestLostRequestIsSentAgainOnlyUnderAKey(t *testing.T) {
	keys := map[string]bool{}
	keep := func(next http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			keys[r.Header.Get("Idempotency-Key")] = true
			next(w, r)
		}
	}
	c, n := serve(t, keep(lose), keep(reply(201, `{"ID":"a"}`)))
	got, err := PostOnce[thing](t.Context(), c, "/api/x", thing{"b"})
	if err != nil || got.ID != "a" || n.Load() != 2 || len(keys) != 1 || keys[""] {
		t.Errorf("%v %v, %d requests, keys %v", got, err, n.Load(), keys)
	}
	c, n = serve(t, lose)
	if _, err := Post[thing](t.Context(), c, "/api/x", nil); !errors.As(err, new(*UnreachableError)) || n.Load() != 1 {
		t.Errorf("without a key: %v, %d requests", err, n.Load())
	}
	c, n = serve(t, lose, lose, lose)
	if _, err := Get[thing](t.Context(), c, "/api/x", nil); !errors.As(err, new(*UnreachableError)) || n.Load() != attempts {
		t.Errorf("a read: %v, %d requests", err, n.Load())
	}
}

func TestDeploymentThatIsBusyIsAskedAgain(t *testing.T) {
	c, n := serve(t, reply(503, `{"code":"x","detail":"Ahora no."}`, "Retry-After", "0"), reply(200, `{"ID":"a"}`))
	if got, err := Get[thing](t.Context(), c, "/api/x", nil); err != nil || got.ID != "a" || n.Load() != 2 {
		t.Errorf("%v %v", got, err)
	}
	c, n = serve(t, reply(429, `{"code":"request.too_many","detail":"Demasiadas.","action":"Espera."}`, "Retry-After", "0"))
	_, err := Post[thing](t.Context(), c, "/api/x", nil)
	var p *Problem
	if !errors.As(err, &p) || p.Status != 429 || p.Error() != "Demasiadas.\nEspera." || n.Load() != 1 {
		t.Errorf("%v", err)
	}
}

func TestLongTurnIsReadWhereItWillBe(t *testing.T) {
	working := reply(202, `{"status":"working","read":"/api/turns/01"}`, "Retry-After", "0")
	c, _ := serve(t, working, working, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.URL.Path != "/api/turns/01" {
			t.Errorf("%s %s", r.Method, r.URL)
		}
		reply(200, `{"ID":"a"}`)(w, r)
	})
	if got, err := PostOnce[thing](t.Context(), c, "/api/send", thing{}); err != nil || got.ID != "a" {
		t.Errorf("%v %v", got, err)
	}
	c, _ = serve(t, reply(202, `{"ID":"a","status":"queued"}`)) // an answer of its own
	if got, err := Post[thing](t.Context(), c, "/api/x", nil); err != nil || got.ID != "a" {
		t.Errorf("%v %v", got, err)
	}
	c, _ = serve(t, reply(202, `{"status":"working","read":"https://elsewhere.example/"}`))
	if _, err := Post[thing](t.Context(), c, "/api/x", nil); err != nil {
		t.Errorf("an address of another host is not read: %v", err)
	}
}

// TestTokenStaysWithItsDeployment: a redirect is not followed, and an error does not repeat the address of a request.
func TestTokenStaysWithItsDeployment(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the redirect was followed") }))
	defer other.Close()
	c, _ := serve(t, reply(302, "", "Location", other.URL))
	if _, err := Get[thing](t.Context(), c, "/api/x", nil); !errors.As(err, new(*UnreachableError)) {
		t.Errorf("%v", err)
	}
	c = New(Target{Origin: "http://127.0.0.1:1", Token: "token-of-ana"}, "es")
	if _, err := Post[thing](t.Context(), c, "/api/x?secret=1", nil); err == nil || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "token-of") {
		t.Errorf("%v", err)
	}
}

func TestAnswersOfOtherServersAreNone(t *testing.T) {
	for name, h := range map[string]http.HandlerFunc{
		"a page":         reply(200, "<html>"),
		"of a proxy":     reply(500, "<html>bad", "Retry-After", "0"),
		"a page of 404":  reply(404, "<html>"),
		"an empty error": reply(400, ""),
	} {
		c, _ := serve(t, h, h, h) // a transient failure is read three times
		_, err := Get[thing](t.Context(), c, "/api/x", nil)
		if err == nil || strings.Contains(err.Error(), "<html>") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestProblemNamesEveryPlace(t *testing.T) {
	c, _ := serve(t, reply(422, `{"code":"request.invalid","detail":"No vale.","errors":[{"loc":["body","url"],"msg":"falta","type":"missing"},{"loc":["body","steps",0],"msg":"es otra cosa","type":"type"}]}`))
	_, err := Post[thing](t.Context(), c, "/api/x", nil)
	if err == nil || err.Error() != "No vale.\n  body.url: falta\n  body.steps.0: es otra cosa" {
		t.Errorf("%v", err)
	}
}

func TestCancelledRequestEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c, n := serve(t)
	if _, err := PostOnce[thing](ctx, c, "/api/x", nil); !errors.Is(err, context.Canceled) || mayBeDone(err) || n.Load() != 0 {
		t.Errorf("%v", err)
	}
}

// TestWhatMayHaveBeenDoneIsTold: of a request with an effect that was sent, any answer that is not the deployment's, and is
// no refusal, leaves open whether it was done.
func TestWhatMayHaveBeenDoneIsTold(t *testing.T) {
	half := reply(200, "{", "Content-Length", "900")
	for name, c := range map[string]struct {
		answers []http.HandlerFunc
		came    Came
		acted   bool
	}{
		"302":                    {[]http.HandlerFunc{reply(302, "", "Location", "/login")}, CameRedirect, true},
		"307":                    {[]http.HandlerFunc{reply(307, "", "Location", "/elsewhere")}, CameRedirect, true},
		"a page":                 {[]http.HandlerFunc{reply(200, "<html>sign in", "Content-Type", "text/html")}, CamePage, true},
		"a page of no type":      {[]http.HandlerFunc{reply(200, "<!DOCTYPE html>", "Content-Type", "application/json")}, CamePage, true},
		"nothing":                {[]http.HandlerFunc{reply(200, "")}, CameEmpty, true},
		"an empty object":        {[]http.HandlerFunc{reply(202, "{}")}, CameEmpty, true},
		"no content":             {[]http.HandlerFunc{reply(204, "")}, CameEmpty, true},
		"no JSON":                {[]http.HandlerFunc{reply(200, "ok")}, CameOther, true},
		"lost":                   {[]http.HandlerFunc{lose, lose, lose}, CameNothing, true},
		"cut":                    {[]http.HandlerFunc{half, half, half}, CameNothing, true},
		"an error":               {[]http.HandlerFunc{reply(502, "<html>", "Retry-After", "0"), reply(502, "<html>", "Retry-After", "0"), reply(504, "<html>")}, CameStatus, true},
		"lost, then refused":     {[]http.HandlerFunc{lose, reply(403, "<html>")}, CameStatus, true},
		"lost, then later":       {[]http.HandlerFunc{lose, reply(503, "{}", "Retry-After", "9999")}, CameStatus, true},
		"later":                  {[]http.HandlerFunc{reply(503, "{}", "Retry-After", "99999999999")}, CameStatus, false},
		"too many":               {[]http.HandlerFunc{reply(429, "{}", "Retry-After", "3600")}, CameStatus, false},
		"later, and then busier": {[]http.HandlerFunc{reply(503, "{}", "Retry-After", "0"), reply(429, "{}", "Retry-After", "61")}, CameStatus, false},
	} {
		cl, n := serve(t, c.answers...)
		_, err := PostOnce[thing](t.Context(), cl, "/api/x", thing{"b"})
		e, ok := errors.AsType[*UnreachableError](err)
		if !ok || e.Came != c.came || mayBeDone(err) != c.acted || int(n.Load()) != len(c.answers) {
			t.Errorf("%s: %+v after %d requests", name, err, n.Load())
		}
	}
	cl, _ := serve(t, reply(302, ""))
	if _, err := Get[thing](t.Context(), cl, "/api/x", nil); err == nil || mayBeDone(err) {
		t.Errorf("a read may have done something: %v", err)
	}
	if _, err := PostOnce[thing](t.Context(), New(Target{Origin: "http://127.0.0.1:1", Token: "token-of-ana"}, "es"), "/api/x", nil); err == nil || mayBeDone(err) {
		t.Errorf("a request that nobody took may have done something: %v", err)
	}
}

// mayBeDone reports whether an error says that the request at /api/x may have been done.
func mayBeDone(err error) bool {
	doubt, ok := errors.AsType[*DoubtError](err)
	return ok && doubt.Path == "/api/x"
}

// TestARefusalTellsNothingOfALostAttempt: a refusal of the last attempt does not tell whether the earlier ones acted; and
// an error of the deployment does not tell whether the last one did.
func TestARefusalTellsNothingOfALostAttempt(t *testing.T) {
	refusal := func(status int, header ...string) http.HandlerFunc {
		return reply(status, `{"code":"x","detail":"No."}`, header...)
	}
	working := reply(202, `{"status":"working","read":"/api/turns/01"}`, "Retry-After", "0")
	for name, c := range map[string]struct {
		answers []http.HandlerFunc
		acted   bool
	}{
		"lost, then too many":          {[]http.HandlerFunc{lose, refusal(429, "Retry-After", "99")}, true},
		"lost, then stopping":          {[]http.HandlerFunc{lose, refusal(503, "Retry-After", "99")}, true},
		"lost, then without a right":   {[]http.HandlerFunc{lose, refusal(401)}, true},
		"lost, then a conflict":        {[]http.HandlerFunc{lose, refusal(409)}, true},
		"a gateway, then too many":     {[]http.HandlerFunc{reply(502, "<html>", "Retry-After", "0"), refusal(429, "Retry-After", "99")}, true},
		"its own error":                {[]http.HandlerFunc{refusal(500, "Retry-After", "0"), refusal(500, "Retry-After", "0"), refusal(500)}, true},
		"of what is behind it":         {[]http.HandlerFunc{refusal(502, "Retry-After", "0"), refusal(502, "Retry-After", "0"), refusal(502)}, true},
		"its own error, then too many": {[]http.HandlerFunc{refusal(500, "Retry-After", "0"), refusal(429, "Retry-After", "99")}, true},
		"too many":                     {[]http.HandlerFunc{refusal(429, "Retry-After", "99")}, false},
		"stopping":                     {[]http.HandlerFunc{refusal(503, "Retry-After", "99")}, false},
		"without a right":              {[]http.HandlerFunc{refusal(401)}, false},
		"a conflict":                   {[]http.HandlerFunc{refusal(409)}, false},
		"invalid":                      {[]http.HandlerFunc{refusal(422)}, false},
		"a turn whose read is refused": {[]http.HandlerFunc{working, refusal(401)}, true},
		"a turn that is not found":     {[]http.HandlerFunc{working, reply(404, `{"code":"turn.not_found"}`)}, true},
		"a turn that is refused":       {[]http.HandlerFunc{working, refusal(409)}, false},
	} {
		cl, n := serve(t, c.answers...)
		_, err := PostOnce[thing](t.Context(), cl, "/api/x", thing{"b"})
		if p, ok := errors.AsType[*Problem](err); !ok || p.Code == "" || mayBeDone(err) != c.acted || int(n.Load()) != len(c.answers) {
			t.Errorf("%s: %+v after %d requests", name, err, n.Load())
		}
	}
}

// TestAnAttemptThatTheTransportRepeatsIsSeen: on a connection that was open before.
func TestAnAttemptThatTheTransportRepeatsIsSeen(t *testing.T) {
	cl, n := serve(t, reply(200, `{"ID":"a"}`), lose, reply(429, `{"code":"x"}`, "Retry-After", "99"))
	if _, err := Get[thing](t.Context(), cl, "/api/y", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := PostOnce[thing](t.Context(), cl, "/api/x", thing{"b"}); !mayBeDone(err) || n.Load() != 3 {
		t.Errorf("%v after %d requests", err, n.Load())
	}
}

// TestAnInterruptedRequestMayHaveBeenDone: while its answer is on its way, and in the pause before it is sent again.
func TestAnInterruptedRequestMayHaveBeenDone(t *testing.T) {
	hang := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	for name, answer := range map[string]http.HandlerFunc{"on its way": hang, "before the next": lose} {
		ctx, cancel := context.WithCancel(t.Context())
		c, n := serve(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // else the server does not see that the client left
			cancel()
			answer(w, r)
		})
		if _, err := PostOnce[thing](ctx, c, "/api/x", thing{"b"}); !errors.Is(err, context.Canceled) || !mayBeDone(err) || n.Load() != 1 {
			t.Errorf("%s: %+v", name, err)
		}
	}
}

// TestALongPauseIsLeftToThePerson: also of a refusal of the deployment itself.
func TestALongPauseIsLeftToThePerson(t *testing.T) {
	for _, pause := range []string{"61", "3600", "99999999999", "1e300", "Wed, 21 Oct 2099 07:28:00 GMT"} {
		c, n := serve(t, reply(503, `{"code":"x","detail":"Ahora no."}`, "Retry-After", pause))
		if _, err := Get[thing](t.Context(), c, "/api/x", nil); err == nil || err.Error() != "Ahora no." || n.Load() != 1 {
			t.Errorf("%s: %v after %d requests", pause, err, n.Load())
		}
	}
}
