package run_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"piloto/infra/local/fixture"
	"piloto/internal/access/auth"
	"piloto/internal/conversation"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/locale"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
)

var anybody = plan.Ask{Reason: "borra algo", Minutes: 60}

func TestApproveRefuses(t *testing.T) {
	another := plan.Ask{Reason: "cuesta mucho", Minutes: 60, Another: true}
	for name, c := range map[string]struct {
		ask     plan.Ask
		before  func(testing.TB, manualWorld, plan.Run)
		approve func(*run.Approval)
		want    error
	}{
		"nobody's run":                         {anybody, nil, func(a *run.Approval) { a.Account = "other" }, plan.ErrRunNotFound},
		"a run that is not there":              {anybody, nil, func(a *run.Approval) { a.RunID = "01ARZ3NDEKTSV4RRFFQ69G5FAV" }, plan.ErrRunNotFound},
		"a step that is not":                   {anybody, nil, func(a *run.Approval) { a.StepID = plan.EffectOf("s9") }, plan.ErrStepNotFound},
		"a step that never asked":              {anybody, nil, func(a *run.Approval) { a.StepID = plan.EffectOf("s1") }, plan.ErrNotWaiting},
		"another plan":                         {anybody, nil, func(a *run.Approval) { a.Digest = plan.Digest(strings.Repeat("0", 64)) }, plan.ErrStale},
		"another request":                      {anybody, nil, func(a *run.Approval) { a.Request = strings.Repeat("0", 64) }, plan.ErrOtherRequest},
		"another, to refuse it":                {anybody, nil, func(a *run.Approval) { refuse(a); a.Request = strings.Repeat("0", 64) }, plan.ErrOtherRequest},
		"no request":                           {anybody, nil, func(a *run.Approval) { a.Request = "" }, plan.ErrInvalid},
		"no request, unnamed":                  {anybody, nil, func(a *run.Approval) { a.Request, a.StepID = "", plan.EffectID{} }, plan.ErrInvalid},
		"at the very end":                      {anybody, func(_ testing.TB, w manualWorld, _ plan.Run) { w.Pass(time.Hour) }, nil, plan.ErrApprovalOver},
		"long after":                           {anybody, func(_ testing.TB, w manualWorld, _ plan.Run) { w.Pass(24 * time.Hour) }, nil, plan.ErrApprovalOver},
		"after an approval":                    {anybody, func(t testing.TB, w manualWorld, r plan.Run) { must(t, w.approve(r.ID, "s2", nil)) }, nil, plan.ErrNotWaiting},
		"after a refusal":                      {anybody, func(t testing.TB, w manualWorld, r plan.Run) { must(t, w.approve(r.ID, "s2", refuse)) }, nil, plan.ErrNotWaiting},
		"a run that stops":                     {anybody, func(t testing.TB, w manualWorld, r plan.Run) { cancel(t, w.World, r) }, nil, plan.ErrNotWaiting},
		"a run that ended":                     {anybody, func(t testing.TB, w manualWorld, r plan.Run) { w.finish(t, r.ID, "x") }, nil, plan.ErrNotWaiting},
		"whoever confirmed":                    {another, nil, func(a *run.Approval) { a.User = "ana" }, plan.ErrSelfApproval},
		"whoever confirmed, otherwise written": {another, nil, func(a *run.Approval) { a.User = "Ána.\u200b " }, plan.ErrSelfApproval},
		"whom the session speaks for": {another, func(t testing.TB, w manualWorld, r plan.Run) {
			_, err := w.Store.Chats.OpenSession(t.Context(), fixture.Account, conversation.Chat{ID: r.ChatID, SessionID: "s-1", UserID: "berta", CreatedAt: w.Clock(), UpdatedAt: w.Clock()})
			must(t, err)
		}, func(a *run.Approval) { a.User = "BERTA!" }, plan.ErrSelfApproval},
		"without the scope":                   {another, nil, func(a *run.Approval) { a.MayApprove = false }, auth.ErrScope},
		"nothing":                             {anybody, nil, nil, nil},
		"whoever confirmed, when anybody may": {anybody, nil, func(a *run.Approval) { a.User = "ana" }, nil},
		"without the scope, when anybody may": {anybody, nil, func(a *run.Approval) { a.MayApprove = false }, nil},
		"the only step that waits, unnamed":   {anybody, nil, func(a *run.Approval) { a.StepID = plan.EffectID{} }, nil},
		"another person":                      {another, nil, nil, nil},
		"a refusal by whoever confirmed":      {another, nil, func(a *run.Approval) { a.User, a.Refuse = "ana", true }, nil},
		"a moment before the end":             {anybody, func(_ testing.TB, w manualWorld, _ plan.Run) { w.Pass(time.Hour - time.Millisecond) }, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := newManualWorld(t)
			r := w.launch(t, readingStep("Mirar"), undoable("Reservar"))
			w.do(t, r.ID, "s1", plan.StepDone)
			w.mustAsk(t, r.ID, "s2", c.ask)
			if c.before != nil {
				c.before(t, w, r)
			}
			before := w.Read(r.ID)
			if err := w.approve(r.ID, "s2", c.approve); !errors.Is(err, c.want) {
				t.Fatalf("got %v, want %v", err, c.want)
			}
			if c.want != nil {
				if w.Read(r.ID).EventSeq != before.EventSeq {
					t.Error("something was written")
				}
				return
			}
			if now := w.Read(r.ID); now.Status != plan.Running || now.State(plan.EffectOf("s2")).Status != plan.StepPending || !slices.Contains(w.Woken(), "token "+r.ID+" s2") {
				t.Errorf("%s, s2 is %s, woken %v", now.Status, now.State(plan.EffectOf("s2")).Status, w.Woken())
			}
			checkChain(t, w.World, r.ID)
		})
	}
}

