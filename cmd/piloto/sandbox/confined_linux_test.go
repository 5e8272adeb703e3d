package sandbox

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"piloto/internal/workspace"
)

func TestOnlyTheWorkspaceCanBeWritten(t *testing.T) {
	needSandbox(t)
	var shown workspace.Shown
	workspace, library, cache := t.TempDir(), t.TempDir(), t.TempDir()
	write(t, filepath.Join(workspace, ".git", "config"), "settings")
	write(t, filepath.Join(workspace, ".env"), "KEY=1")
	write(t, filepath.Join(workspace, "keys", "a.pem"), "KEY")
	write(t, filepath.Join(workspace, "sub", "here"), "x")
	write(t, filepath.Join(library, "lib"), "library")
	write(t, filepath.Join(workspace, "sub", "mod", ".git", "config"), "nested")
	c := Command{
		Line: `
pwd
echo new > made && mv made ../moved && cat ../moved
cat ../.git/config; echo; echo x 2>&- > ../.git/config || echo no; mkdir ../.git/hooks 2>&- || echo no; mv ../.git ../other 2>&- || echo no
cat ../.env; ls ../keys; rm -f ../.env 2>&- || echo no
test -S ../server || echo no
cat mod/.git/config; echo; echo x 2>&- > mod/.git/config || echo no
cat "$1/lib"; echo; echo x 2>&- > "$1/lib" || echo no
echo kept > "$2/entry"
echo x > ~/file && echo x > $TMPDIR/file && echo x > /dev/shm/file && echo scratch
echo x 2>&- > /usr/file || echo no`,
		Args: []string{library, cache}, Workspace: workspace, Dir: filepath.Join(workspace, "sub"),
		ReadOnly: []string{library, "/does/not/exist"}, Write: []string{cache}, Hidden: []string{"keys", "absent"},
	}
	server, err := net.Listen("unix", filepath.Join(workspace, "server"))
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	if _, err := c.Protect(shown); err != nil {
		t.Fatal(err)
	}
	r := run(t, c)
	wantOutput(t, r, filepath.Join(workspace, "sub"), "new", "settings", "no", "no", "no", "no", "no", "nested", "no", "library", "no", "scratch", "no")
	for path, want := range map[string]string{
		filepath.Join(workspace, "moved"): "new\n", filepath.Join(cache, "entry"): "kept\n", filepath.Join(workspace, ".env"): "KEY=1",
	} {
		if text, err := os.ReadFile(path); string(text) != want {
			t.Errorf("%s holds %q, %v", path, text, err)
		}
	}
}

// The mounts forbid the same as Landlock does, so Landlock is tried without them.
func TestLandlockIsAWallOfItsOwn(t *testing.T) {
	needSandbox(t)
	workspace, outside := t.TempDir(), t.TempDir()
	write(t, filepath.Join(outside, "kept"), "x")
	c := probe(t, workspace, "landlock", workspace, outside)
	c.Unconfined = true
	wantOutput(t, run(t, c), "wrote in "+workspace, "read in "+workspace)
}

func init() { probes["landlock"] = probeLandlock }

// probeLandlock tries to write and read in folders, of which the first is the workspace.
func probeLandlock(folders []string) {
	o := order{Mounts: []mount{{Path: "/usr", Kind: readable}, {Path: folders[0], Kind: writable}}}
	if err := o.restrict(); err != nil {
		fmt.Println(err)
	}
	for _, folder := range folders {
		if os.WriteFile(filepath.Join(folder, "kept"), nil, 0o644) == nil {
			fmt.Println("wrote in", folder)
		}
		if _, err := os.ReadFile(filepath.Join(folder, "kept")); err == nil {
			fmt.Println("read in", folder)
		}
	}
}

func TestEnvironmentIsWhatIsNamed(t *testing.T) {
	t.Setenv("CANARY", "secret")
	t.Setenv("PATH", "/usr/bin:/bin")
	t.Setenv("LANG", "C.UTF-8")
	for _, unconfined := range []bool{false, true} {
		t.Run(fmt.Sprint("unconfined=", unconfined), func(t *testing.T) {
			if !unconfined {
				needSandbox(t)
			}
			c := probe(t, t.TempDir(), "environment")
			c.Line = `exec env -u _ -u SHLVL -u PWD "$1" probe environment`
			c.Env, c.Unconfined = map[string]string{"NAMED": "value", "HOME": "/named"}, unconfined
			r := run(t, c)
			lines := slices.DeleteFunc(strings.Split(r.Output, "\n"), func(l string) bool { return strings.HasPrefix(l, "TMPDIR=") })
			slices.Sort(lines)
			if want := []string{"HOME=/named", "LANG=C.UTF-8", "NAMED=value", "PATH=/usr/bin:/bin"}; !slices.Equal(lines, want) {
				t.Errorf("the environment is %q, want %q", lines, want)
			}
		})
	}
}

