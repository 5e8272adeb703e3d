package statemachines_test

import (
	"context"
	"encoding/json"
	"io"
	"localaws/disk"
	"localaws/inproc"
	"localaws/stepfunctions"
	"log/slog"
	"maps"
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
	"github.com/google/go-cmp/cmp"

	"piloto/internal/edge/gateway"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/step"
	"piloto/statemachines"
)

const (
	lifecycleARN = "arn:aws:lambda:us-east-1:123456789012:function:lifecycle"
	stepARN      = "arn:aws:lambda:us-east-1:123456789012:function:step"
	reasonARN    = "arn:aws:lambda:us-east-1:123456789012:function:reason"
)

// world simulates the functions: it records their inputs, and fails as the test case demands.
type world struct {
	waves    [][]string
	undos    []string
	fails    map[string][]string                   // "start", "finish", "undo", "reason s1" or a step → the error of each call; the last one repeats, "" is success
	outcomes map[string][]statemachines.StepOutput // of a step, one after the other; then done
	approve  bool                                  // an approval is decided one minute after its request

	states *sfn.Client

	mu      sync.Mutex
	calls   []string // "start", "s1", "await s1", "reason s1", "finish Run.StepFailed"
	open    int      // steps in progress
	most    int
	foreign []string // payloads with other data than ids
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
	case arn == stepARN:
		called = in.StepID
	case arn == reasonARN:
		called = "reason"
	}
	told := called
	if in.StepID != "" && called != in.StepID {
		told += " " + in.StepID
	}
	if in.Error != nil {
		told += " " + in.Error.Error
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
	time.Sleep(time.Second) // a call takes time, so that concurrent steps overlap
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
	var answer any = statemachines.StartOutput{Waves: w.waves, Undos: append([]string{}, w.undos...)}
	if called == in.StepID {
		done := statemachines.StepOutput{Outcome: statemachines.OutcomeDone, Items: []string{}}
		if list := w.outcomes[called]; len(list) > 0 {
			done, w.outcomes[called] = list[0], list[1:]
		}
		answer = done
	}
	out, err := json.Marshal(answer)
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
	definition := strings.NewReplacer(
		"${"+statemachines.StepFunctionArn+"}", stepARN, "${"+statemachines.LifecycleFunctionArn+"}", lifecycleARN,
		"${"+statemachines.ReasonFunctionArn+"}", reasonARN,
	).Replace(string(statemachines.Definition))
	return perform(t, w, definition, statemachines.Input{RunID: "run1", AccountID: "acct1"}, func(c *sfn.Client) { w.states = c })
}

// perform runs one execution of a definition to its end and returns its status; knows receives the
// client of the engine first.
func perform(t *testing.T, functions stepfunctions.Invoker, definition string, in any, knows func(*sfn.Client)) types.ExecutionStatus {
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
	if _, err := client.StartExecution(t.Context(), &sfn.StartExecutionInput{
		StateMachineArn: machine.StateMachineArn, Name: aws.String("run1"), Input: aws.String(string(input)),
	}); err != nil {
		t.Fatal(err)
	}
	for status := range ended {
		if status != string(types.ExecutionStatusRunning) {
			return types.ExecutionStatus(status)
		}
	}
	return ""
}

func repeat(call string, n int) []string { return slices.Repeat([]string{call}, n) }

