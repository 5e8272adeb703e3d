package stepfunctions

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestStatusChangesAreDeliveredAtLeastOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var got []Event
		failing := true
		handler := WithStatusChange(func(_ context.Context, ev Event) error {
			mu.Lock()
			defer mu.Unlock()
			if failing {
				return errors.New("not now")
			}
			got = append(got, ev)
			return nil
		})
		fns := &functions{}
		w := newWorld(t, "", fns, handler).start()
		run := w.run(w.create("m", `{"StartAt":"A","States":{"A":{"Type":"Fail","Error":"E","Cause":"c"}}}`), "r", `{"a":1}`)
		w.finish(run)
		w.close()
		if len(got) != 0 {
			t.Fatal("delivered in spite of the error")
		}
		failing = false
		w = newWorld(t, w.path, fns, handler).start()
		synctest.Wait()
		time.Sleep(time.Hour)
		if len(got) != 2 || got[0].Detail.Status != "RUNNING" || got[1].Detail.Status != "FAILED" {
			t.Fatalf("delivered %+v", got)
		}
		d := got[1]
		if d.DetailType != "Step Functions Execution Status Change" || d.Source != "aws.states" || d.Resources[0] != run ||
			d.Detail.ExecutionARN != run || *d.Detail.Error != "E" || *d.Detail.Cause != "c" || d.Detail.Output != nil ||
			d.Detail.Input != `{"a":1}` || d.Detail.Name != "r" || *d.Detail.StopDate < d.Detail.StartDate {
			t.Errorf("event %+v", d)
		}
		w.close()
		w = newWorld(t, w.path, fns, handler).start()
		defer w.close()
		time.Sleep(time.Hour)
		if len(got) != 2 {
			t.Errorf("delivered again: %d", len(got))
		}
	})
}
