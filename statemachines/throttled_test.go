package statemachines_test

import (
	"context"
	"encoding/json"
	"localaws"
	"localaws/stepfunctions"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"
	gocmp "github.com/google/go-cmp/cmp"

	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
	"piloto/internal/runs/step"
	"piloto/statemachines"
)

// faults are Lambda's own errors, each as Lambda's API, or its client, names it and as a task then fails.
var faults = map[string]string{
	"TooManyRequestsException":               "Lambda.TooManyRequestsException",
	"ServiceException":                       "Lambda.ServiceException",
	"SomethingNew":                           "Lambda.AWSLambdaException",
	"":                                       "Lambda.SdkClientException",
	"Lambda.ClientExecutionTimeoutException": "Lambda.ClientExecutionTimeoutException",
}

// fault is an error of Lambda itself, with the code of its API; "": its client had no answer.
type fault struct{ code string }

func (f fault) Error() string { return "Rate Exceeded." }

// coded is a fault with a code.
type coded struct{ fault }

func (c coded) ErrorCode() string { return c.code }

// refuser stands between the engine and functions, and has no room for some of their calls.
type refuser struct {
	functions stepfunctions.Invoker
	code      string
	refuses   func(after time.Duration, payload string) bool // after: since its first call

	mu    sync.Mutex
	began time.Time
	calls int
}

func (r *refuser) Invoke(ctx context.Context, arn string, payload []byte) ([]byte, *stepfunctions.FunctionError, error) {
	r.mu.Lock()
	r.calls++
	if r.began.IsZero() {
		r.began = time.Now()
	}
	after := time.Since(r.began)
	r.mu.Unlock()
	switch {
	case !r.refuses(after, string(payload)):
		return r.functions.Invoke(ctx, arn, payload)
	case strings.HasPrefix(r.code, "Lambda."):
		return nil, &stepfunctions.FunctionError{Type: r.code, Message: "as the case says"}, nil
	case r.code == "":
		return nil, nil, fault{}
	}
	return nil, nil, coded{fault{r.code}}
}

func until(d time.Duration) func(time.Duration, string) bool {
	return func(after time.Duration, _ string) bool { return after < d }
}

// retrier is one entry of Retry.
type retrier struct {
	ErrorEquals                                   []string
	IntervalSeconds, MaxDelaySeconds, BackoffRate float64
	MaxAttempts                                   int
	JitterStrategy                                string
}

// waits returns the sum of its pauses.
func (r retrier) waits() time.Duration {
	sum := 0.0
	for n := range r.MaxAttempts {
		sum += min(r.IntervalSeconds*math.Pow(r.BackoffRate, float64(n)), r.MaxDelaySeconds)
	}
	return time.Duration(sum) * time.Second
}

// tasksOf returns the retriers of each task of a definition.
func tasksOf(t *testing.T, definition []byte) map[string][]retrier {
	t.Helper()
	type states map[string]struct {
		Type          string
		Retry         []retrier
		ItemProcessor struct{ States json.RawMessage }
	}
	tasks := map[string][]retrier{}
	var read func(raw []byte)
	read = func(raw []byte) {
		var all states
		if err := json.Unmarshal(raw, &all); err != nil {
			t.Fatal(err)
		}
		for name, s := range all {
			if s.Type == "Task" {
				tasks[name] = s.Retry
			}
			if s.ItemProcessor.States != nil {
				read(s.ItemProcessor.States)
			}
		}
	}
	var d struct{ States json.RawMessage }
	if err := json.Unmarshal(definition, &d); err != nil {
		t.Fatal(err)
	}
	read(d.States)
	return tasks
}

// TestEveryTaskWaitsForLambda: each task of each machine has the retrier for Lambda's own errors, and its pauses are at
// least as long as promised whatever chance does.
func TestEveryTaskWaitsForLambda(t *testing.T) {
	for name, c := range map[string]struct {
		definition []byte
		least      time.Duration
	}{
		"a run":  {statemachines.Definition, 6 * time.Hour},
		"a job":  {statemachines.JobDefinition, 6 * time.Hour},
		"a turn": {statemachines.TurnDefinition, 10 * time.Minute},
	} {
		tasks := tasksOf(t, c.definition)
		if len(tasks) < 2 {
			t.Fatalf("%s: %d tasks", name, len(tasks))
		}
		for task, retry := range tasks {
			if len(retry) == 0 || retry[0].JitterStrategy == "FULL" || retry[0].waits() < c.least {
				t.Errorf("%s: %s waits too short a time for Lambda: %+v", name, task, retry)
				continue
			}
			for _, as := range faults {
				if !slices.Contains(retry[0].ErrorEquals, as) {
					t.Errorf("%s: %s does not wait after %s", name, task, as)
				}
			}
			for _, other := range retry[1:] {
				if slices.ContainsFunc(other.ErrorEquals, func(e string) bool { return slices.Contains(retry[0].ErrorEquals, e) }) {
					t.Errorf("%s: %s has two retriers for Lambda", name, task)
				}
			}
		}
	}
}

