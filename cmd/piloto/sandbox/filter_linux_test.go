package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// No command leaves a program that has the rights of the person, whoever starts it. On tmpfs and in the workspace alike.
func TestNoBitOfAnotherUserIsSet(t *testing.T) {
	needSandbox(t)
	workspace := t.TempDir()
	r := run(t, probe(t, workspace, "rights"))
	want := "0755 true\n"
	for _, mode := range []string{"4755", "2755", "6755", "7777"} {
		want += mode + " false\n"
	}
	want += "1777 true\n"
	lines := map[string]int{}
	for line := range strings.Lines(r.Output + "\n") {
		lines[line]++
	}
	for line := range strings.Lines(want) {
		if lines[line] != len(rightsCalls) {
			t.Errorf("%q is there %d times, want %d", line, lines[line], len(rightsCalls))
		}
	}
	_ = filepath.WalkDir(workspace, func(path string, e os.DirEntry, _ error) error {
		if info, err := e.Info(); err == nil && info.Mode()&(os.ModeSetuid|os.ModeSetgid) != 0 {
			t.Errorf("%s is %s", path, info.Mode())
		}
		return nil
	})
	r = run(t, Command{Workspace: workspace, Line: `mkdir -m 2755 d 2>&- || echo no; install -m 4755 /bin/true t 2>&- || echo no; touch f; chmod u+s f 2>&- || echo no
chmod g+s . 2>&- || echo no; cp -a /bin/true c && mkdir -p a/b && chmod 1777 a && chmod 755 f && tar cf x.tar a c f && tar xf x.tar && echo yes`})
	wantOutput(t, r, "no", "no", "no", "no", "yes")
}

func init() { probes["rights"] = probeRights }

// rightsCalls are the calls by which a file gets its rights.
var rightsCalls = map[string]func(path string, mode uint32) error{
	"fchmodat": func(path string, mode uint32) error {
		return raw(unix.SYS_FCHMODAT, at2(), pointer(path), uintptr(mode), 0)
	},
	"fchmodat2": func(path string, mode uint32) error {
		return raw(unix.SYS_FCHMODAT2, at2(), pointer(path), uintptr(mode), 0)
	},
	"fchmod": func(path string, mode uint32) error {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		return raw(unix.SYS_FCHMOD, f.Fd(), uintptr(mode), 0, 0)
	},
	"openat": func(path string, mode uint32) error {
		return raw(unix.SYS_OPENAT, at2(), pointer(path+".new"), unix.O_CREAT|unix.O_WRONLY, uintptr(mode))
	},
	"a nameless file": func(path string, mode uint32) error {
		return raw(unix.SYS_OPENAT, at2(), pointer(filepath.Dir(path)), unix.O_TMPFILE|unix.O_WRONLY, uintptr(mode))
	},
	"mknodat": func(path string, mode uint32) error {
		return raw(unix.SYS_MKNODAT, at2(), pointer(path+".node"), uintptr(mode|unix.S_IFREG), 0)
	},
	"upper bits": func(path string, mode uint32) error {
		return raw(unix.SYS_FCHMODAT, at2(), pointer(path), uintptr(mode)|1<<40|1<<16, 0)
	},
}

func at2() uintptr { at := unix.AT_FDCWD; return uintptr(at) }

func pointer(path string) uintptr {
	p, err := unix.BytePtrFromString(path)
	if err != nil {
		panic(err)
	}
	pinned = append(pinned, p)
	return uintptr(unsafe.Pointer(p))
}

var pinned []*byte

func raw(call, a, b, c, d uintptr) error {
	if _, _, errno := unix.Syscall6(call, a, b, c, d, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

func probeRights([]string) {
	for name, set := range rightsCalls {
		for _, mode := range []uint32{0o755, 0o4755, 0o2755, 0o6755, 0o7777, 0o1777} {
			path, _ := filepath.Abs(fmt.Sprintf("%s-%o", strings.ReplaceAll(name, " ", "-"), mode))
			if err := os.WriteFile(path, nil, 0o644); err != nil {
				fmt.Println(err)
			}
			err := set(path, mode)
			if err != nil && err != unix.EPERM {
				fmt.Println(name, err)
			}
			fmt.Printf("%04o %v\n", mode, err == nil)
		}
	}
}
