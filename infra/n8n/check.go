package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"text/tabwriter"
	"time"

	"piloto/internal/ground/clip"
)

// step is one line of the table: a description and its check.
type step struct {
	flow, rule string
	holds      func(ctx context.Context, w *world) error
}

// check runs all the steps, prints their results, and fails when one failed.
func (w *world) check(ctx context.Context) error {
	steps := append(append(chatSteps(), signedSteps()...), append(planSteps(), approvalSteps()...)...)
	steps = slices.Concat(steps, agentSteps(), hookSteps(), downSteps())
	table := tabwriter.NewWriter(w.out, 0, 0, 2, ' ', 0)
	broken := 0
	for _, s := range steps {
		at := time.Now()
		err := s.holds(ctx, w)
		if ctx.Err() != nil {
			return errors.Join(ctx.Err(), table.Flush())
		}
		verdict := "holds"
		if err != nil {
			verdict = "BROKEN: " + err.Error()
			broken++
		}
		fmt.Fprintf(table, "%s\t%s\t%.1fs\t%s\n", s.flow, s.rule, time.Since(at).Seconds(), verdict)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w.out, "%d passed, %d failed\n", len(steps)-broken, broken)
	if broken > 0 {
		return fmt.Errorf("%d of %d checks did not hold", broken, len(steps))
	}
	return nil
}

// expect returns the difference between an answer and the expected status and fields.
func expect(got response, status int, fields ...string) error {
	if got.Status != status {
		return fmt.Errorf("%d, not %d: %s", got.Status, status, brief(got.Text))
	}
	for i := 0; i+1 < len(fields); i += 2 {
		if v := got.field(fields[i]); v != fields[i+1] {
			return fmt.Errorf("%s is %q, not %q: %s", fields[i], v, fields[i+1], brief(got.Text))
		}
	}
	return nil
}

// brief shortens a text for a table.
func brief(text string) string { return clip.Bytes(clip.Line(text), 300) }

// exchanges returns the number of exchanges that Piloto remembers of a session.
func (w *world) exchanges(ctx context.Context, session string) (int, error) {
	var memory struct{ Turns []any }
	err := w.ask(ctx, http.MethodGet, "/memory/"+session, nil, &memory)
	return len(memory.Turns), err
}

// checkRemembered fails unless Piloto remembers exactly n exchanges of a session.
func (w *world) checkRemembered(ctx context.Context, session string, n int) error {
	got, err := w.exchanges(ctx, session)
	if err == nil && got != n {
		err = fmt.Errorf("%d exchanges are remembered, not %d", got, n)
	}
	return err
}

// status reads the status of a run.
func (w *world) status(ctx context.Context, run string) (string, error) {
	var r struct{ Status string }
	err := w.ask(ctx, http.MethodGet, "/api/runs/"+run, nil, &r)
	return r.Status, err
}

// checkStatus fails unless a run has a status.
func (w *world) checkStatus(ctx context.Context, run, want string) error {
	got, err := w.status(ctx, run)
	if err == nil && got != want {
		err = fmt.Errorf("the run is %s, not %s", got, want)
	}
	return err
}

// waitForStatus waits until a run has a status.
func (w *world) waitForStatus(ctx context.Context, run, want string) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for late := time.Now().Add(30 * time.Second); ; {
		err := w.checkStatus(ctx, run, want)
		if err == nil || time.Now().After(late) {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
