package sandbox

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"

	"github.com/landlock-lsm/go-landlock/landlock"
	llsyscall "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// Limits that the kernel holds.
const (
	maxProcesses = 1024    // with their threads
	maxOpenFiles = 4096    // of one process
	maxFileBytes = 1 << 30 // of one file
	maxScratch   = "2g"    // of HOME and TMPDIR together
	maxShared    = "256m"  // of /dev/shm
)

// minLandlock is the least version of Landlock: from it on, a file can be renamed into another folder.
const minLandlock = 2

// errUnbounded means that this kernel cannot limit the number of processes of root.
var errUnbounded = errors.New("the processes of root are not limited before Linux 6.14")

// loopback switches on the loopback interface of the network namespace, for tests that start a server.
func (o *order) loopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, request)
}

// limit sets the limits of the kernel, and then makes /proc unwritable.
func (o *order) limit() error {
	for _, setting := range []struct{ name, value string }{
		{"/proc/sys/user/max_user_namespaces", "0"}, // a new one would give capabilities in it
		{"/proc/self/oom_score_adj", "800"},         // when memory runs out, the sandbox ends first
	} {
		if err := os.WriteFile(setting.name, []byte(setting.value), 0); err != nil {
			return err
		}
	}
	if os.Geteuid() == 0 {
		if err := limitRoot(); err != nil {
			return err
		}
	}
	for _, limit := range []struct {
		of  int
		max uint64
	}{
		{unix.RLIMIT_NPROC, maxProcesses},
		{unix.RLIMIT_NOFILE, maxOpenFiles},
		{unix.RLIMIT_FSIZE, maxFileBytes},
		{unix.RLIMIT_CORE, 0},
	} {
		var now syscall.Rlimit
		if err := syscall.Getrlimit(limit.of, &now); err != nil {
			return err
		}
		most := min(limit.max, now.Max)
		if err := syscall.Setrlimit(limit.of, &syscall.Rlimit{Cur: most, Max: most}); err != nil {
			return fmt.Errorf("limit %d: %w", limit.of, err)
		}
	}
	return protect(unix.AT_FDCWD, "/proc", 0, unix.MOUNT_ATTR_RDONLY)
}

// limitRoot limits the processes of root, for whom RLIMIT_NPROC does not hold. Before Linux 6.14 the setting is the
// machine's own, and must not be written.
func limitRoot() error {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return err
	}
	var major, minor int
	if _, err := fmt.Sscanf(unix.ByteSliceToString(name.Release[:]), "%d.%d", &major, &minor); err != nil {
		return err
	}
	if major < 6 || major == 6 && minor < 14 {
		return errUnbounded
	}
	return os.WriteFile("/proc/sys/kernel/pid_max", []byte(strconv.Itoa(maxProcesses)), 0)
}

// restrict forbids, by Landlock, all access to files but that of the order. It also sets no_new_privs.
func (o *order) restrict() error {
	version, err := llsyscall.LandlockGetABIVersion()
	if err != nil {
		return err
	}
	if version < minLandlock {
		return fmt.Errorf("version %d: %w", version, syscall.EOPNOTSUPP)
	}
	rules := []landlock.Rule{landlock.PathAccess(llsyscall.AccessFSReadDir, "/")} // names show the mounts, no more
	for _, m := range o.Mounts {
		info, err := os.Stat(m.Path)
		if err != nil {
			return err
		}
		switch write := m.Kind == writable || m.Kind == carried || m.Kind == scratch || m.Kind == shared || m.Kind == device; {
		case write && info.IsDir():
			rules = append(rules, landlock.RWDirs(m.Path).WithRefer())
		case write:
			rules = append(rules, landlock.RWFiles(m.Path))
		case info.IsDir():
			rules = append(rules, landlock.RODirs(m.Path))
		default:
			rules = append(rules, landlock.ROFiles(m.Path))
		}
	}
	// Best effort: an older kernel restricts less. From minLandlock on, the mounts forbid the rest too.
	return landlock.V9.BestEffort().RestrictPaths(rules...)
}

// dropCapabilities gives up the rights that built the sandbox. This thread and its children cannot get them back, because
// no_new_privs is set. The other threads of this process cannot be traced.
func (o *order) dropCapabilities() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&header, &none[0]); err != nil {
		return err
	}
	return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
}
