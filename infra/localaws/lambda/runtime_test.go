package lambda_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"localaws/lambda"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	runtime "github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambda/messages"
	"github.com/aws/aws-lambda-go/lambdacontext"
)

// TestMain is also the bootstrap of these tests: the real runtime client around a function that its
// input controls.
func TestMain(m *testing.M) {
	switch os.Getenv("LAMBDA_TEST_FUNCTION") {
	case "says where":
		fmt.Println(os.Getenv("AWS_LAMBDA_RUNTIME_API"))
		runtime.Start(act)
	case "":
		os.Exit(m.Run())
	case "exits":
		os.Exit(3)
	case "says why":
		reportInitError()
	case "starts another":
		startAnother()
	default:
		runtime.Start(act)
	}
}

// reportInitError is a runtime that cannot start its function.
func reportInitError() {
	res, err := http.Post("http://"+os.Getenv("AWS_LAMBDA_RUNTIME_API")+"/2018-06-01/runtime/init/error", "application/json",
		strings.NewReader(`{"errorMessage":"no table","errorType":"Config.Missing"}`))
	if err == nil {
		_ = res.Body.Close()
	}
	os.Exit(1)
}

// startAnother starts a function, prints its process id, and waits to be killed.
func startAnother() {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	p, err := lambda.Start(context.Background(), lambda.Config{
		Name: "Test", Bootstrap: self, Env: []string{"LAMBDA_TEST_FUNCTION=acts"}, Timeout: time.Minute,
	})
	if err != nil {
		panic(err)
	}
	answer, _, _ := p.Invoke(context.Background(), []byte(`{"do":"pid"}`))
	fmt.Println(strings.Trim(string(answer), `"`))
	select {}
}

type input struct {
	Do    string `json:"do"`
	Bytes int    `json:"bytes"`
}

func act(ctx context.Context, in input) (string, error) {
	switch in.Do {
	case "fail":
		return "", errors.New("no")
	case "fail by name":
		return "", messages.InvokeResponse_Error{Type: "Step.Transient", Message: "again"}
	case "panic":
		panic("oh")
	case "exit":
		os.Exit(7)
	case "hang":
		time.Sleep(time.Hour)
	case "large":
		return strings.Repeat("x", in.Bytes), nil
	case "env":
		return strings.Join(os.Environ(), "\n"), nil
	case "pid, later":
		time.Sleep(100 * time.Millisecond) // long enough for concurrent calls
		return strconv.Itoa(os.Getpid()), nil
	case "pid":
		return strconv.Itoa(os.Getpid()), nil
	}
	lc, _ := lambdacontext.FromContext(ctx)
	deadline, _ := ctx.Deadline()
	return strings.Join([]string{lc.InvokedFunctionArn, lambdacontext.FunctionName, strconv.FormatBool(time.Until(deadline) > time.Second)}, " "), nil
}

