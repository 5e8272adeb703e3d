package console

import "golang.org/x/sys/unix"

// flushTerminal drops the unread input of a terminal. It leaves any other file as it is.
func flushTerminal(fd int) { _ = unix.IoctlSetInt(fd, unix.TCFLSH, unix.TCIFLUSH) }
