package sandbox

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// runUnconfined runs a checked command without a sandbox, in a process group of its own.
func runUnconfined(ctx context.Context, c Command, sh shell, out *output) (Result, error) {
	home, err := os.MkdirTemp("", "piloto-home-")
	if err != nil {
		return Result{}, ErrSetup.With("step", "files").Because(err)
	}
	defer func() { _ = os.RemoveAll(home) }()
	read, write, err := os.Pipe()
	if err != nil {
		return Result{}, ErrSetup.With("step", "pipe").Because(err)
	}
	defer func() { _ = read.Close() }()
	line := exec.CommandContext(ctx, sh.path)
	line.Args = c.arguments(sh)
	line.Dir, line.Env = c.Dir, c.environment(home, home)
	line.Stdout, line.Stderr = write, write
	all := newGroup(line)
	line.Cancel = func() error { all.kill(); return nil }
	err = line.Start()
	_ = write.Close()
	switch {
	case err != nil && ctx.Err() != nil:
		return killed(), nil
	case err != nil:
		return Result{}, ErrSetup.With("step", "start").Because(err)
	}
	all.begin()
	copied := make(chan struct{})
	go func() {
		_, _ = io.Copy(out, read)
		close(copied)
	}()
	_ = line.Wait()
	all.kill()                                      // processes that the line left in the background
	_ = read.SetReadDeadline(time.Now().Add(drain)) // a process of another session can still hold the pipe
	<-copied
	return resultOf(ctx, line.ProcessState), nil
}

// A shell reads the lines of commands.
type shell struct {
	path string // without symbolic links
	name string // bash or sh: a program with many names reads it
}

// findShell returns bash, or sh where there is no bash. Commands are classified as bash reads them. A shell of the
// system is preferred, because the sandbox has it.
func findShell() (shell, error) {
	var failures []error
	for _, name := range []string{"bash", "sh"} {
		for _, candidate := range []string{"/bin/" + name, "/usr/bin/" + name, name} {
			path, err := exec.LookPath(candidate)
			if err == nil {
				path, err = filepath.EvalSymlinks(path)
			}
			if err == nil {
				return shell{path, name}, nil
			}
			failures = append(failures, err)
		}
	}
	return shell{}, ErrShell.Because(errors.Join(failures...))
}

// arguments returns the arguments of a shell, beginning with its own name.
func (c Command) arguments(sh shell) []string {
	return append([]string{sh.name, "-c", c.Line, sh.name}, c.Args...)
}
