package localaws

import (
	"context"
	"encoding/json"
	"fmt"
	"localaws/disk"
	"localaws/stepfunctions"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// ask makes one call to the state machines' engine.
func ask(t *testing.T, e *stepfunctions.Engine, operation string, in any) map[string]any {
	t.Helper()
	body, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(string(body)))
	req.Header.Set("X-Amz-Target", "AWSStepFunctions."+operation)
	rec := httptest.NewRecorder()
	e.ServeHTTP(rec, req)
	out := map[string]any{}
	if err := json.Unmarshal(rec.Body.Bytes(), &out); err != nil || rec.Code != http.StatusOK {
		t.Fatalf("%s: %d %s", operation, rec.Code, rec.Body)
	}
	return out
}

// A function that waited for a place would reach its task's time-out, which counts from the
// scheduling.
func TestEngineCallsAsManyFunctionsAsLambda(t *testing.T) {
	const many = 200
	var inside atomic.Int32
	all := make(chan struct{})
	lambda := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if inside.Add(1) == many {
			close(all)
		}
		select {
		case <-all:
		case <-r.Context().Done():
		}
		_, _ = w.Write([]byte("1"))
	}))
	defer lambda.Close()
	invoke, err := NewFunctions(lambda.URL)
	if err != nil {
		t.Fatal(err)
	}
	store, err := disk.Open(filepath.Join(t.TempDir(), "data"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	e, err := Open(store, Options{Invoke: invoke})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Halt() }()
	if err := e.Machines.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	machine := ask(t, e.Machines, "CreateStateMachine", map[string]string{
		"name": "m", "roleArn": "arn:aws:iam::123456789012:role/r",
		"definition": fmt.Sprintf(`{"StartAt":"A","States":{"A":{"Type":"Task","Resource":"%sf","End":true}}}`, functionARN),
	})["stateMachineArn"]
	for range many {
		ask(t, e.Machines, "StartExecution", map[string]any{"stateMachineArn": machine})
	}
	select {
	case <-all:
	case <-time.After(20 * time.Second):
		t.Fatalf("%d of %d functions run at once", inside.Load(), many)
	}
}

// slowFunctions counts how many functions run at once.
type slowFunctions struct{ now, most atomic.Int32 }

func (s *slowFunctions) Invoke(context.Context, string, []byte) ([]byte, *stepfunctions.FunctionError, error) {
	s.most.Store(max(s.most.Load(), s.now.Add(1)))
	defer s.now.Add(-1)
	time.Sleep(20 * time.Millisecond)
	return []byte("{}"), nil, nil
}

// TestLimitedRefusesAsLambda: a call too many fails with the name that it has on AWS, and its function does not run.
func TestLimitedRefusesAsLambda(t *testing.T) {
	store, err := disk.Open(filepath.Join(t.TempDir(), "data"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	functions := &slowFunctions{}
	services, err := Open(store, Options{Invoke: functions, Concurrency: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = services.Halt() }()
	if err := services.Machines.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	machine := ask(t, services.Machines, "CreateStateMachine", map[string]any{"name": "m", "roleArn": "arn:aws:iam::123456789012:role/r", "definition": `{"StartAt":"All","States":{"All":{"Type":"Map","ItemsPath":"$.items","ItemProcessor":{"StartAt":"One","States":{
		"One":{"Type":"Task","Resource":"` + functionARN + `f","Catch":[{"ErrorEquals":["Lambda.TooManyRequestsException"],"Next":"Refused"}],"End":true},
		"Refused":{"Type":"Pass","Result":"refused","End":true}}},"End":true}}}`})
	execution := ask(t, services.Machines, "StartExecution", map[string]any{"stateMachineArn": machine["stateMachineArn"], "input": `{"items":[1,2,3,4,5,6,7,8]}`})
	got := map[string]any{"status": "RUNNING"}
	for got["status"] == "RUNNING" {
		time.Sleep(5 * time.Millisecond)
		got = ask(t, services.Machines, "DescribeExecution", map[string]any{"executionArn": execution["executionArn"]})
	}
	if output, _ := got["output"].(string); got["status"] != "SUCCEEDED" || functions.most.Load() > 2 || !strings.Contains(output, "refused") || !strings.Contains(output, "{}") {
		t.Errorf("%s at most %d at once: %s", got["status"], functions.most.Load(), output)
	}
}
