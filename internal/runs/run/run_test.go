package run_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"piloto/infra/local/fixture"
	"piloto/internal/conversation"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/locale"
	due "piloto/internal/ground/sweep"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
	"piloto/internal/runs/step"
	"piloto/internal/tools/tool"
)

var (
	find = fixture.To("GET", "/rooms", "")
	book = fixture.To("POST", "/bookings", `{"room":"norte"}`)
	look = fixture.To("GET", "/bookings/${s2.body.id}", "")
)

func TestFiveHundredConfirmsStartOneExecution(t *testing.T) {
	w := fixture.NewWorld(t)
	r := w.Propose(book)
	const callers, keyed = 500, 50
	errs := make([]error, callers)
	var ready, done sync.WaitGroup
	gate := make(chan struct{})
	for i := range callers {
		ready.Add(1)
		done.Go(func() {
			c := run.Confirmation{Account: fixture.Account, User: "ana", RunID: r.ID, Digest: r.Digest, Locale: locale.Spanish}
			if i < keyed { // retries of one client
				c.Key = "same"
			} else if i%2 == 0 {
				c.Typed = "confirmo"
			}
			ready.Done()
			<-gate
			_, errs[i] = w.Runs.Confirm(context.Background(), c)
		})
	}
	ready.Wait()
	close(gate)
	done.Wait()
	won, wonKeyed := 0, 0
	for i, err := range errs {
		switch {
		case err == nil && i < keyed:
			wonKeyed++
		case err == nil:
			won++
		case !errors.Is(err, plan.ErrAlreadyRunning):
			t.Fatalf("a loser was told %v", err)
		}
	}
	if !(won == 1 && wonKeyed == 0 || won == 0 && wonKeyed == keyed) {
		t.Fatalf("%d won alone and %d with one key; want one confirmation", won, wonKeyed)
	}
	after := w.Read(r.ID)
	if after.Status != plan.Queued || after.EventSeq != 2 {
		t.Errorf("the run is %s after %d events", after.Status, after.EventSeq)
	}
	for _, id := range w.Started() {
		if id != r.ID {
			t.Errorf("%s was started", id)
		}
	}
	if c := w.ChatNow(); c.ActiveRunID != r.ID || c.PendingRunID != "" {
		t.Errorf("chat: %+v", c)
	}
	w.Execute(r.ID)
	if n := len(w.Requests()); n != 1 {
		t.Errorf("the server was called %d times", n)
	}
}

func TestConfirmRefusesUnseenPlan(t *testing.T) {
	other := plan.Digest(strings.Repeat("0", 64))
	for name, c := range map[string]struct {
		prepare func(testing.TB, *fixture.World, *plan.Run)
		want    error
	}{
		"another digest":        {func(t testing.TB, _ *fixture.World, r *plan.Run) { r.Digest = other }, plan.ErrStale},
		"an expired draft":      {func(t testing.TB, w *fixture.World, _ *plan.Run) { w.Pass(25 * time.Hour) }, plan.ErrExpired},
		"at the very end":       {func(t testing.TB, w *fixture.World, _ *plan.Run) { w.Pass(24 * time.Hour) }, plan.ErrExpired},
		"a superseded draft":    {func(t testing.TB, w *fixture.World, _ *plan.Run) { w.Propose(find) }, plan.ErrStale},
		"a cancelled draft":     {func(t testing.TB, w *fixture.World, r *plan.Run) { cancel(t, w, *r) }, plan.ErrNotPending},
		"a run that runs":       {func(t testing.TB, w *fixture.World, r *plan.Run) { _ = w.Confirm(*r) }, plan.ErrAlreadyRunning},
		"a run that is over":    {func(t testing.TB, w *fixture.World, r *plan.Run) { _ = w.Confirm(*r); w.Execute(r.ID) }, plan.ErrNotPending},
		"no run":                {func(t testing.TB, w *fixture.World, r *plan.Run) { r.ID = w.IDs.New(fixture.Epoch) }, plan.ErrRunNotFound},
		"a server switched off": {func(t testing.TB, w *fixture.World, _ *plan.Run) { switchOff(t, w) }, plan.ErrStale},
		"a server removed":      {func(t testing.TB, w *fixture.World, _ *plan.Run) { unregister(t, w) }, plan.ErrStale},
		"a tool that changed":   {func(t testing.TB, w *fixture.World, _ *plan.Run) { refresh(t, w, "POST /bookings") }, plan.ErrStale},
		"a tool that went":      {func(t testing.TB, w *fixture.World, _ *plan.Run) { refresh(t, w, "") }, plan.ErrStale},
	} {
		t.Run(name, func(t *testing.T) {
			w := fixture.NewWorld(t)
			r := w.Propose(book)
			c.prepare(t, w, &r)
			before := len(w.Started())
			if err := w.Confirm(r); !errors.Is(err, c.want) {
				t.Fatalf("got %v, want %v", err, c.want)
			}
			if len(w.Started()) != before {
				t.Error("an execution was started")
			}
		})
	}
}

