// Package alone serves DynamoDB, Step Functions and S3 on loopback from one data folder, without a deployment: for tests
// of other programs, and for sam local.
package alone

import (
	"context"
	"errors"
	"fmt"
	"io"
	"localaws"
	"localaws/disk"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"runtime/debug"
	"time"
)

// stopGrace limits the wait for requests under way when the process stops.
const stopGrace = 3 * time.Second

// The names in the folder are of these services alone: at a start, S3 removes each content that its data file does not know, so
// the contents of a deployment whose folder this is must not be among them.
const (
	dataFile      = "localaws.db"
	objectsFolder = "localaws.objects"
)

// Options are the services, and their addresses.
type Options struct {
	Listen string // address on this machine; port 0: any that is free
	Data   string // folder of everything that lasts
	Lambda string // URL of the Lambda API that tasks call functions through, such as http://127.0.0.1:3001; empty: none
}

// Check refuses an address that other machines can reach.
func (o Options) Check() error {
	host, _, err := net.SplitHostPort(o.Listen)
	if ip := net.ParseIP(host); err != nil || host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("%s: nobody's signature is checked, so the services are served on loopback only, such as 127.0.0.1:8000", o.Listen)
	}
	return nil
}

// Serve serves until ctx ends; executions continue at the next start. It writes its address to out when it is ready,
// and its log as text to logs.
func Serve(ctx context.Context, o Options, out, logs io.Writer) (err error) {
	if err := o.Check(); err != nil {
		return err
	}
	debug.SetGCPercent(localaws.GCPercent)
	log := slog.New(slog.NewTextHandler(logs, nil))
	settings := localaws.Options{Log: log, Objects: filepath.Join(o.Data, objectsFolder)}
	if o.Lambda != "" {
		functions, err := localaws.NewFunctions(o.Lambda)
		if err != nil {
			return fmt.Errorf("the Lambda API: %w", err)
		}
		settings.Invoke = functions
	}
	if err := disk.OwnFolder(o.Data, dataFile); err != nil {
		return err
	}
	store, err := disk.Open(filepath.Join(o.Data, dataFile), disk.WithLogger(log))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	services, err := localaws.Open(store, settings)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, services.Halt()) }()
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", o.Listen)
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