// TestApproveShowsTheRequestThatWaits: a decision about another request than the one that waits gets that one.
func TestApproveShowsTheRequestThatWaits(t *testing.T) {
	w := newManualWorld(t)
	r := w.launch(t, undoable("Reservar"), undoable("Otra"))
	w.mustAsk(t, r.ID, "s1", anybody)
	err := w.approve(r.ID, "s1", func(a *run.Approval) { a.Request = strings.Repeat("a", 64) })
	other, ok := errors.AsType[*run.OtherRequest](err)
	if !ok || other.StepID != plan.EffectOf("s1") || other.Present.Request != "hash" || other.Present.URL != "https://rooms.example/bookings" {
		t.Fatalf("%v, %+v", err, other)
	}
	must(t, w.approve(r.ID, "s1", func(a *run.Approval) { a.Request = other.Present.Request }))
}

// An approval that must come from another person is refused to every owner: the user who asked for
// the plan, those who changed the draft, first or last, and the one who confirmed it.
func TestApproveRefusesOwners(t *testing.T) {
	w := newManualWorld(t)
	r := w.Draft(plan.Proposal{Goal: "Reservar", Steps: []plan.ProposedStep{undoable("Reservar")}})
	for _, by := range []string{"berta", "carla"} {
		r = w.revise(t, r, by)
	}
	must(t, w.Confirm(r))
	w.start(t, r.ID)
	w.mustAsk(t, r.ID, "s1", plan.Ask{Reason: "cuesta mucho", Minutes: 60, Another: true})
	for _, user := range []string{"ana", "berta", "carla", "ana.", "Berta", "cárla…", "ａｎａ"} {
		if err := w.approve(r.ID, "s1", func(a *run.Approval) { a.User = user }); !errors.Is(err, plan.ErrSelfApproval) {
			t.Errorf("%s: %v", user, err)
		}
	}
	must(t, w.approve(r.ID, "s1", func(a *run.Approval) { a.User = "dora" }))
}

