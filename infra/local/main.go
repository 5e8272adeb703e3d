// Command local is the one-process deployment: it reads template.yaml and runs
// the production handlers on embedded engines,
// in one process with one data folder.
//
//	go run ./infra/local [-addr 127.0.0.1:8080] [-data .piloto] [-aws 127.0.0.1:8000] [-lambda process] [-v]
//	go run ./infra/local -open [-data .piloto]
//	go run ./infra/local -backup FILE [-data .piloto]
//	go run ./infra/local -restore FILE [-data .piloto]
//	go run ./infra/local -rotate-key [-data .piloto]
//
// It logs to piloto.log in the data folder, and with -v to stdout too.
//
// Other machines can reach it only with -expose, and under other names only with -host NAME.
//
// With -lambda process each function is the deployed executable, in processes of its own behind
// Lambda's Runtime API; otherwise the functions run in this process.
//
// A backup contains a whole data folder, whether or not a process runs on it; it is restored into
// an empty folder. The services alone, as a small local AWS for other tests, are in
// infra/localaws/cmd/localaws.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"piloto/infra/local/process"
	"piloto/internal/access/auth"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "piloto:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out, errOut io.Writer) error {
	o, task, err := parse(args, errOut)
	switch {
	case err != nil:
		return err
	case task.backup != "":
		return process.Backup(ctx, o.Data, task.backup, out)
	case task.restore != "":
		return process.Restore(ctx, task.restore, o.Data, out)
	case task.signIn:
		return process.SignIn(ctx, o.Data, out)
	case task.token.Do != "":
		return process.Tokens(ctx, o.Data, task.token, out)
	case task.rotate:
		return process.RotateKey(o.Data, out)
	case task.older:
		return process.AcceptOlder(o.Data, out)
	}
	var also io.Writer
	if task.verbose {
		also = out
	}
	o.Log = process.NewLog(o.Data, also)
	settings, err := process.SettingsFrom(os.Getenv)
	if err != nil {
		return err
	}
	return process.Serve(ctx, o, settings, out)
}

// task is the task of this command other than serving the deployment.
type task struct {
	backup, restore string // files
	older, signIn   bool
	rotate          bool
	token           process.TokenTask
	verbose         bool // not a task: the deployment also logs to stdout
}

// hasSeveral reports whether there is more than one task.
func (t task) hasSeveral() bool {
	n := 0
	for _, asked := range []bool{t.backup != "", t.restore != "", t.older, t.signIn, t.rotate, t.token.Do != ""} {
		if asked {
			n++
		}
	}
	return n > 1
}

// parse reads the flags and the task.
func parse(args []string, errOut io.Writer) (o process.Options, t task, err error) {
	o.Log = errOut
	flags := flag.NewFlagSet("local", flag.ContinueOnError)
	flags.SetOutput(errOut)
	flags.StringVar(&o.Data, "data", ".piloto", "folder of everything that lasts")
	flags.StringVar(&o.AWS, "aws", "", "also serve the DynamoDB and Step Functions protocols here, on loopback (127.0.0.1:8000)")
	flags.StringVar(&o.Addr, "addr", "127.0.0.1:8080", "address of the API and the page")
	flags.BoolVar(&o.Expose, "expose", false, "let other machines reach -addr, without TLS: the token travels readable")
	flags.Func("host", "another `name` by which browsers reach this process, behind a proxy or a tunnel: piloto.example.org (many: commas, or again)", func(names string) error {
		o.Hosts = append(o.Hosts, strings.Split(names, ",")...)
		return nil
	})
	flags.BoolVar(&t.verbose, "v", false, "log on stdout too, besides the file "+process.LogFile+" in the data folder")
	flags.StringVar(&o.Template, "template", "template.yaml", "the deployment to run")
	flags.StringVar(&o.Lambda, "lambda", process.InProcess, "how functions run: inprocess, or process: as the executables that deploy")
	flags.StringVar(&o.Functions, "functions", "", "`folder` of NAME/bootstrap for -lambda=process; without it they are built, which needs Go")
	flags.StringVar(&t.backup, "backup", "", "write all of the data folder to this new `file`, also while a process has it, and end")
	flags.StringVar(&t.restore, "restore", "", "make the data folder, which must have nothing, from this `file`, and end")
	flags.BoolVar(&t.signIn, "open", false, "print an address that signs in, once, to the process that has the data folder, and end")
	flags.StringVar(&t.token.Do, "token", "", "make, list or revoke tokens of the process that has the data folder (`what`: make, list, revoke), and end")
	flags.StringVar(&t.token.User, "user", "", "with -token make: who will have it")
	flags.StringVar(&t.token.Scopes, "scopes", "chat", "with -token make: "+auth.ScopesText)
	flags.DurationVar(&t.token.Life, "life", 0, "with -token make: how long it is good for (720h); 0: for ever")
	flags.StringVar(&t.token.ID, "id", "", "with -token revoke: the ID that -token list shows")
	flags.BoolVar(&t.rotate, "rotate-key", false, "have receipts signed with a new key from the next start on, and end")
	flags.BoolVar(&t.older, "accept-older", false, "go on from the commit before where the newest of the data file is damaged, and end")
	if err := flags.Parse(args); err != nil {
		return o, t, err
	}
	switch {
	case flags.NArg() > 0:
		return o, t, fmt.Errorf("unknown argument %q; see -help", flags.Arg(0))
	case t.hasSeveral():
		return o, t, errors.New("-backup, -restore, -accept-older, -rotate-key, -token and -open are things to do one by one")
	case o.AWS != "" && !process.OnThisMachine(o.AWS):
		return o, t, fmt.Errorf("-aws %s: the engines ask for no signature, so they are served on loopback only", o.AWS)
	}
	return o, t, nil
}