// TestARunSitsOutThrottling: nothing is settled, and so nothing is undone, while Lambda has no room for hours.
func TestARunSitsOutThrottling(t *testing.T) {
	wave := goesOn(statemachines.OutcomeWave, "s1", "s2")
	for code, as := range faults {
		for name, steps := range map[string][]answer{"a step": nil, "an approval": {goesOn(statemachines.OutcomeApproval)}, "a wave": {wave}} {
			t.Run(as+", "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					began := time.Now()
					w := &world{steps: steps, approve: true}
					r := &refuser{functions: w, code: code, refuses: until(6 * time.Hour)}
					if ends := executeWith(t, w, r); ends != types.ExecutionStatusSucceeded || w.count("settle") > 0 || w.count("seal") != 1 {
						t.Errorf("%s after %s: %v", ends, time.Since(began), w.calls)
					}
				})
			})
		}
	}
}

// TestARunIsGivenUpAfterHoursOfThrottling: it is told so, as a step or as an effect of a wave, and it is ended even when
// Lambda has room for that only days later.
func TestARunIsGivenUpAfterHoursOfThrottling(t *testing.T) {
	given := "settle " + statemachines.CauseThrottled
	for name, c := range map[string]struct {
		steps   []answer
		refuses func(after time.Duration, payload string) bool
		calls   []string
	}{
		"a step": {
			nil, func(_ time.Duration, payload string) bool {
				return !strings.Contains(payload, `"step_id"`) && !strings.Contains(payload, `"action"`)
			},
			[]string{given, "seal"},
		},
		"an effect of a wave": {
			[]answer{goesOn(statemachines.OutcomeWave, "s1", "s2")},
			func(_ time.Duration, payload string) bool { return strings.Contains(payload, `"step_id":"s2"`) },
			[]string{"step", "s1", given, "seal"},
		},
		"its end, for days": {nil, until(5 * 24 * time.Hour), []string{given, "seal"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &world{steps: c.steps}
				r := &refuser{functions: w, code: "TooManyRequestsException", refuses: c.refuses}
				ends := executeWith(t, w, r)
				if diff := gocmp.Diff(c.calls, w.calls); diff != "" || ends != types.ExecutionStatusSucceeded {
					t.Errorf("%s: %s", ends, diff)
				}
			})
		})
	}
}

// TestAWaveInASmallAccount: eight effects with two places of Lambda all end, and the refused ones are tried again.
func TestAWaveInASmallAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		items := []string{"s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8"}
		w := &world{steps: []answer{goesOn(statemachines.OutcomeWave, items...)}}
		if ends := executeWith(t, w, localaws.Limited(w, 2)); ends != types.ExecutionStatusSucceeded || w.most > 2 || w.count("settle") > 0 {
			t.Errorf("%s, %d at once: %v", ends, w.most, w.calls)
		}
		for _, id := range items {
			if w.count(id) != 1 {
				t.Errorf("%s was done %d times", id, w.count(id))
			}
		}
	})
}

// TestTheLongestThrottlingFitsIntoAHistory counts the events of a run whose largest wave is refused until its seven days
// are over. Step Functions ends an execution at 25,000.
func TestTheLongestThrottlingFitsIntoAHistory(t *testing.T) {
	if testing.Short() {
		t.Skip("it is refused seven thousand times")
	}
	synctest.Test(t, func(t *testing.T) {
		var items []string
		for i := range step.MostElements {
			items = append(items, plan.ItemOf(plan.EffectOf("s1"), i).String())
		}
		w := &world{steps: []answer{goesOn(statemachines.OutcomeWave, items...)}}
		r := &refuser{functions: w, code: "TooManyRequestsException", refuses: func(_ time.Duration, payload string) bool { return strings.Contains(payload, `"step_id"`) }}
		ends := executeWith(t, w, r)
		t.Logf("%s: %d calls, %d events", ends, r.calls, w.events)
		if ends != types.ExecutionStatusTimedOut || w.events >= 25_000 || r.calls < 5_000 {
			t.Errorf("%s after %d events and %d calls", ends, w.events, r.calls)
		}
	})
}