// The owners of a run also own each run that continues it, however long the chain. Otherwise a
// retry would turn the author into another person.
func TestRetryKeepsOwnersOfContinuedRun(t *testing.T) {
	another := plan.Ask{Reason: "cuesta mucho", Minutes: 60, Another: true}
	for name, again := range map[string]func(testing.TB, manualWorld, string, string) run.Decision{
		"retried": func(t testing.TB, w manualWorld, id, user string) run.Decision {
			w.do(t, id, "s1", plan.StepFailed)
			w.finish(t, id, "Run.StepFailed")
			d, err := w.Runs.Retry(t.Context(), run.Again{Account: fixture.Account, User: user, RunID: id, Locale: locale.Spanish})
			must(t, err)
			return d
		},
		"resolved, to be retried": func(t testing.TB, w manualWorld, id, user string) run.Decision {
			w.do(t, id, "s1", plan.StepInDoubt)
			w.finish(t, id, "x")
			d, err := w.Runs.Resolve(t.Context(), run.Resolution{
				Account: fixture.Account, User: user, RunID: id, StepID: plan.EffectOf("s1"), Outcome: plan.OutcomeRetry, Locale: locale.Spanish,
			})
			must(t, err)
			return d
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newManualWorld(t)
			own := []string{"ana"} // ana asked for the first
			r := w.Draft(plan.Proposal{Goal: "Reservar", Steps: []plan.ProposedStep{undoable("Reservar")}})
			for n := range 3 {
				changer, confirmer, retrier := fmt.Sprint("cambia", n), fmt.Sprint("confirma", n), fmt.Sprint("reintenta", n)
				r = w.revise(t, r, changer)
				must(t, w.confirmAs(r, confirmer))
				w.start(t, r.ID)
				w.mustAsk(t, r.ID, "s1", another)
				own = append(own, changer, confirmer)
				for _, user := range own {
					if err := w.approve(r.ID, "s1", func(a *run.Approval) { a.User = user }); !errors.Is(err, plan.ErrSelfApproval) {
						t.Errorf("%s, after %d retries: %v", user, n, err)
					}
				}
				must(t, w.approve(r.ID, "s1", nil)) // eva each time: an approver does not become an owner
				r = w.Read(again(t, w, r.ID, retrier).Run.ID)
				own = append(own, retrier)
			}
		})
	}
}

func refuse(a *run.Approval) { a.Refuse, a.Note = true, "demasiado caro" }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestRunWaitsUntilLastStepIsDecided(t *testing.T) {
	w := newManualWorld(t)
	none := []string{}
	first, second := undoable("Una"), undoable("Otra")
	second.Needs = &none
	r := w.launch(t, first, second)
	w.mustAsk(t, r.ID, "s1", anybody)
	w.mustAsk(t, r.ID, "s2", anybody)
	if err := w.approve(r.ID, "", nil); !errors.Is(err, plan.ErrInvalid) {
		t.Errorf("which of two: %v", err)
	}
	must(t, w.approve(r.ID, "s2", refuse))
	if got := w.Read(r.ID); got.Status != plan.Waiting || got.State(plan.EffectOf("s2")).Approval.Decision != plan.Refused || got.State(plan.EffectOf("s2")).Approval.Note != "demasiado caro" {
		t.Errorf("%s, %+v", got.Status, got.State(plan.EffectOf("s2")).Approval)
	}
	w.do(t, r.ID, "s2", plan.StepFailed) // one step ends while another waits
	if got := w.Read(r.ID).Status; got != plan.Waiting {
		t.Errorf("it is %s", got)
	}
	if err := w.approve(r.ID, "", nil); !errors.Is(err, plan.ErrInvalid) { // a repeated request
		t.Errorf("the one that is left: %v", err)
	}
	must(t, w.approve(r.ID, "s1", nil))
	if got := w.Read(r.ID).Status; got != plan.Running {
		t.Errorf("it is %s", got)
	}
	if n := len(w.Messages()); !strings.Contains(w.Messages()[n-1].Content, "Aprobado por eva: Una") {
		t.Errorf("said %q", w.Messages()[n-1].Content)
	}
}

func TestApproveAcceptsOneOfManyDecisions(t *testing.T) {
	w := newManualWorld(t)
	r := w.launch(t, undoable("Una"))
	w.mustAsk(t, r.ID, "s1", anybody)
	const people = 60
	errs := make([]error, people)
	var ready, done sync.WaitGroup
	gate := make(chan struct{})
	for i := range people {
		ready.Add(1)
		done.Go(func() {
			ready.Done()
			<-gate
			errs[i] = w.approve(r.ID, "s1", func(a *run.Approval) { a.Refuse = i%2 == 0 })
		})
	}
	ready.Wait()
	close(gate)
	done.Wait()
	won := 0
	for i, err := range errs {
		switch {
		case err == nil:
			won++
			if got := w.Read(r.ID).State(plan.EffectOf("s1")).Approval.Decision; (got == plan.Refused) != (i%2 == 0) {
				t.Errorf("%d won, and it was %s", i, got)
			}
		case !errors.Is(err, plan.ErrNotWaiting):
			t.Errorf("a loser was told %v", err)
		}
	}
	if won != 1 {
		t.Errorf("%d decided", won)
	}
	checkChain(t, w.World, r.ID)
}

