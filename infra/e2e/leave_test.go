package e2e

import (
	"context"
	"fmt"
	"testing"
)

// TestTurnContinuesWhenClientLeaves: after a page is reloaded, or a webhook gives up, the answer is in the chat, as
// when a Lambda function runs the turn.
func TestTurnContinuesWhenClientLeaves(t *testing.T) {
	t.Parallel()
	_, c, model := startScripted(t)
	chat := c.chat(t)
	answer := make(chan struct{})
	model.will(reply{text: "Son las diez.", release: answer})
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan struct{})
	go func() {
		defer close(left)
		_, _ = c.send(ctx, "POST", "/api/send", []byte(object("chat_id", chat, "message", "¿Sigues ahí?")))
	}()
	if err := eventually(patience, func() error {
		if len(model.allRequests()) != 1 {
			return fmt.Errorf("the model was not asked yet")
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	leave()
	<-left
	c.must(t, 200, "GET", "/health", "") // the process had time to notice it
	close(answer)
	if err := eventually(patience, func() error {
		a := c.must(t, 200, "GET", "/api/chats/"+chat+"/messages", "")
		if got := a.text("messages.1.content"); got != "Son las diez." {
			return fmt.Errorf("the chat says %q", got)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}
