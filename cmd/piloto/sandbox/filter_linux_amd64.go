package sandbox

import "golang.org/x/sys/unix"

// oldModeCalls are calls that newer processors do not have.
var oldModeCalls = []modeCall{{unix.SYS_CHMOD, 1, 0}, {unix.SYS_MKNOD, 1, 0}, {unix.SYS_CREAT, 1, 0}, {unix.SYS_OPEN, 2, 1}}