func TestSweepWakesExecutionThatWasNotWoken(t *testing.T) {
	away := errors.New("unavailable")
	for name, c := range map[string]struct {
		decide func(testing.TB, manualWorld, plan.Run)
		pass   time.Duration
		wakes  int
	}{
		"approved":      {func(t testing.TB, w manualWorld, r plan.Run) { must(t, w.approve(r.ID, "s1", nil)) }, time.Minute, 1},
		"refused":       {func(t testing.TB, w manualWorld, r plan.Run) { must(t, w.approve(r.ID, "s1", refuse)) }, time.Minute, 1},
		"cancelled":     {func(t testing.TB, w manualWorld, r plan.Run) { cancel(t, w.World, r) }, time.Minute, 1},
		"over":          {func(testing.TB, manualWorld, plan.Run) {}, 61 * time.Minute, 1},
		"still waiting": {func(testing.TB, manualWorld, plan.Run) {}, 30 * time.Minute, 0},
		"began meanwhile": {func(t testing.TB, w manualWorld, r plan.Run) {
			must(t, w.approve(r.ID, "s1", nil))
			must(t, w.begin(r.ID, "s1"))
		}, time.Minute, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := newManualWorld(t)
			r := w.launch(t, undoable("Una"))
			w.mustAsk(t, r.ID, "s1", anybody)
			w.FailStarts(away)
			c.decide(t, w, r)
			w.FailStarts(nil)
			if len(w.Woken()) != 0 {
				t.Fatal("it was woken already")
			}
			w.Pass(c.pass)
			sweep(t, w.World)
			if got := w.Woken(); len(got) != c.wakes {
				t.Errorf("woken %v", got)
			}
		})
	}
}

// A run that only waits is due again when its approval expires. A run in which another step may
// continue is compared with its execution as usual.
func TestSweepSkipsRunThatOnlyWaits(t *testing.T) {
	for name, c := range map[string]struct {
		needs []string      // of the second step
		ends  bool          // the second step ends first
		due   time.Duration // after the run began to wait
	}{
		"a step that needs it":          {[]string{"s1"}, false, time.Hour},
		"a step beside it":              {[]string{}, false, 2 * run.CheckEvery},
		"a step beside it that is done": {[]string{}, true, time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			w := newManualWorld(t)
			second := undoable("Dos")
			second.Needs = &c.needs
			r := w.launch(t, undoable("Una"), second)
			w.mustAsk(t, r.ID, "s1", anybody)
			asked := w.Clock()
			if c.ends {
				w.do(t, r.ID, "s2", plan.StepDone)
			}
			w.Pass(asked.Add(run.CheckEvery).Sub(w.Clock()))
			sweep(t, w.World)
			if due := w.Read(r.ID).DueAt.Sub(asked); due != c.due {
				t.Errorf("due %s after it began to wait, want %s", due, c.due)
			}
		})
	}
}

func TestWaitingRunFreesItsChat(t *testing.T) {
	w := newManualWorld(t)
	slow := w.launch(t, undoable("Lenta"))
	w.mustAsk(t, slow.ID, "s1", anybody)
	quick := w.launch(t, readingStep("Rápida"))
	if c := w.ChatNow(); c.ActiveRunID != quick.ID || c.PendingRunID != "" {
		t.Fatalf("chat: %+v", c)
	}
	w.do(t, quick.ID, "s1", plan.StepDone)
	third := w.Draft(plan.Proposal{Goal: "Tercera", Steps: []plan.ProposedStep{readingStep("x")}})
	if err := w.Confirm(third); !errors.Is(err, plan.ErrAlreadyRunning) {
		t.Errorf("while one runs: %v", err)
	}
	w.finish(t, quick.ID, "")
	checkEnded(t, w.World, quick.ID, plan.Done)
	must(t, w.approve(slow.ID, "s1", nil))
	w.do(t, slow.ID, "s1", plan.StepDone)
	w.finish(t, slow.ID, "")
	if got := w.Read(slow.ID).Status; got != plan.Done || w.Finals(slow.ID) != 1 {
		t.Errorf("the displaced run is %s with %d final messages", got, w.Finals(slow.ID))
	}
	if c := w.ChatNow(); c.LastRunID != quick.ID || c.ActiveRunID != "" {
		t.Errorf("an older run became the chat's last: %+v", c)
	}
}

