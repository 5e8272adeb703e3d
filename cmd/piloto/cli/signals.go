package cli

import (
	"context"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/term"

	"piloto/cmd/piloto/cli/console"
	"piloto/cmd/piloto/cli/ending"
)

const (
	lastPoll = 10 * time.Second       // the second signal waits so long until the files that a command left for git are moved away
	echo     = 100 * time.Millisecond // in which a signal that comes again is the same one
)

// interruption ends a command at a signal.
type interruption struct {
	con      *console.Console
	signals  chan os.Signal
	underWay sync.Mutex // held from the start of a command on this machine until its changes to git are moved away
}

// obey ends the command with the first signal, by stop, and at once with the second one of a person, as soon as no
// command on this machine is under way. It returns the function that stops this.
func (in *interruption) obey(stop context.CancelCauseFunc) (end func()) {
	in.signals = make(chan os.Signal, 8)
	signal.Notify(in.signals, ends()...)
	// Without this a write to a closed pipe would kill this program before its job is stopped. A reader such as tee,
	// which ends with the terminal or with Ctrl-C, ends before it.
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, syscall.SIGPIPE)
	go func() {
		var insists insistence
		for s := range in.signals {
			stop(&ending.Signal{Signal: s})
			if insists.on(s, time.Now()) {
				in.leave(s)
			}
		}
	}()
	return func() { signal.Stop(in.signals); signal.Stop(broken) }
}

// leave ends the program.
func (in *interruption) leave(with os.Signal) {
	if state := in.con.Terminal.Load(); state != nil { // a secret was being typed
		_ = term.Restore(int(os.Stdin.Fd()), state)
	}
	code := int((&ending.Signal{Signal: with}).Code())
	time.AfterFunc(lastPoll, func() { os.Exit(code) })
	in.underWay.Lock() // for good: none begins
	os.Exit(code)
}

// insistence knows whether a person has sent a second signal.
type insistence struct {
	first os.Signal
	at    time.Time
}

// on reports whether a signal is the second one of a person. The end of a terminal does not count: the system sends it,
// the shell sends it too, and a person may close the terminal while the job is being stopped. Programs such as timeout,
// and npm after Ctrl-C, pass on their own signal: the same one, at once.
func (i *insistence) on(s os.Signal, now time.Time) bool {
	switch {
	case s == syscall.SIGHUP:
		return false
	case i.first == nil:
		i.first, i.at = s, now
		return false
	}
	return s != i.first || now.Sub(i.at) > echo
}

// ends returns the signals that end a command. The end of a terminal that nohup has ignored stays ignored.
func ends() []os.Signal {
	of := slices.DeleteFunc([]os.Signal{syscall.SIGHUP, syscall.SIGQUIT}, signal.Ignored)
	return append(of, os.Interrupt, syscall.SIGTERM)
}
