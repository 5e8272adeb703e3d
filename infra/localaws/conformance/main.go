// Command conformance compares the embedded engines with AWS, beside other emulators where they are
// installed.
//
//	go run ./infra/localaws/conformance [-update] [-dynalite FOLDER] [-moto COMMAND] [-asl FOLDER] [-fails SUBJECT]
//	go run ./infra/localaws/conformance -bench [-dynalite FOLDER]
//
// It starts our engines over a socket, dynalite (npm; its folder holds node_modules/dynalite) and
// moto_server, runs infra/localaws/conformance/tables against all three, and
// infra/localaws/conformance/machines and infra/localaws/conformance/objects against ours and moto,
// and prints areas × subjects. No S3 of npm is a subject: s3rver 3.7.1 has neither versions nor
// conditions of writes, and fauxqs 2.4.1 has no conditions of writes.
// asl-validator (npm) checks the definition of every machine.
//
// With -update it writes results.md beside this file. A test fails when that has other checks or other known differences.
//
// It fails when our engines fail a check, and when dynalite, whose version is pinned, fails a check
// that known.txt does not list or passes one that it lists. moto's version is that of the machine:
// its surprises are only printed.
//
// With -bench it measures the DynamoDB engine beside raw bbolt and dynalite on the same disk, in
// one run (bench.go).
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"localaws/conformance/machines"
	"localaws/conformance/objects"
	"localaws/conformance/outcome"
	"localaws/conformance/tables"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

type options struct {
	update   bool
	dynalite string
	moto     string
	asl      string
	fails    string
	bench    bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	o, err := parse(os.Args[1:])
	if err == nil {
		err = run(ctx, o, os.Stdout)
	}
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		stop()
		os.Exit(1)
	}
}

func parse(args []string) (options, error) {
	var o options
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	flags := flag.NewFlagSet("conformance", flag.ContinueOnError)
	flags.BoolVar(&o.update, "update", false, "write "+resultsFile+", from the root of the tree; needs every subject")
	flags.StringVar(&o.dynalite, "dynalite", home(cache, "dynalite@4.0.0"), "folder that holds node_modules/dynalite")
	flags.StringVar(&o.moto, "moto", "moto_server", "command that starts moto")
	flags.StringVar(&o.asl, "asl", home(cache, "asl-validator@4.0.0"), "folder that holds node_modules/asl-validator")
	flags.StringVar(&o.fails, "fails", "", "print everything that this subject fails")
	flags.BoolVar(&o.bench, "bench", false, "measure instead")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unknown argument %q; see -help", flags.Arg(0))
	}
	return o, nil
}

func run(ctx context.Context, o options, out io.Writer) error {
	dir, err := os.MkdirTemp("", "conformance-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if o.bench {
		return bench(ctx, dir, o.dynalite, out)
	}
	known, err := readKnown(knownText)
	if err != nil {
		return err
	}
	knownObjects, err := readKnown(knownObjectsText)
	if err != nil {
		return err
	}
	began := time.Now()
	switch err := machines.Validate(ctx, o.asl); {
	case errors.Is(err, machines.ErrNoValidator):
		fmt.Fprintf(out, "asl-validator is not at %s: left out\n", o.asl)
	case err != nil:
		return err
	}
	suites, err := runSuites(ctx, o, dir, known, knownObjects, out)
	if err != nil {
		return err
	}
	for _, s := range suites {
		fmt.Fprintln(out, s.table())
	}
	if o.fails != "" {
		printFailures(out, suites, o.fails)
	}
	if o.update {
		if len(suites[0].subjects) < 3 {
			return errors.New("-update writes the results of all subjects: dynalite or moto is missing")
		}
		if err := os.WriteFile(resultsFile, []byte(document(suites, "moto is the one that was installed, dynalite is 4.0.0.")), 0o644); err != nil { //nolint:gosec // a page for everybody
			return err
		}
	}
	fmt.Fprintf(out, "%.1f s\n", time.Since(began).Seconds())
	return judge(out, suites, func() ([]suite, error) {
		return runSuites(ctx, o, filepath.Join(dir, "again"), known, knownObjects, out)
	})
}