func TestDisplacedRunThatEndsFirstIsLastRunUntilOtherEnds(t *testing.T) {
	w := newManualWorld(t)
	slow := w.launch(t, undoable("Lenta"))
	w.mustAsk(t, slow.ID, "s1", anybody)
	quick := w.launch(t, readingStep("Rápida"))
	w.finish(t, slow.ID, "x")
	if c := w.ChatNow(); c.LastRunID != slow.ID || c.ActiveRunID != quick.ID {
		t.Errorf("chat: %+v", c)
	}
	w.do(t, quick.ID, "s1", plan.StepDone)
	w.finish(t, quick.ID, "")
	checkEnded(t, w.World, quick.ID, plan.Done)
}

// A run that went on after the chat was read must not be displaced.
func TestConfirmDisplacesOnlyWaitingRun(t *testing.T) {
	w := newManualWorld(t)
	slow := w.launch(t, undoable("Lenta"))
	w.mustAsk(t, slow.ID, "s1", anybody)
	next := w.Draft(plan.Proposal{Goal: "Otra", Steps: []plan.ProposedStep{readingStep("x")}})
	chat := w.ChatNow()
	must(t, w.approve(slow.ID, "s1", nil))
	_, err := w.Store.Runs.Confirm(context.Background(), next, chat, "x", "ana", w.Clock(), run.Record{At: w.Clock(), Type: plan.EventConfirmed})
	if !errors.Is(err, fault.ErrMoved) {
		t.Errorf("the store: %v", err)
	}
	if err := w.Confirm(next); !errors.Is(err, plan.ErrAlreadyRunning) {
		t.Errorf("the service: %v", err)
	}
}

func TestCancelWakesWaitingRunAtOnce(t *testing.T) {
	w := newManualWorld(t)
	r := w.launch(t, undoable("Una"), undoable("Otra"))
	w.do(t, r.ID, "s1", plan.StepDone)
	w.mustAsk(t, r.ID, "s2", anybody)
	cancel(t, w.World, r)
	if got := w.Woken(); len(got) != 1 {
		t.Fatalf("woken %v", got)
	}
	if err := w.begin(r.ID, "s2"); !errors.Is(err, fault.ErrMoved) {
		t.Errorf("a step began: %v", err)
	}
	if err := w.ask(r.ID, "s2", anybody); !errors.Is(err, fault.ErrMoved) {
		t.Errorf("a step waits again: %v", err)
	}
	if got := w.undo(t, r.ID, "Run.StepFailed"); !slices.Equal(got, []string{"undo:s1"}) {
		t.Fatalf("to undo: %v", got)
	}
	d, err := w.Runs.Cancel(context.Background(), run.Cancellation{Account: fixture.Account, User: "ana", RunID: r.ID, Locale: locale.Spanish})
	if err != nil || !strings.Contains(d.Message.Content, "deshaciendo") {
		t.Errorf("cancel while undoing: %q, %v", d.Message.Content, err)
	}
	w.do(t, r.ID, "undo:s1", plan.StepDone)
	w.finish(t, r.ID, "Run.StepFailed")
	checkEnded(t, w.World, r.ID, plan.Cancelled)
	if got := w.final(r.ID); !strings.Contains(got, "Deshecho: Una.") || strings.Contains(got, "Queda hecho") {
		t.Errorf("said %q", got)
	}
}

func TestCancelStoresReasonOfRejectedDraft(t *testing.T) {
	w := newManualWorld(t)
	r := w.Propose(book)
	_, err := w.Runs.Cancel(context.Background(), run.Cancellation{
		Account: fixture.Account, User: "ana", RunID: r.ID, Reason: "la sala\nes pequeña" + strings.Repeat("x", 1000), Locale: locale.Spanish,
	})
	must(t, err)
	got := w.Read(r.ID)
	if got.Status != plan.Cancelled || !strings.HasPrefix(got.Reason, "la sala es pequeña") || len([]rune(got.Reason)) != 500 {
		t.Errorf("%s because %q", got.Status, got.Reason)
	}
	if last := w.Messages()[len(w.Messages())-1].Content; !strings.Contains(last, "la sala es pequeña") {
		t.Errorf("said %q", last)
	}
}
