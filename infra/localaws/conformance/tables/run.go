package tables

import (
	"context"
	"fmt"
	"localaws/conformance/outcome"
	"sync"
)

// abreast is the number of concurrent checks against one subject.
const abreast = 6

// Run runs every check against every subject, the subjects concurrently. It is an outcome.Run.
func Run(ctx context.Context, subjects ...outcome.Subject) ([]outcome.Outcome, error) {
	checks := Checks()
	out := make([]outcome.Outcome, len(checks))
	for i, c := range checks {
		out[i] = outcome.Outcome{Area: c.Area, Name: c.Area + "/" + c.Name, Failed: map[string]string{}, Skipped: map[string]string{}}
	}
	var mu sync.Mutex // protects the maps
	var all sync.WaitGroup
	failed := make([]error, len(subjects))
	for n, subject := range subjects {
		all.Go(func() {
			env, err := Open(ctx, subject.URL, nil)
			if err != nil {
				failed[n] = fmt.Errorf("%s: tables for the checks: %w", subject.Name, err)
				return
			}
			next := make(chan int)
			var workers sync.WaitGroup
			for range abreast {
				workers.Go(func() {
					for i := range next {
						if err := checks[i].Run(ctx, env); err != nil {
							mu.Lock()
							out[i].Failed[subject.Name] = err.Error()
							mu.Unlock()
						}
					}
				})
			}
			for i := range checks {
				next <- i
			}
			close(next)
			workers.Wait()
		})
	}
	all.Wait()
	for _, err := range failed {
		if err != nil {
			return nil, err
		}
	}
	return out, ctx.Err()
}
