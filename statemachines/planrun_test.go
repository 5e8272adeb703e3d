package statemachines_test

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"localaws/disk"
	"localaws/inproc"
	"localaws/stepfunctions"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"
	gocmp "github.com/google/go-cmp/cmp"

	"piloto/internal/edge/gateway"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/step"
	"piloto/statemachines"
)

const (
	lifecycleARN = "arn:aws:lambda:us-east-1:123456789012:function:lifecycle"
	stepARN      = "arn:aws:lambda:us-east-1:123456789012:function:step"
	reasonARN    = "arn:aws:lambda:us-east-1:123456789012:function:reason"
	concludeARN  = "arn:aws:lambda:us-east-1:123456789012:function:conclude"
)

// world simulates the functions: it records their inputs, and answers as the test case demands.
type world struct {
	steps   []answer            // of Step, one after the other; then done
	effects map[string][]answer // of an effect, one after the other; the last one repeats; without any: done
	settles []answer            // of Settle; then done
	fails   map[string][]string // "seal", "await" or "reason" → the error of each call; the last one repeats, "" is success
	approve bool                // an approval is decided one minute after its request

	states  *sfn.Client
	entered []string // the states of the execution, in order
	events  int      // of its history

	mu      sync.Mutex
	calls   []string // "step", "s1", "await", "reason s1", "settle Step.Rejected", "seal"
	open    int      // effects in progress
	most    int
	foreign []string // payloads with other data than ids
}

// answer is what a function returns: an outcome, or an error.
type answer struct {
	outcome statemachines.Outcome
	items   []string
	err     string
}

func goesOn(o statemachines.Outcome, items ...string) answer { return answer{outcome: o, items: items} }
func failsWith(err string) answer                            { return answer{err: err} }

// take returns the first of a list of answers and removes it, or else done.
func take(list *[]answer) answer {
	if len(*list) == 0 {
		return goesOn(statemachines.OutcomeDone)
	}
	first := (*list)[0]
	*list = (*list)[1:]
	return first
}

func (w *world) Invoke(_ context.Context, arn string, payload []byte) ([]byte, *stepfunctions.FunctionError, error) {
	var in struct {
		statemachines.LifecycleInput
		StepID string `json:"step_id"`
		Token  string `json:"token"`
	}
	if err := json.Unmarshal(payload, &in); err != nil {
		return nil, nil, err
	}
	called := string(in.Action)
	switch {
	case in.Token != "":
		called = "await"
	case arn == reasonARN:
		called = "reason"
	case arn == concludeARN:
		called = "conclude"
	case arn == stepARN && in.StepID != "":
		called = in.StepID
	case arn == stepARN:
		called = "step"
	}
	told := called
	if arn == reasonARN {
		told += " " + in.StepID
	}
	if cause := in.Cause(); cause != "" {
		told += " " + cause
	}
	w.mu.Lock()
	if in.RunID != "run1" || in.AccountID != "acct1" || len(payload) > 400+len(in.Token) {
		w.foreign = append(w.foreign, string(payload))
	}
	w.calls = append(w.calls, told)
	w.open++
	w.most = max(w.most, w.open)
	n := w.count(called)
	w.mu.Unlock()
	time.Sleep(time.Second) // a call takes time, so that concurrent effects overlap
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open--
	if fails := w.fails[called]; len(fails) > 0 {
		if name := fails[min(n, len(fails))-1]; name != "" {
			return nil, &stepfunctions.FunctionError{Type: name, Message: "as the case says"}, nil
		}
	}
	if in.Token != "" && w.approve {
		go func() {
			time.Sleep(time.Minute)
			_, _ = w.states.SendTaskSuccess(context.Background(), &sfn.SendTaskSuccessInput{TaskToken: &in.Token, Output: aws.String("{}")})
		}()
	}
	a := goesOn(statemachines.OutcomeDone)
	switch {
	case called == "step":
		a = take(&w.steps)
	case called == "settle":
		a = take(&w.settles)
	case called == in.StepID && len(w.effects[called]) > 0:
		list := w.effects[called]
		a = list[min(n, len(list))-1]
	}
	if a.err != "" {
		return nil, &stepfunctions.FunctionError{Type: a.err, Message: "as the case says"}, nil
	}
	out, err := json.Marshal(statemachines.StepOutput{Outcome: a.outcome, Items: append([]string{}, a.items...)})
	return out, nil, err
}

