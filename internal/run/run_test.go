package run_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"piloto/internal/conversation"
	"piloto/internal/locale"
	"piloto/internal/plan"
	"piloto/internal/run"
	"piloto/internal/step"
	"piloto/internal/tool"
)

var (
	find   = call{"GET", "/rooms", ""}
	book   = call{"POST", "/bookings", `{"room":"norte"}`}
	look   = call{"GET", "/bookings/${s2.body.id}", ""}
	remove = call{"DELETE", "/bookings/7", ""}
)

func TestFiveHundredConfirmsStartOneExecution(t *testing.T) {
	w := newWorld(t)
	r := w.propose(book)
	const callers, keyed = 500, 50
	errs := make([]error, callers)
	var ready, done sync.WaitGroup
	gate := make(chan struct{})
	for i := range callers {
		ready.Add(1)
		done.Go(func() {
			c := run.Confirmation{Account: account, User: "ana", RunID: r.ID, Digest: r.Digest, Locale: locale.Spanish}
			if i < keyed { // retries of one client
				c.Key = "same"
			} else if i%2 == 0 {
				c.Typed = "confirmo"
			}
			ready.Done()
			<-gate
			_, errs[i] = w.service.Confirm(context.Background(), c)
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
	after := w.read(r.ID)
	if after.Status != plan.Queued || after.EventSeq != 2 {
		t.Errorf("the run is %s after %d events", after.Status, after.EventSeq)
	}
	for _, id := range w.started {
		if id != r.ID {
			t.Errorf("%s was started", id)
		}
	}
	if c := w.chatNow(); c.ActiveRunID != r.ID || c.PendingRunID != "" {
		t.Errorf("chat: %+v", c)
	}
	w.execute(r.ID)
	if n := len(w.requests()); n != 1 {
		t.Errorf("the server was called %d times", n)
	}
}

func TestConfirmRefusesWhatWasNotSeen(t *testing.T) {
	other := plan.Digest(strings.Repeat("0", 64))
	for name, c := range map[string]struct {
		prepare func(*world, *plan.Run)
		want    error
	}{
		"another digest":        {func(_ *world, r *plan.Run) { r.Digest = other }, plan.ErrStale},
		"an expired draft":      {func(w *world, _ *plan.Run) { w.pass(25 * time.Hour) }, plan.ErrExpired},
		"at the very end":       {func(w *world, _ *plan.Run) { w.pass(24 * time.Hour) }, plan.ErrExpired},
		"a superseded draft":    {func(w *world, _ *plan.Run) { w.propose(find) }, plan.ErrStale},
		"a cancelled draft":     {func(w *world, r *plan.Run) { w.cancel(*r) }, plan.ErrNotPending},
		"a run that runs":       {func(w *world, r *plan.Run) { _ = w.confirm(*r) }, plan.ErrAlreadyRunning},
		"a run that is over":    {func(w *world, r *plan.Run) { _ = w.confirm(*r); w.execute(r.ID) }, plan.ErrNotPending},
		"no run":                {func(w *world, r *plan.Run) { r.ID = w.ids.New(epoch) }, plan.ErrRunNotFound},
		"a server switched off": {func(w *world, _ *plan.Run) { w.switchOff() }, plan.ErrStale},
		"a server removed":      {func(w *world, _ *plan.Run) { w.unregister() }, plan.ErrStale},
		"a tool that changed":   {func(w *world, _ *plan.Run) { w.refresh("POST /bookings") }, plan.ErrStale},
		"a tool that went":      {func(w *world, _ *plan.Run) { w.refresh("") }, plan.ErrStale},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			r := w.propose(book)
			c.prepare(w, &r)
			before := len(w.started)
			if err := w.confirm(r); !errors.Is(err, c.want) {
				t.Fatalf("got %v, want %v", err, c.want)
			}
			if len(w.started) != before {
				t.Error("an execution was started")
			}
		})
	}
}

func TestConfirmSaysWhatChanged(t *testing.T) {
	w := newWorld(t)
	r := w.propose(book)
	w.refresh("POST /bookings")
	var f interface{ Error() string }
	err := w.confirm(r)
	if !errors.As(err, &f) || !strings.Contains(f.Error(), "POST /bookings") {
		t.Errorf("%v does not name the tool", err)
	}
}

func TestAnotherAccountSeesNothing(t *testing.T) {
	w := newWorld(t)
	r := w.propose(book)
	_, err := w.service.Confirm(context.Background(), run.Confirmation{Account: "other", User: "eve", RunID: r.ID, Digest: r.Digest})
	if !errors.Is(err, plan.ErrRunNotFound) {
		t.Errorf("confirm: %v", err)
	}
	if _, err := w.service.Cancel(context.Background(), run.Cancellation{Account: "other", User: "eve", RunID: r.ID}); !errors.Is(err, plan.ErrRunNotFound) {
		t.Errorf("cancel: %v", err)
	}
}

func TestARunThatCouldNotBeStartedIsStartedByTheSweep(t *testing.T) {
	w := newWorld(t)
	r := w.propose(book)
	w.startErr = errors.New("throttled")
	if err := w.confirm(r); err != nil {
		t.Fatal(err)
	}
	w.startErr = nil
	if swept := w.sweep(); swept != (run.Swept{}) {
		t.Errorf("it was due at once: %+v", swept)
	}
	w.pass(time.Minute)
	if swept := w.sweep(); swept.Restarted != 1 || len(w.started) != 1 {
		t.Errorf("swept %+v, started %v", swept, w.started)
	}
	w.execute(r.ID)
	w.pass(time.Hour)
	if swept := w.sweep(); swept != (run.Swept{}) {
		t.Errorf("a finished run is still due: %+v", swept)
	}
}

func TestARunWhoseExecutionEndedIsSettled(t *testing.T) {
	w := newWorld(t)
	r := w.propose(find, book, look)
	if err := w.confirm(r); err != nil {
		t.Fatal(err)
	}
	if _, err := w.service.Begin(context.Background(), account, r.ID); err != nil {
		t.Fatal(err)
	}
	w.state[r.ID] = run.ExecutionEnded
	w.pass(5 * time.Minute)
	if swept := w.sweep(); swept.Settled != 1 {
		t.Fatalf("swept %+v", swept)
	}
	w.settled(r.ID, plan.Failed)
	if _, err := w.service.Finish(context.Background(), account, r.ID, "again"); err != nil {
		t.Fatal(err)
	}
	w.settled(r.ID, plan.Failed)
}

func TestADraftNobodyConfirmedExpires(t *testing.T) {
	w := newWorld(t)
	r := w.propose(book)
	w.pass(24*time.Hour + time.Second)
	if swept := w.sweep(); swept.Expired != 1 {
		t.Fatalf("swept %+v", swept)
	}
	if got := w.read(r.ID).Status; got != plan.Expired {
		t.Errorf("it is %s", got)
	}
	if c := w.chatNow(); c.PendingRunID != "" {
		t.Error("the chat still waits for it")
	}
}

func TestOneRunThatCannotBeHealedDoesNotStopTheSweep(t *testing.T) {
	w := newWorld(t)
	w.startErr = errors.New("no such machine")
	first := w.propose(book)
	if err := w.confirm(first); err != nil {
		t.Fatal(err)
	}
	w.chat = w.newChat()
	second := w.propose(book)
	w.pass(25 * time.Hour)
	swept, err := w.service.Sweep(context.Background())
	if err == nil || swept.Failed != 1 || swept.Expired != 1 {
		t.Errorf("swept %+v, %v", swept, err)
	}
	if got := w.read(second.ID).Status; got != plan.Expired {
		t.Errorf("the other is %s", got)
	}
}

func TestCancel(t *testing.T) {
	ctx := context.Background()
	t.Run("a draft is dropped", func(t *testing.T) {
		w := newWorld(t)
		r := w.propose(book)
		w.cancel(r)
		if got := w.read(r.ID).Status; got != plan.Cancelled || w.chatNow().PendingRunID != "" {
			t.Errorf("it is %s; chat %+v", got, w.chatNow())
		}
	})
	t.Run("another draft than the one seen is not", func(t *testing.T) {
		w := newWorld(t)
		r := w.propose(book)
		_, err := w.service.Cancel(ctx, run.Cancellation{Account: account, RunID: r.ID, Digest: plan.Digest(strings.Repeat("1", 64))})
		if !errors.Is(err, plan.ErrStale) || w.read(r.ID).Status != plan.Draft {
			t.Errorf("%v, %s", err, w.read(r.ID).Status)
		}
	})
	t.Run("a queued run ends, and its execution does nothing", func(t *testing.T) {
		w := newWorld(t)
		r := w.propose(book)
		if err := w.confirm(r); err != nil {
			t.Fatal(err)
		}
		w.cancel(r)
		w.execute(r.ID)
		w.settled(r.ID, plan.Cancelled)
		if len(w.requests()) != 0 {
			t.Error("the server was called")
		}
	})
	t.Run("a running one stops before its next step", func(t *testing.T) {
		w := newWorld(t)
		r := w.propose(find, book)
		if err := w.confirm(r); err != nil {
			t.Fatal(err)
		}
		if _, err := w.service.Begin(ctx, account, r.ID); err != nil {
			t.Fatal(err)
		}
		if _, err := w.steps.Execute(ctx, step.Task{Account: account, RunID: r.ID, StepID: "s1"}); err != nil {
			t.Fatal(err)
		}
		w.cancel(r)
		w.cancel(r) // twice is once
		_, err := w.steps.Execute(ctx, step.Task{Account: account, RunID: r.ID, StepID: "s2"})
		var e *step.Error
		if !errors.As(err, &e) || e.Name != step.Cancelled {
			t.Fatalf("the next step ended with %v", err)
		}
		if _, err := w.service.Finish(ctx, account, r.ID, "Run.StepFailed"); err != nil {
			t.Fatal(err)
		}
		w.settled(r.ID, plan.Cancelled)
		if n := len(w.requests()); n != 1 {
			t.Errorf("the server was called %d times", n)
		}
	})
}

func TestARunTellsItsStory(t *testing.T) {
	w := newWorld(t)
	r := w.propose(find, book, look)
	if err := w.confirm(r); err != nil {
		t.Fatal(err)
	}
	w.execute(r.ID)
	w.settled(r.ID, plan.Done)
	if got := w.requests()[2].URL; got != "https://rooms.example/bookings/r-1" {
		t.Errorf("the reference became %s", got)
	}
	want := []string{
		"Confirmado", "⏳ Iniciando plan «Reservar» (3 pasos)", "⏳ Paso 1 de 3", "✅ Paso 1 de 3", "⏳ Paso 2 de 3",
		"✅ Paso 2 de 3", "⏳ Paso 3 de 3", "✅ Paso 3 de 3", "✅ Plan «Reservar» finalizado con estado done: 3 de 3 pasos hechos.\nid: r-1",
	}
	got := w.messages()
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
func (w *world) cancel(r plan.Run) {
	w.t.Helper()
	if _, err := w.service.Cancel(context.Background(), run.Cancellation{Account: account, User: "ana", RunID: r.ID, Locale: locale.Spanish}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) sweep() run.Swept {
	w.t.Helper()
	swept, err := w.service.Sweep(context.Background())
	if err != nil {
		w.t.Fatal(err)
	}
	return swept
}

func (w *world) switchOff() {
	if _, err := w.table.SetServerActive(context.Background(), account, w.server.ID, false, w.clock()); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) unregister() {
	if err := w.table.DeleteServer(context.Background(), account, w.server.ID); err != nil {
		w.t.Fatal(err)
	}
}

// refresh replaces the allowlist: the named tool changes, or every POST goes.
func (w *world) refresh(changed string) {
	var ops []tool.Operation
	for _, op := range operations(w.server.BaseURL) {
		if op.Method+" "+op.Path == changed {
			op.Fingerprint = "changed"
		}
		if changed != "" || op.Method != "POST" {
			ops = append(ops, op)
		}
	}
	c := tool.Catalogue{Revision: w.ids.New(w.clock()), Operations: ops}
	if err := w.table.ReplaceCatalogue(context.Background(), account, w.server, w.server.Catalogue, c); err != nil {
		w.t.Fatal(err)
	}
}

// settled checks that a run ended as it should, once, and let its chat go.
func (w *world) settled(id string, want plan.Status) {
	w.t.Helper()
	r, c := w.read(id), w.chatNow()
	if r.Status != want {
		w.t.Errorf("the run is %s, want %s", r.Status, want)
	}
	if c.ActiveRunID != "" || c.LastRunID != id || c.LastRunStatus != string(want) || c.LastRunTS == nil {
		w.t.Errorf("chat: %+v", c)
	}
	if n := w.finals(id); n != 1 {
		w.t.Errorf("%d final messages", n)
	}
	w.gapFree(r)
}

// gapFree checks that a run's events count from 1 to its last.
func (w *world) gapFree(r plan.Run) {
	w.t.Helper()
	events, err := w.table.Events(context.Background(), account, r.ID, 0, 1000)
	if err != nil {
		w.t.Fatal(err)
	}
	if len(events) != r.EventSeq {
		w.t.Errorf("%d events, the run counted %d", len(events), r.EventSeq)
	}
	for i, e := range events {
		if e.Seq != i+1 {
			w.t.Fatalf("event %d has number %d", i+1, e.Seq)
		}
	}
}

func TestParallelStepsKeepTheirEventsInOrder(t *testing.T) {
	w := newWorld(t)
	var calls []call
	for range plan.MaxParallel {
		calls = append(calls, remove)
	}
	r := w.propose(calls...)
	if err := w.confirm(r); err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	if _, err := w.service.Begin(ctx, account, r.ID); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for i := range calls {
		all.Go(func() {
			if _, err := w.steps.Execute(ctx, step.Task{Account: account, RunID: r.ID, StepID: fmt.Sprintf("s%d", i+1)}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if _, err := w.service.Finish(ctx, account, r.ID, ""); err != nil {
		t.Fatal(err)
	}
	w.settled(r.ID, plan.Done)
	if n := len(w.requests()); n != len(calls) {
		t.Errorf("%d requests", n)
	}
	seen := map[string]bool{}
	for _, m := range w.messages() {
		if seen[m.Content] && m.Kind != conversation.KindText {
			t.Errorf("said twice: %q", m.Content)
		}
		seen[m.Content] = true
	}
}
