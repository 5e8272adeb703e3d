package cli

import (
	"bytes"
	"fmt"
	"os"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// terminal is a pseudo-terminal that passes every byte, and the text that was written to it.
type terminal struct {
	master, slave *os.File

	mu    sync.Mutex
	shown bytes.Buffer
	done  chan struct{}
}

// newTerminal opens a pseudo-terminal. A test of a system without one is skipped.
func newTerminal(t *testing.T) *terminal {
	t.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skip("no pseudo-terminal: ", err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	must(t, err)
	name := fmt.Sprintf("/dev/pts/%d", n)
	slave, err := unix.Open(name, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	must(t, err)
	mode, err := unix.IoctlGetTermios(slave, unix.TCGETS)
	must(t, err)
	mode.Oflag &^= unix.OPOST
	mode.Lflag &^= unix.ECHO
	must(t, unix.IoctlSetTermios(slave, unix.TCSETS, mode))
	it := &terminal{master: os.NewFile(uintptr(fd), "ptmx"), slave: os.NewFile(uintptr(slave), name), done: make(chan struct{})}
	go func() {
		defer close(it.done)
		piece := make([]byte, 4096)
		for {
			n, err := it.master.Read(piece)
			it.mu.Lock()
			it.shown.Write(piece[:n])
			it.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return it
}

// close returns everything that was written.
func (it *terminal) close() string {
	_ = it.slave.Close() // then a read of the master ends
	<-it.done
	_ = it.master.Close()
	return it.shown.String()
}
