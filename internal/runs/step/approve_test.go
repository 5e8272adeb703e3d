package step_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"piloto/infra/local/fixture"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/rule"
	"piloto/internal/runs/run"
	"piloto/internal/runs/step"
)

// wait waits for an approval as the state machine does.
func wait(t *testing.T, w *fixture.World, r plan.Run, id, token string) {
	t.Helper()
	if err := w.Steps.Await(context.Background(), step.Task{Account: fixture.Account, RunID: r.ID, StepID: plan.ParseEffect(id)}, token); err != nil {
		t.Fatal(err)
	}
}

func approve(t *testing.T, w *fixture.World, r plan.Run, id, user string, refuse bool) {
	t.Helper()
	_, err := w.Runs.Approve(context.Background(), run.Approval{
		Account: fixture.Account, User: user, MayApprove: true, RunID: r.ID, StepID: plan.ParseEffect(id), Request: w.Read(r.ID).State(plan.ParseEffect(id)).Approval.Request, Refuse: refuse, Note: "porque sí",
	})
	if err != nil {
		t.Fatal(err)
	}
}

func stop(t *testing.T, w *fixture.World, r plan.Run) {
	t.Helper()
	if _, err := w.Runs.Cancel(context.Background(), run.Cancellation{Account: fixture.Account, User: "ana", RunID: r.ID, Locale: "es"}); err != nil {
		t.Fatal(err)
	}
}

func TestLaterRuleRequiresAnotherPerson(t *testing.T) {
	for user, want := range map[string]string{"ana": "error step.denied", "berta": "done"} {
		w, r := newRun(t, nil, newStep("s1", "POST", "/bookings", `{"room":"norte"}`))
		ask := rule.Rule{ID: "r1", Effect: rule.Ask, Path: "/bookings", Reason: "Se mira antes."}
		setRules(t, w, ask)
		drive(t, w, r, "s1")
		wait(t, w, r, "s1", "token")
		approve(t, w, r, "s1", user, false)
		ask.Another = true
		setRules(t, w, ask)
		drive(t, w, r, "s1")
		if status(w, r, "s1") != want {
			t.Errorf("approved by %s, who may be the one who confirmed (%s): %s", user, w.Read(r.ID).Confirmer, status(w, r, "s1"))
		}
	}
}

// destructivePlan returns a plan that destroys an object in the middle.
func destructivePlan() []plan.ProposedStep {
	return []plan.ProposedStep{newStep("s1", "GET", "/rooms", ""), newStep("s2", "DELETE", "/bookings/${s1.body.id}", "")}
}

// newWaitingRun returns a run whose step s2 waits for an approval, with a token.
func newWaitingRun(t *testing.T) (*fixture.World, plan.Run) {
	t.Helper()
	w, r := newRun(t, nil, destructivePlan()...)
	drive(t, w, r, "s1")
	if got := drive(t, w, r, "s2"); got != string(step.OutcomeApproval) || status(w, r, "s2") != "pending" {
		t.Fatalf("ended %s: %s", got, status(w, r, "s2"))
	}
	wait(t, w, r, "s2", "token-1")
	return w, r
}

func TestDestructiveStepWaitsForApproval(t *testing.T) {
	w, r := newWaitingRun(t)
	now := w.Read(r.ID)
	a := now.State(plan.EffectOf("s2")).Approval
	if now.Status != plan.Waiting || status(w, r, "s2") != "waiting" || a.Method != "DELETE" || a.URL != "https://rooms.example/bookings/r-1" ||
		a.Request != plan.RequestHash("DELETE", a.URL, nil) || a.Token != "token-1" || !a.ExpiresAt.Equal(w.Clock().Add(24*time.Hour)) {
		t.Errorf("%s, %+v", now.Status, a)
	}
	if !now.DueAt.Equal(a.ExpiresAt) {
		t.Errorf("the sweep looks at it at %s, and it waits until %s", now.DueAt, a.ExpiresAt)
	}
	if got := drive(t, w, r, "s2"); got != string(step.OutcomeApproval) || len(w.Requests()) != 1 {
		t.Errorf("ended %s, %d requests", got, len(w.Requests()))
	}
	messages := w.Messages()
	if last := messages[len(messages)-1].Content; !strings.HasPrefix(last, "✋ Paso 2 de 2 espera aprobación") {
		t.Error(last)
	}
	approve(t, w, r, "s2", "berta", false)
	if got := drive(t, w, r, "s2"); got != "done" || len(w.Requests()) != 2 || w.Read(r.ID).Status != plan.Done {
		t.Errorf("ended %s, %d requests, the run is %s", got, len(w.Requests()), w.Read(r.ID).Status)
	}
	list := events(t, w, r, "s2")
	checkEqual(t, "events", kinds(list), []string{plan.EventStepAsked, plan.EventStepApproved, plan.EventStepStart, plan.EventStepDone})
	for _, e := range list[:3] {
		if !strings.Contains(string(e.Data), `"request":"`+a.Request+`"`) {
			t.Errorf("%s: %s", e.Type, e.Data)
		}
	}
}

