package cli

import (
	"context"
	"time"

	"piloto/cmd/piloto/client"
	"piloto/internal/conversation"
	"piloto/internal/edge/httpapi"
)

// toldWithin is how long a conversation waits for the model to tell what came of a run.
const toldWithin = 30 * time.Second

// followTold follows a run, and prints what the model tells of it. It returns the exit code of the run.
func (a *app) followTold(ctx context.Context, c *client.Client, id string) error {
	ended := a.follow(ctx, c, id)
	if a.global.json {
		return ended
	}
	r, err := client.Get[httpapi.Run](ctx, c, runPath(id), nil)
	if err != nil || !r.Concludes {
		return ended
	}
	var looks pace
	for until := time.Now().Add(toldWithin); time.Now().Before(until); {
		list, err := client.Get[httpapi.MessageList](ctx, c, client.Path("api", "chats", r.ChatID, "messages"), nil)
		if err != nil {
			return ended
		}
		for _, m := range list.Messages {
			if m.ID != conversation.ConclusionID(id) {
				continue
			}
			if err := a.printText(m); err != nil {
				return err
			}
			return ended
		}
		if looks.wait(ctx) != nil {
			return ended
		}
	}
	return ended
}
