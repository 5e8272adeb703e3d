package stepfunctions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"piloto/infra/local/disk"
	"piloto/infra/local/inproc"
)

const roleARN = "arn:aws:iam::123456789012:role/test"

// functions is a small Lambda service: each function follows a script, one line
// per call, the last line for all that follow.
type functions struct {
	script map[string][]answer

	mu    sync.Mutex
	calls []call
	count map[string]int
	sfn   *sfn.Client
	wg    sync.WaitGroup
}

type call struct {
	Function string          `json:"function"`
	Payload  json.RawMessage `json:"payload"`
	at       time.Time
}

// answer is one line of a script.
type answer struct {
	Result  json.RawMessage `json:"result,omitempty"` // absent: the payload itself
	Error   string          `json:"error,omitempty"`
	Message string          `json:"message,omitempty"`
	Fault   string          `json:"fault,omitempty"`
	Blob    int             `json:"blob,omitempty"`  // a string of so many bytes
	Sleep   float64         `json:"sleep,omitempty"` // seconds before the answer
	Untyped bool            `json:"untyped,omitempty"`
	// Stubborn calls go on when they are given up.
	Stubborn bool `json:"stubborn,omitempty"`
	// Token is what somebody does later with the payload's member "token".
	Token []tokenStep `json:"token,omitempty"`
}

type tokenStep struct {
	After     float64         `json:"after"`
	Success   json.RawMessage `json:"success,omitempty"`
	Error     string          `json:"error,omitempty"`
	Cause     string          `json:"cause,omitempty"`
	Heartbeat bool            `json:"heartbeat,omitempty"`
}

type codedError string

func (e codedError) Error() string     { return "service fault " + string(e) }
func (e codedError) ErrorCode() string { return string(e) }

func (f *functions) Invoke(ctx context.Context, arn string, payload []byte) ([]byte, *FunctionError, error) {
	name := arn[strings.LastIndex(arn, ":")+1:]
	f.mu.Lock()
	f.calls = append(f.calls, call{name, payload, time.Now()})
	lines := f.script[name]
	if f.count == nil {
		f.count = map[string]int{}
	}
	n := f.count[name]
	f.count[name]++
	f.mu.Unlock()
	if lines == nil {
		return payload, nil, nil
	}
	a := lines[min(n, len(lines)-1)]
	if a.Stubborn {
		ctx = context.WithoutCancel(ctx)
	}
	if a.Sleep > 0 {
		select {
		case <-time.After(seconds64(a.Sleep)):
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
	}
	if a.Token != nil {
		f.wg.Add(1)
		go f.follow(payload, a.Token)
	}
	switch {
	case a.Untyped:
		return nil, &FunctionError{Payload: []byte(`{"errorMessage":"` + a.Message + `"}`)}, nil
	case a.Error != "":
		return nil, &FunctionError{Type: a.Error, Message: a.Message}, nil
	case a.Fault != "":
		return nil, nil, codedError(a.Fault)
	case a.Blob > 0:
		return []byte(`"` + strings.Repeat("x", a.Blob-2) + `"`), nil, nil
	case a.Result != nil:
		return a.Result, nil, nil
	}
	return payload, nil, nil
}

func seconds64(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

func (f *functions) follow(payload []byte, steps []tokenStep) {
	defer f.wg.Done()
	var in struct{ Token string }
	_ = json.Unmarshal(payload, &in)
	for _, s := range steps {
		time.Sleep(seconds64(s.After))
		ctx := context.Background()
		switch {
		case s.Heartbeat:
			_, _ = f.sfn.SendTaskHeartbeat(ctx, &sfn.SendTaskHeartbeatInput{TaskToken: &in.Token})
		case s.Success != nil:
			_, _ = f.sfn.SendTaskSuccess(ctx, &sfn.SendTaskSuccessInput{TaskToken: &in.Token, Output: aws.String(string(s.Success))})
		default:
			_, _ = f.sfn.SendTaskFailure(ctx, &sfn.SendTaskFailureInput{TaskToken: &in.Token, Error: &s.Error, Cause: &s.Cause})
		}
	}
}

// world is an engine over a file of its own, reached through the SDK.
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

// scratch is a folder for data files, in memory where the system has one: these
// tests are about what is written and when, not about the disk under it.
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
	fns.mu.Lock()
	fns.sfn = w.sfn
	fns.mu.Unlock()
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
	w.fns.wg.Wait()
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
