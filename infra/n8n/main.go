// Command n8n holds the workflows for import into n8n, and tests them: it starts its own deployment and a real n8n,
// imports and publishes the workflows as a person would, and drives them over HTTP.
//
//	go run ./infra/n8n [-n8n FILE] [-piloto FILE] [-keep]
//
// It needs Node.js 20 or later and npm; n8n is installed once, outside the tree. All its processes listen on
// loopback, use a temporary folder, and end with it. It prints a table of the checks, and exits with 1 when a check
// failed; then the folder with the logs is kept.
//
// The tests of this package check invariants of the workflows without n8n. The workflows contain no secret. They
// are imported inactive. Every request to Piloto has a branch for its failure, and every branch ends in an answer.
// Every change begins with a POST.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "n8n:", err)
		os.Exit(1)
	}
}

// limit is the maximum duration of all steps, after the installation.
const limit = 10 * time.Minute

func run(ctx context.Context, args []string, out, errOut io.Writer) error {
	flags := flag.NewFlagSet("n8n", flag.ContinueOnError)
	flags.SetOutput(errOut)
	editor := flags.String("n8n", "", "the n8n to drive; empty: "+version+", installed into the cache")
	product := flags.String("piloto", "", "the command to drive; empty: ./cmd/piloto, built")
	keep := flags.Bool("keep", false, "keep the folder with data and logs also when everything holds")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unknown argument %q; see -help", flags.Arg(0))
	}
	if *editor == "" {
		found, err := install(ctx, errOut)
		if err != nil {
			return fmt.Errorf("n8n %s: %w", version, err)
		}
		*editor = found
	}
	folder, err := os.MkdirTemp("", "piloto-n8n-")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err = prove(ctx, folder, *editor, *product, out)
	if err != nil || *keep {
		fmt.Fprintln(errOut, "data and logs:", folder)
		return err
	}
	return os.RemoveAll(folder)
}

// prove starts everything, checks everything, and ends everything.
func prove(ctx context.Context, folder, editor, product string, out io.Writer) (err error) {
	if product == "" {
		product = filepath.Join(folder, "piloto")
		if err := command(ctx, folder, "build", nil, "go", "build", "-o", product, "./cmd/piloto"); err != nil {
			return err
		}
	}
	w := &world{folder: folder, out: out}
	defer func() { err = errors.Join(err, w.end()) }()
	if err := w.begin(ctx, editor, product); err != nil {
		return err
	}
	return w.check(ctx)
}
