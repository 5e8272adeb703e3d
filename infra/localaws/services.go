package localaws

import (
	"context"
	"errors"
	"localaws/disk"
	"localaws/dynamodb"
	"localaws/secretsmanager"
	"localaws/stepfunctions"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"
)

const (
	// GCPercent is the garbage collector's pace that suits one process of this kind, of
	// which the memory is small and the time is waited for.
	GCPercent = 400

	secretsTarget = "secretsmanager." // what X-Amz-Target begins with

	region = "us-east-1" // that every service is in

	// lambdaConcurrency is how many functions an account of Lambda runs at once unless
	// it asked for more. What waits for a place here runs into its time-out.
	lambdaConcurrency = 1000
)

// Options are what Services are opened with. The zero value of each field is usable.
type Options struct {
	Now     func() time.Time      // nil: time.Now
	Invoke  stepfunctions.Invoker // of the functions of tasks; nil: there are none
	Log     *slog.Logger          // nil: nothing is logged
	Secrets string                // the file of the secrets; empty: they are not served
	Given   map[string]string     // secrets that this process is given, by ARN, and that nobody may change
	// Changed is called with each change of an execution's status, as EventBridge sends it,
	// and again until it returns nil. Nil: nothing is called.
	Changed func(context.Context, stepfunctions.Event) error
}

// Services are DynamoDB, Step Functions and Secrets Manager over one data file.
type Services struct {
	Tables   *dynamodb.Engine
	Machines *stepfunctions.Engine
	Secrets  *secretsmanager.Engine // nil: not served

	halted  sync.Once
	haltErr error
}

// Open opens the services over a data file, which stays its caller's to close, after the
// services. Executions go on once Machines.Start is called.
func Open(store *disk.Store, o Options) (*Services, error) {
	o = o.withDefaults()
	tables, err := dynamodb.Open(store, dynamodb.WithClock(o.Now))
	if err != nil {
		return nil, err
	}
	s := &Services{Tables: tables}
	machines := []stepfunctions.Option{stepfunctions.WithLogger(o.Log), stepfunctions.WithStatusChange(o.Changed)}
	if _, remote := o.Invoke.(*Functions); remote {
		machines = append(machines, stepfunctions.WithConcurrency(lambdaConcurrency))
	}
	if s.Machines, err = stepfunctions.Open(store, o.Invoke, machines...); err != nil {
		return nil, err
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

// Halt stops the executions. They go on at the next start. The tables are still served.
func (s *Services) Halt() error {
	s.halted.Do(func() { s.haltErr = s.Machines.Close() })
	return s.haltErr
}

// ServeHTTP serves the wire protocols of JSON, which X-Amz-Target tells apart. Nobody's
// signature is checked.
func (s *Services) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch target := r.Header.Get("X-Amz-Target"); {
	case strings.HasPrefix(target, "AWSStepFunctions."):
		s.Machines.ServeHTTP(w, r)
	case strings.HasPrefix(target, secretsTarget) && s.Secrets != nil:
		s.Secrets.ServeHTTP(w, r)
	case strings.HasPrefix(target, secretsTarget):
		denySecrets(w)
	default:
		s.Tables.ServeHTTP(w, r)
	}
}

// noFunctions is the invoker where there is nothing to invoke.
type noFunctions struct{}

func (noFunctions) Invoke(_ context.Context, arn string, _ []byte) ([]byte, *stepfunctions.FunctionError, error) {
	return nil, &stepfunctions.FunctionError{
		Type: "Lambda.ResourceNotFoundException", Message: "Function not found: " + arn,
	}, nil
}
