package talk

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"sync"
	"unicode"

	"github.com/coder/websocket"

	"piloto/cmd/piloto/client"
	"piloto/internal/edge/httpapi"
	"piloto/internal/ground/visible"
	"piloto/internal/live/realtime"
)

// stream sends a message, and writes its answer as it comes. Without a terminal, or without pushes, the answer is written
// when it is whole, because text in a pipe cannot be taken back.
func (g *Group) stream(ctx context.Context, c *client.Client, message httpapi.SendRequest) (httpapi.SendAnswer, error) {
	thinks := g.Con.Thinking()
	defer thinks.Hide()
	if !g.Con.IsTerm || g.Con.JSON || g.NoStream {
		thinks.Show()
		got, err := g.Send(ctx, c, message)
		thinks.Hide()
		if err != nil {
			return got, err
		}
		if g.Con.JSON {
			return got, g.Con.PrintJSON(got)
		}
		return got, g.printAnswer(got)
	}
	listening, stop := context.WithCancel(ctx)
	defer stop()
	p := &pieces{out: g.Con.Out, begin: thinks.Hide, anew: func() { g.Con.Report("cli.anew") }}
	heard, ready := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(heard)
		g.listen(listening, c, message.ChatID, p, ready)
	}()
	select {
	case <-ready:
	case <-heard: // there are no pushes
	case <-ctx.Done():
	}
	thinks.Show()
	got, err := g.Send(ctx, c, message)
	stop()
	<-heard
	thinks.Hide()
	if err != nil {
		p.endLine()
		return got, err
	}
	streamed := &got.Message
	if len(got.Before) > 0 && !p.begins(got.Message.Content) {
		streamed = &got.Before[0]
	}
	streamed.Content = p.finish(streamed.Content)
	return got, g.printAnswer(got)
}

// pieces is a text that is being written. Each piece has its offset, in bytes.
type pieces struct {
	out   io.Writer
	begin func() // before the first piece
	anew  func() // says that the text above does not count
	text  strings.Builder
	turn  string // to which it belongs
	line  bool   // something stands on the last line
	held  string // the CR at the end of the last piece, which may be that of a line break
}

// add writes a piece that continues the text. Another one is left out: the rest of the answer is printed at its end.
func (p *pieces) add(turn string, offset int, piece string) {
	if turn != p.turn {
		p.reset()
		p.turn = turn
	}
	if offset != p.text.Len() {
		return
	}
	p.begin()
	p.text.WriteString(piece)
	p.write(piece)
}

// write writes a part of the text.
func (p *pieces) write(part string) {
	part = p.held + part
	shown := strings.TrimSuffix(part, "\r")
	if p.held = part[len(shown):]; shown == "" {
		return
	}
	shown = visible.Lines(shown)
	p.line = !strings.HasSuffix(shown, "\n")
	_, _ = io.WriteString(p.out, shown)
}

// reset forgets a text that the model began anew.
func (p *pieces) reset() {
	if p.wrote() {
		p.endLine()
		p.anew()
	}
	p.text.Reset()
}

// begins reports whether the written text is a prefix of a text.
func (p *pieces) begins(text string) bool {
	_, ok := after(p.text.String(), text)
	return ok
}

// finish writes the rest of an answer, and returns the text that is still to be printed: "" if the pieces are a prefix of
// the answer, and otherwise all of it.
func (p *pieces) finish(answer string) (rest string) {
	if !p.wrote() {
		return answer
	}
	rest, follows := after(p.text.String(), answer)
	if !follows {
		p.reset()
		return answer
	}
	if p.held != "" { // the white space after it was not kept
		p.held = "\r\n"
	}
	p.write(rest)
	p.endLine()
	return ""
}

// after returns the rest of a text behind a prefix. Spaces do not count: those around a text are not kept.
func after(beginning, text string) (rest string, ok bool) {
	rest = strings.TrimSpace(text)
	for _, r := range beginning {
		if unicode.IsSpace(r) {
			continue
		}
		if rest, ok = strings.CutPrefix(strings.TrimLeftFunc(rest, unicode.IsSpace), string(r)); !ok {
			return "", false
		}
	}
	if trimmed := strings.TrimRightFunc(beginning, unicode.IsSpace); trimmed != beginning { // they stand there
		rest = strings.TrimLeftFunc(rest, unicode.IsSpace)
	}
	return rest, true
}

func (p *pieces) endLine() {
	p.held = "" // a CR at the end shows nothing
	if p.line {
		_, _ = io.WriteString(p.out, "\n")
	}
	p.line = false
}

func (p *pieces) wrote() bool { return p.text.Len() > 0 }

// listen writes the pieces of the answers of a chat until ctx ends. Without pushes it writes nothing. It closes ready
// when the deployment knows which chat is open.
func (g *Group) listen(ctx context.Context, c *client.Client, chat string, p *pieces, ready chan<- struct{}) {
	conn, err := c.Socket(ctx)
	if errors.Is(err, client.ErrOtherSocket) && !g.socketTold {
		g.socketTold = true
		g.Con.Report("cli.other_socket", "url", c.Origin)
		g.Con.Report("cli.other_socket_aws", "url", c.Origin)
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
				Turn   string `json:"turn"`
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
			p.add(frame.Data.Turn, frame.Data.Offset, frame.Data.Text)
		case realtime.TypeTextReset:
			p.reset()
		}
	}
}
