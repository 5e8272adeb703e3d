package step_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"piloto/infra/local/fixture"
	"piloto/internal/ground/meaning"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
	"piloto/internal/runs/step"
	"piloto/internal/tools/tool"
)

var (
	find   = fixture.To("GET", "/rooms", "")
	book   = fixture.To("POST", "/bookings", `{"room":"norte"}`)
	remove = fixture.To("DELETE", "/bookings/7", "")
)

// newRunOf returns a run that is about to execute its steps.
func newRunOf(t *testing.T, calls ...fixture.Call) (*fixture.World, plan.Run) {
	t.Helper()
	w := fixture.NewWorld(t)
	r := w.Propose(calls...)
	if err := w.Confirm(r); err != nil {
		t.Fatal(err)
	}
	return w, r
}

// execute runs one step once and returns the name of its error, "" for none.
func execute(t *testing.T, w *fixture.World, r plan.Run, id string) string {
	t.Helper()
	_, err := w.Steps.Execute(context.Background(), step.Task{Account: fixture.Account, RunID: r.ID, StepID: plan.ParseEffect(id)})
	var e *step.Error
	if err != nil && !errors.As(err, &e) {
		t.Fatal(err)
	}
	if e == nil {
		return ""
	}
	return e.Name
}

func answers(status int, headers ...string) func(tool.Request) (tool.Answer, error) {
	h := map[string]string{}
	for i := 0; i+1 < len(headers); i += 2 {
		h[headers[i]] = headers[i+1]
	}
	return func(tool.Request) (tool.Answer, error) {
		a := tool.Answer{Status: status, Headers: h, Body: []byte(`{"detail":"porque sí"}`), Bytes: 22}
		a.Wait, a.Waits = meaning.Wait(a.Header, time.Now())
		return a, nil
	}
}

func fails(err error) func(tool.Request) (tool.Answer, error) {
	return func(tool.Request) (tool.Answer, error) { return tool.Answer{}, err }
}

