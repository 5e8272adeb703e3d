package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// event is a line of `go test -json` (go doc test2json), or of `go build -json` when Action begins with "build-".
type event struct {
	Time                                time.Time
	Action, Package, Test, Output       string
	ImportPath, OutputType, FailedBuild string
	Elapsed                             float64 // seconds
}

// test names a test, or all of a package when the name is empty.
type test struct{ pkg, name string }

func (t test) String() string { return strings.TrimSpace(short(t.pkg) + " " + t.name) }

func (t test) compare(o test) int { return strings.Compare(t.String(), o.String()) }

// short returns a package without the module's name, which all of them have.
func short(pkg string) string { return strings.TrimPrefix(pkg, "piloto/") }

// took is how many seconds a test took.
type took struct {
	test
	seconds float64
}

// silence is how long nothing may be printed while tests run: with the second between two looks, 20 s.
const silence = 19 * time.Second

// A teller prints events for a person. Its methods may be called at the same time.
type teller struct {
	mu       sync.Mutex
	out      io.Writer
	began    time.Time
	printed  time.Time
	running  map[test]time.Time
	said     map[test]*strings.Builder // the output of tests and packages that have not passed
	builds   map[string]*strings.Builder
	failures []test
	skips    map[string]int // by reason
	times    []took
	packages int
	counts   map[string]int // of tests, by the action that ended them
	broken   []error        // of each `go test` that failed
}

func newTeller(out io.Writer, began time.Time) *teller {
	return &teller{
		out: out, began: began, printed: began, running: map[test]time.Time{}, said: map[test]*strings.Builder{},
		builds: map[string]*strings.Builder{}, skips: map[string]int{}, counts: map[string]int{},
	}
}

// read reads events until there are no more. A line that is no event is printed.
func (t *teller) read(events io.Reader) {
	in := bufio.NewReader(events)
	for {
		line, err := in.ReadBytes('\n')
		var e event
		if len(line) > 0 {
			t.mu.Lock()
			if json.Unmarshal(line, &e) == nil && e.Action != "" {
				t.take(e)
			} else {
				t.printf("%s", line)
			}
			t.mu.Unlock()
		}
		if err != nil {
			return
		}
	}
}

func (t *teller) take(e event) {
	key := test{e.Package, e.Test}
	switch e.Action {
	case "build-output":
		written(t.builds, e.ImportPath).WriteString(e.Output)
	case "start", "run", "cont":
		t.running[key] = e.Time
	case "pause":
		delete(t.running, key)
	case "output":
		written(t.said, key).WriteString(e.Output)
	case "pass", "skip", "fail":
		delete(t.running, key)
		t.end(key, e)
	}
}

// end notes the end of a test or of a package.
func (t *teller) end(key test, e event) {
	said := written(t.said, key).String()
	if key.name != "" {
		t.counts[e.Action]++
		t.times = append(t.times, took{key, e.Elapsed})
	}
	switch {
	case e.Action == "fail":
		t.failures = append(t.failures, key)
		t.printf("FAIL  %s  %.1f s\n", key, e.Elapsed)
		if build := t.builds[e.FailedBuild]; build != nil {
			written(t.said, key).WriteString(build.String())
		}
		return // its output is printed at the end
	case key.name == "" && e.Action == "pass":
		t.packages++
		cached := ""
		if strings.Contains(said, "(cached)") {
			cached = "  (as before: nothing that it reads has changed)"
		}
		t.printf("ok    %s  %.1f s%s\n", key, e.Elapsed, cached)
	case key.name != "" && e.Action == "skip":
		t.skips[reason(said)]++
	}
	delete(t.said, key)
}

var place = regexp.MustCompile(`^\s+\S+_test\.go:\d+: `)

// reason returns the reason in the output of a test that was skipped.
func reason(said string) string {
	for line := range strings.Lines(said) {
		if at := place.FindString(line); at != "" {
			return strings.TrimSpace(line[len(at):])
		}
	}
	return "no reason given"
}

