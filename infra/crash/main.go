// Command crash kills the one-process deployment at every failpoint at which data could be lost, and
// checks that none is lost:
//
//	go run ./infra/crash [-rounds 200] [-scenario NAME] [-point TEXT] [-j 8] [-few] [-lambda process] [-update]
//
// It builds cmd/piloto with the tag failpoints, and with -lambda process also the functions, which then run as
// the executables that deploy. A failpoint in a function then ends the environment of that function alone, as a
// crash does on AWS, and the engines go on. Each scenario first runs undisturbed, which
// records the failpoints that it passes. Then it runs once for each of these failpoints, in a data folder
// of its own, and the process kills itself there with SIGKILL. Then -rounds rounds follow with
// kills at random times. The driver of a scenario acts as a client does: it repeats a request
// without a response under the same key, or reads the state first.
//
// With -update it writes its table to infra/crash/matrix.md, and with -lambda process to infra/crash/matrix-functions.md,
// in place of printing it. Tests fail when these are of other scenarios or lack a failpoint.
//
// The exit code is 1 when a round failed; the folder of that round is kept.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"piloto/infra/local/process"
)

// options holds the values of the flags.
type options struct {
	rounds          int
	scenario, point string
	atOnce          int
	few             bool
	lambda          string // how functions run, as piloto up has it
	seed            uint64
	update          bool // write the file of the mode
	folder          string
}

func main() {
	var o options
	flag.IntVar(&o.rounds, "rounds", 200, "how often the process is killed at random times")
	flag.StringVar(&o.scenario, "scenario", "", "only these, by name, with commas")
	flag.StringVar(&o.point, "point", "", "only failpoints with this in their name")
	flag.IntVar(&o.atOnce, "j", 8, "rounds at once")
	flag.BoolVar(&o.few, "few", false, "each failpoint in two scenarios, not every time it passes")
	flag.StringVar(&o.lambda, "lambda", process.InProcess, "how functions run: inprocess, or process: as the executables that deploy")
	flag.Uint64Var(&o.seed, "seed", rand.Uint64(), "of the random times")
	flag.BoolVar(&o.update, "update", false, "write the table to matrix.md, or to matrix-functions.md with -lambda process")
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

// crash runs the rounds that o selects and writes the table to out. It returns an error when a
// round failed.
func crash(root string, o options, out io.Writer) (*matrix, error) {
	m := &matrix{lambda: o.lambda}
	for _, sc := range scenarios {
		if o.scenario == "" || slices.Contains(strings.Split(o.scenario, ","), sc.name) {
			m.scenarios = append(m.scenarios, sc)
		}
	}
	if len(m.scenarios) == 0 {
		return m, fmt.Errorf("there is no scenario %s", o.scenario)
	}
	if o.update && (o.scenario != "" || o.point != "") {
		return m, errors.New("-update writes the whole matrix: leave -scenario and -point out")
	}
	if o.folder == "" {
		folder, err := os.MkdirTemp("", "piloto-crash-")
		if err != nil {
			return m, err
		}
		o.folder = folder
	}
	h, err := newHarness(root, o.folder, o.lambda, m.scenarios)
	if err != nil {
		return m, err
	}
	defer h.close()
	slots := make([]slot, max(1, o.atOnce))
	for i := range slots {
		if slots[i], err = newSlot(); err != nil {
			return m, err
		}
	}
	if err := h.recordFailpoints(m, slots); err != nil {
		return m, err
	}
	return m, h.runKills(m, root, o, slots, out)
}

// slowSlots is the number of slow rounds that run at once, beside the others, because they mostly
// wait.
const slowSlots = 16

// runAll runs the slow rounds concurrently with the others.
func (h *harness) runAll(m *matrix, rounds []round, slots []slot, notify func(result)) error {
	var slow, others []round
	for _, r := range rounds {
		if r.sc.slow {
			slow = append(slow, r)
		} else {
			others = append(others, r)
		}
	}
	waiting := make([]slot, min(slowSlots, len(slow)))
	for i := range waiting {
		var err error
		if waiting[i], err = newSlot(); err != nil {
			return err
		}
	}
	var late []result
	var wg sync.WaitGroup
	wg.Go(func() { late = h.runRounds(slow, waiting, notify) })
	m.results = h.runRounds(others, slots, notify)
	wg.Wait()
	m.results = append(m.results, late...)
	return nil
}

// runKills runs all rounds in which a process is killed.
func (h *harness) runKills(m *matrix, root string, o options, slots []slot, out io.Writer) error {
	rounds := append(m.pointKills(o.point, o.few), m.randomKills(o.rounds, o.seed)...)
	_, _ = fmt.Fprintf(out, "%d rounds, -seed %d\n", len(rounds), o.seed)
	began, done := time.Now(), 0
	var failures []error
	var mu sync.Mutex
	notify := func(r result) {
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
	if err := h.runAll(m, rounds, slots, notify); err != nil {
		return err
	}
	table := m.table(len(failures))
	if o.update {
		if err := os.WriteFile(filepath.Join(root, m.file()), []byte(table), 0o600); err != nil {
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
