package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"localaws"
	"localaws/conformance/outcome"
	"localaws/disk"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// startup limits the time until a subject responds.
const startup = 20 * time.Second

// running is a subject that was started here, and the function that stops it.
type running struct {
	outcome.Subject
	version string
	stop    func()
}

// startOurs serves our services over a socket, as `go run ./cmd/localaws` does.
func startOurs(ctx context.Context, dir, lambda string) (running, error) {
	functions, err := localaws.NewFunctions(lambda)
	if err != nil {
		return running{}, err
	}
	const data = "data"
	if err := disk.OwnFolder(dir, data); err != nil {
		return running{}, err
	}
	store, err := disk.Open(filepath.Join(dir, data))
	if err != nil {
		return running{}, err
	}
	services, err := localaws.Open(store, localaws.Options{Invoke: functions, Objects: filepath.Join(dir, "objects")})
	if err != nil {
		return running{}, errors.Join(err, store.Close())
	}
	if err := services.Machines.Start(ctx); err != nil {
		return running{}, errors.Join(err, services.Halt(), store.Close())
	}
	server := httptest.NewServer(localaws.OnLoopback(services))
	return running{Subject: outcome.Subject{Name: "localaws", URL: server.URL}, stop: func() {
		server.Close()
		_ = errors.Join(services.Halt(), store.Close()) // the folder is removed after the run
	}}, nil
}

// startDynalite starts the dynalite below a folder; a data folder makes it persistent. It reports
// false without dynalite or without node.
func startDynalite(ctx context.Context, folder, data string) (r running, found bool, err error) {
	script := filepath.Join(folder, "node_modules", "dynalite", "cli.js")
	node, noNode := exec.LookPath("node")
	if _, noScript := os.Stat(script); noNode != nil || noScript != nil {
		return running{}, false, nil //nolint:nilerr // not installed is no failure
	}
	args := []string{script, "--host", "127.0.0.1", "--createTableMs", "0", "--deleteTableMs", "0", "--updateTableMs", "0"}
	if data != "" {
		args = append(args, "--path", data)
	}
	r, err = start(ctx, "dynalite", nil, "--port", node, args...)
	r.version = "4.0.0"
	return r, true, err
}

// startMoto starts a moto_server.
func startMoto(ctx context.Context, command string, environment []string) (r running, found bool, err error) {
	path, missing := exec.LookPath(command)
	if missing != nil {
		return running{}, false, nil //nolint:nilerr // not installed is no failure
	}
	r, err = start(ctx, "moto", environment, "-p", path, "-H", "127.0.0.1")
	return r, true, err
}

// start runs a server in a process group of its own, on a free port.
func start(ctx context.Context, name string, environment []string, portFlag, command string, args ...string) (running, error) {
	address, err := freeAddress(ctx)
	if err != nil {
		return running{}, err
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return running{}, err
	}
	var output bytes.Buffer
	c := exec.CommandContext(ctx, command, append(args, portFlag, port)...)
	c.Env = append(os.Environ(), environment...)
	c.Stdout, c.Stderr = io.Discard, &output
	stop := together(c)
	if err := c.Start(); err != nil {
		return running{}, err
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = c.Wait() // its output shows the reason of its end
	}()
	r := running{Subject: outcome.Subject{Name: name, URL: "http://" + address}, stop: func() {
		stop()
		<-done
	}}
	if err := r.await(ctx, done); err != nil {
		r.stop()
		return running{}, fmt.Errorf("%w\n%s", err, output.String())
	}
	return r, nil
}

// await polls until the subject responds.
func (r running) await(ctx context.Context, ended <-chan struct{}) error {
	ctx, cancel := context.WithTimeout(ctx, startup)
	defer cancel()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.URL, nil)
		if err != nil {
			return err
		}
		if res, err := http.DefaultClient.Do(req); err == nil {
			return res.Body.Close()
		}
		select {
		case <-ended:
			return fmt.Errorf("%s ended before it answered", r.Name)
		case <-ctx.Done():
			return fmt.Errorf("%s does not answer at %s: %w", r.Name, r.URL, ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func freeAddress(ctx context.Context) (string, error) {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String(), nil
}
