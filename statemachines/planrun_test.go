package statemachines_test

import (
	"context"
	"encoding/json"
	"io"
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
	"github.com/google/go-cmp/cmp"

	"piloto/infra/local/disk"
	"piloto/infra/local/inproc"
	"piloto/infra/local/stepfunctions"
	"piloto/internal/gateway"
	"piloto/internal/step"
	"piloto/statemachines"
)

const (
	settleARN = "arn:aws:lambda:us-east-1:123456789012:function:settle"
	stepARN   = "arn:aws:lambda:us-east-1:123456789012:function:step"
)

// world plays both functions: what each is asked is on record, and it fails as
// often, and by the names, that the case says.
type world struct {
	waves [][]string
	fails map[string][]string // "start", "finish" or a step → the error of each call; the last for all that follow, "" is success

	mu    sync.Mutex
	calls []string // "start", "s1", "finish Run.StepFailed"
	open  int      // steps under way
	most  int
	alien []string // payloads that hold anything but ids
}

func (w *world) Invoke(_ context.Context, arn string, payload []byte) ([]byte, *stepfunctions.FunctionError, error) {
	var in struct {
		statemachines.SettleInput
		StepID string `json:"step_id"`
	}
	if err := json.Unmarshal(payload, &in); err != nil {
		return nil, nil, err
	}
	called, told := string(in.Action), string(in.Action)
	if arn == stepARN {
		called, told = in.StepID, in.StepID
	}
	if in.Error != nil {
		told += " " + in.Error.Error
	}
	w.mu.Lock()
	if in.RunID != "run1" || in.AccountID != "acct1" || len(payload) > 400 {
		w.alien = append(w.alien, string(payload))
	}
	w.calls = append(w.calls, told)
	w.open++
	w.most = max(w.most, w.open)
	n := w.count(called)
	w.mu.Unlock()
	time.Sleep(time.Second) // a call takes its time, so that neighbours overlap
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open--
	if fails := w.fails[called]; len(fails) > 0 {
		if name := fails[min(n, len(fails))-1]; name != "" {
			return nil, &stepfunctions.FunctionError{Type: name, Message: "as the case says"}, nil
		}
	}
	out, err := json.Marshal(statemachines.StartOutput{Waves: w.waves})
	return out, nil, err
}

// count returns how often something was called.
func (w *world) count(what string) int {
	n := 0
	for _, c := range w.calls {
		if name, _, _ := strings.Cut(c, " "); name == what {
			n++
		}
	}
	return n
}

// execute runs one execution to its end and returns its status.
func execute(t *testing.T, w *world) types.ExecutionStatus {
	t.Helper()
	store, err := disk.Open(filepath.Join(t.TempDir(), "data"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	ended := make(chan string, 8)
	engine, err := stepfunctions.Open(store, w,
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
	definition := strings.NewReplacer(
		"${"+statemachines.StepFunctionArn+"}", stepARN, "${"+statemachines.SettleFunctionArn+"}", settleARN,
	).Replace(string(statemachines.Definition))
	machine, err := client.CreateStateMachine(t.Context(), &sfn.CreateStateMachineInput{
		Name: aws.String("planrun"), Definition: &definition, RoleArn: aws.String("arn:aws:iam::123456789012:role/test"),
	})
	if err != nil {
		t.Fatal(err)
	}
	input, err := json.Marshal(statemachines.Input{RunID: "run1", AccountID: "acct1"})
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

func repeat(what string, n int) []string { return slices.Repeat([]string{what}, n) }

func TestEveryPathEndsInFinish(t *testing.T) {
	waves := [][]string{{"s1"}, {"s2", "s3"}, {"s4"}}
	whole := []string{"start", "s1", "s2", "s3", "s4", "finish"}
	failed := []string{"start", "s1", "s2", "s3", "finish Run.StepFailed"}
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
			[]string{"start", "finish Task.Failed"},
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
				if len(w.alien) > 0 {
					t.Errorf("more than ids travels: %s", w.alien)
				}
			})
		})
	}
}

// order drops repetitions, and sorts s2 and s3, which run side by side.
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

func TestAWaveRunsEightStepsAtOnceAndWavesFollowEachOther(t *testing.T) {
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

func TestNamesAreThoseOfTheFunctions(t *testing.T) {
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
		statemachines.StateStepFailed, statemachines.StateOutcome, statemachines.StateWaveFailed, statemachines.StateWaveDone,
		statemachines.StateFinish, statemachines.StateSettled,
	} {
		if !strings.Contains(string(statemachines.Definition), `"`+state+`": {`) {
			t.Errorf("the definition has no state %s", state)
		}
	}
}
