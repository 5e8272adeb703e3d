package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/coder/websocket"

	"piloto/cmd/piloto/client"
	"piloto/internal/chats/turn"
	"piloto/internal/edge/httpapi"
	"piloto/internal/ground/visible"
	"piloto/internal/live/realtime"
)

// stream sends a message, and writes its answer as it comes. Without a terminal, or without pushes, the answer is
// written when it is whole: what is written to a pipe cannot be taken back.
func (a *app) stream(ctx context.Context, c *client.Client, chat, message string) (httpapi.SendAnswer, error) {
	if !a.isTerm || a.global.json || a.global.noStream {
		got, err := a.send(ctx, c, chat, message)
		if err != nil {
			return got, err
		}
		if a.global.json {
			return got, a.printJSON(got)
		}
		return got, a.printAnswer(got)
	}
	listening, stop := context.WithCancel(ctx)
	defer stop()
	p := &pieces{out: a.out}
	heard, ready := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(heard)
		a.listen(listening, c, chat, p, ready)
	}()
	select {
	case <-ready:
	case <-heard: // there are no pushes
	case <-ctx.Done():
	}
	got, err := a.send(ctx, c, chat, message)
	stop()
	<-heard
	if err != nil {
		p.endLine()
		return got, err
	}
	if got.Kind == turn.KindMessage && p.is(got.Message.Content) {
		p.endLine()
		got.Message.Content = ""
	} else if p.wrote() {
		p.endLine() // what was written is another text than the answer, which follows
	}
	return got, a.printRest(got)
}

// printRest prints the part of the answer that the stream did not print.
func (a *app) printRest(got httpapi.SendAnswer) error {
	if got.Message.Content != "" || got.Kind != turn.KindMessage {
		return a.printAnswer(got)
	}
	if err := a.printWarnings(got.Message); err != nil { // what was streamed cannot be moved: they follow it at once
		return err
	}
	a.sayNotes(got.Message)
	if n := len(got.Message.Sources); n > 0 {
		a.say(a.text("cli.sources", "n", fmt.Sprint(n)))
	}
	return nil
}

// pieces is a text that is being written. Each piece has its place in it, in bytes.
type pieces struct {
	out  io.Writer
	text strings.Builder
	line bool // something stands on the last line
}

// add writes a piece that follows what was written. Another one is left out: the answer will be printed whole.
func (p *pieces) add(offset int, piece string) {
	if offset != p.text.Len() {
		return
	}
	p.text.WriteString(piece)
	shown := visible.Lines(piece)
	p.line = !strings.HasSuffix(shown, "\n")
	_, _ = io.WriteString(p.out, shown)
}

// reset forgets a text that the model began anew.
func (p *pieces) reset() {
	p.endLine()
	p.text.Reset()
}

func (p *pieces) endLine() {
	if p.line {
		_, _ = io.WriteString(p.out, "\n")
	}
	p.line = false
}

func (p *pieces) wrote() bool { return p.text.Len() > 0 }

func (p *pieces) is(text string) bool {
	return p.wrote() && strings.TrimSpace(p.text.String()) == strings.TrimSpace(text)
}

// listen writes the pieces of the answers of a chat until ctx ends. Without pushes it writes nothing. It closes ready
// when the deployment knows which chat is open.
func (a *app) listen(ctx context.Context, c *client.Client, chat string, p *pieces, ready chan<- struct{}) {
	conn, err := c.Socket(ctx)
	if errors.Is(err, client.ErrOtherSocket) && !a.socketTold {
		a.socketTold = true
		a.say(a.text("cli.other_socket", "url", c.Origin))
		a.say(a.text("cli.other_socket_aws", "url", c.Origin))
	}
	if err != nil {
		return
	}
	defer func() { _ = conn.CloseNow() }()
	conn.SetReadLimit(1 << 20)
	known := sync.OnceFunc(func() { close(ready) })
	open, err := json.Marshal(map[string]string{"action": "ping", "conversationId": chat})
	if err != nil || conn.Write(ctx, websocket.MessageText, open) != nil {
		return
	}
	for {
		_, raw, err := conn.Read(ctx)
		if err != nil {
			return
		}
		var frame struct {
			Type string `json:"type"`
			Data struct {
				ChatID string `json:"conversationId"`
				Offset int    `json:"offset"`
				Text   string `json:"text"`
			} `json:"data"`
		}
		if json.Unmarshal(raw, &frame) != nil || frame.Type != realtime.TypePong && frame.Data.ChatID != chat {
			continue
		}
		switch frame.Type {
		case realtime.TypePong:
			known()
		case realtime.TypeText:
			p.add(frame.Data.Offset, frame.Data.Text)
		case realtime.TypeTextReset:
			p.reset()
		}
	}
}
