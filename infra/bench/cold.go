package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"localaws/disk"
	"localaws/dynamodb"
	"localaws/lambda"
	"localaws/provision"
	"localaws/secretsmanager"
	"localaws/stepfunctions"
	"localaws/template"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"piloto/infra/local/process"
)

// hello is the name of the floor of cold starts, and its folder.
const hello = "hello"

// coldLimit is the maximum time from the start of a process until its first answer.
const coldLimit = 20 * time.Second

// region is the AWS region of the engines.
const region = "eu-west-1"

// stage holds the environment of the functions: engines on loopback, and executables.
type stage struct {
	folder   string // NAME/bootstrap
	endpoint string
	events   string
	values   map[string]string // values of the variables that a template sets
	asked    atomic.Int64      // requests that the engines received
}

// start is one cold start.
type start struct {
	asks    time.Duration // from exec until it requested its first event
	answers time.Duration // from exec until it answered that event
	cpu     time.Duration // of the process until it was ended, directly after its answer
	peak    int64         // bytes of resident memory at that time
	calls   int64         // requests to the engines until that time
}

// runCold builds every function and the floor, starts them alternately, and prints the measured times.
func runCold(ctx context.Context, o options, out io.Writer) (err error) {
	t, err := template.Read(o.template)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(o.dir, 0o700); err != nil {
		return err
	}
	folder, err := os.MkdirTemp(o.dir, "cold-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	if folder, err = filepath.Abs(folder); err != nil {
		return err
	}
	module := filepath.Dir(o.template)
	started := slices.DeleteFunc(slices.Clone(t.Functions), func(f template.Function) bool { return !o.only.MatchString(f.Name) })
	functions := append([]template.Function{{Name: hello, Folder: filepath.Join("infra", "bench", hello)}}, started...)
	if err := process.BuildFunctions(ctx, module, folder, functions); err != nil {
		return err
	}
	s := &stage{folder: folder, events: filepath.Join(module, "infra", "events")}
	stop, err := s.serve(ctx, t)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	r := coldReport{Starts: o.starts}
	for _, f := range started {
		row, err := s.compare(ctx, f, o.starts)
		if err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
		r.Functions = append(r.Functions, row)
	}
	if o.json {
		return r.json(out)
	}
	return r.table(out)
}

// serve opens engines with the template's table, and serves them.
func (s *stage) serve(ctx context.Context, t *template.Template) (stop func() error, err error) {
	store, err := disk.Open(filepath.Join(s.folder, "piloto.db"))
	if err != nil {
		return nil, err
	}
	tables, err := dynamodb.Open(store)
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	machines, err := stepfunctions.Open(store, noInvoker{}, stepfunctions.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	secrets, err := secretsmanager.Open(filepath.Join(s.folder, "secrets.json"))
	if err != nil {
		return nil, errors.Join(err, machines.Close(), store.Close())
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.asked.Add(1)
		switch target := r.Header.Get("X-Amz-Target"); {
		case strings.HasPrefix(target, "AWSStepFunctions."):
			machines.ServeHTTP(w, r)
		case strings.HasPrefix(target, "secretsmanager."):
			secrets.ServeHTTP(w, r)
		default:
			tables.ServeHTTP(w, r)
		}
	}))
	stop = func() error {
		server.Close()
		return errors.Join(machines.Close(), store.Close())
	}
	s.endpoint = server.URL
	s.values = map[string]string{
		"TABLE_NAME": "piloto", "OPENAI_BASE_URL": server.URL + "/v1", "GROQ_BASE_URL": "https://api.groq.com/openai/v1", "OPENAI_MODEL": "m",
		"STATE_MACHINE_ARN": "arn:aws:states:" + region + ":123456789012:stateMachine:planrun",
		"RECEIPT_KEY":       "arn:aws:kms:" + region + ":123456789012:key/receipts",
		"TURN_MACHINE_ARN":  "arn:aws:states:" + region + ":123456789012:stateMachine:turn", "REALTIME_URL": "wss://localhost/live", "KEY_PREFIX": "piloto",
	}
	names := map[string]string{}
	for _, table := range t.Tables {
		names[table.ID] = "piloto"
	}
	config := aws.Config{Region: region, Credentials: credentials.NewStaticCredentialsProvider("x", "x", ""), BaseEndpoint: &s.endpoint}
	if err := provision.Tables(ctx, config, t, names); err != nil {
		return nil, errors.Join(err, stop())
	}
	return stop, nil
}

