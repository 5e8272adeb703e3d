package turn_test

import (
	"context"
	"io"
	"log/slog"
	"testing"
	"time"

	"piloto/infra/local/fixture"
	"piloto/internal/conversation"
)

// BenchmarkTextTurn measures a turn that a model answers in text, with the table on this disk and no HTTP.
func BenchmarkTextTurn(b *testing.B) {
	w := newWorld(b)
	log := slog.New(slog.NewJSONHandler(io.Discard, nil))
	w.service.Log, w.service.Paid.Eligibility.Log = log, log
	var chat conversation.Chat
	for n := 0; b.Loop(); n++ {
		if n%10 == 0 { // as in infra/bench
			chat = conversation.Chat{ID: w.IDs.New(w.Clock()), CreatedAt: w.Clock(), UpdatedAt: w.Clock()}
			if err := w.Store.Chats.CreateChat(context.Background(), fixture.Account, chat); err != nil {
				b.Fatal(err)
			}
		}
		req := w.message("¿Dónde está el pedido 4711?")
		req.ChatID = chat.ID
		if _, err := w.service.Send(context.Background(), req); err != nil {
			b.Fatal(err)
		}
		w.Pass(time.Second)
	}
}