func TestConfirmNamesTheChange(t *testing.T) {
	w := fixture.NewWorld(t)
	r := w.Propose(book)
	refresh(t, w, "POST /bookings")
	if err := w.Confirm(r); !strings.Contains(changeIn(err), "POST /bookings") {
		t.Errorf("%v does not name the tool", err)
	}
}

// changeIn returns the sentence about the change of a plan.ErrStale, in Spanish.
func changeIn(err error) string {
	if change := fault.Of(err).Inner["changed"]; change != nil {
		return locale.OfFault(change).In(locale.Spanish)
	}
	return ""
}

func TestRunIsHiddenFromOtherAccounts(t *testing.T) {
	w := fixture.NewWorld(t)
	r := w.Propose(book)
	_, err := w.Runs.Confirm(context.Background(), run.Confirmation{Account: "other", User: "eve", RunID: r.ID, Digest: r.Digest})
	if !errors.Is(err, plan.ErrRunNotFound) {
		t.Errorf("confirm: %v", err)
	}
	if _, err := w.Runs.Cancel(context.Background(), run.Cancellation{Account: "other", User: "eve", RunID: r.ID}); !errors.Is(err, plan.ErrRunNotFound) {
		t.Errorf("cancel: %v", err)
	}
}

func TestSweepStartsRunThatWasNotStarted(t *testing.T) {
	w := fixture.NewWorld(t)
	r := w.Propose(book)
	w.FailStarts(errors.New("throttled"))
	if err := w.Confirm(r); err != nil {
		t.Fatal(err)
	}
	w.FailStarts(nil)
	if swept := sweep(t, w); swept != (run.Swept{}) {
		t.Errorf("it was due at once: %+v", swept)
	}
	w.Pass(time.Minute)
	if swept := sweep(t, w); swept.Restarted != 1 || len(w.Started()) != 1 {
		t.Errorf("swept %+v, started %v", swept, w.Started())
	}
	w.Execute(r.ID)
	w.Pass(time.Hour)
	if swept := sweep(t, w); swept != (run.Swept{}) {
		t.Errorf("a finished run is still due: %+v", swept)
	}
}

func TestSweepFinishesRunWhoseExecutionEnded(t *testing.T) {
	w := fixture.NewWorld(t)
	r := w.Propose(find, book, look)
	if err := w.Confirm(r); err != nil {
		t.Fatal(err)
	}
	w.Begin(r.ID)
	w.EndExecution(r.ID)
	w.Pass(5 * time.Minute)
	if swept := sweep(t, w); swept.Finished != 1 {
		t.Fatalf("swept %+v", swept)
	}
	checkEnded(t, w, r.ID, plan.Failed)
	if _, err := w.Runs.Finish(context.Background(), fixture.Key(r.ID), "again"); err != nil {
		t.Fatal(err)
	}
	checkEnded(t, w, r.ID, plan.Failed)
}

