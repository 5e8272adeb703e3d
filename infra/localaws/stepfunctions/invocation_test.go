package stepfunctions

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// plain implements only Invoker.
type plain struct {
	mu    sync.Mutex
	ended []time.Time
}

func (p *plain) Invoke(ctx context.Context, _ string, payload []byte) ([]byte, *FunctionError, error) {
	select {
	case <-time.After(5 * time.Second):
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = append(p.ended, time.Now())
	return payload, nil, nil
}

// TestEventInvocationDoesNotBlockExecution checks that an execution waits neither for a function
// that is called as an event, nor for one that is not called at all.
func TestEventInvocationDoesNotBlockExecution(t *testing.T) {
	for kind, want := range map[string]struct{ status, calls int }{"Event": {202, 1}, "DryRun": {204, 0}} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, "", &functions{})
			p := &plain{}
			w.engine.invoke = p
			w.start()
			defer w.close()
			arn := w.run(w.create("m", `{"StartAt":"A","States":{"A":{"Type":"Task","Resource":"arn:aws:states:::lambda:invoke",
				"Parameters":{"FunctionName":"f","InvocationType.$":"$.kind"},"End":true}}}`), "run", `{"kind":"`+kind+`"}`)
			out := w.finish(arn)
			if out.StopDate.Sub(*out.StartDate) > time.Second {
				t.Errorf("%s: waited until %s", kind, out.StopDate)
			}
			var result struct {
				StatusCode int
				Payload    any
			}
			if err := json.Unmarshal([]byte(*out.Output), &result); err != nil || result.StatusCode != want.status || result.Payload != "" {
				t.Errorf("%s: %s", kind, *out.Output)
			}
			time.Sleep(10 * time.Second)
			p.mu.Lock()
			defer p.mu.Unlock()
			if len(p.ended) != want.calls {
				t.Errorf("%s: %d calls", kind, len(p.ended))
			}
		})
	}
}

func TestDecodeThreadReadsFirstVersion(t *testing.T) {
	th := &thread{id: 3, state: "A", function: "f", payload: []byte("{}"), input: textDocument([]byte("{}"))}
	text := th.encode()
	old := append([]byte{1}, text[1:len(text)-3]...) // no manner
	for _, b := range [][]byte{text, old} {
		got, err := decodeThread(b)
		if err != nil || got.function != "f" || got.manner != (Manner{}) {
			t.Errorf("version %d: %+v, %v", b[0], got, err)
		}
	}
	th.manner = Manner{Type: typeEvent, LogType: "Tail", ClientContext: "e30="}
	if got, err := decodeThread(th.encode()); err != nil || got.manner != th.manner {
		t.Errorf("%+v, %v", got, err)
	}
}
