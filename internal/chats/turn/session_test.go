package turn_test

import (
	"context"
	"errors"
	"testing"

	"piloto/infra/local/fixture"
	"piloto/internal/access/auth"
	"piloto/internal/chats/turn"
	"piloto/internal/ground/locale"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/rule"
	"piloto/internal/runs/run"
)

// TestSessionPersonsCannotApproveTheirPlan: through the Operator API a program speaks for
// people. A person who proposed, changed or confirmed a plan through it cannot approve it, even
// when the session speaks for another person by then.
func TestSessionPersonsCannotApproveTheirPlan(t *testing.T) {
	w := newWorld(t)
	if err := w.Store.Runs.SetRules(context.Background(), fixture.Account, 0, rule.Set{
		Rules: []rule.Rule{{ID: "r1", Effect: rule.Ask, Method: "POST", Another: true, Reason: "Lo aprueba otra persona"}}, By: "ana", UpdatedAt: w.Clock(),
	}); err != nil {
		t.Fatal(err)
	}
	w.model.answers = []any{
		text("Hola."),
		calls("propose_plan", withServer(booksNorth, w)),
		calls("revise_plan", withServer(`{"goal":"Reservar","steps":[{"id":"s1","mcp_id":"SERVER","method":"POST","path":"/bookings","body":{"room":"sur"}}]}`, w)),
		text("Bien."),
	}
	says := func(person, message string) turn.Reply {
		t.Helper()
		reply, err := w.service.Send(context.Background(), turn.Request{
			Principal: auth.Principal{Account: fixture.Account, User: "bot", TokenID: "t"}, ChatID: w.Chat.ID, Message: message,
			Locale: locale.Spanish, Session: &turn.Session{UserID: person},
		})
		if err != nil {
			t.Fatal(err)
		}
		return reply
	}
	says("berta", "hola")
	draft := says("", "reserva la norte").Run // the session keeps the person's name
	says("carla", "mejor la sur")
	seen := w.Read(draft.ID)
	if seen.Digest == draft.Digest {
		t.Fatal("the draft was not changed")
	}
	if _, err := w.service.Send(context.Background(), turn.Request{
		Principal: auth.Principal{Account: fixture.Account, User: "bot", TokenID: "t"}, ChatID: w.Chat.ID, Message: "confirmo", Seen: seen.Digest,
		Locale: locale.Spanish, Session: &turn.Session{UserID: "dora"},
	}); err != nil {
		t.Fatal(err)
	}
	w.Execute(draft.ID)
	if got := w.Read(draft.ID).Status; got != plan.Waiting {
		t.Fatalf("it is %s", got)
	}
	approve := func(user string) error {
		_, err := w.Runs.Approve(context.Background(), run.Approval{
			Account: fixture.Account, User: user, MayApprove: true, RunID: draft.ID, StepID: plan.EffectOf("s1"),
			Request: w.Read(draft.ID).State(plan.EffectOf("s1")).Approval.Request,
		})
		return err
	}
	for _, user := range []string{"bot", "berta", "carla", "dora", "Carla.", "DORA "} {
		if err := approve(user); !errors.Is(err, plan.ErrSelfApproval) {
			t.Errorf("%s: %v", user, err)
		}
	}
	if err := approve("eva"); err != nil {
		t.Errorf("another person: %v", err)
	}
}
