// Package parallel runs several reads at once.
package parallel

import (
	"errors"
	"sync"
)

// Do runs the functions at once, waits for all of them, and returns their
// errors, joined.
func Do(functions ...func() error) error {
	errs := make([]error, len(functions))
	var wg sync.WaitGroup
	for i, f := range functions {
		wg.Go(func() { errs[i] = f() })
	}
	wg.Wait()
	return errors.Join(errs...)
}
