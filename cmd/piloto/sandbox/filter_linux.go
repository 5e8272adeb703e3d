package sandbox

import (
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// families are the sockets that a network namespace holds back.
var families = []uint32{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK}

// refused are the calls that reach a keyring of the person, or that open sockets and files past the filter.
var refused = []uint32{unix.SYS_IO_URING_SETUP, unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_OPENAT2}

// A modeCall is a call that sets the rights of a file.
type modeCall struct {
	number uint32
	mode   uint32 // which of its arguments has the rights
	flags  uint32 // which one says whether a file is made; 0 for a call without
}

// modeCalls are those of every processor. A folder takes no such bits from mkdir.
var modeCalls = append(oldModeCalls,
	modeCall{unix.SYS_FCHMOD, 1, 0}, modeCall{unix.SYS_FCHMODAT, 2, 0}, modeCall{unix.SYS_FCHMODAT2, 2, 0}, modeCall{unix.SYS_MKNODAT, 2, 0},
	modeCall{unix.SYS_OPENAT, 3, 2},
)

const (
	setsID = unix.S_ISUID | unix.S_ISGID
	makes  = unix.O_CREAT | unix.O_TMPFILE&^unix.O_DIRECTORY
)

// architectures maps the supported values of GOARCH to those of seccomp.
var architectures = map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}

// The instructions of a filter. Jt and Jf are the numbers of instructions to skip.
const (
	load     = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
	equal    = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
	atLeast  = unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K
	anyBit   = unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K
	answer   = unix.BPF_RET | unix.BPF_K
	allow    = unix.SECCOMP_RET_ALLOW
	unknown  = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	noFamily = unix.SECCOMP_RET_ERRNO | uint32(unix.EAFNOSUPPORT)
	noRight  = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
)

// Offsets in seccomp_data.
const (
	number, architecture = 0, 4
	x32                  = 0x40000000
)

// argument returns the offset of the lower half of an argument: the kernel reads no more of flags and rights.
func argument(n uint32) uint32 { return 16 + 8*n }

// filter refuses system calls that no namespace confines. It holds for this thread and its children.
func (o *order) filter() error {
	arch, ok := architectures[runtime.GOARCH]
	if !ok {
		return syscall.ENOTSUP
	}
	code := []unix.SockFilter{
		{Code: load, K: architecture},
		{Code: equal, K: arch, Jt: 1},
		{Code: answer, K: unknown},
		{Code: load, K: number},
		{Code: atLeast, K: x32, Jf: 1},
		{Code: answer, K: unknown},
	}
	for _, call := range refused {
		code = append(code, unix.SockFilter{Code: equal, K: call, Jf: 1}, unix.SockFilter{Code: answer, K: unknown})
	}
	for _, call := range modeCalls {
		code = append(code, call.check()...)
	}
	code = append(code,
		unix.SockFilter{Code: equal, K: unix.SYS_SOCKET, Jt: 1},
		unix.SockFilter{Code: answer, K: allow},
		unix.SockFilter{Code: load, K: argument(0)},
	)
	for _, family := range families {
		code = append(code, unix.SockFilter{Code: equal, K: family, Jf: 1}, unix.SockFilter{Code: answer, K: allow})
	}
	code = append(code, unix.SockFilter{Code: answer, K: noFamily})
	program := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return errno
	}
	return nil
}

// check refuses the setuid and setgid bits, because outside of the sandbox the program would run with the rights of the
// person. Any other call goes on behind these instructions, with its number loaded.
func (c modeCall) check() []unix.SockFilter {
	var body []unix.SockFilter
	if c.flags != 0 { // without a new file, nothing reads the rights
		body = append(body,
			unix.SockFilter{Code: load, K: argument(c.flags)},
			unix.SockFilter{Code: anyBit, K: makes, Jt: 1},
			unix.SockFilter{Code: answer, K: allow},
		)
	}
	body = append(body,
		unix.SockFilter{Code: load, K: argument(c.mode)},
		unix.SockFilter{Code: anyBit, K: setsID, Jf: 1},
		unix.SockFilter{Code: answer, K: noRight},
		unix.SockFilter{Code: answer, K: allow},
	)
	return append([]unix.SockFilter{{Code: equal, K: c.number, Jf: uint8(len(body))}}, body...)
}
