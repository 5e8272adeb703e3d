package turn_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"piloto/infra/local/fixture"
	"piloto/internal/chats/turn"
	"piloto/internal/conversation"
	"piloto/internal/ground/locale"
	"piloto/internal/models/eligibility"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/rule"
	"piloto/internal/runs/run"
)

// persons is a world whose writes need the approval of another person.
func persons(t *testing.T) *world {
	w := newWorld(t)
	w.setRules(t, rule.Rule{ID: "r1", Effect: rule.Ask, Method: "POST", Another: true, Reason: "Lo aprueba otra persona"})
	w.model.answers = []any{calls("propose_plan", withServer(booksNorth, w)), calls("propose_plan", withServer(booksNorth, w))}
	return w
}

// as returns a request of a user.
func (w *world) as(user, message string) turn.Request {
	r := w.message(message)
	r.Principal.User = user
	return r
}

func (w *world) ask(t *testing.T, r turn.Request) turn.Reply {
	t.Helper()
	reply, err := w.service.Send(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	w.Pass(time.Minute)
	return reply
}

// waits confirms a draft as a user, until it waits for its approval.
func (w *world) waits(t *testing.T, r *plan.Run, confirmer string) {
	t.Helper()
	if r == nil {
		t.Fatal("nothing was proposed")
	}
	if _, err := w.Runs.Confirm(context.Background(), run.Confirmation{Account: fixture.Account, User: confirmer, RunID: r.ID, Digest: r.Digest, Locale: locale.Spanish}); err != nil {
		t.Fatal(err)
	}
	w.Execute(r.ID)
	if got := w.Read(r.ID).Status; got != plan.Waiting {
		t.Fatalf("it is %s", got)
	}
}

func (w *world) approveAs(user, id string) error {
	_, err := w.Runs.Approve(context.Background(), run.Approval{
		Account: fixture.Account, User: user, MayApprove: true, RunID: id, StepID: plan.EffectOf("s1"), Request: w.Read(id).State(plan.EffectOf("s1")).Approval.Request,
	})
	return err
}

// TestWhoeverWroteTheOrderIsNoOtherPerson: however others have the order answered once more, in whatever chat, and whoever
// confirms its plan.
func TestWhoeverWroteTheOrderIsNoOtherPerson(t *testing.T) {
	again := func(w *world, user string) turn.Reply {
		r := w.as(user, "")
		r.Again = true
		reply, err := w.service.Answer(context.Background(), r)
		if err != nil {
			t.Fatal(err)
		}
		return reply
	}
	for name, c := range map[string]struct {
		own  []string
		plan func(t *testing.T, w *world) *plan.Run
	}{
		"answered again": {[]string{"ana", "leo", "eva", "Ana."}, func(t *testing.T, w *world) *plan.Run {
			w.ask(t, w.as("ana", "reserva la norte"))
			return again(w, "leo").Run
		}},
		"answered when somebody asks": {[]string{"ana", "leo", "eva"}, func(t *testing.T, w *world) *plan.Run {
			setMode(t, w, w.Chat.ID, eligibility.Manual)
			w.ask(t, w.as("ana", "reserva la norte"))
			reply, err := w.service.Answer(context.Background(), w.as("leo", ""))
			if err != nil {
				t.Fatal(err)
			}
			return reply.Run
		}},
		"written anew": {[]string{"ana", "leo", "eva"}, func(t *testing.T, w *world) *plan.Run {
			w.ask(t, w.as("ana", "reserva la sur"))
			r := w.as("leo", "reserva la norte")
			r.Replaces = w.lastOf().ID
			return w.ask(t, r).Run
		}},
		"written anew, and again": {[]string{"ana", "leo", "berta", "eva"}, func(t *testing.T, w *world) *plan.Run {
			w.model.answers = append(w.model.answers, calls("propose_plan", withServer(booksNorth, w)))
			w.ask(t, w.as("ana", "reserva la sur"))
			r := w.as("leo", "reserva la norte")
			r.Replaces = w.lastOf().ID
			w.ask(t, r)
			return again(w, "berta").Run
		}},
		"in a branch": {[]string{"ana", "leo", "eva"}, func(t *testing.T, w *world) *plan.Run {
			w.ask(t, w.as("ana", "reserva la norte"))
			to := conversation.Chat{ID: w.IDs.New(w.Clock()), Title: "rama", CreatedAt: w.Clock(), UpdatedAt: w.Clock()}
			branch, err := w.Store.Chats.Branch(context.Background(), fixture.Account, conversation.Branch{From: w.Chat.ID, MessageID: w.lastOf().ID, To: to})
			if err != nil {
				t.Fatal(err)
			}
			r := w.as("leo", "")
			r.ChatID, r.Again = branch.ID, true
			reply, err := w.service.Answer(context.Background(), r)
			if err != nil {
				t.Fatal(err)
			}
			return reply.Run
		}},
		"for whom a session spoke": {[]string{"ana", "bot", "leo", "eva"}, func(t *testing.T, w *world) *plan.Run {
			r := w.as("bot", "reserva la norte")
			r.Session = &turn.Session{UserID: "ana"}
			w.ask(t, r)
			return again(w, "leo").Run
		}},
		"who has a draft changed": {[]string{"ana", "berta", "leo", "eva"}, func(t *testing.T, w *world) *plan.Run {
			w.model.answers[1] = calls("revise_plan", withServer(`{"goal":"Reservar","steps":[{"id":"s1","mcp_id":"SERVER","method":"POST","path":"/bookings","body":{"room":"sur"}}]}`, w))
			w.ask(t, w.as("berta", "reserva la norte"))
			setMode(t, w, w.Chat.ID, eligibility.Manual)
			w.ask(t, w.as("ana", "mejor la sur"))
			reply, err := w.service.Answer(context.Background(), w.as("leo", ""))
			if err != nil {
				t.Fatal(err)
			}
			return reply.Run
		}},
		"repeated": {[]string{"ana", "leo", "eva"}, func(t *testing.T, w *world) *plan.Run {
			first := w.ask(t, w.as("ana", "reserva la norte")).Run
			if _, err := w.Runs.Cancel(context.Background(), run.Cancellation{Account: fixture.Account, User: "leo", RunID: first.ID, Locale: locale.Spanish}); err != nil {
				t.Fatal(err)
			}
			d, err := w.Runs.Repeat(context.Background(), run.Again{Account: fixture.Account, User: "leo", RunID: first.ID, Locale: locale.Spanish})
			if err != nil {
				t.Fatal(err)
			}
			return &d.Run
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := persons(t)
			r := c.plan(t, w)
			w.waits(t, r, "eva")
			for _, user := range c.own {
				if err := w.approveAs(user, r.ID); !errors.Is(err, plan.ErrSelfApproval) {
					t.Errorf("%s: %v", user, err)
				}
			}
			if err := w.approveAs("dora", r.ID); err != nil {
				t.Errorf("another person: %v", err)
			}
		})
	}
}

// Who only wrote before, or rejected, is another person.
func TestWhoeverWroteSomethingElseIsAnotherPerson(t *testing.T) {
	w := persons(t)
	w.model.answers = append([]any{text("Hola.")}, w.model.answers...)
	w.ask(t, w.as("berta", "hola"))
	r := w.ask(t, w.as("ana", "reserva la norte")).Run
	w.waits(t, r, "ana")
	if err := w.approveAs("berta", r.ID); err != nil {
		t.Error(err)
	}
}
