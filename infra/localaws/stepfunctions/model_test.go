package stepfunctions

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"
	"pgregory.net/rapid"
)

// modelRun is the model's state of an execution of a machine that waits for ten seconds.
type modelRun struct {
	input   string
	started time.Time
	stopped time.Time // of StopExecution
}

const modelWait = 10 * time.Second

func (r *modelRun) status(now time.Time) types.ExecutionStatus {
	switch {
	case !r.stopped.IsZero():
		return types.ExecutionStatusAborted
	case now.Before(r.started.Add(modelWait)):
		return types.ExecutionStatusRunning
	}
	return types.ExecutionStatusSucceeded
}

// inBubble hides the deadline of a test, which a bubble must not ask for.
type inBubble struct{ testing.TB }

type model struct {
	t       *testing.T
	w       *world
	machine string
	runs    map[string]*modelRun
	order   []string
}

// TestExecutionsFollowTheModel starts, stops, waits and restarts at random, and
// compares every execution with the model after each step.
func TestExecutionsFollowTheModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rapid.Check(inBubble{t}, func(rt *rapid.T) {
			m := &model{t: t, w: newWorld(t, "", &functions{}).start(), runs: map[string]*modelRun{}}
			defer func() { m.w.close() }()
			m.machine = m.w.create("m", `{"StartAt":"A","States":{"A":{"Type":"Wait","Seconds":10,"End":true}}}`)
			rt.Repeat(map[string]func(*rapid.T){
				"start": m.start, "stop": m.stop, "sleep": m.sleep, "restart": m.restart, "": m.check,
			})
		})
	})
}

var modelNames = rapid.SampledFrom([]string{"a", "b", "c", "d"})

func (m *model) start(rt *rapid.T) {
	name, input := modelNames.Draw(rt, "name"), fmt.Sprint(rapid.IntRange(1, 2).Draw(rt, "input"))
	_, err := m.w.sfn.StartExecution(ctx, &sfn.StartExecutionInput{StateMachineArn: &m.machine, Name: &name, Input: &input})
	old := m.runs[name]
	switch {
	case old == nil:
		if err != nil {
			rt.Fatalf("start %s: %v", name, err)
		}
		m.runs[name] = &modelRun{input: input, started: time.Now()}
		m.order = append(m.order, name)
	case old.status(time.Now()) == "RUNNING" && old.input == input:
		if err != nil {
			rt.Fatalf("start %s again: %v", name, err)
		}
	case apiCode(err) != "ExecutionAlreadyExists":
		rt.Fatalf("start %s, whose name is taken: %v", name, err)
	}
}

func (m *model) stop(rt *rapid.T) {
	name := modelNames.Draw(rt, "name")
	arn := m.w.engine.account.arn("execution", "m:"+name)
	_, err := m.w.sfn.StopExecution(ctx, &sfn.StopExecutionInput{ExecutionArn: &arn})
	r := m.runs[name]
	if r == nil {
		if apiCode(err) != "ExecutionDoesNotExist" {
			rt.Fatalf("stop %s, which is not there: %v", name, err)
		}
		return
	}
	if err != nil {
		rt.Fatalf("stop %s: %v", name, err)
	}
	if r.status(time.Now()) == "RUNNING" {
		r.stopped = time.Now()
	}
}

func (m *model) sleep(rt *rapid.T) {
	time.Sleep(time.Duration(rapid.IntRange(1, 12_000).Draw(rt, "ms")) * time.Millisecond)
}

func (m *model) restart(rt *rapid.T) {
	m.w.close()
	m.sleep(rt)
	m.w = newWorld(m.t, m.w.path, m.w.fns).start()
}

func (m *model) check(rt *rapid.T) {
	synctest.Wait()
	var want, got []string
	for _, name := range slices.Backward(m.order) {
		want = append(want, name+" "+string(m.runs[name].status(time.Now())))
	}
	out, err := m.w.sfn.ListExecutions(ctx, &sfn.ListExecutionsInput{StateMachineArn: &m.machine})
	if err != nil {
		rt.Fatal(err)
	}
	for _, x := range out.Executions {
		got = append(got, *x.Name+" "+string(x.Status))
	}
	if !slices.Equal(got, want) {
		rt.Fatalf("executions %v, want %v", got, want)
	}
}
