package process

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"piloto/infra/local/disk"
	"piloto/infra/local/dynamodb"
	"piloto/infra/local/secretsmanager"
	"piloto/infra/local/stepfunctions"
)

// engines are the embedded services over one data folder.
type engines struct {
	store    *disk.Store
	dynamo   *dynamodb.Engine
	machines *stepfunctions.Engine
	secrets  *secretsmanager.Engine
	control  *control

	halted  sync.Once
	haltErr error
}

const (
	dataFile    = "piloto.db"
	secretsFile = "secrets.json" // under the lock of the data file

	secretsTarget = "secretsmanager." // what X-Amz-Target begins with

	// lambdaConcurrency is how many functions an account of Lambda runs at once unless
	// it asked for more. What waits for a place here runs into its time-out.
	lambdaConcurrency = 1000
)

// ownFolder makes a data folder. One that is there is refused when others may change what is
// in it, or read its data file.
func ownFolder(folder string) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	if err := disk.Owned(folder); err != nil {
		return err
	}
	data, err := filepath.EvalSymlinks(filepath.Join(folder, dataFile))
	if err == nil {
		err = disk.Private(data)
	}
	if errors.Is(err, fs.ErrNotExist) { // it is made by the first start
		return nil
	}
	return err
}

// openEngines opens the data folder. Another process that has it is named. given
// is what the deployment's secret holds; empty: there is none.
func openEngines(folder string, now func() time.Time, invoke stepfunctions.Invoker, log *slog.Logger, changed func(context.Context, stepfunctions.Event) error, given string) (*engines, error) {
	if err := ownFolder(folder); err != nil {
		return nil, err
	}
	store, err := openStore(folder, log)
	if err != nil {
		return nil, err // it names who holds the folder, or what is wrong with it
	}
	e := &engines{store: store}
	if e.dynamo, err = dynamodb.Open(store, dynamodb.WithClock(now)); err != nil {
		return nil, errors.Join(err, e.close())
	}
	machines := []stepfunctions.Option{stepfunctions.WithLogger(log), stepfunctions.WithStatusChange(changed)}
	if _, remote := invoke.(*remoteFunctions); remote {
		machines = append(machines, stepfunctions.WithConcurrency(lambdaConcurrency))
	}
	if e.machines, err = stepfunctions.Open(store, invoke, machines...); err != nil {
		return nil, errors.Join(err, e.close())
	}
	options := []secretsmanager.Option{secretsmanager.WithClock(now), secretsmanager.WithLogger(log)}
	if given != "" {
		options = append(options, secretsmanager.WithGiven(platformSecretARN, given))
	}
	if e.secrets, err = secretsmanager.Open(filepath.Join(folder, secretsFile), options...); err != nil {
		return nil, errors.Join(err, e.close())
	}
	if e.control, err = openControl(folder, e, log); err != nil {
		return nil, errors.Join(err, e.close())
	}
	return e, nil
}

// halt ends the state machines' engine; the tables are still there.
func (e *engines) halt() {
	e.halted.Do(func() {
		if e.machines != nil {
			e.haltErr = e.machines.Close()
		}
	})
}

func (e *engines) close() error {
	e.halt()
	errs := []error{e.haltErr}
	if e.control != nil { // its readers keep the store open
		errs = append(errs, e.control.close())
	}
	errs = append(errs, e.store.Close())
	return errors.Join(errs...)
}

// stopWhenFailed calls stop when the data file takes nothing any more: what goes on
// without it would be lost.
func (e *engines) stopWhenFailed(ctx context.Context, stop func()) {
	go func() {
		select {
		case <-e.store.Failed():
			stop()
		case <-ctx.Done():
		}
	}()
}

// onLoopback serves requests that were meant for this machine. A page of the web
// whose name was made to lead here names itself in Host.
func onLoopback(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host
		}
		if ip := net.ParseIP(strings.Trim(host, "[]")); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			http.Error(w, "the engines answer this machine only", http.StatusForbidden)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// ServeHTTP serves the wire protocols, told apart by X-Amz-Target.
func (e *engines) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch target := r.Header.Get("X-Amz-Target"); {
	case strings.HasPrefix(target, "AWSStepFunctions."):
		e.machines.ServeHTTP(w, r)
	case strings.HasPrefix(target, secretsTarget):
		e.secrets.ServeHTTP(w, r)
	default:
		e.dynamo.ServeHTTP(w, r)
	}
}

// noFunctions is the invoker of engines alone: there is nothing to invoke.
type noFunctions struct{}

func (noFunctions) Invoke(_ context.Context, arn string, _ []byte) ([]byte, *stepfunctions.FunctionError, error) {
	return nil, &stepfunctions.FunctionError{
		Type: "Lambda.ResourceNotFoundException", Message: "Function not found: " + arn,
	}, nil
}