func TestAJobSitsOutThrottling(t *testing.T) {
	definition := strings.ReplaceAll(string(statemachines.JobDefinition), "${"+statemachines.AgentFunctionArn+"}", agentARN)
	for name, c := range map[string]struct {
		refuses   func(after time.Duration, payload string) bool
		calls     string
		throttled bool
	}{
		"for six hours": {until(6 * time.Hour), "round wait round", false},
		"its wait": {func(after time.Duration, payload string) bool {
			return after < 6*time.Hour && strings.Contains(payload, "wait")
		}, "round wait round", false},
		"for longer":             {until(7 * time.Hour), "close", true},
		"for longer, and longer": {until(7 * 24 * time.Hour), "close", true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &worker{says: []string{"wait", "end"}, wait: time.Hour}
				r := &refuser{functions: w, code: "TooManyRequestsException", refuses: c.refuses}
				ends, had := perform(t, r, definition, statemachines.JobInput{JobID: "job1", AccountID: "acct1"}, func(client *sfn.Client) { w.client = client })
				if got := strings.Join(w.calls, " "); ends != types.ExecutionStatusSucceeded || got != c.calls || w.throttled != c.throttled || had.events >= 25_000 {
					t.Errorf("%s after %s, throttled %t, %d events", ends, got, w.throttled, had.events)
				}
			})
		})
	}
}

func TestATurnSitsOutThrottling(t *testing.T) {
	definition := strings.ReplaceAll(string(statemachines.TurnDefinition), "${"+statemachines.TurnFunctionArn+"}", turnARN)
	for name, c := range map[string]struct {
		refuses func(after time.Duration, payload string) bool
		calls   [2]int // of Answer, and of GiveUp
	}{
		"for ten minutes": {until(10 * time.Minute), [2]int{1, 0}},
		"for longer":      {until(11 * time.Minute), [2]int{0, 1}},
		"for an hour":     {until(time.Hour), [2]int{0, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := &answerer{nil, map[bool]int{}, nil}
				r := &refuser{functions: a, code: "TooManyRequestsException", refuses: c.refuses}
				ends, _ := perform(t, r, definition, statemachines.TurnInput{TurnID: "turn1", AccountID: "acct1"}, func(*sfn.Client) {})
				if got := [2]int{a.calls[false], a.calls[true]}; ends != types.ExecutionStatusSucceeded || got != c.calls {
					t.Errorf("%s after %v calls, want %v", ends, got, c.calls)
				}
			})
		})
	}
}

// TestFaultsHaveLambdasNames: a task fails with the name that Lambda's own error has in Step Functions.
func TestFaultsHaveLambdasNames(t *testing.T) {
	definition := strings.ReplaceAll(string(statemachines.TurnDefinition), "${"+statemachines.TurnFunctionArn+"}", turnARN)
	for code, as := range faults {
		synctest.Test(t, func(t *testing.T) {
			r := &refuser{functions: &answerer{nil, map[bool]int{}, nil}, code: code, refuses: until(time.Second)}
			_, had := perform(t, r, definition, statemachines.TurnInput{TurnID: "turn1", AccountID: "acct1"}, func(*sfn.Client) {})
			if diff := gocmp.Diff([]string{as}, had.failed); diff != "" {
				t.Errorf("%q: %s", code, diff)
			}
		})
	}
}

func TestCauseOfThrottling(t *testing.T) {
	if run.CauseThrottled != statemachines.CauseThrottled {
		t.Errorf("%q and %q are one cause", run.CauseThrottled, statemachines.CauseThrottled)
	}
	for cause, e := range map[string]statemachines.Error{
		statemachines.CauseThrottled:  {Throttled: true},
		statemachines.StateEffectLost: {Throttled: true, Lost: true}, // what is lost is undone
		"Step.Rejected":               {Error: "Step.Rejected"},
	} {
		if got := (statemachines.LifecycleInput{Error: &e}).Cause(); got != cause {
			t.Errorf("%+v: %q, want %q", e, got, cause)
		}
	}
	for _, as := range faults {
		e := &statemachines.Error{Error: as}
		if got := (statemachines.LifecycleInput{Error: e}).Cause(); got != statemachines.CauseThrottled || !(statemachines.JobInput{Error: e}).Throttled() {
			t.Errorf("%s: %q", as, got)
		}
	}
}