// TestJudgeMapsResponseToEnding is the table of judge: for each method and outcome of one attempt,
// the ending of the invocation, the state of the step, and whether a second invocation sends again.
func TestJudgeMapsResponseToEnding(t *testing.T) {
	for _, c := range []struct {
		name   string
		call   fixture.Call
		answer func(tool.Request) (tool.Answer, error)
		ends   string
		status plan.StepStatus
		again  bool
	}{
		{"a read answers", find, answers(200), "", plan.StepDone, false},
		{"a write answers", book, answers(201), "", plan.StepDone, false},
		{"a write without content", book, answers(204), "", plan.StepDone, false},
		{"a read is refused", find, answers(404), step.Rejected, plan.StepFailed, false},
		{"a write is refused", book, answers(409), step.Rejected, plan.StepFailed, false},
		{"a write breaks the server", book, answers(500), step.InDoubt, plan.StepInDoubt, false},
		{"a read breaks the server", find, answers(500), step.Transient, plan.StepRunning, true},
		{"a deletion breaks the server", remove, answers(500), step.Transient, plan.StepRunning, true},
		{"a write that the server cannot do", book, answers(501), step.Rejected, plan.StepFailed, false},
		{"a write whose server gave up", book, answers(408), step.InDoubt, plan.StepInDoubt, false},
		{"a read whose server gave up", find, answers(408), step.Transient, plan.StepRunning, true},
		{"a write that came too early", book, answers(425), step.Throttled, plan.StepRunning, true},
		{"a write without a key", book, answers(401), step.Rejected, plan.StepFailed, false},
		{"a write that meets an overloaded server", book, answers(529), step.InDoubt, plan.StepInDoubt, false},
		{"a read is redirected", find, answers(302, "Location", "https://elsewhere.example"), step.Rejected, plan.StepFailed, false},
		{"a read is sent elsewhere", find, answers(308, "Location", "https://elsewhere.example"), step.Rejected, plan.StepFailed, false},
		{"a write is sent elsewhere for good", book, answers(301, "Location", "https://elsewhere.example"), step.Rejected, plan.StepFailed, false},
		{"a write is sent elsewhere this time", book, answers(307, "Location", "https://elsewhere.example"), step.Rejected, plan.StepFailed, false},
		{"a write is sent elsewhere, as it is", book, answers(308, "Location", "https://elsewhere.example"), step.Rejected, plan.StepFailed, false},
		{"a deletion is sent elsewhere", remove, answers(307, "Location", "https://elsewhere.example"), step.Rejected, plan.StepFailed, false},
		{"a write was taken, and its answer is elsewhere", book, answers(303, "Location", "/bookings/7"), step.InDoubt, plan.StepInDoubt, false},
		{"a write was found elsewhere", book, answers(302, "Location", "/login"), step.InDoubt, plan.StepInDoubt, false},
		{"a write has several answers", book, answers(300), step.InDoubt, plan.StepInDoubt, false},
		{"a write modified nothing, or did", book, answers(304), step.InDoubt, plan.StepInDoubt, false},
		{"a write is answered with an unknown redirect", book, answers(399), step.InDoubt, plan.StepInDoubt, false},
		{"a deletion was taken, and its answer is elsewhere", remove, answers(303, "Location", "/bookings"), step.InDoubt, plan.StepInDoubt, false},
		{"a read meets a gateway error", find, answers(502), step.Transient, plan.StepRunning, true},
		{"a read meets an unavailable server", find, answers(503), step.Transient, plan.StepRunning, true},
		{"a write meets a gateway error", book, answers(502), step.InDoubt, plan.StepInDoubt, false},
		{"a write meets a gateway time-out", book, answers(504), step.InDoubt, plan.StepInDoubt, false},
		{"a write meets an unavailable server", book, answers(503), step.InDoubt, plan.StepInDoubt, false},
		{"a write is told to come back", book, answers(503, "Retry-After", "0"), step.Throttled, plan.StepRunning, true},
		{"a write is told a date to come back", book, answers(503, "Retry-After", "Sun, 01 Jan 2006 00:00:00 GMT"), step.Throttled, plan.StepRunning, true},
		{"a write is told nothing that can be read", book, answers(503, "Retry-After", "soon"), step.InDoubt, plan.StepInDoubt, false},
		{"a write is too many", book, answers(429), step.Throttled, plan.StepRunning, true},
		{"a read is lost", find, fails(tool.ErrLost), step.Transient, plan.StepRunning, true},
		{"a deletion is lost", remove, fails(tool.ErrLost), step.Transient, plan.StepRunning, true},
		{"a write is lost", book, fails(tool.ErrLost), step.InDoubt, plan.StepInDoubt, false},
		{"a write is not sent", book, fails(tool.ErrNotSent), step.Transient, plan.StepRunning, true},
		{"a request that must not be sent", book, fails(tool.ErrRequest), step.Rejected, plan.StepFailed, false},
		{"an error nobody knows, of a write", book, fails(errors.New("?")), step.InDoubt, plan.StepInDoubt, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, r := newRunOf(t, c.call)
			w.Answer(c.answer)
			if got := execute(t, w, r, "s1"); got != c.ends {
				t.Errorf("ended with %q, want %q", got, c.ends)
			}
			st := w.Read(r.ID).State(plan.EffectOf("s1"))
			if st.Status != c.status || st.Last.Open {
				t.Errorf("the step is %s (open %v), want %s", st.Status, st.Last.Open, c.status)
			}
			if (st.Error != nil) != (c.ends != "") {
				t.Errorf("error %+v", st.Error)
			}
			w.Answer(answers(200))
			execute(t, w, r, "s1")
			if again := len(w.Requests()) == 2; again != c.again {
				t.Errorf("sent again: %v, want %v", again, c.again)
			}
		})
	}
}

