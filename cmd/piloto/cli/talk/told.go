package talk

import (
	"context"
	"time"

	"piloto/cmd/piloto/cli/runs"
	"piloto/cmd/piloto/client"
	"piloto/internal/conversation"
	"piloto/internal/edge/httpapi"
)

// toldWithin is how long a conversation waits for the model's text about the end of a run.
const toldWithin = 30 * time.Second

// followTold follows a run, and prints the model's text about its end. It returns the exit code of the run.
func (g *Group) followTold(ctx context.Context, c *client.Client, id string) error {
	ended := g.Runs.Follow(ctx, c, id)
	if g.Con.JSON {
		return ended
	}
	r, err := client.Get[httpapi.Run](ctx, c, runs.RunPath(id), nil)
	if err != nil || !r.Concludes {
		return ended
	}
	var looks runs.Pace
	for until := time.Now().Add(toldWithin); time.Now().Before(until); {
		list, err := client.Get[httpapi.MessageList](ctx, c, client.Path("api", "chats", r.ChatID, "messages"), nil)
		if err != nil {
			return ended
		}
		for _, m := range list.Messages {
			if m.ID != conversation.ConclusionID(id) {
				continue
			}
			if err := g.PrintText(m); err != nil {
				return err
			}
			return ended
		}
		if looks.Wait(ctx) != nil {
			return ended
		}
	}
	return ended
}
