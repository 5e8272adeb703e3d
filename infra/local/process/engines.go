package process

import (
	"context"
	"errors"
	"localaws"
	"localaws/disk"
	"path/filepath"
)

// engines holds the embedded services over one data folder.
type engines struct {
	*localaws.Services
	store   *disk.Store
	control *control
}

// DataFile is the name of the file with all rows of a data folder.
const DataFile = dataFile

const (
	dataFile      = "piloto.db"
	secretsFile   = "secrets.json" // under the lock of the data file
	objectsFolder = "objects"      // as well
)

// openEngines opens the data folder. Its error names the process that holds the folder. given is
// the value of the deployment's secret; empty: there is no secret.
func openEngines(folder string, o localaws.Options, given string) (*engines, error) {
	if err := disk.OwnFolder(folder, dataFile); err != nil {
		return nil, err
	}
	store, err := openStore(folder, o.Log)
	if err != nil {
		return nil, err // the error names the process that holds the folder, or the damage
	}
	e := &engines{store: store}
	o.Secrets, o.Objects = filepath.Join(folder, secretsFile), filepath.Join(folder, objectsFolder)
	if given != "" {
		o.Given = map[string]string{platformSecretARN: given}
	}
	if e.Services, err = localaws.Open(store, o); err != nil {
		return nil, errors.Join(err, e.close())
	}
	if e.control, err = openControl(folder, e, o.Log); err != nil {
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

// stopWhenFailed calls stop when the data file accepts no more writes, because later work would be
// lost.
func (e *engines) stopWhenFailed(ctx context.Context, stop func()) {
	go func() {
		select {
		case <-e.store.Failed():
			stop()
		case <-ctx.Done():
		}
	}()
}
