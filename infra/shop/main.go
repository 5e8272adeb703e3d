// Command shop plays everyday tasks with a model, and counts how many come to the right end and what they cost:
//
//	OPENAI_BASE_URL=… OPENAI_API_KEY=… OPENAI_MODEL=… go run ./infra/shop [-tasks REGEXP] [-json] [-v]
//	go run ./infra/shop -by-hand FOLDER [-tasks REGEXP] [-json] [-v]
//	go run ./infra/shop -list
//
// README.md has the method.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/signal"
	"regexp"
	"strings"

	"piloto/infra/shop/meter"
	"piloto/infra/shop/task"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "shop:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop was called
	}
}

// options select the tasks and the model.
type options struct {
	only    *regexp.Regexp
	byHand  string // a folder
	json    bool
	verbose bool
	list    bool
}

func parse(args []string, errOut io.Writer) (o options, err error) {
	flags := flag.NewFlagSet("shop", flag.ContinueOnError)
	flags.SetOutput(errOut)
	only := flags.String("tasks", "", "play only the tasks whose ids or kinds match this")
	flags.StringVar(&o.byHand, "by-hand", "", "a person answers as the model, with files in this folder")
	flags.BoolVar(&o.json, "json", false, "print JSON instead of a table")
	flags.BoolVar(&o.verbose, "v", false, "print the conversations while they are played")
	flags.BoolVar(&o.list, "list", false, "only list the tasks")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unknown argument %q; see -help", flags.Arg(0))
	}
	o.only, err = regexp.Compile(*only)
	return o, err
}

func run(ctx context.Context, args []string, getenv func(string) string, out, errOut io.Writer) error {
	o, err := parse(args, errOut)
	if err != nil {
		return err
	}
	all, err := task.All()
	if err != nil {
		return err
	}
	var chosen []task.Task
	for _, t := range all {
		if o.only.MatchString(t.ID) || o.only.MatchString(t.Kind) {
			chosen = append(chosen, t)
		}
	}
	if len(chosen) == 0 {
		return fmt.Errorf("no task matches %s; -list has them all", o.only)
	}
	if o.list {
		for _, t := range chosen {
			fmt.Fprintf(out, "%s  %-50s %s\n", t.ID, t.Kind, t.Wants)
		}
		return nil
	}
	from, err := o.provider(getenv, errOut)
	if err != nil {
		return err
	}
	results, err := playAll(ctx, from, chosen, o.teller(errOut))
	if len(results) == 0 {
		return err
	}
	return errors.Join(err, newReport(from.model, results).print(out, o.json))
}

// playAll plays the tasks one after the other. Those that were played before an error are returned, too.
func playAll(ctx context.Context, from provider, tasks []task.Task, tell func(who, text string)) (results []result, err error) {
	for _, t := range tasks {
		tell("task", t.ID+", "+t.Kind)
		r, err := play(ctx, from, t, tell)
		if err != nil {
			return results, err
		}
		results = append(results, r)
	}
	return results, nil
}

// teller returns the function that gets a conversation line by line.
func (o options) teller(errOut io.Writer) func(who, text string) {
	return func(who, text string) {
		if o.verbose || who == "task" {
			fmt.Fprintf(errOut, "%s: %s\n", who, strings.ReplaceAll(text, "\n", "\n    "))
		}
	}
}

// provider returns the model that answers: a person, or the provider of the environment.
func (o options) provider(getenv func(string) string, errOut io.Writer) (provider, error) {
	if o.byHand != "" {
		hand, err := meter.NewByHand(o.byHand, func(file string) { fmt.Fprintln(errOut, "asks:", file) })
		return provider{hand, "by-hand", "by-hand"}, err
	}
	model, key := getenv("OPENAI_MODEL"), getenv("OPENAI_API_KEY")
	if model == "" || key == "" && getenv("OPENAI_BASE_URL") == "" {
		return provider{}, errors.New("no model: set OPENAI_MODEL, and OPENAI_API_KEY or OPENAI_BASE_URL, or answer by hand with -by-hand FOLDER")
	}
	base, err := url.Parse(cmp.Or(getenv("OPENAI_BASE_URL"), "https://api.openai.com/v1"))
	if err != nil {
		return provider{}, fmt.Errorf("OPENAI_BASE_URL: %w", err)
	}
	return provider{meter.Provider(base), key, model}, nil
}
