// Command localaws serves DynamoDB and Step Functions on loopback, from one data folder:
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
	"localaws"
	"localaws/disk"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"syscall"
	"time"
)

// stopGrace limits the wait for requests under way when the process stops.
const stopGrace = 3 * time.Second

// dataFile is the name of the data file in the folder.
const dataFile = "localaws.db"

type options struct{ listen, data, lambda string }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o, err := parse(os.Args[1:], os.Stderr)
	if err == nil {
		err = run(ctx, o, os.Stdout, os.Stderr)
	}
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "localaws:", err)
		stop()
		os.Exit(1)
	}
}

func parse(args []string, errOut io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("localaws", flag.ContinueOnError)
	flags.SetOutput(errOut)
	flags.StringVar(&o.listen, "listen", "127.0.0.1:8000", "`address` on this machine to serve on; port 0: any that is free")
	flags.StringVar(&o.data, "data", ".localaws", "`folder` of everything that lasts")
	flags.StringVar(&o.lambda, "lambda", "", "`URL` of the Lambda API that tasks call functions through (http://127.0.0.1:3001)")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unknown argument %q; see -help", flags.Arg(0))
	}
	host, _, err := net.SplitHostPort(o.listen)
	if ip := net.ParseIP(host); err != nil || host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return o, fmt.Errorf("-listen %s: nobody's signature is checked, so the services are served on loopback only, such as 127.0.0.1:8000", o.listen)
	}
	return o, nil
}

func run(ctx context.Context, o options, out, logs io.Writer) (err error) {
	debug.SetGCPercent(localaws.GCPercent)
	log := slog.New(slog.NewTextHandler(logs, nil))
	settings := localaws.Options{Log: log}
	if o.lambda != "" {
		functions, err := localaws.NewFunctions(o.lambda)
		if err != nil {
			return fmt.Errorf("-lambda %w", err)
		}
		settings.Invoke = functions
	}
	if err := disk.OwnFolder(o.data, dataFile); err != nil {
		return err
	}
	store, err := disk.Open(filepath.Join(o.data, dataFile), disk.WithLogger(log))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	services, err := localaws.Open(store, settings)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, services.Halt()) }()
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", o.listen)
	if err != nil {
		return err
	}
	if err := services.Machines.Start(ctx); err != nil {
		return errors.Join(err, listener.Close())
	}
	fmt.Fprintf(out, "localaws ready on http://%s\n  aws dynamodb list-tables --endpoint-url http://%s\n", listener.Addr(), listener.Addr())
	return serve(ctx, listener, services, store, log)
}

// serve answers requests until ctx ends or the data file accepts no more writes, because later work
// would be lost. Requests under way may finish.
func serve(ctx context.Context, listener net.Listener, services http.Handler, store *disk.Store, log *slog.Logger) error {
	server := &http.Server{
		Handler: localaws.OnLoopback(services), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute,
		IdleTimeout: 2 * time.Minute, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	var why error
	select {
	case err := <-done:
		return err
	case <-store.Failed():
		why = store.Err()
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.Background(), stopGrace)
	defer cancel()
	if err := server.Shutdown(grace); errors.Is(err, context.DeadlineExceeded) {
		return errors.Join(why, server.Close())
	}
	return why
}
