package httpapi

import (
	"sync"
	"testing"
)

// TestRoutesAreBoundConcurrently: the first requests of several routes arrive at once.
func TestRoutesAreBoundConcurrently(t *testing.T) {
	all := newAPI(Config{})
	all.records(nil, nil)
	all.ai(AIServices{})
	all.registry(nil)
	var ready, done sync.WaitGroup
	ready.Add(1)
	for _, to := range all.router.routes {
		for range 2 {
			done.Go(func() {
				ready.Wait()
				if to.bound().serve == nil {
					t.Errorf("%s %s has no handler", to.method, to.pattern)
				}
			})
		}
	}
	ready.Done()
	done.Wait()
}