// count returns the number of calls with a name.
func (w *world) count(call string) int {
	n := 0
	for _, c := range w.calls {
		if name, _, _ := strings.Cut(c, " "); name == call {
			n++
		}
	}
	return n
}

// execute runs one run to its end and returns the status of its execution.
func execute(t *testing.T, w *world) types.ExecutionStatus {
	t.Helper()
	return executeWith(t, w, w)
}

// executeWith is execute with functions between the engine and the world.
func executeWith(t *testing.T, w *world, functions stepfunctions.Invoker) types.ExecutionStatus {
	t.Helper()
	definition := strings.NewReplacer(
		"${"+statemachines.StepFunctionArn+"}", stepARN, "${"+statemachines.LifecycleFunctionArn+"}", lifecycleARN,
		"${"+statemachines.ReasonFunctionArn+"}", reasonARN, "${"+statemachines.ConcludeFunctionArn+"}", concludeARN,
	).Replace(string(statemachines.Definition))
	ends, had := perform(t, functions, definition, statemachines.Input{RunID: "run1", AccountID: "acct1"}, func(c *sfn.Client) { w.states = c })
	w.entered, w.events = had.entered, had.events
	return ends
}

// history is what an execution wrote.
type history struct {
	entered []string // the states that it entered, in order
	failed  []string // the errors of its tasks, in order
	events  int
}

// perform runs one execution of a definition to its end. It returns its status and its history; knows receives the
// client of the engine first.
func perform(t *testing.T, functions stepfunctions.Invoker, definition string, in any, knows func(*sfn.Client)) (types.ExecutionStatus, history) {
	t.Helper()
	store, err := disk.Open(filepath.Join(t.TempDir(), "data"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	ended := make(chan string, 8)
	engine, err := stepfunctions.Open(store, functions,
		stepfunctions.WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil))),
		stepfunctions.WithStatusChange(func(_ context.Context, e stepfunctions.Event) error {
			ended <- e.Detail.Status
			return nil
		}))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = engine.Close() }()
	if err := engine.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	client := sfn.NewFromConfig(aws.Config{
		Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
		BaseEndpoint: aws.String("http://states.local"), HTTPClient: inproc.Transport{Handler: engine},
	})
	knows(client)
	machine, err := client.CreateStateMachine(t.Context(), &sfn.CreateStateMachineInput{
		Name: aws.String("machine"), Definition: &definition, RoleArn: aws.String("arn:aws:iam::123456789012:role/test"),
	})
	if err != nil {
		t.Fatal(err)
	}
	input, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	execution, err := client.StartExecution(t.Context(), &sfn.StartExecutionInput{
		StateMachineArn: machine.StateMachineArn, Name: aws.String("run1"), Input: aws.String(string(input)),
	})
	if err != nil {
		t.Fatal(err)
	}
	status := string(types.ExecutionStatusRunning)
	for status == string(types.ExecutionStatusRunning) {
		status = <-ended
	}
	var had history
	pages := sfn.NewGetExecutionHistoryPaginator(client, &sfn.GetExecutionHistoryInput{ExecutionArn: execution.ExecutionArn})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page.Events {
			had.events++
			switch {
			case e.StateEnteredEventDetails != nil:
				had.entered = append(had.entered, *e.StateEnteredEventDetails.Name)
			case e.LambdaFunctionFailedEventDetails != nil:
				had.failed = append(had.failed, *e.LambdaFunctionFailedEventDetails.Error)
			case e.TaskFailedEventDetails != nil:
				had.failed = append(had.failed, *e.TaskFailedEventDetails.Error)
			}
		}
	}
	return types.ExecutionStatus(status), had
}

// TestTransitionsOfARun counts the states that executions enter: the table of
// docs/adr/0029-a-flat-run.md. Step Functions also counts each repetition of a task.
func TestTransitionsOfARun(t *testing.T) {
	next, done := goesOn(statemachines.OutcomeNext), goesOn(statemachines.OutcomeDone)
	eight := []string{"s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8"}
	for name, c := range map[string]struct {
		world *world
		most  int
	}{
		"1 step":                          {&world{}, 3},
		"5 steps":                         {&world{steps: append(repeat(next, 4), done)}, 11},
		"5 steps, shared":                 {&world{}, 3},
		"20 steps":                        {&world{steps: append(repeat(next, 19), done)}, 41},
		"8 side by side":                  {&world{steps: []answer{goesOn(statemachines.OutcomeWave, eight...), done}}, 15},
		"1 step with an approval":         {&world{steps: []answer{goesOn(statemachines.OutcomeApproval), done}, approve: true}, 6},
		"1 step with another command":     {&world{steps: []answer{goesOn(statemachines.OutcomeReason, "s1"), done}}, 6},
		"1 step, and what came of it":     {&world{steps: []answer{goesOn(statemachines.OutcomeConclude)}}, 4},
		"the third step fails, two undos": {&world{steps: []answer{next, next, failsWith("Step.Rejected"), next, goesOn("settle")}, settles: []answer{next, done}}, 14},
		"the same, shared":                {&world{steps: []answer{failsWith("Step.Rejected"), goesOn("settle")}, settles: []answer{next, done}}, 8},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if ends := execute(t, c.world); ends != types.ExecutionStatusSucceeded || len(c.world.entered) != c.most {
					t.Errorf("it ended %s after %d states, want %d: %v", ends, len(c.world.entered), c.most, c.world.entered)
				}
			})
		})
	}
}

