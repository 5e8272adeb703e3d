// Command crash kills the one-process deployment at every moment at which something
// could be lost, and checks that nothing was:
//
//	go run ./infra/crash [-rounds 200] [-scenario NAME] [-point TEXT] [-j 8] [-few] [-write docs/crash-matrix.md]
//
// It builds infra/local with the tag failpoints. Each scenario is run undisturbed
// first, to learn the moments that it passes; then once for each of them in a data
// folder of its own, in which the process kills itself there with SIGKILL; then
// -rounds times with kills at random. Whoever drives a scenario does what a client
// does: an unanswered request is sent again under its key, or the state is read first.
//
// It exits with 1 when a round failed; the folder of that round is kept.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// options are the flags.
type options struct {
	rounds          int
	scenario, point string
	atOnce          int
	few             bool
	seed            uint64
	write, folder   string
}

func main() {
	var o options
	flag.IntVar(&o.rounds, "rounds", 200, "how often the process is killed at random moments")
	flag.StringVar(&o.scenario, "scenario", "", "only these, by name, with commas")
	flag.StringVar(&o.point, "point", "", "only moments with this in their name")
	flag.IntVar(&o.atOnce, "j", 8, "rounds at once")
	flag.BoolVar(&o.few, "few", false, "each moment in two scenarios, not every time it passes")
	flag.Uint64Var(&o.seed, "seed", rand.Uint64(), "of the random moments")
	flag.StringVar(&o.write, "write", "", "file for the table")
	flag.StringVar(&o.folder, "folder", "", "where the folders of rounds that failed stay; a temporary one when empty")
	flag.Parse()
	root, err := os.Getwd()
	if err == nil {
		_, err = crash(root, o, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "crash:", err)
		os.Exit(1)
	}
}

// crash runs what o says and writes the table to out. It fails when a round did.
func crash(root string, o options, out io.Writer) (*matrix, error) {
	m := &matrix{}
	for _, sc := range scenarios {
		if o.scenario == "" || slices.Contains(strings.Split(o.scenario, ","), sc.name) {
			m.scenarios = append(m.scenarios, sc)
		}
	}
	if len(m.scenarios) == 0 {
		return m, fmt.Errorf("there is no scenario %s", o.scenario)
	}
	if o.folder == "" {
		folder, err := os.MkdirTemp("", "piloto-crash-")
		if err != nil {
			return m, err
		}
		o.folder = folder
	}
	h, err := newHarness(root, o.folder, m.scenarios)
	if err != nil {
		return m, err
	}
	defer h.close()
	places := make([]place, max(1, o.atOnce))
	for i := range places {
		if places[i], err = newPlace(); err != nil {
			return m, err
		}
	}
	if err := h.learn(m, places); err != nil {
		return m, err
	}
	return m, h.storm(m, o, places, out)
}

// slowPlaces is how many slow rounds go on at once, beside the others: they wait.
const slowPlaces = 16

// both runs the slow rounds beside the others.
func (h *harness) both(m *matrix, rounds []round, places []place, told func(result)) error {
	var slow, others []round
	for _, r := range rounds {
		if r.sc.slow {
			slow = append(slow, r)
		} else {
			others = append(others, r)
		}
	}
	waiting := make([]place, min(slowPlaces, len(slow)))
	for i := range waiting {
		var err error
		if waiting[i], err = newPlace(); err != nil {
			return err
		}
	}
	var late []result
	var wg sync.WaitGroup
	wg.Go(func() { late = h.all(slow, waiting, told) })
	m.results = h.all(others, places, told)
	wg.Wait()
	m.results = append(m.results, late...)
	return nil
}

// storm runs all rounds in which something is killed.
func (h *harness) storm(m *matrix, o options, places []place, out io.Writer) error {
	rounds := append(m.kills(o.point, o.few), m.moments(o.rounds, o.seed)...)
	_, _ = fmt.Fprintf(out, "%d rounds, -seed %d\n", len(rounds), o.seed)
	began, done := time.Now(), 0
	var failures []error
	var mu sync.Mutex
	told := func(r result) {
		mu.Lock()
		defer mu.Unlock()
		if done++; done%100 == 0 {
			_, _ = fmt.Fprintf(out, "%d rounds, %s\n", done, time.Since(began).Round(time.Second))
		}
		if r.err != nil {
			failures = append(failures, r.err)
			_, _ = fmt.Fprintln(out, r.err)
		}
	}
	if err := h.both(m, rounds, places, told); err != nil {
		return err
	}
	table := m.table(len(failures))
	if o.write != "" {
		if err := os.WriteFile(o.write, []byte(table), 0o600); err != nil {
			return err
		}
	} else {
		_, _ = io.WriteString(out, table)
	}
	if h.service.unkeyed > 0 {
		failures = append(failures, fmt.Errorf("%d unsafe requests had no Idempotency-Key", h.service.unkeyed))
	}
	if len(failures) == 0 {
		return os.RemoveAll(o.folder)
	}
	return fmt.Errorf("%d of %d rounds failed:\n%w", len(failures), len(rounds), errors.Join(failures...))
}
