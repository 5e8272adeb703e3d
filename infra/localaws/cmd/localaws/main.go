// Command localaws serves DynamoDB, Step Functions and S3 on loopback, from one data folder:
//
//	go run ./infra/localaws/cmd/localaws [-listen 127.0.0.1:8000] [-data .localaws] [-lambda http://127.0.0.1:3001]
//
//	aws dynamodb list-tables --endpoint-url http://127.0.0.1:8000
//
// Tasks of state machines call their functions through the Lambda API at -lambda, such as that of
// sam local start-lambda. The command ends at an interrupt, and its executions continue at the next
// start.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"localaws/alone"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o, err := parse(os.Args[1:], os.Stderr)
	if err == nil {
		err = alone.Serve(ctx, o, os.Stdout, os.Stderr)
	}
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "localaws:", err)
		stop()
		os.Exit(1)
	}
}

func parse(args []string, errOut io.Writer) (o alone.Options, err error) {
	flags := flag.NewFlagSet("localaws", flag.ContinueOnError)
	flags.SetOutput(errOut)
	flags.StringVar(&o.Listen, "listen", "127.0.0.1:8000", "`address` on this machine to serve on; port 0: any that is free")
	flags.StringVar(&o.Data, "data", ".localaws", "`folder` of everything that lasts")
	flags.StringVar(&o.Lambda, "lambda", "", "`URL` of the Lambda API that tasks call functions through (http://127.0.0.1:3001)")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unknown argument %q; see -help", flags.Arg(0))
	}
	if err := o.Check(); err != nil {
		return o, fmt.Errorf("-listen %w", err)
	}
	return o, nil
}