func TestSweepExpiresUnconfirmedDraft(t *testing.T) {
	w := fixture.NewWorld(t)
	r := w.Propose(book)
	w.Pass(24*time.Hour + time.Second)
	if swept := sweep(t, w); swept.Expired != 1 {
		t.Fatalf("swept %+v", swept)
	}
	if got := w.Read(r.ID).Status; got != plan.Expired {
		t.Errorf("it is %s", got)
	}
	if c := w.ChatNow(); c.PendingRunID != "" {
		t.Error("the chat still waits for it")
	}
}

func TestSweepContinuesAfterFailedRun(t *testing.T) {
	w := fixture.NewWorld(t)
	w.FailStarts(errors.New("no such machine"))
	first := w.Propose(book)
	if err := w.Confirm(first); err != nil {
		t.Fatal(err)
	}
	w.Chat = w.NewChat()
	second := w.Propose(book)
	w.Pass(25 * time.Hour)
	swept, err := w.Runs.Sweep(context.Background())
	if err == nil || swept.Failed != 1 || swept.Expired != 1 {
		t.Errorf("swept %+v, %v", swept, err)
	}
	if got := w.Read(second.ID).Status; got != plan.Expired {
		t.Errorf("the other is %s", got)
	}
}

// poison is a store that panics whenever one certain run is read.
type poison struct {
	run.Runs
	id string
}

func (p poison) Run(ctx context.Context, account ids.Account, id string) (plan.Run, error) {
	if id == p.id {
		panic("poison")
	}
	return p.Runs.Run(ctx, account, id)
}

// TestSweepHandlesOthersBesidePoisonedRun has one run among a thousand that always panics. The
// sweep returns an error, so that its event is retried and then kept, and handles all others the
// first time.
func TestSweepHandlesOthersBesidePoisonedRun(t *testing.T) {
	w := fixture.NewWorld(t)
	var ids []string
	many := 1000
	if testing.Short() {
		many = 100
	}
	for range many {
		w.Chat = w.NewChat()
		ids = append(ids, w.Propose(book).ID)
	}
	w.Pass(25 * time.Hour)
	w.Runs.Runs = poison{w.Runs.Runs, ids[17]}
	for try := range 3 {
		swept, err := w.Runs.Sweep(context.Background())
		want := run.Swept{Failed: 1}
		if try == 0 {
			want.Expired = len(ids) - 1
		}
		if err == nil || !strings.Contains(err.Error(), ids[17]) || swept != want {
			t.Errorf("try %d: swept %+v, %v", try, swept, err)
		}
	}
	for i, id := range ids {
		if got := w.Read(id).Status; (got == plan.Expired) == (i == 17) {
			t.Fatalf("run %d is %s", i, got)
		}
	}
}

// narrow is a store that lists few runs at a time.
type narrow struct {
	run.Runs
	most int
}

func (n narrow) Due(ctx context.Context, at time.Time, limit int) ([]due.Row[run.Key], error) {
	return n.Runs.Due(ctx, at, min(limit, n.most))
}

// poisons is a store that panics when one of some runs is read, and counts how often.
type poisons struct {
	run.Runs
	looks map[string]int
}

func (p poisons) Run(ctx context.Context, account ids.Account, id string) (plan.Run, error) {
	if n, bad := p.looks[id]; bad {
		p.looks[id] = n + 1
		panic("poison")
	}
	return p.Runs.Run(ctx, account, id)
}

