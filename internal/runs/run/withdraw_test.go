package run_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"piloto/infra/local/fixture"
	"piloto/internal/conversation"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/locale"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
)

// retraction is the wish of a model to take a draft back.
func retraction(r plan.Run) run.Retraction {
	return run.Retraction{
		Account: fixture.Account, RunID: r.ID, Digest: r.Digest, Locale: locale.Spanish,
		As: plan.Withdrawal{Message: "m1", Reason: "no la quiere", Provider: "p", Model: "m"},
	}
}

// TestOneOfConfirmationAndWithdrawalWins (guarantee I44): a draft that both reach at once runs, or was withdrawn, and never both.
func TestOneOfConfirmationAndWithdrawalWins(t *testing.T) {
	for range 30 {
		w := fixture.NewWorld(t)
		r := w.Propose(book)
		var confirmed, withdrawn error
		var both sync.WaitGroup
		both.Go(func() { confirmed = w.Confirm(r) })
		both.Go(func() { _, withdrawn = w.Runs.Withdraw(t.Context(), retraction(r)) })
		both.Wait()
		now := w.Read(r.ID)
		switch {
		case confirmed == nil && errors.Is(withdrawn, plan.ErrAlreadyRunning) && now.Confirmer == "ana" && now.Withdrawn == nil && now.Status.Active():
		case withdrawn == nil && errors.Is(confirmed, plan.ErrNotPending) && now.Confirmer == "" && now.Withdrawn != nil && now.Status == plan.Cancelled && len(w.Started()) == 0:
		default:
			t.Fatalf("confirmed: %v, withdrawn: %v, the run is %s by %q", confirmed, withdrawn, now.Status, now.Confirmer)
		}
	}
}

// between is a store that does something once, after a run was read and before its chat is.
type between struct {
	run.Chats
	do func()
}

func (b *between) Chat(ctx context.Context, account ids.Account, id string) (conversation.Chat, error) {
	if do := b.do; do != nil {
		b.do = nil
		do()
	}
	return b.Chats.Chat(ctx, account, id)
}

// TestADraftThatMovedBetweenItsTwoReadsIsReadAgain: whoever comes second is told what came first, and not that another plan did.
func TestADraftThatMovedBetweenItsTwoReadsIsReadAgain(t *testing.T) {
	withdraw := func(w *fixture.World, r plan.Run) error {
		_, err := w.Runs.Withdraw(t.Context(), retraction(r))
		return err
	}
	confirm := func(w *fixture.World, r plan.Run) error { return w.Confirm(r) }
	refuse := func(w *fixture.World, r plan.Run) error {
		_, err := w.Runs.Cancel(t.Context(), run.Cancellation{Account: fixture.Account, RunID: r.ID, Digest: r.Digest, User: "ana", DraftOnly: true})
		return err
	}
	replace := func(w *fixture.World, _ plan.Run) error {
		w.Propose(find)
		return nil
	}
	type act = func(*fixture.World, plan.Run) error
	for name, c := range map[string]struct {
		first, second act
		want          error
	}{
		"withdrawn, confirmed": {withdraw, confirm, plan.ErrNotPending},
		"confirmed, withdrawn": {confirm, withdraw, plan.ErrAlreadyRunning},
		"confirmed, confirmed": {confirm, confirm, plan.ErrAlreadyRunning},
		"refused, confirmed":   {refuse, confirm, plan.ErrNotPending},
		"confirmed, refused":   {confirm, refuse, plan.ErrAlreadyRunning},
		"refused, withdrawn":   {refuse, withdraw, plan.ErrNotPending},
		"replaced, confirmed":  {replace, confirm, plan.ErrStale},
		"replaced, withdrawn":  {replace, withdraw, plan.ErrStale},
	} {
		t.Run(name, func(t *testing.T) {
			w := fixture.NewWorld(t)
			r := w.Propose(book)
			b := &between{Chats: w.Runs.Chats}
			b.do = func() {
				if err := c.first(w, r); err != nil {
					t.Fatal(err)
				}
			}
			w.Runs.Chats = b
			if err := c.second(w, r); !errors.Is(err, c.want) {
				t.Errorf("the second is told %v", err)
			}
		})
	}
}

