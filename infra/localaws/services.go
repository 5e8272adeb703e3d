package localaws

import (
	"context"
	"errors"
	"localaws/disk"
	"localaws/dynamodb"
	"localaws/s3"
	"localaws/secretsmanager"
	"localaws/stepfunctions"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"
)

const (
	// GCPercent is the pace of the garbage collector for a process of this kind, which has little
	// memory and must respond fast.
	GCPercent = 400

	secretsTarget = "secretsmanager." // prefix of X-Amz-Target

	region = "us-east-1" // region of all services

	// lambdaConcurrency is Lambda's default limit of concurrent functions in an account. A call
	// that waits for a place here would reach its time-out.
	lambdaConcurrency = 1000
)

// Options configure Services. The zero value of each field is usable.
type Options struct {
	Now    func() time.Time      // nil: time.Now
	Invoke stepfunctions.Invoker // calls the functions of tasks; nil: there are none
	// Concurrency bounds how many functions of tasks run at once, as an account of Lambda does; 0: they are not bounded.
	Concurrency int
	// Called calls the functions that a client of Lambda's API invokes; nil: that API is not served.
	Called  stepfunctions.Invoker
	Log     *slog.Logger      // nil: nothing is logged
	Secrets string            // the file of the secrets; empty: they are not served
	Given   map[string]string // secrets in memory by ARN, which cannot be changed
	Objects string            // the folder of the contents of objects; empty: S3 is not served
	// Changed is called with each status change of an execution, as EventBridge sends it, and again
	// until it returns nil. Nil: nothing is called.
	Changed func(context.Context, stepfunctions.Event) error
	// AsyncJournal is stepfunctions.WithAsyncJournal: only for functions of this process.
	AsyncJournal bool
}

// Services holds DynamoDB, Step Functions, S3 and Secrets Manager over one data file.
type Services struct {
	Tables   *dynamodb.Engine
	Machines *stepfunctions.Engine
	Objects  *s3.Engine             // nil: not served
	Secrets  *secretsmanager.Engine // nil: not served

	lambda  http.Handler // nil: not served
	halted  sync.Once
	haltErr error
}

// Open opens the services over a data file. The caller closes the file after the services.
// Executions continue once Machines.Start is called.
func Open(store *disk.Store, o Options) (*Services, error) {
	o = o.withDefaults()
	tables, err := dynamodb.Open(store, dynamodb.WithClock(o.Now))
	if err != nil {
		return nil, err
	}
	s := &Services{Tables: tables}
	if o.Called != nil {
		s.lambda = invokeAPI{o.Called}
	}
	machines := []stepfunctions.Option{stepfunctions.WithLogger(o.Log), stepfunctions.WithStatusChange(o.Changed)}
	if _, remote := o.Invoke.(*Functions); remote {
		machines = append(machines, stepfunctions.WithConcurrency(lambdaConcurrency))
	}
	if o.AsyncJournal {
		machines = append(machines, stepfunctions.WithAsyncJournal())
	}
	if o.Concurrency > 0 {
		o.Invoke = Limited(o.Invoke, o.Concurrency)
	}
	if s.Machines, err = stepfunctions.Open(store, o.Invoke, machines...); err != nil {
		return nil, err
	}
	if o.Objects != "" {
		if s.Objects, err = s3.Open(store, o.Objects, s3.WithClock(o.Now), s3.WithLogger(o.Log)); err != nil {
			return nil, errors.Join(err, s.Halt())
		}
	}
	if o.Secrets == "" {
		return s, nil
	}
	options := []secretsmanager.Option{secretsmanager.WithClock(o.Now), secretsmanager.WithLogger(o.Log)}
	for arn, text := range o.Given {
		options = append(options, secretsmanager.WithGiven(arn, text))
	}
	if s.Secrets, err = secretsmanager.Open(o.Secrets, options...); err != nil {
		return nil, errors.Join(err, s.Halt())
	}
	return s, nil
}

func (o Options) withDefaults() Options {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Invoke == nil {
		o.Invoke = noFunctions{}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Changed == nil {
		o.Changed = func(context.Context, stepfunctions.Event) error { return nil }
	}
	return o
}

// Halt stops the executions. They continue at the next start. The tables are still served.
func (s *Services) Halt() error {
	s.halted.Do(func() { s.haltErr = s.Machines.Close() })
	return s.haltErr
}

// ServeHTTP serves the JSON wire protocols, which X-Amz-Target distinguishes, and those of Lambda and S3, which have a
// path and no target. It verifies no signatures.
func (s *Services) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch target := r.Header.Get("X-Amz-Target"); {
	case strings.HasPrefix(target, "AWSStepFunctions."):
		s.Machines.ServeHTTP(w, r)
	case strings.HasPrefix(target, secretsTarget) && s.Secrets != nil:
		s.Secrets.ServeHTTP(w, r)
	case strings.HasPrefix(target, secretsTarget):
		denySecrets(w)
	case target == "" && s.lambda != nil && strings.HasPrefix(r.URL.Path, functionsPath):
		s.lambda.ServeHTTP(w, r)
	case target == "" && r.URL.Path != "/" && s.Objects != nil:
		s.Objects.ServeHTTP(w, r)
	default:
		s.Tables.ServeHTTP(w, r)
	}
}

// noFunctions is the invoker without functions.
type noFunctions struct{}

func (noFunctions) Invoke(_ context.Context, arn string, _ []byte) ([]byte, *stepfunctions.FunctionError, error) {
	return nil, &stepfunctions.FunctionError{
		Type: "Lambda.ResourceNotFoundException", Message: "Function not found: " + arn,
	}, nil
}
