package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// program is a process that runs until it is ended. Its output is kept in memory, so that it can be waited for, and
// in a file.
type program struct {
	name string
	cmd  *exec.Cmd
	done chan struct{}
	end  context.CancelFunc

	mu    sync.Mutex
	text  strings.Builder
	wrote chan struct{} // closed and replaced at each write
	file  *os.File
}

// grace is the maximum time that a program may take to end after it is asked to.
const grace = 15 * time.Second

// start starts a program that logs to a file in folder. It ends with ctx.
func start(ctx context.Context, folder, name string, env []string, path string, args ...string) (*program, error) {
	file, err := os.OpenFile(filepath.Join(folder, name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	ctx, end := context.WithCancel(ctx)
	p := &program{name: name, done: make(chan struct{}), end: end, wrote: make(chan struct{}), file: file}
	p.cmd = exec.CommandContext(ctx, path, args...)
	p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = env, p, p
	p.cmd.Cancel = func() error { return p.cmd.Process.Signal(os.Interrupt) }
	p.cmd.WaitDelay = grace // after that it is killed
	if err := p.cmd.Start(); err != nil {
		end()
		return nil, errors.Join(err, file.Close())
	}
	go func() {
		_ = p.cmd.Wait() // its exit status is in its log, and is ignored when it was asked to end
		close(p.done)
	}()
	return p, nil
}

// Write implements io.Writer.
func (p *program) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.wrote)
	p.wrote = make(chan struct{})
	p.text.Write(b)
	return p.file.Write(b)
}

// wait returns when the program has written all of texts.
func (p *program) wait(ctx context.Context, within time.Duration, texts ...string) error {
	late := time.NewTimer(within)
	defer late.Stop()
	for {
		p.mu.Lock()
		said, wrote := p.text.String(), p.wrote
		p.mu.Unlock()
		missing := ""
		for _, text := range texts {
			if !strings.Contains(said, text) {
				missing = text
			}
		}
		if missing == "" {
			return nil
		}
		select {
		case <-wrote:
		case <-p.done:
			return fmt.Errorf("%s ended before it said %q; see %s", p.name, missing, p.file.Name())
		case <-late.C:
			return fmt.Errorf("%s did not say %q within %s; see %s", p.name, missing, within, p.file.Name())
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// stop ends the program and waits for its end. It may be called again.
func (p *program) stop() error {
	p.end()
	<-p.done
	if err := p.file.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}

// command runs a program to its end, with its log in folder.
func command(ctx context.Context, folder, name string, env []string, path string, args ...string) error {
	log := filepath.Join(folder, name+".log")
	file, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = env, file, file
	err = errors.Join(cmd.Run(), file.Close())
	if err != nil {
		return fmt.Errorf("%s %s: %w; see %s", filepath.Base(path), strings.Join(args, " "), err, log)
	}
	return nil
}

// freeAddress returns an unused address on loopback.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}
