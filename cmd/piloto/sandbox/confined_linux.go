package sandbox

import (
	"context"
	"encoding/gob"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// namespaces are the parts of the machine that a sandbox has for itself.
const namespaces = syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET |
	syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS

// Check returns nil when this machine can confine a command, and otherwise the missing feature. It runs a command that
// does nothing.
func Check(ctx context.Context) error {
	folder, err := os.MkdirTemp("", "piloto-check-")
	if err != nil {
		return ErrSetup.With("step", "files").Because(err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	_, err = Run(ctx, Command{Line: ":", Workspace: folder})
	return err
}

// runConfined runs a checked command in a sandbox.
func runConfined(ctx context.Context, c Command, sh shell, out *output) (Result, error) {
	if !ready {
		return Result{}, ErrSetup.With("step", "main").Because(errors.New("sandbox.Main was not called"))
	}
	copies, remove, err := c.copies()
	if err != nil {
		return Result{}, ErrSetup.With("step", "files").Because(err)
	}
	defer remove()
	orderIn, orderOut, err := os.Pipe()
	if err != nil {
		return Result{}, ErrSetup.With("step", "pipe").Because(err)
	}
	defer func() { _ = orderOut.Close() }()
	reportIn, reportOut, err := os.Pipe()
	if err != nil {
		_ = orderIn.Close()
		return Result{}, ErrSetup.With("step", "pipe").Because(err)
	}
	defer func() { _ = reportIn.Close() }()
	first := firstProcess(ctx, out, orderIn, reportOut)
	err = first.Start()
	_, _ = orderIn.Close(), reportOut.Close()
	switch {
	case ctx.Err() != nil && err != nil:
		return killed(), nil
	case err != nil:
		return Result{}, explain(report{Step: "namespaces", Errno: errnoOf(err), Text: err.Error()}, readFacts())
	}
	sent := gob.NewEncoder(orderOut).Encode(newOrder(c, sh, copies)) // fails when the process died: the report says why
	_ = first.Wait()
	c.carry(copies)
	var r report
	switch err := gob.NewDecoder(reportIn).Decode(&r); {
	case err == nil && r.Step == "":
		return Result{Code: r.Code, Killed: r.Ended}, nil
	case err == nil:
		return Result{}, explain(r, readFacts())
	case !errors.Is(err, io.EOF) || sent != nil && ctx.Err() == nil:
		return Result{}, ErrSetup.With("step", "order").Because(errors.Join(sent, err))
	}
	return killed(), nil
}

// firstProcess returns this program as the first process of new namespaces.
func firstProcess(ctx context.Context, out *output, orders, reports *os.File) *exec.Cmd {
	first := exec.CommandContext(ctx, "/proc/self/exe")
	first.Args = []string{firstName}
	first.Env = []string{}
	first.Dir = "/"
	first.Stdout, first.Stderr = out, out
	first.ExtraFiles = []*os.File{orders, reports}
	first.WaitDelay = drain
	uid, gid := os.Geteuid(), os.Getegid()
	first.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  namespaces,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}},
		AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SYS_RESOURCE},
		Setsid:      true,
	}
	return first
}

func errnoOf(err error) syscall.Errno {
	var errno syscall.Errno
	errors.As(err, &errno)
	return errno
}

// facts are settings of this machine that explain why a sandbox cannot be built. A setting that does not exist is "".
type facts struct {
	program        string // the path of this program
	clone          string // kernel.unprivileged_userns_clone
	userNamespaces string // user.max_user_namespaces
	appArmor       string // kernel.apparmor_restrict_unprivileged_userns
}

func readFacts() facts {
	read := func(path string) string {
		text, err := os.ReadFile(path)
		if err != nil {
			return ""
		}
		return strings.TrimSpace(string(text))
	}
	program, err := os.Executable()
	if err != nil {
		program = os.Args[0]
	}
	return facts{
		program:        program,
		clone:          read("/proc/sys/kernel/unprivileged_userns_clone"),
		userNamespaces: read("/proc/sys/user/max_user_namespaces"),
		appArmor:       read("/proc/sys/kernel/apparmor_restrict_unprivileged_userns"),
	}
}

// explain returns the error of a step that failed.
func explain(r report, f facts) error {
	cause := errors.New(r.Step + ": " + r.Text)
	refused := r.Errno == syscall.EPERM || r.Errno == syscall.EACCES
	switch {
	case r.Step == "root":
		return ErrRoot.Because(cause)
	case r.Step == "landlock" && (r.Errno == syscall.ENOSYS || r.Errno == syscall.EOPNOTSUPP):
		return ErrLandlock.Because(cause)
	case r.Step == "start" && r.Errno == syscall.ENOENT:
		return ErrShell.Because(cause)
	case r.Step != "namespaces" && !(r.Step == "files" && refused):
		return ErrSetup.With("step", r.Step).Because(cause)
	case f.clone == "0":
		return ErrSysctl.With("name", "kernel.unprivileged_userns_clone").With("value", "1").Because(cause)
	case f.userNamespaces == "0":
		return ErrSysctl.With("name", "user.max_user_namespaces").With("value", "10000").Because(cause)
	case f.appArmor == "1" && refused:
		return ErrAppArmor.With("program", f.program).Because(cause)
	}
	return ErrNamespaces.Because(cause)
}

// copies writes the contents of Masked into files of a new folder, and returns their paths by name. The one of "" is an empty
// file. The indexes of git that belong to them are there by their own paths. remove deletes them.
func (c *Command) copies() (paths map[string]string, remove func(), err error) {
	paths, remove = map[string]string{}, func() {}
	if len(c.Masked) == 0 && len(c.Hidden) == 0 {
		return paths, remove, nil
	}
	folder, err := os.MkdirTemp("", "piloto-masked-")
	if err != nil {
		return nil, remove, err
	}
	remove = func() { _ = os.RemoveAll(folder) }
	all := maps.Clone(c.Masked)
	if all == nil {
		all = map[string][]byte{}
	}
	all[""] = nil
	if len(c.stages) > 0 {
		all[""] = hiddenContent
	}
	for name, content := range all {
		path := filepath.Join(folder, strconv.Itoa(len(paths)))
		if err = c.copyTo(path, name, content); err != nil {
			break
		}
		paths[name] = path
	}
	if err == nil {
		err = c.marked(folder, paths)
	}
	if err != nil {
		remove()
		return nil, func() {}, err
	}
	return paths, remove, nil
}

// copyTo writes the copy of a file, with its times and its right to be run. A copy that git could stage is older than any
// index, because git compares newer files.
func (c *Command) copyTo(path, name string, content []byte) error {
	if err := os.WriteFile(path, content, 0o400); err != nil {
		return err
	}
	at, mode := time.Unix(1e9, 0), fs.FileMode(0o400)
	if info, err := os.Lstat(filepath.Join(c.Workspace, filepath.FromSlash(name))); err == nil && info.Mode().IsRegular() {
		mode |= info.Mode().Perm() & 0o111
		if c.carries(name) {
			mode |= info.Mode().Perm() & 0o200
		}
		if len(c.stages) == 0 {
			at = info.ModTime()
		}
	}
	return errors.Join(os.Chmod(path, mode), os.Chtimes(path, at, at))
}
