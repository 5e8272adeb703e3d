package process

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"

	"piloto/infra/local/fixture"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/rule"
	"piloto/internal/runs/run"
	"piloto/internal/runs/stepfn"
	"piloto/statemachines"
)

// TestExecutionsOfTheFirstDefinitionGoOn begins two runs with the first definition of the state
// machine, and restarts the process: they go on with it, and no other run does.
func TestExecutionsOfTheFirstDefinitionGoOn(t *testing.T) {
	first, err := os.ReadFile(fixture.Root(t, "statemachines/testdata/planrun-1.asl.json"))
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(t.TempDir(), "data")
	open := func() (*Process, *sfn.Client, string, func()) {
		t.Helper()
		p, err := openAt(t, folder, fixture.Epoch)
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		client := sfn.NewFromConfig(p.clientConfig())
		if err := p.Start(ctx); err != nil {
			t.Fatal(err)
		}
		return p, client, machineOfPlans(t, client), func() {
			stop()
			if err := p.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}

	p, client, arn, stop := open()
	if _, err := client.UpdateStateMachine(t.Context(), &sfn.UpdateStateMachineInput{
		StateMachineArn: &arn, Definition: aws.String(withFunctionsOf(t, client, arn, string(first))),
	}); err != nil {
		t.Fatal(err)
	}
	all := fixture.Join(p.Stores)
	w := fixture.NewWorldOver(t, all)
	if err := all.SetRules(t.Context(), fixture.Account, 0, rule.Set{
		Rules: []rule.Rule{{ID: "r", Effect: rule.Ask, Method: "DELETE", Minutes: 24 * 60, Reason: "Borra una reserva"}}, By: "ana", UpdatedAt: fixture.Epoch,
	}); err != nil {
		t.Fatal(err)
	}
	begin := func(machine *stepfn.Machine) string {
		t.Helper()
		w.Chat = w.NewChat()
		r := w.Propose(fixture.To("DELETE", "/bookings/1", ""))
		w.Runs.Executions = machine
		if err := w.Confirm(r); err != nil {
			t.Fatal(err)
		}
		waits(t, all, r.ID)
		return r.ID
	}
	refused, stopped := begin(stepfn.New(p.clientConfig(), arn)), begin(stepfn.New(p.clientConfig(), arn))
	stop()

	p, client, arn, stop = open()
	defer stop()
	all = fixture.Join(p.Stores)
	w.Store, w.Runs.Store, w.Runs.Catalogue = all, all, all
	w.Runs.Executions = stepfn.New(p.clientConfig(), arn)
	third := begin(stepfn.New(p.clientConfig(), arn))
	for _, id := range []string{refused, third} {
		if _, err := w.Runs.Approve(t.Context(), run.Approval{Account: fixture.Account, User: "berta", MayApprove: true, RunID: id, StepID: plan.EffectOf("s1"), Request: w.Read(id).State(plan.EffectOf("s1")).Approval.Request, Refuse: true}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Runs.Cancel(t.Context(), run.Cancellation{Account: fixture.Account, User: "ana", RunID: stopped, Locale: "es"}); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]struct {
		status plan.Status
		state  string // that its execution entered
	}{
		refused: {plan.Failed, "WaveFailed"},
		stopped: {plan.Cancelled, "WaveFailed"},
		third:   {plan.Failed, statemachines.StateSettle},
	} {
		for end := time.Now().Add(time.Minute); w.Read(id).Status != want.status && time.Now().Before(end); {
			time.Sleep(20 * time.Millisecond)
		}
		if got := w.Read(id).Status; got != want.status {
			t.Errorf("run %s is %s, want %s", id, got, want.status)
		}
		if states := statesOf(t, client, arn, id); !strings.Contains(states, want.state+" ") {
			t.Errorf("run %s went through %s", id, states)
		}
	}
}

// machineOfPlans returns the ARN of the machine that executes plans.
func machineOfPlans(t *testing.T, client *sfn.Client) string {
	t.Helper()
	out, err := client.ListStateMachines(t.Context(), &sfn.ListStateMachinesInput{})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range out.StateMachines {
		if strings.Contains(strings.ToLower(*m.Name), "planrun") {
			return *m.StateMachineArn
		}
	}
	t.Fatal("there is no machine of plans")
	return ""
}

// withFunctionsOf returns a definition whose tasks are the functions of a machine.
func withFunctionsOf(t *testing.T, client *sfn.Client, arn, definition string) string {
	t.Helper()
	out, err := client.DescribeStateMachine(t.Context(), &sfn.DescribeStateMachineInput{StateMachineArn: &arn})
	if err != nil {
		t.Fatal(err)
	}
	var now struct {
		States map[string]struct{ Resource string }
	}
	if err := json.Unmarshal([]byte(*out.Definition), &now); err != nil {
		t.Fatal(err)
	}
	return strings.NewReplacer(
		"${"+statemachines.StepFunctionArn+"}", now.States[statemachines.StateStep].Resource,
		"${"+statemachines.LifecycleFunctionArn+"}", now.States[statemachines.StateSettle].Resource,
		"${"+statemachines.ReasonFunctionArn+"}", now.States[statemachines.StateReason].Resource,
		"${"+statemachines.ConcludeFunctionArn+"}", now.States[statemachines.StateConclude].Resource,
	).Replace(definition)
}

// waits waits until a run waits with a token.
func waits(t *testing.T, all *fixture.Stores, id string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		r, err := all.Run(t.Context(), fixture.Account, id)
		if err != nil {
			t.Fatal(err)
		}
		if a := r.Steps[0].Approval; r.Status == plan.Waiting && a.Token != "" {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("run %s is %s", id, r.Status)
		}
	}
}

// statesOf returns the states that an execution entered, in order, each followed by a space.
func statesOf(t *testing.T, client *sfn.Client, arn, name string) string {
	t.Helper()
	execution := strings.Replace(arn, ":stateMachine:", ":execution:", 1) + ":" + name
	var states strings.Builder
	pages := sfn.NewGetExecutionHistoryPaginator(client, &sfn.GetExecutionHistoryInput{ExecutionArn: &execution})
	for pages.HasMorePages() {
		out, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range out.Events {
			if e.StateEnteredEventDetails != nil {
				states.WriteString(*e.StateEnteredEventDetails.Name + " ")
			}
		}
	}
	return states.String()
}
