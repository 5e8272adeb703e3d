package stepfunctions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"localaws/conformance/machines"
	"localaws/disk"
	"localaws/inproc"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"
)

const roleARN = "arn:aws:iam::123456789012:role/test"

// functions are scripted functions of this process.
type functions struct{ machines.Functions }

type (
	answer    = machines.Answer
	tokenStep = machines.TokenStep
)

// scriptedFunctions returns functions that follow script.
func scriptedFunctions(script map[string][]answer) *functions {
	return &functions{machines.Functions{Script: script}}
}

type codedError struct{ code, message string }

func (e codedError) Error() string     { return e.message }
func (e codedError) ErrorCode() string { return e.code }

// Call implements Caller.
func (f *functions) Call(ctx context.Context, in Invocation) (Response, *FunctionError, error) {
	name, qualifier, _ := strings.Cut(in.Function[strings.Index(in.Function, ":function:")+len(":function:"):], ":")
	call, status := machines.Call{Function: name, Payload: in.Payload, Qualifier: qualifier}, statusReturned
	if in.Type == typeEvent {
		call.Kind, status = "Event", statusAccepted
	}
	reply, err := f.Functions.Call(ctx, call)
	switch {
	case err != nil:
		return Response{}, nil, err
	case reply.Fault != "":
		return Response{}, nil, codedError{reply.Fault, reply.Message}
	case reply.Failed:
		return Response{}, functionErrorOf(reply.Payload), nil
	case in.Type == typeEvent:
		reply.Payload = nil
	}
	return Response{Payload: reply.Payload, Status: status, Version: reply.Version}, nil, nil
}

func functionErrorOf(payload []byte) *FunctionError {
	var report struct{ ErrorType, ErrorMessage string }
	_ = json.Unmarshal(payload, &report)
	return &FunctionError{Type: report.ErrorType, Message: report.ErrorMessage, Payload: payload}
}

// Invoke implements Invoker.
func (f *functions) Invoke(ctx context.Context, arn string, payload []byte) ([]byte, *FunctionError, error) {
	res, failure, err := f.Call(ctx, Invocation{Function: arn, Payload: payload})
	return res.Payload, failure, err
}

func seconds64(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// world is an engine over a file of its own, with an SDK client.
type world struct {
	t      testing.TB
	path   string
	store  *disk.Store
	engine *Engine
	fns    *functions
	sfn    *sfn.Client
	closed bool
}

func quiet() Option { return WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil))) }

// scratch returns a folder for data files, in memory where the system has one, because these tests
// check the writes and their times and not the disk.
func scratch(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "stepfunctions")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// newWorld opens an engine over the file at path, a new one when path is empty.
func newWorld(t testing.TB, path string, fns *functions, opts ...Option) *world {
	t.Helper()
	if path == "" {
		path = filepath.Join(scratch(t), "data.db")
	}
	store, err := disk.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, path: path, store: store, fns: fns}
	w.engine, err = Open(store, fns, append([]Option{quiet()}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	w.sfn = client(w.engine)
	fns.Use(w.sfn)
	return w
}

func client(e *Engine) *sfn.Client {
	return sfn.New(sfn.Options{
		Region: "us-east-1", BaseEndpoint: aws.String("http://stepfunctions.local"),
		Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
		HTTPClient:  inproc.Transport{Handler: e}, RetryMaxAttempts: 1,
	})
}

func (w *world) start() *world {
	w.t.Helper()
	if err := w.engine.Start(context.Background()); err != nil {
		w.t.Fatal(err)
	}
	return w
}

func (w *world) close() {
	w.t.Helper()
	if w.closed {
		return
	}
	w.closed = true
	if err := w.engine.Close(); err != nil {
		w.t.Error(err)
	}
	w.fns.Wait()
	if err := w.store.Close(); err != nil {
		w.t.Error(err)
	}
}

func (w *world) create(name, definition string) string {
	w.t.Helper()
	out, err := w.sfn.CreateStateMachine(context.Background(), &sfn.CreateStateMachineInput{
		Name: &name, Definition: &definition, RoleArn: aws.String(roleARN),
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return *out.StateMachineArn
}

func (w *world) run(machine, name, input string) string {
	w.t.Helper()
	out, err := w.sfn.StartExecution(context.Background(), &sfn.StartExecutionInput{
		StateMachineArn: &machine, Name: &name, Input: &input,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return *out.ExecutionArn
}

func (w *world) describe(arn string) *sfn.DescribeExecutionOutput {
	w.t.Helper()
	out, err := w.sfn.DescribeExecution(context.Background(), &sfn.DescribeExecutionInput{ExecutionArn: &arn})
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

// finish waits, in bubble time, until the execution has ended.
func (w *world) finish(arn string) *sfn.DescribeExecutionOutput {
	w.t.Helper()
	for range 100_000 {
		synctest.Wait()
		out := w.describe(arn)
		if out.Status != types.ExecutionStatusRunning {
			return out
		}
		time.Sleep(100 * time.Millisecond)
	}
	w.t.Fatalf("%s does not end", arn)
	return nil
}

// history returns all events, checking that ids have no gap.
func (w *world) history(arn string) []types.HistoryEvent {
	w.t.Helper()
	var out []types.HistoryEvent
	pages := sfn.NewGetExecutionHistoryPaginator(w.sfn, &sfn.GetExecutionHistoryInput{ExecutionArn: &arn, MaxResults: 7})
	for pages.HasMorePages() {
		page, err := pages.NextPage(context.Background())
		if err != nil {
			w.t.Fatal(err)
		}
		out = append(out, page.Events...)
	}
	for i, ev := range out {
		if ev.Id != int64(i+1) || ev.PreviousEventId >= ev.Id {
			w.t.Errorf("event %d has id %d and previous %d", i+1, ev.Id, ev.PreviousEventId)
		}
	}
	return out
}

// brief renders events as "id<previous Type".
func brief(events []types.HistoryEvent) []string {
	var out []string
	for _, ev := range events {
		out = append(out, fmt.Sprintf("%d<%d %s", ev.Id, ev.PreviousEventId, ev.Type))
	}
	return out
}

func apiCode(err error) string {
	var coded interface{ ErrorCode() string }
	if errors.As(err, &coded) {
		return coded.ErrorCode()
	}
	return fmt.Sprint(err)
}

func mustJSON(t testing.TB, text []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatal(err)
	}
}