func TestNoDescriptorIsInherited(t *testing.T) {
	read, leaked, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	defer leaked.Close()
	for _, unconfined := range []bool{false, true} {
		t.Run(fmt.Sprint("unconfined=", unconfined), func(t *testing.T) {
			if !unconfined {
				needSandbox(t)
			}
			if _, _, errno := syscall.Syscall(syscall.SYS_FCNTL, leaked.Fd(), syscall.F_SETFD, 0); errno != 0 {
				t.Fatal(errno)
			}
			r := run(t, Command{Line: "ls /proc/$$/fd; :", Workspace: t.TempDir(), Unconfined: unconfined})
			wantOutput(t, r, "0", "1", "2")
		})
	}
}

// Guarantee I25. The same probe finds everything when it is not confined, so that it can find something.
func TestProbeFindsNoSecrets(t *testing.T) {
	needSandbox(t)
	home, workspace := t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)
	first, second := "cana", fmt.Sprint("ry-", os.Getpid())
	t.Setenv("CANARY", first+second)
	file := filepath.Join(home, ".ssh", "id_ed25519")
	write(t, file, first+second)
	sleeper := exec.Command("/bin/sleep", "1000") // a process of the person with the canary in its environment
	if err := sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { sleeper.Process.Kill(); sleeper.Wait() }()
	c := probe(t, workspace, "secrets", first, second, file)
	wantOutput(t, run(t, c), "")
	c.Unconfined = true
	wantOutput(t, run(t, c), "found in the home folder", "found in another process")
}

// Guarantee I25.
func TestProbeReachesNothing(t *testing.T) {
	needSandbox(t)
	workspace, outside := t.TempDir(), t.TempDir()
	write(t, filepath.Join(outside, "kept"), "x")
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	socket, abstract := filepath.Join(outside, "docker.sock"), "@"+mark(t)
	for _, address := range []string{socket, abstract} {
		listener, err := net.Listen("unix", address)
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
	}
	c := probe(t, workspace, "outside", server.Addr().String(), socket, abstract, outside)
	wantOutput(t, run(t, c), "")
	c.Unconfined = true
	found := run(t, c).Output
	for _, want := range []string{"reached tcp", "reached unix " + socket, "reached unix " + abstract, "wrote outside", "deleted outside"} {
		if !strings.Contains(found, want) {
			t.Errorf("the probe that is not confined did not say %q:\n%s", want, found)
		}
	}
}

func TestNamespacesAreItsOwn(t *testing.T) {
	needSandbox(t)
	r := run(t, Command{Line: "cd /proc/self/ns && readlink user mnt pid net ipc uts", Workspace: t.TempDir()})
	lines := strings.Split(r.Output, "\n")
	if len(lines) != 6 {
		t.Fatalf("%q", lines)
	}
	for _, line := range lines {
		name, _, _ := strings.Cut(line, ":")
		if ours, err := os.Readlink("/proc/self/ns/" + name); err != nil || ours == line {
			t.Errorf("the namespace %s is that of this process, %v", line, err)
		}
	}
}

func TestCommandHasNoRights(t *testing.T) {
	needSandbox(t)
	r := run(t, Command{Workspace: t.TempDir(), Line: `
grep -E '^(CapInh|CapPrm|CapEff|CapAmb|NoNewPrivs|Seccomp):' /proc/self/status | tr -d '\t'
unshare -U true 2>&- || echo no namespace
mount -t tmpfs none /tmp 2>&- || echo no mount
cat /proc/1/environ 2>&- || echo no first process
: 2>&- > /dev/tty || echo no terminal
echo x 2>&- > /proc/sys/kernel/core_pattern || echo no setting
sh -c 'truncate -s 1073741825 big; exit $?' 2>&- || echo no large file
read line || echo no input
ls /proc | grep -c '^[0-9]' | grep -qE '^[1-6]$' && echo few processes`})
	wantOutput(t, r, "CapInh:0000000000000000", "CapPrm:0000000000000000", "CapEff:0000000000000000", "CapAmb:0000000000000000",
		"NoNewPrivs:1", "Seccomp:2", "no namespace", "no mount", "no first process", "no terminal", "no setting", "no large file", "no input", "few processes")
}