func repeat[T any](v T, n int) []T { return slices.Repeat([]T{v}, n) }

// check executes a case and compares the calls of the functions.
func check(t *testing.T, w *world, ends types.ExecutionStatus, calls ...string) {
	t.Helper()
	if got := execute(t, w); got != ends {
		t.Errorf("the execution ended %s, want %s", got, ends)
	}
	if diff := gocmp.Diff(calls, w.calls); diff != "" {
		t.Error(diff)
	}
	if len(w.foreign) > 0 {
		t.Errorf("more than ids travels: %s", w.foreign)
	}
}

func TestEveryPathEndsInSeal(t *testing.T) {
	next, done := goesOn(statemachines.OutcomeNext), goesOn(statemachines.OutcomeDone)
	settled := func(cause string) []string { return []string{"step", "settle " + cause, "seal"} }
	for name, c := range map[string]struct {
		world *world
		calls []string
		ends  types.ExecutionStatus // "": SUCCEEDED
	}{
		"all in one invocation":        {&world{}, []string{"step", "seal"}, ""},
		"an invocation each":           {&world{steps: []answer{next, next, done}}, []string{"step", "step", "step", "seal"}, ""},
		"a rejected step":              {&world{steps: []answer{failsWith("Step.Rejected")}}, settled("Step.Rejected"), ""},
		"a step in doubt":              {&world{steps: []answer{failsWith("Step.InDoubt")}}, settled("Step.InDoubt"), ""},
		"a stopped run":                {&world{steps: []answer{failsWith("Step.Cancelled")}}, settled("Step.Cancelled"), ""},
		"an error nobody knows":        {&world{steps: []answer{failsWith("Other")}}, settled("Other"), ""},
		"an outcome that nobody knows": {&world{steps: []answer{goesOn("other")}}, []string{"step", "settle", "seal"}, ""},
		"what was done is undone": {
			&world{steps: []answer{next, failsWith("Step.Rejected"), next, goesOn("settle")}, settles: []answer{next, done}},
			[]string{"step", "step", "settle Step.Rejected", "step", "step", "settle", "seal"},
			"",
		},
		"a transient step is repeated": {
			&world{steps: []answer{failsWith(statemachines.ErrorTransient), failsWith(statemachines.ErrorTransient), done}},
			append(repeat("step", 3), "seal"), "",
		},
		"a transient step is not repeated for ever": {
			&world{steps: repeat(failsWith(statemachines.ErrorTransient), 7)},
			append(repeat("step", 7), "settle Step.Transient", "seal"), "",
		},
		"a throttled step is repeated for long": {
			&world{steps: append(repeat(failsWith(statemachines.ErrorThrottled), 40), done)},
			append(repeat("step", 41), "seal"), "",
		},
		"each error has repetitions of its own": {
			&world{steps: slices.Concat(repeat(failsWith(statemachines.ErrorTransient), 6), repeat(failsWith("Sandbox.Timedout"), 4), []answer{failsWith(statemachines.ErrorUnnamed), done})},
			append(repeat("step", 12), "seal"), "",
		},
		"each step has repetitions of its own": {
			&world{steps: slices.Concat(repeat(failsWith(statemachines.ErrorTransient), 6), []answer{next}, repeat(failsWith(statemachines.ErrorTransient), 6), []answer{done})},
			append(repeat("step", 14), "seal"), "",
		},
		"settle is tried for over an hour": {
			&world{steps: []answer{failsWith("Step.Rejected")}, settles: append(repeat(failsWith(statemachines.ErrorUnnamed), 24), done)},
			slices.Concat([]string{"step"}, repeat("settle Step.Rejected", 25), []string{"seal"}), "",
		},
		"an execution that could not settle says so": {
			&world{steps: []answer{failsWith("Step.Rejected")}, settles: repeat(failsWith(statemachines.ErrorUnnamed), 25)},
			slices.Concat([]string{"step"}, repeat("settle Step.Rejected", 25)), types.ExecutionStatusFailed,
		},
		"what came of it is told after the seal": {
			&world{steps: []answer{goesOn(statemachines.OutcomeConclude)}}, []string{"step", "seal", "conclude"}, "",
		},
		"what came of an undo is told, too": {
			&world{steps: []answer{failsWith("Step.Rejected")}, settles: []answer{goesOn(statemachines.OutcomeConclude)}},
			[]string{"step", "settle Step.Rejected", "seal", "conclude"},
			"",
		},
		"a conclusion that cannot be written fails nothing": {
			&world{steps: []answer{goesOn(statemachines.OutcomeConclude)}, fails: map[string][]string{"conclude": {statemachines.ErrorUnnamed}}},
			append([]string{"step", "seal"}, repeat("conclude", 5)...), "",
		},
		"nor does it need the seal": {
			&world{steps: []answer{goesOn(statemachines.OutcomeConclude)}, fails: map[string][]string{"seal": {statemachines.ErrorUnnamed}}},
			append(append([]string{"step"}, repeat("seal", 9)...), "conclude"), "",
		},
		"so does one that could not seal": {
			&world{fails: map[string][]string{"seal": {statemachines.ErrorUnnamed}}},
			append([]string{"step"}, repeat("seal", 9)...), types.ExecutionStatusFailed,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				check(t, c.world, cmp.Or(c.ends, types.ExecutionStatusSucceeded), c.calls...)
			})
		})
	}
}