func start(t *testing.T, timeout time.Duration) *lambda.Process {
	t.Helper()
	p, err := lambda.Start(t.Context(), config(t, "acts", timeout))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

func config(t *testing.T, function string, timeout time.Duration) lambda.Config {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return lambda.Config{
		Name: "Test", ARN: "arn:aws:lambda:us-east-1:000000000000:function:Test", Bootstrap: self,
		Env: []string{"LAMBDA_TEST_FUNCTION=" + function}, Timeout: timeout, Log: t.Output(),
	}
}

func invoke(t *testing.T, p *lambda.Process, payload string) (string, *lambda.FunctionError) {
	t.Helper()
	answer, failed, err := p.Invoke(t.Context(), []byte(payload))
	if err != nil {
		t.Fatal(err)
	}
	var text string
	if failed == nil {
		if err := json.Unmarshal(answer, &text); err != nil {
			t.Fatalf("answer %.100q: %v", answer, err)
		}
	}
	return text, failed
}

func TestFunctionGetsContextOfLambda(t *testing.T) {
	got, failed := invoke(t, start(t, time.Minute), `{}`)
	if want := "arn:aws:lambda:us-east-1:000000000000:function:Test Test true"; failed != nil || got != want {
		t.Errorf("%q, %v; want %q", got, failed, want)
	}
}

// TestProcessServesOnlyItsFunction: a client that finds the port gets no invocation, and cannot
// answer one.
func TestProcessServesOnlyItsFunction(t *testing.T) {
	logged := make(logLines, 1)
	c := config(t, "says where", time.Minute)
	c.Log = logged
	p, err := lambda.Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	host, secret, _ := strings.Cut(<-logged, "/")
	if len(secret) < 20 {
		t.Fatalf("the process is told %q", secret)
	}
	for _, before := range []string{"", "/", "/" + secret[1:], "/" + secret + "x", "/" + strings.ToLower(secret), "/x/../" + secret, "//" + secret} {
		for _, call := range [][2]string{{"GET", "invocation/next"}, {"POST", "invocation/x/response"}, {"POST", "init/error"}} {
			r, err := http.NewRequestWithContext(t.Context(), call[0], "http://"+host+before+"/2018-06-01/runtime/"+call[1], strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			res, err := http.DefaultTransport.RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			_ = res.Body.Close()
			if res.StatusCode != http.StatusForbidden {
				t.Errorf("%s %s: %s", call[0], r.URL, res.Status)
			}
		}
	}
	if _, failed := invoke(t, p, `{"do":"pid"}`); failed != nil {
		t.Error(failed)
	}
}

// logLines passes on the lines of a log.
type logLines chan string

func (s logLines) Write(line []byte) (int, error) {
	select {
	case s <- strings.TrimSpace(string(line)):
	default: // later lines are dropped
	}
	return len(line), nil
}

func TestInvocationEndsOnce(t *testing.T) {
	patient, hasty := start(t, time.Minute), start(t, 2*time.Second)
	for _, c := range []struct{ payload, kind, message string }{
		{`{"do":"fail"}`, "errorString", "no"},
		{`{"do":"fail by name"}`, "Step.Transient", "again"},
		{`{"do":"panic"}`, "string", "oh"},
		{`{"do":"exit"}`, lambda.ErrorExit, "exit status 7"},
		{`{"do":"hang"}`, lambda.ErrorTimeout, "Task timed out after 2.00 seconds"},
		{`{"do":"large","bytes":6291555}`, lambda.ErrorTooLarge, "exceeded maximum"},
		{`7`, "UnmarshalTypeError", "json: cannot unmarshal"},
	} {
		p := patient // a busy machine may need more than two seconds for the large one
		if c.kind == lambda.ErrorTimeout {
			p = hasty
		}
		_, failed := invoke(t, p, c.payload)
		if failed == nil || failed.Type != c.kind || !strings.Contains(failed.Message, c.message) {
			t.Errorf("%s: %v, want %s: …%s…", c.payload, failed, c.kind, c.message)
			continue
		}
		var body struct {
			Message string `json:"errorMessage"`
			Type    string `json:"errorType"`
		}
		if err := json.Unmarshal(failed.Payload, &body); err != nil || body.Message != failed.Message || body.Type != failed.Type {
			t.Errorf("%s: payload %s", c.payload, failed.Payload)
		}
		if got, failed := invoke(t, p, `{}`); failed != nil || !strings.HasSuffix(got, "true") {
			t.Errorf("after %s the function answers %q, %v", c.payload, got, failed)
		}
	}
}

func TestProcessServesUntilItEnds(t *testing.T) {
	p := start(t, 10*time.Second)
	first, _ := invoke(t, p, `{"do":"pid"}`)
	second, _ := invoke(t, p, `{"do":"pid"}`)
	if first != second {
		t.Errorf("two invocations had two processes, %s and %s", first, second)
	}
	invoke(t, p, `{"do":"exit"}`)
	if third, _ := invoke(t, p, `{"do":"pid"}`); third == first || third == "" {
		t.Errorf("after its process ended the function answers from %q", third)
	}
}

func TestInvocationsRunOneAfterAnother(t *testing.T) {
	p := start(t, 30*time.Second)
	var all sync.WaitGroup
	barrier := make(chan struct{})
	answers := make([]string, 16)
	for i := range answers {
		all.Go(func() {
			<-barrier
			answer, failed, err := p.Invoke(t.Context(), []byte(`{"do":"large","bytes":`+strconv.Itoa(i)+`}`))
			if failed == nil && err == nil {
				answers[i] = string(answer)
			}
		})
	}
	close(barrier)
	all.Wait()
	for i, got := range answers {
		if want := `"` + strings.Repeat("x", i) + `"`; got != want {
			t.Errorf("invocation %d was answered %q", i, got)
		}
	}
}

func TestCallerMayStopWaiting(t *testing.T) {
	p := start(t, time.Second)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, _, err := p.Invoke(ctx, []byte(`{"do":"hang"}`)); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("error %v", err)
	}
	if got, failed := invoke(t, p, `{}`); failed != nil || got == "" {
		t.Errorf("afterwards: %q, %v", got, failed)
	}
}

func TestStartReturnsErrorOfFunction(t *testing.T) {
	_, err := lambda.Start(t.Context(), config(t, "exits", time.Second))
	var failed *lambda.FunctionError
	if !errors.As(err, &failed) || failed.Type != lambda.ErrorExit {
		t.Errorf("a bootstrap that exits: %v", err)
	}
	missing := config(t, "acts", time.Second)
	missing.Bootstrap = t.TempDir() + "/bootstrap"
	if _, err := lambda.Start(t.Context(), missing); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a bootstrap that is missing: %v", err)
	}
}
