package turn_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"piloto/infra/local/fixture"
	"piloto/internal/access/auth"
	"piloto/internal/chats/turn"
	"piloto/internal/ground/fault"
	"piloto/internal/runs/plan"
	"piloto/internal/tools/tool"
)

func (w *world) lookAgain(r *plan.Run, digest plan.Digest) (plan.Run, error) {
	return w.service.ReadAgain(context.Background(), turn.Edit{Principal: auth.Principal{Account: fixture.Account, User: "ana"}, RunID: r.ID, Digest: digest})
}

// TestAPlanSaysWhatItTookFromALook: of this turn, and of the one before it.
func TestAPlanSaysWhatItTookFromALook(t *testing.T) {
	w := newLookWorld(t)
	w.model.answers = []any{
		calls("look", lookAt(w.Server.ID, "/rooms")), text("Quedan dos."),
		calls("mcp_request", w.request("POST", "/bookings", `,"body":{"room":"n1","for":"Eva"}`)),
	}
	w.send(t, "¿qué salas hay?")
	read := w.Clock()
	w.Pass(time.Minute)
	reply := w.send(t, "reserva la barata para Eva")
	if len(reply.Run.Taken) != 1 {
		t.Fatalf("%+v", reply.Run.Taken)
	}
	v := reply.Run.Taken[0]
	if v.Where != "body.room" || v.Value != "n1" || v.MCPID != w.Server.ID || !v.At.Equal(read.UTC().Truncate(time.Millisecond)) || !w.Clock().Before(v.Until()) {
		t.Errorf("%+v", v)
	}
	stored, err := w.Store.Runs.Run(context.Background(), fixture.Account, reply.Run.ID)
	if err != nil || len(stored.Taken) != 1 || stored.Taken[0].Value != "n1" {
		t.Errorf("stored are %+v, %v", stored.Taken, err)
	}
}

// TestADraftIsLookedAtAgain: the digest stays, and what is gone is marked. What cannot be read stays as it was read.
func TestADraftIsLookedAtAgain(t *testing.T) {
	w := newLookWorld(t)
	w.model.answers = []any{
		calls("look", lookAt(w.Server.ID, "/rooms")), calls("mcp_request", w.request("POST", "/bookings", `,"body":{"room":"n1"}`)),
	}
	r := w.send(t, "reserva la barata").Run
	w.Pass(plan.TakenLife)
	if w.Clock().Before(r.Taken[0].Until()) {
		t.Fatal("it is not old")
	}
	again, err := w.lookAgain(r, r.Digest)
	if err != nil || again.Digest != r.Digest || again.Taken[0].Gone || !again.Taken[0].At.Equal(w.Clock().UTC()) || again.EventSeq != r.EventSeq+1 {
		t.Fatalf("%+v, %v", again.Taken, err)
	}
	w.Answer(func(tool.Request) (tool.Answer, error) {
		return tool.Answer{Status: 200, Body: []byte(`{"items":[]}`), Bytes: 12}, nil
	})
	if again, err = w.lookAgain(r, r.Digest); err != nil || !again.Taken[0].Gone {
		t.Fatalf("%+v, %v", again.Taken, err)
	}
	last := w.Requests()[len(w.Requests())-1]
	if last.Method != "GET" || len(w.Requests()) != 3 {
		t.Errorf("%d requests, the last one %s", len(w.Requests()), last.Method)
	}
	at := again.Taken[0].At
	w.Pass(time.Minute)
	w.Answer(func(tool.Request) (tool.Answer, error) { return tool.Answer{Status: 500}, nil })
	if _, err = w.lookAgain(r, r.Digest); fault.Of(err).Code != "plan.not_looked_again" {
		t.Errorf("a service that fails: %v", err)
	}
	w.reads(t, w.Server.ID, tool.ReadsOff, "")
	if _, err = w.lookAgain(r, r.Digest); fault.Of(err).Code != "plan.not_looked_again" || len(w.Requests()) != 4 {
		t.Errorf("reads are off: %v, %d requests", err, len(w.Requests()))
	}
	if _, err = w.lookAgain(r, r.Digest[1:]+r.Digest[:1]); !errors.Is(err, plan.ErrStale) {
		t.Errorf("another digest: %v", err)
	}
	now, err := w.Store.Runs.Run(context.Background(), fixture.Account, r.ID)
	if err != nil || !now.Taken[0].At.Equal(at) || now.Status != plan.Draft {
		t.Errorf("%+v, %v", now.Taken, err)
	}
	if err := w.Confirm(now); err != nil {
		t.Errorf("it cannot be confirmed: %v", err)
	}
	if _, err = w.lookAgain(r, r.Digest); !errors.Is(err, plan.ErrAlreadyRunning) {
		t.Errorf("a run: %v", err)
	}
}

// TestTwoLookAgainAtOnce: both have their answer, because neither changed the plan.
func TestTwoLookAgainAtOnce(t *testing.T) {
	w := newLookWorld(t)
	w.model.answers = []any{
		calls("look", lookAt(w.Server.ID, "/rooms")), calls("mcp_request", w.request("POST", "/bookings", `,"body":{"room":"n1"}`)),
	}
	r := w.send(t, "reserva la barata").Run
	errs := make([]error, 6)
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() { _, errs[i] = w.lookAgain(r, r.Digest) })
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
	now, err := w.Store.Runs.Run(context.Background(), fixture.Account, r.ID)
	if err != nil || now.EventSeq != r.EventSeq+len(errs) {
		t.Errorf("%d events, %v", now.EventSeq, err)
	}
}
