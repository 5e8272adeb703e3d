package cli

import (
	"fmt"
	"sync"
	"time"
)

// thinking is the line on stderr while a model thinks: with its seconds at a terminal, else one line for the whole command.
type thinking struct {
	con  *console
	once sync.Once     // without a terminal
	stop chan struct{} // nil: it is not shown
	done chan struct{}
}

// thinking returns the line of a command.
func (con *console) thinking() *thinking { return &thinking{con: con} }

// show shows the line until hide is called. Nothing else may be written meanwhile.
func (t *thinking) show() {
	switch {
	case t.con.quiet || t.stop != nil:
		return
	case !t.con.colour:
		t.once.Do(func() { t.con.say("- " + t.con.text("cli.thinking")) })
		return
	}
	t.stop, t.done = make(chan struct{}), make(chan struct{})
	go func() {
		defer close(t.done)
		to := unscreened(t.con.errOut) // the line is written over itself
		began, tick := time.Now(), time.NewTicker(thinkingEvery)
		defer tick.Stop()
		for n := 0; ; n++ {
			fmt.Fprintf(to, "\r%c %s %d s\x1b[K", spinner[n%len(spinner)], t.con.text("cli.thinking"), int(time.Since(began).Seconds()))
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

// hide takes the line away.
func (t *thinking) hide() {
	if t.stop != nil {
		close(t.stop)
		<-t.done
		t.stop = nil
	}
}
