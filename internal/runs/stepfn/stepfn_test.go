package stepfn_test

import (
	"context"
	"localaws/disk"
	"localaws/inproc"
	"localaws/stepfunctions"
	"path/filepath"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sfn"

	"piloto/internal/runs/run"
	"piloto/internal/runs/stepfn"
)

// held answers a function when the test releases it.
type held struct {
	calls   chan []byte
	release chan struct{}
}

func (h held) Invoke(ctx context.Context, _ string, payload []byte) ([]byte, *stepfunctions.FunctionError, error) {
	h.calls <- payload
	select {
	case <-h.release:
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	return payload, nil, nil
}

func TestStartExecutionStartsRunOnce(t *testing.T) {
	ctx := t.Context()
	store, err := disk.Open(filepath.Join(t.TempDir(), "states.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	function := held{make(chan []byte, 10), make(chan struct{})}
	engine, err := stepfunctions.Open(store, function)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = engine.Close() }()
	if err := engine.Start(ctx); err != nil {
		t.Fatal(err)
	}
	config := aws.Config{
		Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("t", "t", ""),
		HTTPClient: inproc.Transport{Handler: engine}, BaseEndpoint: aws.String("http://engine.test"),
	}
	made, err := sfn.NewFromConfig(config).CreateStateMachine(ctx, &sfn.CreateStateMachineInput{
		Name: aws.String("runs"), RoleArn: aws.String("arn:aws:iam::123456789012:role/runs"),
		Definition: aws.String(`{"StartAt":"T","States":{"T":{"Type":"Task","Resource":"arn:aws:lambda:us-east-1:123456789012:function:f","End":true}}}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	machine := stepfn.New(config, *made.StateMachineArn)
	const id = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
	watch := func(want run.Execution) {
		t.Helper()
		for deadline := time.Now().Add(5 * time.Second); ; {
			got, err := machine.ExecutionOf(ctx, id)
			if err != nil {
				t.Fatal(err)
			}
			if got == want {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("it is %s, want %s", got, want)
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
	watch(run.ExecutionNone)
	if err := machine.StartExecution(ctx, run.Key{Account: "acme", RunID: id}); err != nil {
		t.Fatal(err)
	}
	if input := string(<-function.calls); input != `{"run_id":"`+id+`","account_id":"acme"}` && input != `{"account_id":"acme","run_id":"`+id+`"}` {
		t.Errorf("more than names travels: %s", input) // only ids are sent: guarantee I21
	}
	watch(run.ExecutionRunning)
	if err := machine.StartExecution(ctx, run.Key{Account: "acme", RunID: id}); err != nil {
		t.Errorf("a second start: %v", err)
	}
	close(function.release)
	watch(run.ExecutionEnded)
	if err := machine.StartExecution(ctx, run.Key{Account: "acme", RunID: id}); err != nil {
		t.Errorf("a start after the end: %v", err)
	}
	if n := len(function.calls); n != 0 {
		t.Errorf("the function was called %d times more", n)
	}
}