func TestWaitingStepFollowsTheDecision(t *testing.T) {
	ctx := context.Background()
	for name, c := range map[string]struct {
		happens func(*testing.T, *fixture.World, plan.Run)
		ends    string
		is      string
	}{
		"somebody refuses":   {func(t *testing.T, w *fixture.World, r plan.Run) { approve(t, w, r, "s2", "berta", true) }, step.Rejected, "error step.refused_because"},
		"nobody decides":     {func(_ *testing.T, w *fixture.World, _ plan.Run) { w.Pass(24 * time.Hour) }, step.Rejected, "error step.approval_expired"},
		"the run is stopped": {func(t *testing.T, w *fixture.World, r plan.Run) { stop(t, w, r) }, step.Cancelled, "cancelled step.cancelled"},
		"a rule denies it meanwhile": {func(t *testing.T, w *fixture.World, r plan.Run) {
			approve(t, w, r, "s2", "berta", false)
			setRules(t, w, rule.Rule{ID: "r1", Effect: rule.Deny, Method: "DELETE", Reason: "Nada se borra."})
		}, step.Rejected, "error step.denied"},
		"its service is switched off": {func(t *testing.T, w *fixture.World, r plan.Run) {
			approve(t, w, r, "s2", "berta", false)
			if _, err := w.Store.Registry.SetServerActive(ctx, fixture.Account, w.Server.ID, false, w.Clock()); err != nil {
				t.Fatal(err)
			}
		}, step.Rejected, "error step.server_inactive"},
	} {
		t.Run(name, func(t *testing.T) {
			w, r := newWaitingRun(t)
			c.happens(t, w, r)
			if got := drive(t, w, r, "s2"); got != c.ends || status(w, r, "s2") != c.is || len(w.Requests()) != 1 {
				t.Errorf("ended %s: %s, %d requests", got, status(w, r, "s2"), len(w.Requests()))
			}
			if s := w.Read(r.ID).Status; s != plan.Running {
				t.Errorf("the run is %s, and nothing of it waits", s)
			}
			wait(t, w, r, "s2", "token-9") // an execution that begins to wait too late is resumed at once
			if woken := w.Woken(); woken[len(woken)-1] != "token-9" {
				t.Errorf("woken %v", woken)
			}
		})
	}
}

func TestGateSendsOnlyTheApprovedRequest(t *testing.T) {
	w, r := newWaitingRun(t)
	approve(t, w, r, "s2", "berta", false)
	now := w.Read(r.ID)
	st := now.State(plan.EffectOf("s2"))
	a := *st.Approval
	a.Request = plan.RequestHash("DELETE", "https://rooms.example/bookings/r-2", nil)
	st.Approval, st.UpdatedAt = &a, w.Clock()
	if _, err := w.Store.Runs.MoveRun(context.Background(), now, run.Move{Record: run.Record{At: w.Clock(), Type: plan.EventStepApproved, StepID: plan.EffectOf("s2")}, State: &st}); err != nil {
		t.Fatal(err)
	}
	if got := drive(t, w, r, "s2"); got != step.Rejected || status(w, r, "s2") != "error step.approval_changed" || len(w.Requests()) != 1 {
		t.Errorf("ended %s: %s, %d requests", got, status(w, r, "s2"), len(w.Requests()))
	}
}

