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

// coldLimit is how long one start may take until it has answered.
const coldLimit = 20 * time.Second

// region is where the engines pretend to be.
const region = "eu-west-1"

// stage is what functions are started on: engines on loopback, and executables.
type stage struct {
	folder   string // NAME/bootstrap
	endpoint string
	events   string
	values   map[string]string // of the variables that a template sets
	asked    atomic.Int64      // requests that the engines were sent
}

// start is one cold start.
type start struct {
	asks    time.Duration // from exec until it asked for its first event
	answers time.Duration // from exec until it answered it
	peak    int64         // bytes of resident memory by then
	calls   int64         // that it made of the engines by then
}

// runCold builds every function and the floor, starts them by turns, and prints what
// that took.
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
	functions := append([]template.Function{{Name: hello, Folder: filepath.Join("infra", "bench", hello)}}, t.Functions...)
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
	for _, f := range t.Functions {
		if !o.only.MatchString(f.Name) {
			continue
		}
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
	machines, err := stepfunctions.Open(store, nobody{}, stepfunctions.WithLogger(slog.New(slog.DiscardHandler)))
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
		"STATE_MACHINE_ARN": "arn:aws:states:" + region + ":123456789012:stateMachine:planrun", "REALTIME_URL": "wss://localhost/live", "KEY_PREFIX": "piloto",
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

// nobody is asked by no machine here: none is started.
type nobody struct{}

// Invoke implements stepfunctions.Invoker.
func (nobody) Invoke(_ context.Context, arn string, _ []byte) ([]byte, *stepfunctions.FunctionError, error) {
	return nil, nil, errors.New("no function " + arn)
}

// compare starts a function and the floor by turns. The first of each warms the file
// system and is not counted.
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

// variables are those of a function that this stage has a value for.
func (s *stage) variables(f template.Function) []string {
	var env []string
	for name := range f.Environment {
		if value, ok := s.values[name]; ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// start runs a bootstrap behind a Runtime API of its own until it has answered one
// event: with whatever it answers about accounts that are not there.
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
		_, _, err := api.Invoke(ctx, event) // what it fails with is an answer too
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
	return m, err
}

// peak is the most memory of a process that was resident, in bytes; 0 where the
// system does not say.
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
