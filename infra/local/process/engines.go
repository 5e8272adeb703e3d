package process

import (
	"context"
	"errors"
	"localaws"
	"localaws/disk"
	"localaws/stepfunctions"
	"log/slog"
	"path/filepath"
	"time"
)

// engines are the embedded services over one data folder.
type engines struct {
	*localaws.Services
	store   *disk.Store
	control *control
}

const (
	dataFile    = "piloto.db"
	secretsFile = "secrets.json" // under the lock of the data file
)

// openEngines opens the data folder. Another process that has it is named. given
// is what the deployment's secret holds; empty: there is none.
func openEngines(folder string, now func() time.Time, invoke stepfunctions.Invoker, log *slog.Logger, changed func(context.Context, stepfunctions.Event) error, given string) (*engines, error) {
	if err := disk.OwnFolder(folder, dataFile); err != nil {
		return nil, err
	}
	store, err := openStore(folder, log)
	if err != nil {
		return nil, err // it names who holds the folder, or what is wrong with it
	}
	e := &engines{store: store}
	o := localaws.Options{Now: now, Invoke: invoke, Log: log, Changed: changed, Secrets: filepath.Join(folder, secretsFile)}
	if given != "" {
		o.Given = map[string]string{platformSecretARN: given}
	}
	if e.Services, err = localaws.Open(store, o); err != nil {
		return nil, errors.Join(err, e.close())
	}
	if e.control, err = openControl(folder, e, log); err != nil {
		return nil, errors.Join(err, e.close())
	}
	return e, nil
}

func (e *engines) close() error {
	var errs []error
	if e.Services != nil {
		errs = append(errs, e.Halt())
	}
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