// beat prints the running tests, if nothing was printed for a while.
func (t *teller) beat(now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now.Sub(t.printed) < silence {
		return
	}
	var longest []took
	for key, since := range t.running {
		if key.name != "" || !t.runsWithin(key.pkg) { // a package without a test that runs is before or after them
			longest = append(longest, took{key, now.Sub(since).Seconds()})
		}
	}
	slices.SortFunc(longest, func(a, b took) int { return cmp.Compare(b.seconds, a.seconds) })
	what := "compiling"
	if len(longest) > 0 {
		var names []string
		for _, l := range longest[:min(3, len(longest))] {
			names = append(names, fmt.Sprintf("%s (%.0f s)", l.test, l.seconds))
		}
		what = strings.Join(names, ", ")
	}
	t.printf("…     %s: %d packages have passed; now %s\n", now.Sub(t.began).Round(time.Second), t.packages, what)
}

// ended notes the end of a `go test`.
func (t *teller) ended(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil {
		t.broken = append(t.broken, err)
	}
}

// close prints the summary, the failures first, and returns the failed tests.
func (t *teller) close(now time.Time, processor time.Duration) []test {
	t.mu.Lock()
	defer t.mu.Unlock()
	failing := t.failing()
	for _, key := range failing {
		what := "FAIL"
		if _, runs := t.running[key]; runs {
			what = "did not end"
		}
		t.printf("\n--- %s: %s\n%s", what, key, written(t.said, key))
	}
	if len(failing) == 0 && len(t.broken) > 0 {
		failing = []test{{pkg: "go test"}}
		t.printf("\n--- FAIL: go test: %v\n", errors.Join(t.broken...))
	}
	t.table("Skipped", t.skips)
	slices.SortStableFunc(t.times, func(a, b took) int { return cmp.Compare(b.seconds, a.seconds) })
	t.printf("\nThe slowest:\n")
	for _, slow := range t.times[:min(10, len(t.times))] {
		t.printf("%5.1f s  %s\n", slow.seconds, slow.test)
	}
	if len(failing) > 0 {
		t.printf("\nFailed:\n")
	}
	for _, key := range failing {
		t.printf("  %s\n", key)
	}
	t.printf("\n%d packages in %s, %s of processor time\n", t.packages, now.Sub(t.began).Round(time.Second), processor.Round(time.Second))
	if t.counts["pass"]+len(failing)+t.counts["skip"] == 0 {
		t.printf("no test ran: does -run name one?\n")
	}
	t.printf("%d passed, %d failed, %d skipped\n", t.counts["pass"], len(failing), t.counts["skip"])
	return failing
}

// failing returns the tests that failed or did not end, without those of which a part did, and the packages that failed
// outside of their tests: they did not compile, or died.
func (t *teller) failing() []test {
	all := slices.Clone(t.failures)
	for key := range t.running { // its process died, or was ended
		if len(t.broken) > 0 && key.name != "" {
			all = append(all, key)
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(whole test) bool {
		return slices.ContainsFunc(all, func(part test) bool { return part.isWithin(whole) })
	})
}

// isWithin reports whether a test is a part of another one, or of a package.
func (t test) isWithin(whole test) bool {
	return t.pkg == whole.pkg && t.name != "" && (whole.name == "" || strings.HasPrefix(t.name, whole.name+"/"))
}

// runsWithin reports whether a test of the package runs.
func (t *teller) runsWithin(pkg string) bool {
	for key := range t.running {
		if key.isWithin(test{pkg: pkg}) {
			return true
		}
	}
	return false
}

func (t *teller) table(title string, counts map[string]int) {
	if len(counts) > 0 {
		t.printf("\n%s:\n", title)
	}
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		t.printf("%5d  %s\n", counts[what], what)
	}
}

func (t *teller) printf(format string, args ...any) {
	t.printed = time.Now()
	fmt.Fprintf(t.out, format, args...)
}

func written[K comparable](texts map[K]*strings.Builder, key K) *strings.Builder {
	if texts[key] == nil {
		texts[key] = &strings.Builder{}
	}
	return texts[key]
}

// passed prints the standard error of `go test`, which names the modules that are downloaded.
type passed struct{ on *teller }

func (p passed) Write(text []byte) (int, error) {
	p.on.mu.Lock()
	defer p.on.mu.Unlock()
	p.on.printf("%s", text)
	return len(text), nil
}
