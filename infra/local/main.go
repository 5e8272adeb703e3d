// Command local is the one-process deployment: it reads template.yaml and runs
// the production handlers, with the production SDK clients, against embedded
// engines, in one process with one data folder.
//
//	go run ./infra/local [-addr 127.0.0.1:8080] [-data .piloto] [-aws 127.0.0.1:8000] [-lambda process]
//	go run ./infra/local engines -aws 127.0.0.1:8000 [-data .piloto] [-lambda http://127.0.0.1:3001]
//
// The second form serves just the two engines, as a small local AWS; tasks of
// state machines reach their functions through the Lambda API at -lambda.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"syscall"

	"piloto/infra/local/process"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "piloto:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out, errOut io.Writer) error {
	o, engines, err := parse(args, errOut)
	if err != nil {
		return err
	}
	if engines {
		return process.ServeEngines(ctx, o, out)
	}
	return process.Serve(ctx, o, process.SettingsFrom(os.Getenv), out)
}

// parse reads the flags of both commands, and which of them it is.
func parse(args []string, errOut io.Writer) (o process.Options, engines bool, err error) {
	if len(args) > 0 && args[0] == "engines" {
		engines, args = true, args[1:]
	}
	o.Log = errOut
	flags := flag.NewFlagSet("local", flag.ContinueOnError)
	flags.SetOutput(errOut)
	flags.StringVar(&o.Data, "data", ".piloto", "folder of everything that lasts")
	flags.StringVar(&o.AWS, "aws", "", "also serve the DynamoDB and Step Functions protocols here, on loopback (127.0.0.1:8000)")
	if engines {
		flags.StringVar(&o.LambdaURL, "lambda", "", "`URL` of the Lambda API that tasks of state machines call functions through (http://127.0.0.1:3001)")
	} else {
		flags.StringVar(&o.Addr, "addr", "127.0.0.1:8080", "address of the API and the page")
		flags.StringVar(&o.Template, "template", "template.yaml", "the deployment to run")
		flags.StringVar(&o.Lambda, "lambda", process.InProcess, "how functions run: inprocess, or process: as the executables that deploy")
		flags.StringVar(&o.Functions, "functions", "", "`folder` of NAME/bootstrap for -lambda=process; without it they are built, which needs Go")
	}
	if err := flags.Parse(args); err != nil {
		return o, engines, err
	}
	switch {
	case flags.NArg() > 0:
		return o, engines, fmt.Errorf("unknown argument %q; see -help", flags.Arg(0))
	case engines && o.AWS == "":
		return o, engines, errors.New("engines needs -aws ADDRESS, such as -aws 127.0.0.1:8000")
	case o.AWS != "" && !onLoopback(o.AWS):
		return o, engines, fmt.Errorf("-aws %s: the engines ask for no signature, so they are served on loopback only", o.AWS)
	}
	return o, engines, nil
}

// onLoopback reports whether an address can be reached from this machine only.
func onLoopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