// python3 is a program with a call for every family of sockets.
func TestSocketsOutsideOfTheNamespaceAreRefused(t *testing.T) {
	needSandbox(t)
	if _, err := os.Stat("/usr/bin/python3"); err != nil {
		t.Skip("there is no python3 here")
	}
	r := run(t, Command{Workspace: t.TempDir(), Line: `/usr/bin/python3 -c '
import ctypes, errno, socket
for family in (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK, 40, 31, 38):
    try:
        socket.socket(family, socket.SOCK_SEQPACKET if family == 38 else socket.SOCK_DGRAM).close()
        print("yes")
    except OSError as e:
        print(errno.errorcode[e.errno])
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall(425, 1, 0)
print(errno.errorcode[ctypes.get_errno()])
server = socket.socket(); server.bind(("127.0.0.1", 0)); server.listen()
socket.create_connection(server.getsockname()); print("loopback")
try:
    socket.create_connection(("1.1.1.1", 53), 5)
except OSError as e:
    print(errno.errorcode[e.errno])
'`})
	wantOutput(t, r, "yes", "yes", "yes", "yes", "EAFNOSUPPORT", "EAFNOSUPPORT", "EAFNOSUPPORT", "ENOSYS", "loopback", "ENETUNREACH")
}

func TestExitCodes(t *testing.T) {
	for _, unconfined := range []bool{false, true} {
		for line, want := range map[string]Result{
			"exit 7": {Code: 7}, "true": {}, "kill -TERM $$": {Code: 143, Killed: true}, "no-such-program 2>/dev/null": {Code: 127},
			"echo out; echo err >&2": {Output: "out\nerr"},
		} {
			t.Run(fmt.Sprint(line, " unconfined=", unconfined), func(t *testing.T) {
				if !unconfined {
					needSandbox(t)
				}
				got := run(t, Command{Line: line, Workspace: t.TempDir(), Unconfined: unconfined})
				got.Duration = 0
				if !reflect.DeepEqual(got, want) {
					t.Errorf("got %+v, want %+v", got, want)
				}
			})
		}
	}
}

// A process that left its parent, its group and its session is killed with its namespace.
func TestNothingOutlivesTheCommand(t *testing.T) {
	needSandbox(t)
	c := probe(t, t.TempDir(), "leave", mark(t))
	run(t, c)
	if left := marked(t, mark(t)); len(left) != 0 {
		t.Errorf("these processes still run: %v", left)
	}
	c.Unconfined = true
	run(t, c)
	left := marked(t, mark(t))
	for _, pid := range left {
		syscall.Kill(pid, syscall.SIGKILL)
	}
	if len(left) != 1 {
		t.Errorf("without a sandbox %d processes stay: this test would not find one", len(left))
	}
}

func TestDeadlineKillsAll(t *testing.T) {
	for _, unconfined := range []bool{false, true} {
		t.Run(fmt.Sprint("unconfined=", unconfined), func(t *testing.T) {
			if !unconfined {
				needSandbox(t)
			}
			c := probe(t, t.TempDir(), "sleep", mark(t))
			c.Line = `trap '' TERM INT HUP; echo begun; "$1" probe sleep "$3" & "$1" probe sleep "$3"`
			c.Timeout, c.Unconfined = 2*time.Second, unconfined
			r := run(t, c)
			if !r.TimedOut || !r.Killed || r.Code != 137 || r.Output != "begun" {
				t.Errorf("got %+v", r)
			}
			if left := marked(t, mark(t)); len(left) != 0 {
				t.Errorf("these processes still run: %v", left)
			}
		})
	}
}

// begun returns a FIFO, and a function that waits until a command has written to it.
func begun(t *testing.T, workspace string) (wait func()) {
	t.Helper()
	path := filepath.Join(workspace, "begun")
	if err := syscall.Mkfifo(path, 0o644); err != nil {
		t.Fatal(err)
	}
	return func() {
		if _, err := os.ReadFile(path); err != nil {
			t.Error(err)
		}
	}
}