func TestEveryPathEndsInFinish(t *testing.T) {
	waves := [][]string{{"s1"}, {"s2", "s3"}, {"s4"}}
	whole := []string{"start", "s1", "s2", "s3", "s4", "finish"}
	failed := []string{"start", "s1", "s2", "s3", "undo Run.StepFailed", "finish Run.StepFailed"}
	for name, c := range map[string]struct {
		waves [][]string
		fails map[string][]string
		calls []string // sorted within a wave, and without repetitions
		times map[string]int
		ends  types.ExecutionStatus
	}{
		"every step ends well":                    {waves, nil, whole, nil, types.ExecutionStatusSucceeded},
		"nothing is left to run":                  {[][]string{}, nil, []string{"start", "finish"}, nil, types.ExecutionStatusSucceeded},
		"a rejected step lets its neighbours end": {waves, map[string][]string{"s2": {"Step.Rejected"}}, failed, map[string]int{"s2": 1, "s3": 1}, types.ExecutionStatusSucceeded},
		"a step in doubt is not repeated":         {waves, map[string][]string{"s3": {"Step.InDoubt"}}, failed, map[string]int{"s3": 1}, types.ExecutionStatusSucceeded},
		"an error nobody knows is not repeated":   {waves, map[string][]string{"s3": {"Other"}}, failed, map[string]int{"s3": 1}, types.ExecutionStatusSucceeded},
		"a transient step is repeated": {
			waves,
			map[string][]string{"s2": {statemachines.ErrorTransient, statemachines.ErrorTransient, ""}},
			whole,
			map[string]int{"s2": 3},
			types.ExecutionStatusSucceeded,
		},
		"a transient step is not repeated for ever": {
			waves,
			map[string][]string{"s2": {statemachines.ErrorTransient}},
			failed,
			map[string]int{"s2": 7},
			types.ExecutionStatusSucceeded,
		},
		"a throttled step is repeated for long": {
			waves,
			map[string][]string{"s2": append(repeat(statemachines.ErrorThrottled, 40), "")},
			whole,
			map[string]int{"s2": 41},
			types.ExecutionStatusSucceeded,
		},
		"each error has repetitions of its own": {
			waves,
			map[string][]string{"s2": append(append(repeat(statemachines.ErrorTransient, 6), repeat("Sandbox.Timedout", 4)...), statemachines.ErrorUnnamed, "")},
			whole,
			map[string]int{"s2": 12},
			types.ExecutionStatusSucceeded,
		},
		"a start that fails is finished": {
			waves,
			map[string][]string{"start": {statemachines.ErrorUnnamed}},
			[]string{"start", "undo Task.Failed", "finish Task.Failed"},
			map[string]int{"start": 9},
			types.ExecutionStatusSucceeded,
		},
		"finish is tried for over an hour": {
			waves,
			map[string][]string{"finish": append(repeat(statemachines.ErrorUnnamed, 24), "")},
			whole,
			map[string]int{"finish": 25},
			types.ExecutionStatusSucceeded,
		},
		"an execution that could not finish says so": {
			waves,
			map[string][]string{"finish": {statemachines.ErrorUnnamed}},
			whole,
			map[string]int{"finish": 25},
			types.ExecutionStatusFailed,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &world{waves: c.waves, fails: c.fails}
				if ends := execute(t, w); ends != c.ends {
					t.Errorf("the execution ended %s, want %s", ends, c.ends)
				}
				for what, n := range c.times {
					if got := w.count(what); got != n {
						t.Errorf("%s was called %d times, want %d", what, got, n)
					}
				}
				if diff := cmp.Diff(c.calls, order(w.calls)); diff != "" {
					t.Error(diff)
				}
				if len(w.foreign) > 0 {
					t.Errorf("more than ids travels: %s", w.foreign)
				}
			})
		})
	}
}

// order removes repetitions, and sorts s2 and s3, which run concurrently.
func order(calls []string) []string {
	var once []string
	for _, c := range calls {
		if !slices.Contains(once, c) {
			once = append(once, c)
		}
	}
	a, b := slices.Index(once, "s3"), slices.Index(once, "s2")
	if a >= 0 && b == a+1 {
		once[a], once[b] = once[b], once[a]
	}
	return once
}

func TestWaveRunsEightStepsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var steps []string
		for i := range 12 {
			steps = append(steps, "w"+string(rune('a'+i)))
		}
		w := &world{waves: [][]string{steps, {"last"}}}
		if ends := execute(t, w); ends != types.ExecutionStatusSucceeded {
			t.Fatalf("the execution ended %s", ends)
		}
		if w.most != 8 {
			t.Errorf("%d steps ran at once, want 8", w.most)
		}
		if n := len(w.calls); w.calls[n-2] != "last" || w.calls[n-1] != "finish" || n != 15 {
			t.Errorf("calls %v", w.calls)
		}
	})
}

func out(outcome statemachines.Outcome, items ...string) statemachines.StepOutput {
	return statemachines.StepOutput{Outcome: outcome, Items: append([]string{}, items...)}
}

