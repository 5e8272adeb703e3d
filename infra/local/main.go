// Command local is the one-process deployment: it reads template.yaml and runs
// the production handlers, with the production SDK clients, against embedded
// engines, in one process with one data folder.
//
//	go run ./infra/local [-addr 127.0.0.1:8080] [-data .piloto] [-aws 127.0.0.1:8000]
//	go run ./infra/local engines -aws 127.0.0.1:8000 [-data .piloto]
//
// The second form serves just the two engines, as a small local AWS.
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
)

// options are the flags of both commands.
type options struct {
	addr     string // of the API and the page
	data     string // folder of everything that lasts
	aws      string // of the engines' wire protocols; empty: not served
	template string
	engines  bool // serve the engines alone
}

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
	o, err := parse(args, errOut)
	if err != nil {
		return err
	}
	if o.engines {
		return serveEngines(ctx, o, out)
	}
	return serveAll(ctx, o, settingsFrom(os.Getenv), out)
}

func parse(args []string, errOut io.Writer) (options, error) {
	o := options{}
	if len(args) > 0 && args[0] == "engines" {
		o.engines, args = true, args[1:]
	}
	flags := flag.NewFlagSet("local", flag.ContinueOnError)
	flags.SetOutput(errOut)
	flags.StringVar(&o.data, "data", ".piloto", "folder of everything that lasts")
	flags.StringVar(&o.aws, "aws", "", "also serve the DynamoDB and Step Functions protocols here, on loopback (127.0.0.1:8000)")
	if !o.engines {
		flags.StringVar(&o.addr, "addr", "127.0.0.1:8080", "address of the API and the page")
		flags.StringVar(&o.template, "template", "template.yaml", "the deployment to run")
	}
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	switch {
	case flags.NArg() > 0:
		return o, fmt.Errorf("unknown argument %q; see -help", flags.Arg(0))
	case o.engines && o.aws == "":
		return o, errors.New("engines needs -aws ADDRESS, such as -aws 127.0.0.1:8000")
	case o.aws != "" && !onLoopback(o.aws):
		return o, fmt.Errorf("-aws %s: the engines ask for no signature, so they are served on loopback only", o.aws)
	}
	return o, nil
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
