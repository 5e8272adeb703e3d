package cli

import "golang.org/x/sys/unix"

// flushTerminal drops what was typed at a terminal and not read yet. Another file is left as it is.
func flushTerminal(fd int) { _ = unix.IoctlSetInt(fd, unix.TCFLSH, unix.TCIFLUSH) }