func TestStepContinuesByItsOutcome(t *testing.T) {
	approval, reason := out(statemachines.OutcomeApproval), out(statemachines.OutcomeReason)
	each := out(statemachines.OutcomeEach, "s1[0]", "s1[1]")
	failed := []string{"undo Run.StepFailed", "finish Run.StepFailed"}
	for name, c := range map[string]struct {
		outcomes []statemachines.StepOutput
		fails    map[string][]string
		silent   bool // no decision arrives
		calls    []string
	}{
		"it waits for an approval":     {[]statemachines.StepOutput{approval}, nil, false, []string{"s1", "await s1", "s1", "finish"}},
		"it waits twice":               {[]statemachines.StepOutput{approval, approval}, nil, false, []string{"s1", "await s1", "s1", "await s1", "s1", "finish"}},
		"nobody ever decides":          {[]statemachines.StepOutput{approval}, nil, true, []string{"s1", "await s1", "s1", "finish"}},
		"the wait is written later":    {[]statemachines.StepOutput{approval}, map[string][]string{"await": {"Task.Failed", "Lambda.Unknown", ""}}, false, []string{"s1", "await s1", "await s1", "await s1", "s1", "finish"}},
		"the wait cannot be written":   {[]statemachines.StepOutput{approval}, map[string][]string{"await": {"Task.Failed"}}, false, slices.Concat([]string{"s1"}, repeat("await s1", 13), failed)},
		"it is done for each":          {[]statemachines.StepOutput{each}, nil, false, []string{"s1", "s1[0]", "s1[1]", "s1", "finish"}},
		"an element fails":             {[]statemachines.StepOutput{each}, map[string][]string{"s1[0]": {"Step.Rejected"}}, false, []string{"s1", "s1[0]", "s1[1]", "s1", "finish"}},
		"an element is repeated":       {[]statemachines.StepOutput{each}, map[string][]string{"s1[1]": {"Step.Transient", ""}}, false, []string{"s1", "s1[0]", "s1[1]", "s1[1]", "s1", "finish"}},
		"there is no element":          {[]statemachines.StepOutput{out(statemachines.OutcomeEach)}, nil, false, []string{"s1", "s1", "finish"}},
		"a command is thought about":   {[]statemachines.StepOutput{reason}, nil, false, []string{"s1", "reason s1", "s1", "finish"}},
		"nothing comes to mind":        {[]statemachines.StepOutput{reason}, map[string][]string{"reason": {"Other"}}, false, slices.Concat([]string{"s1"}, repeat("reason s1", 6), []string{"s1", "finish"})},
		"an outcome that nobody knows": {[]statemachines.StepOutput{out("other")}, nil, false, slices.Concat([]string{"s1"}, failed)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &world{
					waves: [][]string{{"s1"}}, fails: c.fails, approve: !c.silent,
					outcomes: map[string][]statemachines.StepOutput{"s1": c.outcomes},
				}
				if ends := execute(t, w); ends != types.ExecutionStatusSucceeded {
					t.Errorf("the execution ended %s", ends)
				}
				if items := slices.Index(w.calls, "s1[1]"); items >= 0 && slices.Index(w.calls, "s1[0]") > items { // they run concurrently
					i := slices.Index(w.calls, "s1[0]")
					w.calls[i], w.calls[items] = w.calls[items], w.calls[i]
				}
				if diff := cmp.Diff(append([]string{"start"}, c.calls...), w.calls); diff != "" {
					t.Error(diff)
				}
				if len(w.foreign) > 0 {
					t.Errorf("more than ids travels: %s", w.foreign)
				}
			})
		})
	}
}

func TestElementsRunEightAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var items []string
		for i := range plan.MaxEach {
			items = append(items, plan.ItemOf(plan.EffectOf("s1"), i).String())
		}
		w := &world{waves: [][]string{{"s1"}}, outcomes: map[string][]statemachines.StepOutput{"s1": {out(statemachines.OutcomeEach, items...)}}}
		if ends := execute(t, w); ends != types.ExecutionStatusSucceeded {
			t.Fatalf("the execution ended %s", ends)
		}
		if w.most != 8 || len(w.calls) != plan.MaxEach+4 {
			t.Errorf("%d at once, %d calls", w.most, len(w.calls))
		}
	})
}

func TestUndosRunOneAfterTheOther(t *testing.T) {
	undos := []string{"undo:s2[1]", "undo:s2[0]", "undo:s1"}
	for name, c := range map[string]struct {
		fails map[string][]string
		calls []string
	}{
		"all is undone":               {nil, undos},
		"one cannot be":               {map[string][]string{"undo:s2[0]": {"Step.Rejected"}}, undos},
		"one is repeated":             {map[string][]string{"undo:s2[0]": {"Step.Throttled", ""}}, []string{"undo:s2[1]", "undo:s2[0]", "undo:s2[0]", "undo:s1"}},
		"nobody can say what to undo": {map[string][]string{"undo": {"Task.Failed"}}, repeat("undo Run.StepFailed", 8)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fails := map[string][]string{"s3": {"Step.Rejected"}}
				maps.Copy(fails, c.fails)
				w := &world{waves: [][]string{{"s3"}, {"s4"}}, undos: undos, fails: fails}
				if ends := execute(t, w); ends != types.ExecutionStatusSucceeded {
					t.Errorf("the execution ended %s", ends)
				}
				want := slices.Concat([]string{"start", "s3", "undo Run.StepFailed"}, c.calls, []string{"finish Run.StepFailed"})
				if diff := cmp.Diff(want, w.calls); diff != "" {
					t.Error(diff)
				}
				if w.most != 1 {
					t.Errorf("%d at once", w.most)
				}
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
	for _, name := range []string{step.Rejected, step.InDoubt, step.Cancelled} {
		if strings.Contains(string(statemachines.Definition), `["`+name+`"`) {
			t.Errorf("%s must never be repeated", name)
		}
	}
	for _, state := range []string{
		statemachines.StateStart, statemachines.StateWaves, statemachines.StateWave, statemachines.StateRunStep,
		statemachines.StateStepOutcome, statemachines.StateAwaitApproval, statemachines.StateReason, statemachines.StateEach,
		statemachines.StateRunItem, statemachines.StateItemFailed, statemachines.StateStepEnded,
		statemachines.StateStepFailed, statemachines.StateOutcome, statemachines.StateWaveFailed, statemachines.StateWaveDone,
		statemachines.StateUndo, statemachines.StateUndos, statemachines.StateRunUndo, statemachines.StateUndoFailed,
		statemachines.StateFinish, statemachines.StateFinished,
	} {
		if !strings.Contains(string(statemachines.Definition), `"`+state+`": {`) {
			t.Errorf("the definition has no state %s", state)
		}
	}
}
