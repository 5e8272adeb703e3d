// Command suite runs `go test`, and tells how it goes:
//
//	go run ./infra/suite -- -race -short ./...
//
// The arguments after -- are those of `go test`. A line says that a package has ended. After 20 seconds without one, a
// line names the running tests. The end shows the failures with their output, the skipped tests with the reason, the slowest tests, the
// names of the failed tests, and the counts; after several runs, in which of them each failed. The exit code is 1 when a test or a build failed, and 2 when `go test` could not be run.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// options are the flags of this command beside those of `go test`.
type options struct {
	times int // how often everything runs
	busy  int // busy loops beside it
}

func main() {
	var o options
	flag.IntVar(&o.times, "times", 1, "how often everything runs")
	flag.IntVar(&o.busy, "busy", 0, "how many busy loops run beside it, so that a test that measures time fails")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	ok, err := suite(ctx, o, flag.Args(), os.Stdout)
	stop()
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "suite:", err)
		os.Exit(2)
	case !ok:
		os.Exit(1)
	}
}

var errInterrupted = errors.New("interrupted")

// suite runs everything as often as the options say, and reports whether all of it passed each time.
func suite(ctx context.Context, o options, args []string, out io.Writer) (bool, error) {
	for range o.busy {
		go spin(ctx)
	}
	if o.times > 1 {
		args = append([]string{"-count=1"}, args...) // the results of the first run are no results of the next ones
	}
	failed := map[test][]string{} // the runs in which it failed
	bad := 0
	for n := range o.times {
		if o.times > 1 {
			fmt.Fprintf(out, "\n== run %d of %d\n", n+1, o.times)
		}
		t := newTeller(out, time.Now())
		processor, err := run(ctx, args, t)
		if err != nil {
			return false, err
		}
		failing := t.close(time.Now(), processor)
		for _, f := range failing {
			failed[f] = append(failed[f], strconv.Itoa(n+1))
		}
		if len(failing) > 0 {
			bad++
		}
		if ctx.Err() != nil {
			return false, errInterrupted
		}
	}
	if o.times > 1 {
		fmt.Fprintf(out, "\n%d of %d runs failed\n", bad, o.times)
		for _, f := range slices.SortedFunc(maps.Keys(failed), test.compare) {
			fmt.Fprintf(out, "  %s: run %s\n", f, strings.Join(failed[f], ", "))
		}
	}
	return bad == 0, nil
}

// spin keeps a processor busy.
func spin(ctx context.Context) {
	for ctx.Err() == nil {
	}
}

// run runs `go test` with args and gives its events to t. It returns the processor time of everything that was started. It
// fails when `go test` cannot be started.
func run(ctx context.Context, args []string, t *teller) (time.Duration, error) {
	cmd := exec.CommandContext(ctx, "go", append([]string{"test", "-json"}, args...)...) //nolint:gosec // a person's own arguments
	endTogether(cmd)
	cmd.WaitDelay = 10 * time.Second
	cmd.Stderr = passed{t}
	events, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	stop := make(chan struct{})
	go func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case now := <-tick.C:
				t.beat(now)
			}
		}
	}()
	t.read(events)
	t.ended(cmd.Wait())
	close(stop)
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), nil
}
