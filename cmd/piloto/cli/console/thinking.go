package console

import (
	"fmt"
	"sync"
	"time"
)

// Thinking is the line on stderr while a model thinks: with its seconds at a terminal, else one line for the whole command.
type Thinking struct {
	con  *Console
	once sync.Once     // without a terminal
	stop chan struct{} // nil: it is not shown
	done chan struct{}
}

// Thinking returns the line of a command.
func (con *Console) Thinking() *Thinking { return &Thinking{con: con} }

// Show shows the line until Hide is called. Nothing else may be written meanwhile.
func (t *Thinking) Show() {
	switch {
	case t.con.Quiet || t.stop != nil:
		return
	case !t.con.Colour:
		t.once.Do(func() { t.con.Say("- " + t.con.Text("cli.thinking")) })
		return
	}
	t.stop, t.done = make(chan struct{}), make(chan struct{})
	go func() {
		defer close(t.done)
		to := Unscreened(t.con.ErrOut) // the line is written over itself
		began, tick := time.Now(), time.NewTicker(thinkingEvery)
		defer tick.Stop()
		for n := 0; ; n++ {
			fmt.Fprintf(to, "\r%c %s %d s\x1b[K", spinner[n%len(spinner)], t.con.Text("cli.thinking"), int(time.Since(began).Seconds()))
			select {
			case <-t.stop:
				fmt.Fprint(to, "\r\x1b[K")
				return
			case <-tick.C:
			}
		}
	}()
}

const thinkingEvery = 200 * time.Millisecond

var spinner = []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")

// Hide takes the line away.
func (t *Thinking) Hide() {
	if t.stop != nil {
		close(t.stop)
		<-t.done
		t.stop = nil
	}
}