func TestInterruptedUnsafeAttemptIsInDoubt(t *testing.T) {
	w, r := newRunOf(t, book)
	open(t, w, r)
	w.Pass(2 * time.Minute)
	if got := execute(t, w, r, "s1"); got != step.InDoubt {
		t.Fatalf("ended with %q", got)
	}
	st := w.Read(r.ID).State(plan.EffectOf("s1"))
	if st.Status != plan.StepInDoubt || st.Error == nil || !strings.Contains(st.Error.Message, "https://rooms.example") {
		t.Errorf("%+v", st)
	}
	if len(w.Requests()) != 0 {
		t.Error("it was sent again")
	}
}

func TestExecuteWaitsForAttemptInFlight(t *testing.T) {
	w, r := newRunOf(t, book)
	open(t, w, r)
	if got := execute(t, w, r, "s1"); got != step.Throttled {
		t.Fatalf("ended with %q", got)
	}
	if st := w.Read(r.ID).State(plan.EffectOf("s1")); st.Status != plan.StepRunning || !st.Last.Open || len(w.Requests()) != 0 {
		t.Errorf("%+v, %d requests", st, len(w.Requests()))
	}
	w.Steps.AloneSince = w.Clock().Add(time.Millisecond) // the process of the attempt has ended
	if got := execute(t, w, r, "s1"); got != step.InDoubt {
		t.Errorf("ended with %q", got)
	}
}

func TestInterruptedSafeAttemptIsRepeatedWithSameKey(t *testing.T) {
	w, r := newRunOf(t, remove)
	open(t, w, r)
	if got := execute(t, w, r, "s1"); got != "" {
		t.Fatalf("ended with %q", got)
	}
	sent := w.Requests()
	if len(sent) != 1 || sent[0].Header["Idempotency-Key"] != r.ID+":s1" {
		t.Errorf("%+v", sent)
	}
	if st := w.Read(r.ID).State(plan.EffectOf("s1")); st.Attempts != 2 {
		t.Errorf("%d attempts", st.Attempts)
	}
}

// open leaves the step as a process that died in its call does.
func open(t *testing.T, w *fixture.World, r plan.Run) {
	t.Helper()
	seen := w.Read(r.ID)
	intent := run.Move{Record: run.Record{At: w.Clock(), Type: plan.EventStepStart, StepID: plan.EffectOf("s1")}, State: &plan.StepState{
		StepID: plan.EffectOf("s1"), Status: plan.StepRunning, Attempts: 1, UpdatedAt: w.Clock(),
		Last: plan.Attempt{Number: 1, URL: "https://rooms.example/bookings", SentAt: w.Clock(), Lasts: 100, Open: true},
	}, Begins: true}
	if _, err := w.Store.Runs.MoveRun(context.Background(), seen, run.StartMove(w.IDs, seen, w.Clock()), intent); err != nil {
		t.Fatal(err)
	}
}

func TestLostDeletionIsDoneWhenObjectIsGone(t *testing.T) {
	w, r := newRunOf(t, remove)
	w.Answer(fails(tool.ErrLost))
	execute(t, w, r, "s1")
	w.Answer(func(tool.Request) (tool.Answer, error) {
		return tool.Answer{Status: 404, Body: []byte(`{"detail":"No encontrado"}`), Bytes: 26}, nil
	})
	if got := execute(t, w, r, "s1"); got != "" {
		t.Errorf("ended with %q", got)
	}
}

func TestStepLimitsAttempts(t *testing.T) {
	w, r := newRunOf(t, find)
	w.Answer(fails(tool.ErrNotSent))
	for range 20 {
		execute(t, w, r, "s1")
	}
	if n := len(w.Requests()); n != 4 {
		t.Errorf("%d attempts", n)
	}
	if st := w.Read(r.ID).State(plan.EffectOf("s1")); st.Status != plan.StepFailed {
		t.Errorf("the step is %s", st.Status)
	}
}

