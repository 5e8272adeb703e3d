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

// Intervals of a stream.
const (
	pushEvery      = 120 * time.Millisecond // between two pushes of text
	stopCheckEvery = 700 * time.Millisecond // between two checks for a stop request
)

// errStopped is the cause when a person stopped the answer.
var errStopped = errors.New("turn: stopped by the person")

// answerStream pushes an answer to the clients that have the chat open while the model writes
// it, and cancels the model call on a stop request.
//
// The text is pushed up to the end of a sentence or a line, and is not taken back. Notes under
// the answer mark false claims. The arguments of a tool call are not pushed. Only a model call
// that broke off and is retried pushes its part again.
type answerStream struct {
	s       *Service
	account string
	chat    conversation.Chat
	turn    string
	since   time.Time
	shown   bool // a client has the page open

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

// startStream starts a stream. The returned context is cancelled on a stop request. The caller
// must call end.
func (s *Service) startStream(ctx context.Context, account string, chat conversation.Chat, turn string, since time.Time) (context.Context, *answerStream) {
	w := &answerStream{s: s, account: account, chat: chat, turn: turn, since: since.Truncate(time.Millisecond), over: make(chan struct{})}
	ctx, w.cancel = context.WithCancelCause(ctx)
	w.wait.Go(func() { w.follow(ctx) })
	return ctx, w
}

// Text implements llm.Sink.
func (w *answerStream) Text(delta string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text.WriteString(delta)
}

// Reset implements llm.Sink.
func (w *answerStream) Reset() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.again = w.again || w.sent > len(w.kept)
	w.sent = min(w.sent, len(w.kept))
	w.text.Reset()
	w.text.WriteString(w.kept)
}

// keep adds a finished text to the fixed prefix of the answer.
func (w *answerStream) keep(text string) {
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

// hold makes a text the beginning of what is pushed next, until release is called: the answer goes on.
func (w *answerStream) hold(text string) (release func()) {
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

// end stops the stream. It notifies the clients that the stored message replaces the pushed
// text.
func (w *answerStream) end(ctx context.Context) {
	close(w.over)
	w.wait.Wait()
	w.cancel(nil)
	w.mu.Lock()
	pushed := w.pushed
	w.mu.Unlock()
	if pushed {
		w.s.Tell.Notify(context.WithoutCancel(ctx), w.account, realtime.TextEnd(w.chat.ID, w.turn))
	}
}

func (w *answerStream) follow(ctx context.Context) {
	tell, look := time.NewTicker(pushEvery), time.NewTicker(stopCheckEvery)
	defer tell.Stop()
	defer look.Stop()
	for {
		select {
		case <-w.over:
			return
		case <-ctx.Done():
			return
		case <-tell.C:
			w.push(ctx)
		case <-look.C:
			at, err := w.s.Answers.StopAsked(ctx, w.account, w.chat.ID)
			if err == nil && !at.Before(w.since) {
				w.cancel(errStopped)
				return
			}
		}
	}
}

// push sends the text that ends at a boundary and was not sent before.
func (w *answerStream) push(ctx context.Context) {
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
		events = append(events, realtime.TextReset(w.chat.ID, w.turn))
	}
	if to > from {
		events = append(events, realtime.Text(w.chat.ID, w.turn, from, text[from:to]))
	}
	if len(events) > 0 {
		w.s.Tell.Notify(ctx, w.account, events...)
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
