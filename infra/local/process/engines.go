package process

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"piloto/infra/local/disk"
	"piloto/infra/local/dynamodb"
	"piloto/infra/local/stepfunctions"
)

// engines are the two embedded services over one data file.
type engines struct {
	folder   string
	store    *disk.Store
	dynamo   *dynamodb.Engine
	machines *stepfunctions.Engine

	halted  sync.Once
	haltErr error
}

const dataFile = "piloto.db"

// openEngines opens the data folder. Another process that has it is named.
func openEngines(folder, holder string, invoke stepfunctions.Invoker, log *slog.Logger, changed func(context.Context, stepfunctions.Event) error) (*engines, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	store, err := disk.Open(filepath.Join(folder, dataFile))
	if errors.Is(err, disk.ErrHeld) {
		return nil, fmt.Errorf("the data folder %s is in use by %s; stop it first, or choose another with -data", folder, heldBy(folder))
	}
	if err != nil {
		return nil, fmt.Errorf("the data folder %s cannot be used: %w", folder, err)
	}
	e := &engines{folder: folder, store: store}
	if err := os.WriteFile(holderFile(folder), fmt.Appendf(nil, "process %d on %s", os.Getpid(), holder), 0o600); err != nil {
		return nil, errors.Join(err, e.close())
	}
	if e.dynamo, err = dynamodb.Open(store); err != nil {
		return nil, errors.Join(err, e.close())
	}
	e.machines, err = stepfunctions.Open(store, invoke, stepfunctions.WithLogger(log), stepfunctions.WithStatusChange(changed))
	if err != nil {
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
	if err := os.Remove(holderFile(e.folder)); !errors.Is(err, fs.ErrNotExist) {
		errs = append(errs, err)
	}
	errs = append(errs, e.store.Close())
	return errors.Join(errs...)
}

func holderFile(folder string) string { return filepath.Join(folder, "holder") }

func heldBy(folder string) string {
	text, err := os.ReadFile(holderFile(folder))
	if err != nil || len(text) == 0 {
		return "another process"
	}
	return string(text)
}

// ServeHTTP serves both wire protocols, told apart by X-Amz-Target.
func (e *engines) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.Header.Get("X-Amz-Target"), "AWSStepFunctions.") {
		e.machines.ServeHTTP(w, r)
		return
	}
	e.dynamo.ServeHTTP(w, r)
}

// noFunctions is the invoker of engines alone: there is nothing to invoke.
type noFunctions struct{}

func (noFunctions) Invoke(_ context.Context, arn string, _ []byte) ([]byte, *stepfunctions.FunctionError, error) {
	return nil, &stepfunctions.FunctionError{
		Type: "Lambda.ResourceNotFoundException", Message: "Function not found: " + arn,
	}, nil
}