// runSuites starts the subjects, runs the suites and stops the subjects.
func runSuites(ctx context.Context, o options, dir string, known, knownObjects []outcome.Difference, out io.Writer) ([]suite, error) {
	cases, err := machines.Open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = cases.Close() }()
	ours, err := startOurs(ctx, filepath.Join(dir, "localaws"), cases.LambdaURL())
	if err != nil {
		return nil, err
	}
	defer ours.stop()
	ofTables, ofMachines := []outcome.Subject{ours.Subject}, []outcome.Subject{ours.Subject}
	dynalite, found, err := startDynalite(ctx, o.dynalite, "")
	switch {
	case err != nil:
		return nil, err
	case found:
		defer dynalite.stop()
		ofTables = append(ofTables, dynalite.Subject)
	default:
		fmt.Fprintf(out, "dynalite is not at %s: left out\n", o.dynalite)
	}
	// Each suite has a moto of its own, so that neither waits for the other.
	for list, environment := range map[*[]outcome.Subject][]string{&ofTables: nil, &ofMachines: cases.MotoEnv()} {
		moto, found, err := startMoto(ctx, o.moto, environment)
		if err != nil {
			return nil, err
		}
		if !found {
			fmt.Fprintf(out, "%s is not installed: left out\n", o.moto)
			break
		}
		defer moto.stop()
		*list = append(*list, moto.Subject)
	}
	machinesDone := make(chan error, 1)
	var ofCases []outcome.Outcome
	go func() {
		var err error
		ofCases, err = runSeparately(ctx, cases.Run, ofMachines)
		machinesDone <- err
	}()
	outcomes, err := tables.Run(ctx, ofTables...)
	if err := errors.Join(err, <-machinesDone); err != nil {
		return nil, err
	}
	ofObjects, err := objects.Run(ctx, ofMachines...)
	if err != nil {
		return nil, err
	}
	return []suite{
		{"Tables (DynamoDB)", namesOf(ofTables), outcomes, known},
		{"Machines (Step Functions)", namesOf(ofMachines), ofCases, machines.Known()},
		{"Objects (S3)", namesOf(ofMachines), ofObjects, knownObjects},
	}, nil
}

// runSeparately runs a suite on each subject concurrently, and merges the outcomes.
func runSeparately(ctx context.Context, run outcome.Run, subjects []outcome.Subject) ([]outcome.Outcome, error) {
	all := make([][]outcome.Outcome, len(subjects))
	failed := make([]error, len(subjects))
	var done sync.WaitGroup
	for i, s := range subjects {
		done.Go(func() { all[i], failed[i] = run(ctx, s) })
	}
	done.Wait()
	if err := errors.Join(failed...); err != nil {
		return nil, err
	}
	for _, more := range all[1:] {
		for i, o := range more {
			maps.Copy(all[0][i].Failed, o.Failed)
			maps.Copy(all[0][i].Skipped, o.Skipped)
		}
	}
	return all[0], nil
}

func namesOf(subjects []outcome.Subject) []string {
	var out []string
	for _, s := range subjects {
		out = append(out, s.Name)
	}
	return out
}

// printFailures prints the failed checks of a subject.
func printFailures(out io.Writer, suites []suite, subject string) {
	for _, s := range suites {
		for _, o := range s.outcomes {
			if why, failed := o.Failed[subject]; failed {
				fmt.Fprintf(out, "%s\n%s\n", o.Name, indent(why))
			}
		}
	}
}

// judge returns an error for our own failures, and for surprises of dynalite that a second run
// confirms; again runs the suites once more. Failures of other subjects that occur only sometimes
// are ignored.
func judge(out io.Writer, suites []suite, again func() ([]suite, error)) error {
	ours, theirs := failures(out, suites)
	if ours == nil && theirs != nil {
		suites, err := again()
		if err != nil {
			return err
		}
		var still []string
		ours, still = failures(out, suites)
		theirs = slices.DeleteFunc(theirs, func(s string) bool { return !slices.Contains(still, s) })
	}
	if wrong := slices.Concat(ours, theirs); len(wrong) > 0 {
		return fmt.Errorf("%d surprises:\n%s", len(wrong), strings.Join(wrong, "\n"))
	}
	return nil
}

// failures returns our own failures and the surprises of dynalite. Those of moto, which may have
// any version, are only printed.
func failures(out io.Writer, suites []suite) (ours, theirs []string) {
	for _, s := range suites {
		for _, subject := range s.subjects {
			news := surprises(subject, s.outcomes, s.known)
			switch {
			case subject == "dynalite":
				theirs = append(theirs, news...)
			case subject != "moto":
				ours = append(ours, news...)
			case len(news) > 0:
				fmt.Fprintf(out, "%s: moto differs from what is listed in %d checks; -fails moto shows what it fails\n", s.title, len(news))
			}
		}
	}
	return ours, theirs
}
