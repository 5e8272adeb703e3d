// Command verify says whether a receipt holds, asking nobody:
//
//	go run ./infra/verify receipt.json
//	curl … /api/runs/ID/receipt | go run ./infra/verify -
//
// It prints what the plan was, who confirmed it and when, and a line for each step;
// then "valid", or each thing that does not hold. It exits with 0 when the receipt
// holds, with 1 when it does not, and with 2 when there is no receipt to read.
//
// A receipt that holds does not prove that its events are all there ever were: compare
// its head with one that was kept elsewhere.
package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"piloto/internal/canon"
	"piloto/internal/plan"
	"piloto/internal/receipt"
)

// The exit codes.
const (
	holds = iota
	doesNot
	unreadable
)

// maxReceipt bounds what is read, in bytes.
const maxReceipt = 256 << 20

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

func run(args []string, in io.Reader, out, errOut io.Writer) int {
	if len(args) != 1 || strings.HasPrefix(args[0], "-") && args[0] != "-" {
		_, _ = fmt.Fprintln(errOut, "usage: verify receipt.json, or - for the standard input")
		return unreadable
	}
	r, err := open(args[0], in)
	if err != nil {
		_, _ = fmt.Fprintln(errOut, "verify:", err)
		return unreadable
	}
	problems := receipt.Verify(r)
	_, _ = io.WriteString(out, told(r)+verdict(r, problems))
	if len(problems) > 0 {
		return doesNot
	}
	return holds
}

// open reads one receipt.
func open(name string, in io.Reader) (receipt.Receipt, error) {
	var r receipt.Receipt
	if name != "-" {
		f, err := os.Open(name) //nolint:gosec // the person names it
		if err != nil {
			return r, err
		}
		defer func() { _ = f.Close() }()
		in = f
	}
	raw, err := io.ReadAll(io.LimitReader(in, maxReceipt))
	if err != nil {
		return r, err
	}
	// A member that stands twice is one thing to us and another to whoever looks.
	if err := canon.Check(raw); err != nil {
		return r, fmt.Errorf("it is no receipt: %w", err)
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return r, fmt.Errorf("it is no receipt: %w", err)
	}
	if r.Version == "" {
		return r, errors.New("it is no receipt: it has no version")
	}
	return r, nil
}

// told is the run as a person reads it.
func told(r receipt.Receipt) string {
	var b strings.Builder
	line := func(format string, args ...any) {
		b.WriteString(plan.Line(fmt.Sprintf(format, args...)) + "\n")
	}
	goal := ""
	if n := len(r.Revisions); n > 0 {
		goal = r.Revisions[n-1].Plan.Goal
	}
	line("run %s: %s (%s)", r.RunID, goal, r.Status)
	for _, v := range r.Revisions {
		line("revision %d by %s%s on %s: %s", v.Revision, someone(v.By), by(v.Model), moment(v.At), v.Digest)
	}
	if c := r.Confirmed; c != nil {
		line("confirmed by %s on %s: %s", someone(c.By), moment(c.At), c.Digest)
	} else {
		line("not confirmed")
	}
	for _, s := range r.Steps {
		line("%s", stepLine(s))
	}
	return b.String()
}

// stepLine is what became of an effect.
func stepLine(s receipt.Step) string {
	said := fmt.Sprintf("%s %s: %s, %s", s.ID, s.Title, s.Called, s.Status)
	if s.Sent != nil {
		said += fmt.Sprintf("; sent to %s on %s", s.Sent.URL, moment(s.Sent.At))
		if s.Sent.Attempts > 1 {
			said += fmt.Sprintf(", attempt %d", s.Sent.Attempts)
		}
	}
	if s.Result != nil {
		said += fmt.Sprintf("; answered %d, %d bytes", s.Result.Status, s.Result.Bytes)
	}
	if s.Error != "" {
		said += "; " + s.Error
	}
	if a := s.Approval; a != nil {
		said += fmt.Sprintf("; %s by %s", cmp.Or(string(a.Decision), "to be approved"), someone(a.By))
	}
	if s.Settled != nil {
		said += fmt.Sprintf("; settled as %s by %s", s.Settled.Outcome, someone(s.Settled.By))
	}
	if s.Reused != "" {
		said += "; its result is of run " + s.Reused
	}
	return said
}

func verdict(r receipt.Receipt, problems []receipt.Problem) string {
	if len(problems) == 0 {
		going := ""
		if !r.Status.Terminal() {
			going = ", and the run still goes on"
		}
		return fmt.Sprintf("valid: %d events, digest %s, head %s%s\n", len(r.Events), r.Digest, r.Head, going)
	}
	var b strings.Builder
	for _, p := range problems {
		b.WriteString("does not hold: " + p.String() + "\n")
	}
	return b.String()
}

func by(model string) string {
	if model == "" {
		return ""
	}
	return " with " + model
}

func someone(name string) string { return cmp.Or(name, "nobody") }

func moment(at time.Time) string { return at.UTC().Format(time.RFC3339) }