func TestStepHonoursRetryAfter(t *testing.T) {
	w, r := newRunOf(t, book)
	w.Answer(answers(429, "Retry-After", "30"))
	if got := execute(t, w, r, "s1"); got != step.Throttled {
		t.Fatalf("ended with %q", got)
	}
	w.Answer(answers(201))
	w.Pass(29 * time.Second)
	if got := execute(t, w, r, "s1"); got != step.Throttled || len(w.Requests()) != 1 {
		t.Fatalf("after 29 s: %q, %d requests", got, len(w.Requests()))
	}
	w.Pass(2 * time.Second)
	if got := execute(t, w, r, "s1"); got != "" {
		t.Errorf("after 31 s: %q", got)
	}
}

func TestStepRefusesChangedBinding(t *testing.T) {
	ctx := context.Background()
	for name, c := range map[string]struct {
		change func(*testing.T, *fixture.World)
		code   string
	}{
		"switched off": {func(t *testing.T, w *fixture.World) {
			if _, err := w.Store.Registry.SetServerActive(ctx, fixture.Account, w.Server.ID, false, w.Clock()); err != nil {
				t.Fatal(err)
			}
		}, "step.server_inactive"},
		"removed": {func(t *testing.T, w *fixture.World) {
			if err := w.Store.Registry.DeleteServer(ctx, fixture.Account, w.Server.ID); err != nil {
				t.Fatal(err)
			}
		}, "step.server_missing"},
		"changed": {func(t *testing.T, w *fixture.World) {
			ops := fixture.Operations(w.Server.BaseURL)
			for i := range ops {
				ops[i].Fingerprint = "other"
			}
			c := tool.Catalogue{Revision: w.IDs.New(w.Clock()), Operations: ops}
			if err := w.Store.Registry.ReplaceCatalogue(ctx, fixture.Account, w.Server, w.Server.Catalogue, c); err != nil {
				t.Fatal(err)
			}
		}, "step.tool_changed"},
	} {
		t.Run(name, func(t *testing.T) {
			w, r := newRunOf(t, book)
			c.change(t, w)
			if got := execute(t, w, r, "s1"); got != step.Rejected {
				t.Errorf("ended with %q", got)
			}
			st := w.Read(r.ID).State(plan.EffectOf("s1"))
			if st.Error == nil || st.Error.Code != c.code || len(w.Requests()) != 0 {
				t.Errorf("%+v, %d requests", st.Error, len(w.Requests()))
			}
		})
	}
}

func TestStepFailsOnMissingReference(t *testing.T) {
	w, r := newRunOf(t, find, fixture.To("GET", "/bookings/${s1.body.missing}", ""))
	execute(t, w, r, "s1")
	if got := execute(t, w, r, "s2"); got != step.Rejected {
		t.Fatalf("ended with %q", got)
	}
	if st := w.Read(r.ID).State(plan.EffectOf("s2")); st.Error == nil || st.Error.Code != "step.reference" {
		t.Errorf("%+v", st.Error)
	}
}

func TestResultCannotLeaveItsPathSegment(t *testing.T) {
	for _, id := range []string{"../admin", "a/b", "..", "a%2fb", "a\r\nX: y", ""} {
		w, r := newRunOf(t, find, fixture.To("DELETE", "/bookings/${s1.body.id}", ""))
		body, _ := json.Marshal(map[string]string{"id": id})
		w.Answer(func(tool.Request) (tool.Answer, error) {
			return tool.Answer{Status: 200, Body: body, Bytes: len(body)}, nil
		})
		execute(t, w, r, "s1")
		execute(t, w, r, "s2")
		if n := len(w.Requests()); n != 1 {
			t.Errorf("%q was sent as %s", id, w.Requests()[1].URL)
		}
	}
}