func TestAwaitWritesOnceAndKeepsLastToken(t *testing.T) {
	w, r := newWaitingRun(t)
	wait(t, w, r, "s2", "token-1")
	before := w.Read(r.ID).State(plan.EffectOf("s2")).Approval
	w.Pass(time.Hour)
	wait(t, w, r, "s2", "token-2")
	after := w.Read(r.ID).State(plan.EffectOf("s2")).Approval
	if after.Token != "token-2" || !after.ExpiresAt.Equal(before.ExpiresAt) || len(w.Woken()) != 0 {
		t.Errorf("%+v, woken %v", after, w.Woken())
	}
	checkEqual(t, "events", kinds(events(t, w, r, "s2")), []string{plan.EventStepAsked, plan.EventStepAsked})
	asked := 0
	for _, m := range w.Messages() {
		if strings.HasPrefix(m.Content, "✋") {
			asked++
		}
	}
	if asked != 1 {
		t.Errorf("it is said %d times", asked)
	}
	approve(t, w, r, "s2", "berta", false)
	if woken := w.Woken(); len(woken) == 0 || woken[len(woken)-1] != "token-2" {
		t.Errorf("woken %v", woken)
	}
}

func TestExecuteReadsRulesBeforeEachStep(t *testing.T) {
	over := &rule.Over{At: "body.room", Most: "5"}
	for name, c := range map[string]struct {
		rule rule.Rule
		ends string
		is   string
	}{
		"denied":            {rule.Rule{Effect: rule.Deny, Method: "POST"}, step.Rejected, "error step.denied"},
		"asked":             {rule.Rule{Effect: rule.Ask, Method: "POST"}, "approval", "pending"},
		"asked over, more":  {rule.Rule{Effect: rule.Ask, Method: "POST", Over: over}, "approval", "pending"},
		"asked over, less":  {rule.Rule{Effect: rule.Ask, Method: "POST", Over: &rule.Over{At: "body.room", Most: "9"}}, "done", "done"},
		"allowed":           {rule.Rule{Effect: rule.Allow, Method: "POST"}, "done", "done"},
		"of something else": {rule.Rule{Effect: rule.Deny, Method: "PATCH"}, "done", "done"},
	} {
		t.Run(name, func(t *testing.T) {
			w, r := newRun(t, nil, newStep("s1", "GET", "/rooms", ""), newStep("s2", "POST", "/bookings", `{"room":"${s1.body.id}"}`))
			upstream(w, map[string]string{"GET /rooms": `{"id":"7"}`})
			drive(t, w, r, "s1")
			c.rule.ID, c.rule.Reason = "r1", "Porque sí."
			setRules(t, w, c.rule)
			if got := drive(t, w, r, "s2"); got != c.ends || status(w, r, "s2") != c.is {
				t.Errorf("ended %s: %s", got, status(w, r, "s2"))
			}
		})
	}
	t.Run("a deletion that is allowed", func(t *testing.T) {
		w, r := newRun(t, nil, destructivePlan()...)
		setRules(t, w, rule.Rule{ID: "r1", Effect: rule.Allow, Method: "DELETE", Reason: "Es de pruebas."})
		drive(t, w, r, "s1")
		if got := drive(t, w, r, "s2"); got != "done" {
			t.Errorf("ended %s: %s", got, status(w, r, "s2"))
		}
	})
}

// A decision, a stop and repeated invocations run concurrently: the call is made at most once, and
// never after a stop was written first.
func TestStepIsSentOnceWhenApprovalMeetsStop(t *testing.T) {
	for range 8 {
		w, r := newWaitingRun(t)
		ctx := context.Background()
		start := make(chan struct{})
		var all sync.WaitGroup
		race := func(f func()) { all.Go(func() { <-start; f() }) }
		race(func() {
			_, _ = w.Runs.Approve(ctx, run.Approval{Account: fixture.Account, User: "berta", MayApprove: true, RunID: r.ID, StepID: plan.EffectOf("s2"), Request: w.Read(r.ID).State(plan.EffectOf("s2")).Approval.Request})
		})
		race(func() {
			_, _ = w.Runs.Cancel(ctx, run.Cancellation{Account: fixture.Account, User: "ana", RunID: r.ID, Locale: "es"})
		})
		for range 4 {
			race(func() {
				_, _ = w.Steps.Execute(ctx, step.Task{Account: fixture.Account, RunID: r.ID, StepID: plan.EffectOf("s2")})
			})
			race(func() {
				_ = w.Steps.Await(ctx, step.Task{Account: fixture.Account, RunID: r.ID, StepID: plan.EffectOf("s2")}, "token-2")
			})
		}
		close(start)
		all.Wait()
		got := drive(t, w, r, "s2")
		n := len(w.Requests()) - 1
		if st := status(w, r, "s2"); !(st == "done" && got == "done" && n == 1 || st == "cancelled step.cancelled" && n == 0 || strings.HasPrefix(st, "in_doubt") && n <= 1) {
			t.Fatalf("ended %s: %s after %d calls", got, st, n)
		}
	}
}
