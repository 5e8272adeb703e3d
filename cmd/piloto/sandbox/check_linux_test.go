package sandbox

import (
	"errors"
	"os"
	"syscall"
	"testing"

	"piloto/internal/ground/fault"
)

func TestCheckExplainsWhatIsMissing(t *testing.T) {
	ubuntu := facts{program: "/usr/bin/piloto", clone: "1", userNamespaces: "96365", appArmor: "1"}
	for what, c := range map[string]struct {
		step  string
		errno syscall.Errno
		facts facts
		want  *fault.Error
	}{
		"a container":            {"namespaces", syscall.EPERM, facts{userNamespaces: "96365"}, ErrNamespaces},
		"a kernel without them":  {"namespaces", syscall.EINVAL, facts{}, ErrNamespaces},
		"no more allowed":        {"namespaces", syscall.ENOSPC, facts{userNamespaces: "0"}, ErrSysctl},
		"an old Debian":          {"namespaces", syscall.EPERM, facts{clone: "0", userNamespaces: "96365"}, ErrSysctl},
		"Ubuntu without profile": {"namespaces", syscall.EACCES, ubuntu, ErrAppArmor},
		"Ubuntu with its stub":   {"files", syscall.EACCES, ubuntu, ErrAppArmor},
		"proc in a container":    {"files", syscall.EPERM, facts{userNamespaces: "96365"}, ErrNamespaces},
		"a path that vanished":   {"files", syscall.ENOENT, ubuntu, ErrSetup},
		"no Landlock":            {"landlock", syscall.ENOSYS, ubuntu, ErrLandlock},
		"Landlock switched off":  {"landlock", syscall.EOPNOTSUPP, ubuntu, ErrLandlock},
		"root, an old kernel":    {"root", 0, facts{}, ErrRoot},
		"another processor":      {"filter", syscall.ENOTSUP, ubuntu, ErrSetup},
		"no shell there":         {"start", syscall.ENOENT, ubuntu, ErrShell},
	} {
		if err := explain(report{Step: c.step, Errno: c.errno, Text: "why"}, c.facts); !errors.Is(err, c.want) || fault.Of(err).Cause == nil {
			t.Errorf("%s: %v, want %v", what, err, c.want)
		}
	}
}

// A step that fails in the first process reaches the caller, with the error of the kernel.
func TestFailedStepIsReported(t *testing.T) {
	r := failed("files", &os.PathError{Op: "mount", Path: "/x", Err: syscall.EACCES})
	if want := (report{Step: "files", Errno: syscall.EACCES, Text: "mount /x: permission denied"}); r != want {
		t.Errorf("got %+v, want %+v", r, want)
	}
	if r := failed("limits", errUnbounded); r.Step != "root" {
		t.Errorf("got %+v", r)
	}
}

// Without the call of Main, this program would do its whole work again as the first process.
func TestRunNeedsMain(t *testing.T) {
	ready = false
	defer func() { ready = true }()
	if _, err := Run(t.Context(), Command{Line: "true", Workspace: t.TempDir()}); !errors.Is(err, ErrSetup) {
		t.Errorf("got %v", err)
	}
}
