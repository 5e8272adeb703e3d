package stepfunctions

import (
	"context"
	"fmt"
	"localaws/disk"
	"sync"
	"sync/atomic"
	"testing"
)

// benchMachine has the shape of the production machine.
const benchMachine = `{"StartAt":"Start","States":{
 "Start":{"Type":"Task","Resource":"arn:aws:lambda:us-east-1:1:function:lifecycle","ResultPath":null,"Next":"Waves"},
 "Waves":{"Type":"Map","ItemsPath":"$.waves","MaxConcurrency":1,"ItemProcessor":{"StartAt":"Steps","States":{
   "Steps":{"Type":"Map","MaxConcurrency":8,"ItemProcessor":{"StartAt":"RunStep","States":{
     "RunStep":{"Type":"Task","Resource":"arn:aws:lambda:us-east-1:1:function:step","Retry":[{"ErrorEquals":["Step.Transient"],"JitterStrategy":"FULL"}],"End":true}}},"End":true}}},
   "ResultPath":"$.results","Catch":[{"ErrorEquals":["States.ALL"],"ResultPath":"$.failure","Next":"Finish"}],"Next":"Finish"},
 "Finish":{"Type":"Task","Resource":"arn:aws:lambda:us-east-1:1:function:lifecycle","End":true}}}`

type noop struct{}

func (noop) Invoke(context.Context, string, []byte) ([]byte, *FunctionError, error) {
	return []byte(`{"ok":true}`), nil, nil
}

// BenchmarkPlanRun runs executions of five waves of one step each, from start to
// the delivered status change, at concurrency 1 and 32. "writes/exec" counts the
// journal writes of one execution; concurrent ones share an fsync.
func BenchmarkPlanRun(b *testing.B) {
	for _, c := range []int{1, 32} {
		b.Run(fmt.Sprintf("c=%d", c), func(b *testing.B) { benchPlanRun(b, c) })
	}
}

func benchPlanRun(b *testing.B, concurrency int) {
	store, err := disk.Open(b.TempDir() + "/data.db")
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	var waiting sync.Map // execution ARN → channel closed at its end
	e, err := Open(store, noop{}, quiet(), WithStatusChange(func(_ context.Context, ev Event) error {
		if ev.Detail.Status == statusRunning {
			return nil
		}
		if ev.Detail.Status != statusSucceeded {
			b.Errorf("%s: %s", ev.Detail.Status, *ev.Detail.Cause)
		}
		ch, _ := waiting.LoadOrStore(ev.Detail.ExecutionARN, make(chan struct{}))
		close(ch.(chan struct{}))
		return nil
	}))
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	if err := e.Start(context.Background()); err != nil {
		b.Fatal(err)
	}
	var writes atomic.Int64
	e.journal.committed = func() { writes.Add(1) }
	w := &world{t: b, engine: e, sfn: client(e)}
	machine := w.create("plan", benchMachine)
	writes.Store(0)
	var next atomic.Int64
	var wg sync.WaitGroup
	b.ResetTimer()
	for range concurrency {
		wg.Go(func() {
			for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
				arn := w.run(machine, fmt.Sprint("run-", n), `{"run_id":"x","waves":[["a"],["b"],["c"],["d"],["e"]]}`)
				ch, _ := waiting.LoadOrStore(arn, make(chan struct{}))
				<-ch.(chan struct{})
				waiting.Delete(arn)
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "exec/s")
	b.ReportMetric(float64(writes.Load())/float64(b.N), "writes/exec")
}
