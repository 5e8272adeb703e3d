package main

import (
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"time"
)

// pause lets the effects of an operation end before the next one is timed.
const pause = 3 * time.Millisecond

// latencies runs the subjects alternately, one operation at a time, until the budget is used. It returns the
// durations of the operations of each subject.
func latencies(subjects []subject, budget time.Duration) ([][]time.Duration, error) {
	took := make([][]time.Duration, len(subjects))
	const least = 3
	for began := time.Now(); time.Since(began) < budget || len(took[0]) < least; {
		for i, s := range subjects {
			if err := s.prepare(1); err != nil {
				return nil, err
			}
			time.Sleep(pause)
			from := time.Now()
			if err := s.operate(); err != nil {
				return nil, err
			}
			took[i] = append(took[i], time.Since(from))
		}
	}
	return took, nil
}

// quantile returns the smallest measured value that at least a share q of the values does not exceed.
func quantile(took []time.Duration, q float64) time.Duration {
	if len(took) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(took))
	return sorted[max(0, int(math.Ceil(q*float64(len(sorted))))-1)]
}

// flow is a number of operations, their duration and their cost.
type flow struct {
	operations int
	elapsed    time.Duration
	cpu        time.Duration // of the whole process
}

func (f flow) perSecond() float64 { return float64(f.operations) / f.elapsed.Seconds() }

func (f flow) cpuEach() time.Duration { return f.cpu / time.Duration(max(1, f.operations)) }

func (f *flow) add(g flow) {
	f.operations += g.operations
	f.elapsed += g.elapsed
	f.cpu += g.cpu
}

// throughputs runs the subjects with a number of clients, slice by slice. The first subject gets a number of
// operations that takes about one slice; the others run for the time that it took.
func throughputs(subjects []subject, clients int, slice time.Duration, rounds int) ([]flow, error) {
	total := make([]flow, len(subjects))
	n := clients
	began, budget := time.Now(), time.Duration(rounds*len(subjects))*slice
	for round := range rounds {
		if round > 0 && time.Since(began) > budget { // a slow machine: the rounds so far must do
			break
		}
		first, err := burst(subjects[0], clients, n)
		if err != nil {
			return nil, err
		}
		total[0].add(first)
		for i, s := range subjects[1:] {
			f, err := stream(s, clients, first.elapsed)
			if err != nil {
				return nil, err
			}
			total[i+1].add(f)
		}
		n = max(clients, int(first.perSecond()*slice.Seconds()))
	}
	return total, nil
}

// burst runs n operations.
func burst(s subject, clients, n int) (flow, error) {
	if err := s.prepare(n); err != nil {
		return flow{}, err
	}
	time.Sleep(10 * pause)
	return meter(func() (int, error) { return n, runParallel(clients, n, s.operate) })
}

// stream runs all operations that begin within a time.
func stream(s subject, clients int, limit time.Duration) (flow, error) {
	time.Sleep(10 * pause)
	return meter(func() (int, error) {
		var done atomic.Int64
		began := time.Now()
		err := runParallel(clients, clients, func() error {
			for time.Since(began) < limit {
				if err := s.operate(); err != nil {
					return err
				}
				done.Add(1)
			}
			return nil
		})
		return int(done.Load()), err
	})
}

func meter(f func() (int, error)) (flow, error) {
	cpu, from := cpuTime(), time.Now()
	n, err := f()
	return flow{n, time.Since(from), cpuTime() - cpu}, err
}

// writesOf counts the commits of the system for one operation when it is alone.
func writesOf(sys *system, s subject, n int) (float64, error) {
	sum := 0
	for range n {
		if err := s.prepare(1); err != nil {
			return 0, err
		}
		time.Sleep(10 * pause)
		before, err := sys.commits()
		if err != nil {
			return 0, err
		}
		if err := s.operate(); err != nil {
			return 0, err
		}
		time.Sleep(10 * pause) // the engine still closes the execution
		after, err := sys.commits()
		if err != nil {
			return 0, err
		}
		sum += after - before
	}
	if sum <= 0 {
		return 0, fmt.Errorf("the log saw %d commits", sum)
	}
	return float64(sum) / float64(n), nil
}