func TestStepReportsRefusedRequestInWords(t *testing.T) {
	for _, id := range []string{`""`, `"a/b"`, `".."`, `"` + strings.Repeat("a", 9000) + `"`} {
		w, r := newRunOf(t, find, fixture.To("GET", "/bookings/${s1.body.id}", ""))
		w.Answer(func(tool.Request) (tool.Answer, error) {
			return tool.Answer{Status: 200, Body: []byte(`{"id":` + id + `}`)}, nil
		})
		execute(t, w, r, "s1")
		if got := execute(t, w, r, "s2"); got != step.Rejected || len(w.Requests()) != 1 {
			t.Fatalf("%.20s: %s", id, got)
		}
		if said := w.Read(r.ID).State(plan.EffectOf("s2")).Error.Message; strings.Contains(said, "map[") || strings.Contains(said, "tool.") || len(said) > 400 {
			t.Errorf("%.20s: %s", id, said)
		}
	}
}

func TestStepRefusesResultThatViolatesSchema(t *testing.T) {
	w, r := newRunOf(t, find, fixture.To("POST", "/bookings", `{"room":"${s1.body.id}"}`))
	w.Answer(func(tool.Request) (tool.Answer, error) {
		return tool.Answer{Status: 200, Body: []byte(`{"id":7}`), Bytes: 8}, nil
	})
	execute(t, w, r, "s1")
	if got := execute(t, w, r, "s2"); got != step.Rejected || len(w.Requests()) != 1 {
		t.Errorf("ended with %q after %d requests", got, len(w.Requests()))
	}
}

func TestOnlyUnsafeRequestsCarryIdempotencyKey(t *testing.T) {
	w, r := newRunOf(t, find, book)
	execute(t, w, r, "s1")
	execute(t, w, r, "s2")
	sent := w.Requests()
	if _, ok := sent[0].Header["Idempotency-Key"]; ok || sent[1].Header["Idempotency-Key"] != r.ID+":s2" {
		t.Errorf("%v, %v", sent[0].Header, sent[1].Header)
	}
}

func TestStepStoresResponsesOfEverySize(t *testing.T) {
	size := 2 << 20
	if testing.Short() {
		size = 1 << 19 // the race detector makes it ten times slower, and a result has 15 seconds to be written
	}
	noise := make([]byte, size) // incompressible
	seed := uint32(1)
	for i := range noise {
		seed = seed*1664525 + 1013904223
		noise[i] = "0123456789abcdef"[seed>>28]
	}
	for name, c := range map[string]struct {
		body  []byte
		apart bool
	}{
		"none":               {nil, false},
		"text":               {[]byte("hola"), false},
		"not UTF-8":          {[]byte{0xff, 'a'}, false},
		"JSON, not UTF-8":    {[]byte("{\"a\":\"\xff\xfe\"}"), false},
		"a large list":       {[]byte("[" + strings.Repeat(`{"id":1,"name":"sala"},`, 50_000) + "1]"), true},
		"large and opaque":   {append(append([]byte(`"`), noise...), '"'), true},
		"deeper than a tree": {[]byte(strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000)), false},
		"deeper than depth":  {[]byte(strings.Repeat("[", 9000) + strings.Repeat("]", 9000)), false},
	} {
		t.Run(name, func(t *testing.T) {
			w, r := newRunOf(t, find)
			w.Answer(func(tool.Request) (tool.Answer, error) {
				return tool.Answer{Status: 200, Body: c.body, Bytes: len(c.body)}, nil
			})
			if got := execute(t, w, r, "s1"); got != "" {
				t.Fatalf("ended with %q", got)
			}
			res := w.Read(r.ID).State(plan.EffectOf("s1")).Result
			if res == nil || res.Apart > 0 != c.apart || res.Truncated || len(c.body) > 0 && (!json.Valid(res.Body) || !utf8.Valid(res.Body)) {
				t.Errorf("kept %d bytes, apart in %d, truncated %v", len(res.Body), res.Apart, res.Truncated)
			}
			if _, err := w.Runs.Finish(context.Background(), fixture.Key(r.ID), ""); err != nil {
				t.Error(err)
			}
		})
	}
}
