package httpapi

import (
	"sync"
	"testing"
)

// TestRoutesAreBoundConcurrently: the first requests of several routes arrive at once.
func TestRoutesAreBoundConcurrently(t *testing.T) {
	all := newAPI(Config{})
	all.records(Stores{}, nil, nil)
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

// TestServedRouteMakesTheSchemasOfItsRequestAlone, and none of its answer: a first request waits for them.
func TestServedRouteMakesTheSchemasOfItsRequestAlone(t *testing.T) {
	all := newAPI(Config{})
	all.chat(nil)
	all.confirm(nil)
	all.drafts(runHandler{})
	all.ai(AIServices{})
	all.registry(nil)
	all.rules()
	all.companies(nil)
	all.records(Stores{}, nil, nil)
	all.memory(nil)
	all.files(nil, nil)
	got := map[string]int{}
	for _, to := range all.router.routes {
		b := to.bound()
		if !b.body && b.schemas != 0 {
			t.Errorf("%s %s reads no body, and made %d schemas", to.method, to.pattern, b.schemas)
		}
		got[to.method+" "+to.pattern] = b.schemas
	}
	for route, want := range map[string]int{"POST /operator/chat": 1, "POST /api/runs/{id}/confirm": 1, "PATCH /api/runs/{id}/plan": 5} {
		if got[route] != want {
			t.Errorf("%s made %d schemas, want %d", route, got[route], want)
		}
	}
}