// TestAWithdrawalIsTheModels: the event, the line of the chat and the memory of refusals.
func TestAWithdrawalIsTheModels(t *testing.T) {
	w := fixture.NewWorld(t)
	r := w.Propose(book)
	for range 2 { // a repeated attempt of the same message finds it done
		d, err := w.Runs.Withdraw(t.Context(), retraction(r))
		if err != nil || d.Run.Status != plan.Cancelled || d.Run.Withdrawn == nil || d.Message.Role != conversation.RoleSystem || !strings.Contains(d.Message.Content, "no la quiere") {
			t.Fatalf("%+v, %v", d, err)
		}
	}
	if got := w.Read(r.ID); got.EventSeq != r.EventSeq+1 || got.Refused() {
		t.Errorf("%+v", got)
	}
	requests := func() ([]string, error) { return r.Plan.EachRequest(nil) }
	if refusals, err := w.Store.Chats.Refused(t.Context(), w.ChatKey(), requests); err != nil || len(refusals) != 0 {
		t.Errorf("the chat remembers %+v, %v", refusals, err)
	}
	other := retraction(r)
	other.As.Message = "m2"
	if _, err := w.Runs.Withdraw(t.Context(), other); !errors.Is(err, plan.ErrNotPending) {
		t.Errorf("in answer to another message: %v", err)
	}
}

// TestOnlyTheDraftThatWaitsIsWithdrawn: an error changes nothing.
func TestOnlyTheDraftThatWaitsIsWithdrawn(t *testing.T) {
	for name, c := range map[string]struct {
		before func(w *fixture.World, r *plan.Run)
		want   error
	}{
		"another digest": {func(_ *fixture.World, r *plan.Run) { r.Digest = "x" }, plan.ErrStale},
		"no such run":    {func(w *fixture.World, r *plan.Run) { r.ID = w.IDs.New(w.Clock()) }, plan.ErrRunNotFound},
		"replaced":       {func(w *fixture.World, _ *plan.Run) { w.Propose(find) }, plan.ErrStale},
		"expired":        {func(w *fixture.World, _ *plan.Run) { w.Pass(25 * time.Hour) }, plan.ErrExpired},
		"running":        {func(w *fixture.World, r *plan.Run) { _ = w.Confirm(*r) }, plan.ErrAlreadyRunning},
		"done":           {func(w *fixture.World, r *plan.Run) { _ = w.Confirm(*r); w.Execute(r.ID) }, plan.ErrNotPending},
	} {
		t.Run(name, func(t *testing.T) {
			w := fixture.NewWorld(t)
			r := w.Propose(book)
			was := r.ID
			c.before(w, &r)
			seen := w.Read(was)
			if _, err := w.Runs.Withdraw(t.Context(), retraction(r)); !errors.Is(err, c.want) {
				t.Errorf("%v", err)
			}
			if now := w.Read(was); now.EventSeq != seen.EventSeq || now.Withdrawn != nil {
				t.Errorf("it moved: %+v", now)
			}
		})
	}
}

// TestADroppedPlanIsNamed: by a plan that comes in its place, in words and as data; also by a plan that comes after a run.
func TestADroppedPlanIsNamed(t *testing.T) {
	w := fixture.NewWorld(t)
	first := w.Propose(book)
	if err := w.Confirm(first); err != nil {
		t.Fatal(err)
	}
	w.Execute(first.ID)
	waits := w.Draft(plan.Proposal{Goal: "Dos »cosas\nA", Steps: []plan.ProposedStep{
		{Title: "Ver las «salas»", Method: "GET", Path: "/rooms"},
		{Title: "Reservar", Method: "POST", Path: "/bookings", Body: []byte(book.Body)},
		{Title: "Reservar más", Method: "POST", Path: "/bookings", Body: []byte(book.Body)},
	}})
	d, err := w.Runs.Repeat(t.Context(), run.Again{Account: fixture.Account, User: "ana", RunID: first.ID, Locale: locale.Spanish})
	if err != nil {
		t.Fatal(err)
	}
	want := "Este plan sustituye a «Dos ›cosas A». Quedan fuera: «Ver las ‹salas›» (GET /rooms), «Reservar más» (POST /bookings).\n"
	if !strings.HasPrefix(d.Message.Content, want) {
		t.Errorf("%s", d.Message.Content)
	}
	if got := w.Read(d.Run.ID).Dropped; got == nil || got.RunID != waits.ID || len(got.Steps) != 2 || got.Steps[0].Server == "" {
		t.Errorf("%+v", got)
	}
	same := w.Propose(book)
	if got := run.Describe(same.Plan, same.Dropped).In(locale.English); !strings.HasPrefix(got, "This plan replaces “") || !strings.Contains(got, "”: all of its steps are in this one, too.\n") {
		t.Errorf("%s", got)
	}
}
