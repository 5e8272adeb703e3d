package turn

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"piloto/internal/conversation"
	"piloto/internal/live/realtime"
)

// How an answer is followed while it is written.
const (
	tellEvery = 120 * time.Millisecond // between two pieces that are pushed
	lookEvery = 700 * time.Millisecond // between two looks whether a person said stop
)

// errStopped is why an answer ended that a person stopped.
var errStopped = errors.New("turn: stopped by the person")

// writing is an answer while it is written: it tells what is written to whoever
// has the chat open, and ends it when somebody says stop.
//
// The text is sent up to the end of a sentence or a line, and is not taken back. Notes under
// the answer say what in it is not true. The arguments of a tool call are not sent. Only a
// call that broke off, and is made again, begins its part again.
type writing struct {
	s       *Service
	account string
	chat    conversation.Chat
	turn    string
	since   time.Time
	shown   bool // somebody has the page open

	mu    sync.Mutex
	text  strings.Builder
	kept  string // of earlier calls of the turn: text begins with it
	told  int
	again bool // begins anew
	ever  bool // something was told

	cancel context.CancelCauseFunc
	over   chan struct{}
	wait   sync.WaitGroup
}

// write begins to follow an answer. The context it returns ends when a person
// says stop; end must be called.
func (s *Service) write(ctx context.Context, account string, chat conversation.Chat, turn string, since time.Time) (context.Context, *writing) {
	w := &writing{s: s, account: account, chat: chat, turn: turn, since: since.Truncate(time.Millisecond), over: make(chan struct{})}
	ctx, w.cancel = context.WithCancelCause(ctx)
	w.wait.Go(func() { w.follow(ctx) })
	return ctx, w
}

// Text implements llm.Sink.
func (w *writing) Text(delta string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text.WriteString(delta)
}

// Reset implements llm.Sink.
func (w *writing) Reset() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.again = w.again || w.told > len(w.kept)
	w.told = min(w.told, len(w.kept))
	w.text.Reset()
	w.text.WriteString(w.kept)
}

// keep makes the text so far the beginning of the answer.
func (w *writing) keep(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.kept += text + "\n\n"
	w.text.Reset()
	w.text.WriteString(w.kept)
	w.told = min(w.told, len(w.kept))
}

// end stops following. What was told is over: what stands in the chat is the
// answer.
func (w *writing) end(ctx context.Context) {
	close(w.over)
	w.wait.Wait()
	w.cancel(nil)
	w.mu.Lock()
	told := w.ever
	w.mu.Unlock()
	if told {
		w.s.Tell.Notify(context.WithoutCancel(ctx), w.account, realtime.TextEnd(w.chat.ID, w.turn))
	}
}

func (w *writing) follow(ctx context.Context) {
	tell, look := time.NewTicker(tellEvery), time.NewTicker(lookEvery)
	defer tell.Stop()
	defer look.Stop()
	for {
		select {
		case <-w.over:
			return
		case <-ctx.Done():
			return
		case <-tell.C:
			w.tell(ctx)
		case <-look.C:
			at, err := w.s.Store.StopAsked(ctx, w.account, w.chat.ID)
			if err == nil && !at.Before(w.since) {
				w.cancel(errStopped)
				return
			}
		}
	}
}

// tell pushes what may be shown and was not yet.
func (w *writing) tell(ctx context.Context) {
	w.mu.Lock()
	text, from, again := w.text.String(), w.told, w.again
	to := lastEnd(text)
	if again {
		from, w.again = 0, false
	}
	if to > from {
		w.told, w.ever = to, true
	}
	w.mu.Unlock()
	var events []realtime.Event
	if again {
		events = append(events, realtime.TextReset(w.chat.ID, w.turn))
	}
	if to > from {
		events = append(events, realtime.Text(w.chat.ID, w.turn, from, text[from:to]))
	}
	if len(events) > 0 {
		w.s.Tell.Notify(ctx, w.account, events...)
	}
}

// lastEnd is where the last whole sentence or line of a text ends.
func lastEnd(text string) int {
	to := 0
	for _, end := range []string{"\n", ". ", "? ", "! ", "… "} {
		if i := strings.LastIndex(text, end); i >= 0 {
			to = max(to, i+len(end))
		}
	}
	return to
}
