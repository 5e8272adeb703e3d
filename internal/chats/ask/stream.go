package ask

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"piloto/internal/ground/ids"
	"piloto/internal/live/realtime"
)

// Intervals of a stream.
const (
	pushEvery      = 120 * time.Millisecond // between two pushes of text
	stopCheckEvery = 700 * time.Millisecond // between two checks for a stop request
)

// ErrStopped is the cause when a person stopped the answer.
var ErrStopped = errors.New("ask: stopped by the person")

// Stream pushes an answer to the clients that have the chat open while the model writes
// it, and cancels the model call on a stop request.
//
// The text is pushed up to the end of a sentence or a line, and is not taken back. Notes under
// the answer mark false claims. The arguments of a tool call are not pushed. Only a model call
// that broke off and is retried pushes its part again.
type Stream struct {
	Tell    realtime.Notifier
	Stops   func(context.Context) (time.Time, error) // when a person asked last to stop the answer; the zero time: never
	Account ids.Account
	Answer  realtime.Answer
	Since   time.Time // earlier requests to stop are for earlier answers
	Shown   bool      // a client has the page open: the text is pushed

	mu     sync.Mutex
	text   strings.Builder
	kept   string // text of earlier calls of the turn: a prefix of text
	sent   int
	again  bool // the next push begins with a reset
	pushed bool // something was pushed

	cancel context.CancelCauseFunc
	over   chan struct{}
	wait   sync.WaitGroup
}

// Start starts the stream. The returned context is cancelled with ErrStopped on a stop request. The caller must call End.
func (w *Stream) Start(ctx context.Context) context.Context {
	w.Since, w.over = w.Since.Truncate(time.Millisecond), make(chan struct{})
	ctx, w.cancel = context.WithCancelCause(ctx)
	w.wait.Go(func() { w.follow(ctx) })
	return ctx
}

// Text implements llm.Sink.
func (w *Stream) Text(delta string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text.WriteString(delta)
}

// Reset implements llm.Sink.
func (w *Stream) Reset() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.again = w.again || w.sent > len(w.kept)
	w.sent = min(w.sent, len(w.kept))
	w.text.Reset()
	w.text.WriteString(w.kept)
}

// Keep adds a finished text to the fixed prefix of the answer.
func (w *Stream) Keep(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.kept += text + "\n\n"
	if pushed := w.text.String()[:w.sent]; !strings.HasPrefix(w.kept, strings.TrimRight(pushed, " \t\r\n")) { // it had spaces before it
		w.again, w.sent = true, 0
	}
	w.sent = min(w.sent, len(w.kept))
	w.text.Reset()
	w.text.WriteString(w.kept)
}

// hold keeps a text as the beginning of every later push until release is called, because the answer goes on.
func (w *Stream) hold(text string) (release func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.kept
	w.kept += text
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.kept = before
	}
}

// End stops the stream. It notifies the clients that the stored message replaces the pushed
// text.
func (w *Stream) End(ctx context.Context) {
	close(w.over)
	w.wait.Wait()
	w.cancel(nil)
	w.mu.Lock()
	pushed := w.pushed
	w.mu.Unlock()
	if pushed {
		w.Tell.Notify(context.WithoutCancel(ctx), w.Account, w.Answer.End())
	}
}

func (w *Stream) follow(ctx context.Context) {
	pushes, checks := time.NewTicker(pushEvery), time.NewTicker(stopCheckEvery)
	defer pushes.Stop()
	defer checks.Stop()
	for {
		select {
		case <-w.over:
			return
		case <-ctx.Done():
			return
		case <-pushes.C:
			w.push(ctx)
		case <-checks.C:
			at, err := w.Stops(ctx)
			if err == nil && !at.Before(w.Since) {
				w.cancel(ErrStopped)
				return
			}
		}
	}
}

// push sends the text that ends at a boundary and was not sent before.
func (w *Stream) push(ctx context.Context) {
	w.mu.Lock()
	text, from, again := w.text.String(), w.sent, w.again
	to := lastBoundary(text)
	if again {
		from, w.again = 0, false
	}
	if to > from {
		w.sent, w.pushed = to, true
	}
	w.mu.Unlock()
	var events []realtime.Event
	if again {
		events = append(events, w.Answer.Reset())
	}
	if to > from {
		events = append(events, w.Answer.Text(from, text[from:to]))
	}
	if len(events) > 0 {
		w.Tell.Notify(ctx, w.Account, events...)
	}
}

// lastBoundary returns the byte offset after the last whole sentence or line of a text.
func lastBoundary(text string) int {
	to := 0
	for _, end := range []string{"\n", ". ", "? ", "! ", "… "} {
		if i := strings.LastIndex(text, end); i >= 0 {
			to = max(to, i+len(end))
		}
	}
	return to
}
