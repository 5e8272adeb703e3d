package localaws

import (
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