// TestSweepPutsOffRunsThatCannotBeHealed puts a whole batch of poisoned runs before a good one. The
// good one is still handled. The others are tried less and less often, and are never given up.
func TestSweepPutsOffRunsThatCannotBeHealed(t *testing.T) {
	w := fixture.NewWorld(t)
	var log strings.Builder
	w.Runs.Log = slog.New(slog.NewTextHandler(&log, nil))
	bad := poisons{w.Runs.Runs, map[string]int{}}
	const most = 5
	for range most {
		w.Chat = w.NewChat()
		bad.looks[w.Propose(book).ID] = 0
	}
	w.Pass(time.Second)
	w.Chat = w.NewChat()
	good := w.Propose(book)
	w.Runs.Runs = narrow{bad, most}
	w.Pass(25 * time.Hour)
	for sweeps := 0; w.Read(good.ID).Status != plan.Expired; sweeps++ {
		if sweeps == 5 {
			t.Fatal("the good one waits behind what cannot be healed")
		}
		_, _ = w.Runs.Sweep(t.Context())
		w.Pass(time.Minute)
	}
	const days = 4
	for range days * 24 * 4 {
		_, _ = w.Runs.Sweep(t.Context())
		w.Pass(15 * time.Minute)
	}
	for id, looks := range bad.looks {
		if looks < 3+7+days-2 || looks > 3+11+days {
			t.Errorf("%s was looked at %d times", id, looks)
		}
		if told := strings.Count(log.String(), id+" "); told != looks {
			t.Errorf("%s was told of %d times, looked at %d times", id, told, looks)
		}
	}
	w.Runs.Runs = bad.Runs // the cause is gone
	w.Pass(24 * time.Hour)
	if swept := sweep(t, w); swept.Expired != most {
		t.Errorf("swept %+v", swept)
	}
}