func TestCancelKillsAll(t *testing.T) {
	for _, unconfined := range []bool{false, true} {
		t.Run(fmt.Sprint("unconfined=", unconfined), func(t *testing.T) {
			if !unconfined {
				needSandbox(t)
			}
			workspace := t.TempDir()
			c := probe(t, workspace, "sleep", mark(t))
			c.Line, c.Unconfined = `echo > begun; "$1" probe sleep "$3"`, unconfined
			wait := begun(t, workspace)
			ctx, cancel := context.WithCancel(context.Background())
			go func() { wait(); cancel() }()
			r, err := Run(ctx, c)
			if err != nil || !r.Killed || r.TimedOut || r.Code != 137 {
				t.Errorf("got %+v, %v", r, err)
			}
			if left := marked(t, mark(t)); len(left) != 0 {
				t.Errorf("these processes still run: %v", left)
			}
		})
	}
}

func TestSandboxDiesWithPiloto(t *testing.T) {
	needSandbox(t)
	workspace := t.TempDir()
	wait := begun(t, workspace)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	piloto := exec.Command(self, "-test.run=^TestAsPiloto$")
	piloto.Env = append(os.Environ(), "AS_PILOTO="+workspace, "AS_PILOTO_MARK="+mark(t))
	if err := piloto.Start(); err != nil {
		t.Fatal(err)
	}
	wait()
	if len(marked(t, mark(t))) == 0 {
		t.Fatal("the command is not found while it runs")
	}
	piloto.Process.Kill()
	piloto.Wait()
	for range 1000 { // the kernel tells the first process a moment later
		if len(marked(t, mark(t))) == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("these processes still run: %v", marked(t, mark(t)))
}

// TestAsPiloto is the program that TestSandboxDiesWithPiloto kills.
func TestAsPiloto(t *testing.T) {
	workspace := os.Getenv("AS_PILOTO")
	if workspace == "" {
		t.Skip("it is a part of TestSandboxDiesWithPiloto")
	}
	run(t, Command{Line: "echo > begun; while :; do sleep 1; done", Args: []string{os.Getenv("AS_PILOTO_MARK")}, Workspace: workspace})
}

// A fork bomb meets a limit, and is killed at the deadline.
func TestProcessesAreBounded(t *testing.T) {
	needSandbox(t)
	r := run(t, probe(t, t.TempDir(), "fork", mark(t)))
	count, _, _ := strings.Cut(r.Output, " ")
	if n, err := strconv.Atoi(count); err != nil || n < maxProcesses/2 || n > maxProcesses {
		t.Errorf("the probe said %q", r.Output)
	}
	r = run(t, Command{Line: "b() { b | b & }; b; sleep 1000", Args: []string{mark(t)}, Workspace: t.TempDir(), Timeout: 2 * time.Second})
	if left := marked(t, mark(t)); !r.Killed || len(left) != 0 {
		t.Errorf("got %+v, and these processes still run: %v", r, left)
	}
}

func TestFloodIsBounded(t *testing.T) {
	needSandbox(t)
	r := run(t, Command{Line: "yes 0123456789", Workspace: t.TempDir(), Timeout: 2 * time.Second})
	if lines := strings.Split(r.Output, "\n"); len(lines) != headLines+1+tailLines || !r.TimedOut {
		t.Errorf("%d lines, %+v", len(lines), r.TimedOut)
	}
	r = run(t, Command{Line: "head -c 50000000 /dev/zero | tr '\\0' x", Workspace: t.TempDir()})
	if r.Output != strings.Repeat("x", maxLine-len("…"))+"…" {
		t.Errorf("%d bytes", len(r.Output))
	}
}

// CI runs as root. An ordinary user has fewer rights, so the same tests run once more as one.
func TestAsOrdinaryUser(t *testing.T) {
	needSandbox(t)
	if os.Geteuid() != 0 {
		t.Skip("this is an ordinary user already")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	folder, err := os.MkdirTemp("", "ordinary-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(folder)
	copied := filepath.Join(folder, "sandbox.test")
	if err := exec.Command("cp", self, copied).Run(); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	again := exec.Command(copied, "-test.run=^Test(Only|ANamed|Namespaces|Environment|NoDesc|Probe|Command|Sockets|Exit|Nothing|Processes|What|AReplaced|ATree|NoBit)", "-test.v")
	again.Dir = "/"
	again.Env = []string{"PATH=/usr/bin:/bin", "HOME=/nonexistent"}
	again.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 54321, Gid: 54321}}
	text, err := again.CombinedOutput()
	if err != nil || !strings.Contains(string(text), "--- PASS: TestCommandHasNoRights") {
		t.Errorf("%v\n%s", err, text)
	}
}