// noInvoker is an Invoker that is never called: no state machine is started here.
type noInvoker struct{}

// Invoke implements stepfunctions.Invoker.
func (noInvoker) Invoke(_ context.Context, arn string, _ []byte) ([]byte, *stepfunctions.FunctionError, error) {
	return nil, nil, errors.New("no function " + arn)
}

// compare starts a function and the floor alternately. The first start of each warms the file system and is not
// counted.
func (s *stage) compare(ctx context.Context, f template.Function, times int) (coldRow, error) {
	event, err := os.ReadFile(filepath.Join(s.events, f.Name+".json"))
	if err != nil {
		return coldRow{}, err
	}
	var floor, own []start
	for i := range times + 1 {
		a, err := s.start(ctx, hello, []string{"TABLE_NAME=" + s.values["TABLE_NAME"]}, []byte("{}"))
		if err != nil {
			return coldRow{}, fmt.Errorf("%s: %w", hello, err)
		}
		b, err := s.start(ctx, f.Name, s.variables(f), event)
		if err != nil {
			return coldRow{}, err
		}
		if i > 0 {
			floor, own = append(floor, a), append(own, b)
		}
	}
	file, err := os.Stat(s.bootstrap(f.Name))
	if err != nil {
		return coldRow{}, err
	}
	return newColdRow(f.Name, file.Size(), floor, own), nil
}

func (s *stage) bootstrap(name string) string { return filepath.Join(s.folder, name, "bootstrap") }

// variables returns the variables of a function for which this stage has a value.
func (s *stage) variables(f template.Function) []string {
	var env []string
	for name := range f.Environment {
		if value, ok := s.values[name]; ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// start runs a bootstrap behind its own Runtime API until it has answered one event. Any answer counts, also an
// error about a missing account.
func (s *stage) start(ctx context.Context, name string, env []string, event []byte) (start, error) {
	api := lambda.New("arn:aws:lambda:"+region+":123456789012:function:"+name, coldLimit)
	var began time.Time
	asked := make(chan time.Duration, 1)
	var once sync.Once
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/invocation/next") {
			once.Do(func() { asked <- time.Since(began) })
		}
		api.ServeHTTP(w, r)
	}))
	defer server.Close()
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, s.bootstrap(name))
	cmd.Env = append([]string{
		"AWS_LAMBDA_RUNTIME_API=" + strings.TrimPrefix(server.URL, "http://"), "AWS_LAMBDA_FUNCTION_NAME=" + name, "_HANDLER=bootstrap",
		"AWS_LAMBDA_FUNCTION_MEMORY_SIZE=512", "AWS_LAMBDA_LOG_GROUP_NAME=/piloto/bench/" + name,
		"AWS_REGION=" + region, "AWS_ACCESS_KEY_ID=x", "AWS_SECRET_ACCESS_KEY=x", "AWS_ENDPOINT_URL=" + s.endpoint,
	}, env...)
	cmd.Stdout, cmd.Stderr = &said, &said
	began = time.Now()
	if err := cmd.Start(); err != nil {
		return start{}, err
	}
	ended := make(chan error, 1)
	answered := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	go func() {
		_, _, err := api.Invoke(ctx, event) // an error is an answer too
		answered <- err
	}()
	before := s.asked.Load()
	var m start
	select {
	case err := <-answered:
		m.answers = time.Since(began)
		if err != nil {
			return m, err
		}
	case err := <-ended:
		return m, fmt.Errorf("it ended: %w\n%s", err, said.Bytes())
	case <-time.After(coldLimit):
		return m, errors.Join(errors.New("no answer in "+coldLimit.String()), cmd.Process.Kill())
	}
	m.asks, m.calls = <-asked, s.asked.Load()-before
	var err error
	m.peak, err = peak(cmd.Process.Pid)
	err = errors.Join(err, cmd.Process.Kill())
	<-ended //nolint:errcheck // it was killed
	m.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return m, err
}

// peak returns the peak resident memory of a process in bytes, and 0 when the system does not report it.
func peak(pid int) (int64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	var kilobytes int64
	_, err = fmt.Sscan(rest, &kilobytes)
	return kilobytes << 10, err
}

func (r coldReport) json(out io.Writer) error {
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	return e.Encode(r)
}