// TestTransitionResetsSweepTries puts off a run that then moves: it is due at its own time again. A
// sweep that listed it before cannot put it off.
func TestTransitionResetsSweepTries(t *testing.T) {
	w := fixture.NewWorld(t)
	r := w.Propose(book)
	w.FailStarts(errors.New("throttled"))
	if err := w.Confirm(r); err != nil {
		t.Fatal(err)
	}
	for range 6 {
		w.Pass(10 * time.Minute)
		_, _ = w.Runs.Sweep(t.Context())
	}
	due := func() []due.Row[run.Key] {
		list, err := w.Runs.Runs.Due(t.Context(), w.Clock(), 10)
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	w.Pass(time.Hour)
	before := due()
	if len(before) != 1 || before[0].Tries != 6 {
		t.Fatalf("%+v", before)
	}
	w.FailStarts(nil)
	if swept := sweep(t, w); swept.Restarted != 1 {
		t.Fatalf("swept %+v", swept)
	}
	if moved, err := before[0].PutOff(t.Context(), w.Clock().Add(24*time.Hour)); moved || err != nil {
		t.Fatal(moved, err)
	}
	w.Pass(run.CheckEvery)
	if list := due(); len(list) != 1 || list[0].Tries != 0 {
		t.Errorf("%+v", list)
	}
}

func TestCancel(t *testing.T) {
	ctx := context.Background()
	t.Run("a draft is dropped", func(t *testing.T) {
		w := fixture.NewWorld(t)
		r := w.Propose(book)
		cancel(t, w, r)
		if got := w.Read(r.ID).Status; got != plan.Cancelled || w.ChatNow().PendingRunID != "" {
			t.Errorf("it is %s; chat %+v", got, w.ChatNow())
		}
	})
	t.Run("another draft than the one seen is not", func(t *testing.T) {
		w := fixture.NewWorld(t)
		r := w.Propose(book)
		_, err := w.Runs.Cancel(ctx, run.Cancellation{Account: fixture.Account, RunID: r.ID, Digest: plan.Digest(strings.Repeat("1", 64))})
		if !errors.Is(err, plan.ErrStale) || w.Read(r.ID).Status != plan.Draft {
			t.Errorf("%v, %s", err, w.Read(r.ID).Status)
		}
	})
	t.Run("a queued run ends, and its execution does nothing", func(t *testing.T) {
		w := fixture.NewWorld(t)
		r := w.Propose(book)
		if err := w.Confirm(r); err != nil {
			t.Fatal(err)
		}
		cancel(t, w, r)
		w.Execute(r.ID)
		checkEnded(t, w, r.ID, plan.Cancelled)
		if len(w.Requests()) != 0 {
			t.Error("the server was called")
		}
	})
	t.Run("a running one stops before its next step", func(t *testing.T) {
		w := fixture.NewWorld(t)
		r := w.Propose(find, book)
		if err := w.Confirm(r); err != nil {
			t.Fatal(err)
		}
		w.Begin(r.ID)
		if _, err := w.Steps.Execute(ctx, step.Task{Account: fixture.Account, RunID: r.ID, StepID: plan.EffectOf("s1")}); err != nil {
			t.Fatal(err)
		}
		cancel(t, w, r)
		cancel(t, w, r) // a second request has no further effect
		_, err := w.Steps.Execute(ctx, step.Task{Account: fixture.Account, RunID: r.ID, StepID: plan.EffectOf("s2")})
		var e *step.Error
		if !errors.As(err, &e) || e.Name != step.Cancelled {
			t.Fatalf("the next step ended with %v", err)
		}
		if _, err := w.Runs.Finish(ctx, fixture.Key(r.ID), "Run.StepFailed"); err != nil {
			t.Fatal(err)
		}
		checkEnded(t, w, r.ID, plan.Cancelled)
		if n := len(w.Requests()); n != 1 {
			t.Errorf("the server was called %d times", n)
		}
	})
}

func TestRunPostsItsProgress(t *testing.T) {
	w := fixture.NewWorld(t)
	r := w.Propose(find, book, look)
	if err := w.Confirm(r); err != nil {
		t.Fatal(err)
	}
	w.Execute(r.ID)
	checkEnded(t, w, r.ID, plan.Done)
	if got := w.Requests()[2].URL; got != "https://rooms.example/bookings/r-1" {
		t.Errorf("the reference became %s", got)
	}
	want := []string{
		"Plan propuesto: Reservar.", "Confirmado", "⏳ Iniciando plan «Reservar» (3 pasos)", "⏳ Paso 1 de 3", "✅ Paso 1 de 3", "⏳ Paso 2 de 3",
		"✅ Paso 2 de 3", "⏳ Paso 3 de 3", "✅ Paso 3 de 3", "✅ Hecho: «Reservar» (3 de 3 pasos).\n\n| Dato | Valor |\n|---|---|\n| id | r-1 |",
	}
	got := w.Messages()
	if len(got) != len(want) {
		t.Fatalf("%d messages, want %d: %+v", len(got), len(want), got)
	}
	for i, m := range got {
		if !strings.HasPrefix(m.Content, want[i]) {
			t.Errorf("message %d is %q, want %q…", i, m.Content, want[i])
		}
	}
}

// cancel cancels a run.
func cancel(t testing.TB, w *fixture.World, r plan.Run) {
	t.Helper()
	if _, err := w.Runs.Cancel(context.Background(), run.Cancellation{Account: fixture.Account, User: "ana", RunID: r.ID, Locale: locale.Spanish}); err != nil {
		t.Fatal(err)
	}
}

func sweep(t testing.TB, w *fixture.World) run.Swept {
	t.Helper()
	swept, err := w.Runs.Sweep(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return swept
}

func switchOff(t testing.TB, w *fixture.World) {
	if _, err := w.Store.Registry.SetServerActive(context.Background(), fixture.Account, w.Server.ID, false, w.Clock()); err != nil {
		t.Fatal(err)
	}
}

func unregister(t testing.TB, w *fixture.World) {
	if err := w.Store.Registry.DeleteServer(context.Background(), fixture.Account, w.Server.ID); err != nil {
		t.Fatal(err)
	}
}

// refresh replaces the allowlist: the named tool changes, or every POST is removed.
func refresh(t testing.TB, w *fixture.World, changed string) {
	var ops []tool.Operation
	for _, op := range fixture.Operations(w.Server.BaseURL) {
		if op.Method+" "+op.Path == changed {
			op.Fingerprint = "changed"
		}
		if changed != "" || op.Method != "POST" {
			ops = append(ops, op)
		}
	}
	c := tool.Catalogue{Revision: w.IDs.New(w.Clock()), Operations: ops}
	if err := w.Store.Registry.ReplaceCatalogue(context.Background(), fixture.Account, w.Server, w.Server.Catalogue, c); err != nil {
		t.Fatal(err)
	}
}

// checkEnded checks that a run ended with the expected status, once, and released its chat.
func checkEnded(t testing.TB, w *fixture.World, id string, want plan.Status) {
	t.Helper()
	r, c := w.Read(id), w.ChatNow()
	if r.Status != want {
		t.Errorf("the run is %s, want %s", r.Status, want)
	}
	if c.ActiveRunID != "" || c.LastRunID != id || c.LastRunStatus != string(want) || c.LastRunTS == nil {
		t.Errorf("chat: %+v", c)
	}
	if n := w.Finals(id); n != 1 {
		t.Errorf("%d final messages", n)
	}
	checkEvents(t, w, r)
}

// checkEvents checks that a run's events count from 1 to its last without gaps, and are chained.
func checkEvents(t rapid.TB, w *fixture.World, r plan.Run) {
	t.Helper()
	events, err := w.Store.Runs.Events(context.Background(), fixture.Account, r.ID, 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	if len(events) != r.EventSeq {
		t.Errorf("%d events, the run counted %d", len(events), r.EventSeq)
	}
	hash := ""
	for i, e := range events {
		if e.Seq != i+1 {
			t.Fatalf("event %d has number %d", i+1, e.Seq)
		}
		again, err := e.Chained(hash)
		if err != nil || again.Hash != e.Hash {
			t.Fatalf("event %d (%s) does not follow the one before it: %v", e.Seq, e.Type, err)
		}
		hash = e.Hash
	}
	if r.Chain != hash {
		t.Errorf("the run keeps another hash than its last event's")
	}
}

func checkChain(t testing.TB, w *fixture.World, id string) { checkEvents(t, w, w.Read(id)) }

func TestParallelStepsKeepTheirEventsInOrder(t *testing.T) {
	w := fixture.NewWorld(t)
	var calls []fixture.Call
	for range plan.MaxParallel {
		calls = append(calls, book)
	}
	r := w.Propose(calls...)
	if err := w.Confirm(r); err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	w.Begin(r.ID)
	var all sync.WaitGroup
	for i := range calls {
		all.Go(func() {
			if _, err := w.Steps.Execute(ctx, step.Task{Account: fixture.Account, RunID: r.ID, StepID: plan.EffectOf(fmt.Sprintf("s%d", i+1))}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if _, err := w.Runs.Finish(ctx, fixture.Key(r.ID), ""); err != nil {
		t.Fatal(err)
	}
	checkEnded(t, w, r.ID, plan.Done)
	if n := len(w.Requests()); n != len(calls) {
		t.Errorf("%d requests", n)
	}
	seen := map[string]bool{}
	for _, m := range w.Messages() {
		if seen[m.Content] && m.Kind != conversation.KindText {
			t.Errorf("said twice: %q", m.Content)
		}
		seen[m.Content] = true
	}
}

func TestConfirmKeyAppliesToItsDigestOnly(t *testing.T) {
	w := fixture.NewWorld(t)
	r := w.Propose(book)
	c := run.Confirmation{Account: fixture.Account, User: "ana", RunID: r.ID, Digest: r.Digest, Key: "k", Locale: locale.Spanish}
	first, err := w.Runs.Confirm(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	again, err := w.Runs.Confirm(context.Background(), c)
	if err != nil || again.Run.ID != first.Run.ID || again.Run.Status != plan.Queued {
		t.Errorf("the same key: %+v, %v", again.Run.Status, err)
	}
	c.Digest = plan.Digest(strings.Repeat("0", 64))
	if _, err := w.Runs.Confirm(context.Background(), c); !errors.Is(err, plan.ErrAlreadyRunning) {
		t.Errorf("another digest: %v", err)
	}
	c.Digest, c.User = r.Digest, "eve"
	if _, err := w.Runs.Confirm(context.Background(), c); !errors.Is(err, plan.ErrAlreadyRunning) {
		t.Errorf("another person: %v", err)
	}
}