func TestWaveEndsWhole(t *testing.T) {
	wave := goesOn(statemachines.OutcomeWave, "s1", "s2")
	for name, c := range map[string]struct {
		effects map[string][]answer
		calls   []string // in their order, but of s1 and s2
	}{
		"both end well":         {nil, []string{"step", "s1", "s2", "step", "seal"}},
		"one is rejected":       {map[string][]answer{"s1": {failsWith("Step.Rejected")}}, []string{"step", "s1", "s2", "step", "seal"}},
		"one is in doubt":       {map[string][]answer{"s2": {failsWith("Step.InDoubt")}}, []string{"step", "s1", "s2", "step", "seal"}},
		"one is repeated":       {map[string][]answer{"s1": {failsWith(statemachines.ErrorTransient), goesOn(statemachines.OutcomeDone)}}, []string{"step", "s1", "s1", "s2", "step", "seal"}},
		"one asks":              {map[string][]answer{"s2": {goesOn(statemachines.OutcomeApproval)}}, []string{"step", "s1", "s2", "await", "step", "seal"}},
		"one needs a thought":   {map[string][]answer{"s2": {goesOn(statemachines.OutcomeReason)}}, []string{"step", "s1", "s2", "step", "seal"}},
		"one is lost":           {map[string][]answer{"s2": {failsWith("Other")}}, []string{"step", "s1", "s2", "settle EffectLost", "seal"}},
		"one is lost, one asks": {map[string][]answer{"s1": {goesOn(statemachines.OutcomeApproval)}, "s2": {failsWith("Other")}}, []string{"step", "s1", "s2", "settle EffectLost", "seal"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &world{steps: []answer{wave}, effects: c.effects, approve: true}
				if ends := execute(t, w); ends != types.ExecutionStatusSucceeded {
					t.Errorf("the execution ended %s", ends)
				}
				slices.SortStableFunc(w.calls[1:], func(a, b string) int {
					if strings.HasPrefix(a, "s1") && b == "s2" {
						return -1
					}
					if a == "s2" && b == "s1" {
						return 1
					}
					return 0
				})
				if diff := gocmp.Diff(c.calls, w.calls); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

func TestWaveRunsEightEffectsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var items []string
		for i := range plan.MaxEach {
			items = append(items, plan.ItemOf(plan.EffectOf("s1"), i).String())
		}
		w := &world{steps: []answer{goesOn(statemachines.OutcomeWave, items...)}}
		if ends := execute(t, w); ends != types.ExecutionStatusSucceeded {
			t.Fatalf("the execution ended %s", ends)
		}
		if w.most != 8 || len(w.calls) != plan.MaxEach+3 {
			t.Errorf("%d at once, %d calls", w.most, len(w.calls))
		}
	})
}

func TestRunWaitsAndThinks(t *testing.T) {
	approval, reason := goesOn(statemachines.OutcomeApproval), goesOn(statemachines.OutcomeReason, "s1")
	for name, c := range map[string]struct {
		steps  []answer
		fails  map[string][]string
		silent bool // no decision arrives
		calls  []string
	}{
		"it waits for an approval":    {[]answer{approval}, nil, false, []string{"step", "await", "step", "seal"}},
		"it waits twice":              {[]answer{approval, approval}, nil, false, []string{"step", "await", "step", "await", "step", "seal"}},
		"nobody ever decides":         {[]answer{approval}, nil, true, []string{"step", "await", "step", "seal"}},
		"the wait is written later":   {[]answer{approval}, map[string][]string{"await": {"Task.Failed", "Lambda.Unknown", ""}}, false, []string{"step", "await", "await", "await", "step", "seal"}},
		"the wait cannot be written":  {[]answer{approval}, map[string][]string{"await": {"Task.Failed"}}, false, slices.Concat([]string{"step"}, repeat("await", 13), []string{"settle Task.Failed", "seal"})},
		"a command is thought about":  {[]answer{reason}, nil, false, []string{"step", "reason s1", "step", "seal"}},
		"nothing comes to mind":       {[]answer{reason}, map[string][]string{"reason": {"Other"}}, false, slices.Concat([]string{"step"}, repeat("reason s1", 6), []string{"step", "seal"})},
		"it waits, thinks, and waits": {[]answer{approval, reason, approval}, nil, false, []string{"step", "await", "step", "reason s1", "step", "await", "step", "seal"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				check(t, &world{steps: c.steps, fails: c.fails, approve: !c.silent}, types.ExecutionStatusSucceeded, c.calls...)
			})
		})
	}
}

