package sweep

import (
	"context"
	"errors"
	"sync"
)

// Counted is a sweep with a name, which counts its work.
type Counted struct {
	Name string
	run  func(context.Context) (counts any, some bool, err error)
}

// Counting names a sweep. The zero C is that it did nothing.
func Counting[C comparable](name string, do func(context.Context) (C, error)) Counted {
	return Counted{name, func(ctx context.Context) (any, bool, error) {
		var counts, none C
		err := Guard(func() (err error) { counts, err = do(ctx); return err })
		return counts, counts != none, err
	}}
}

// All runs sweeps side by side, each to its end although another fails or panics. It returns the counts of each by its name,
// whether any sweep did something, and the errors of all.
func All(ctx context.Context, list []Counted) (counts map[string]any, some bool, err error) {
	counts = make(map[string]any, len(list))
	var mu sync.Mutex
	var errs []error
	var sweeps sync.WaitGroup
	for _, s := range list {
		sweeps.Go(func() {
			made, did, problem := s.run(ctx)
			mu.Lock()
			defer mu.Unlock()
			counts[s.Name], some, errs = made, some || did, append(errs, problem)
		})
	}
	sweeps.Wait()
	return counts, some, errors.Join(errs...)
}