func TestNamesMatchFunctionsAndDefinition(t *testing.T) {
	for name, want := range map[string]string{
		statemachines.ErrorTransient: step.Transient,
		statemachines.ErrorThrottled: step.Throttled,
		statemachines.ErrorUnnamed:   gateway.Unnamed,
	} {
		if name != want || !strings.Contains(string(statemachines.Definition), `"`+name+`"`) {
			t.Errorf("the function says %q, the constant %q, and the definition must know it", want, name)
		}
	}
	for name, want := range map[statemachines.Outcome]step.Outcome{
		statemachines.OutcomeDone: step.OutcomeDone, statemachines.OutcomeNext: step.OutcomeNext, statemachines.OutcomeWave: step.OutcomeWave,
		statemachines.OutcomeApproval: step.OutcomeApproval, statemachines.OutcomeReason: step.OutcomeReason, statemachines.OutcomeConclude: step.OutcomeConclude,
	} {
		known := strings.Contains(string(statemachines.Definition), `"StringEquals": "`+string(name)+`"`)
		if string(name) != string(want) || !known {
			t.Errorf("the function says %q, the constant %q; the definition knows it: %t", want, name, known)
		}
	}
	var definition struct {
		States map[string]struct {
			Retry         []struct{ ErrorEquals []string }
			ItemProcessor struct {
				States map[string]struct {
					Retry []struct{ ErrorEquals []string }
				}
			}
		}
	}
	if err := json.Unmarshal(statemachines.Definition, &definition); err != nil {
		t.Fatal(err)
	}
	var names []string
	var repeated []string
	for name, state := range definition.States {
		names = append(names, name)
		for inner, of := range state.ItemProcessor.States {
			names = append(names, inner)
			state.Retry = append(state.Retry, of.Retry...)
		}
		for _, r := range state.Retry {
			repeated = append(repeated, r.ErrorEquals...)
		}
	}
	for _, name := range []string{step.Rejected, step.InDoubt, step.Cancelled} {
		if slices.Contains(repeated, name) {
			t.Errorf("%s must never be repeated", name)
		}
	}
	want := []string{
		statemachines.StateStep, statemachines.StateRoute, statemachines.StateWave, statemachines.StateEffect, statemachines.StateEffectEnded,
		statemachines.StateEffectLost, statemachines.StateThrottled, statemachines.StateAwaitApproval, statemachines.StateReason, statemachines.StateSettle, statemachines.StateSeal,
		statemachines.StateSealFirst, statemachines.StateConclude, statemachines.StateUnconcluded,
	}
	slices.Sort(names)
	slices.Sort(want)
	if diff := gocmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
}
