package talk

import (
	"context"
	"time"

	"piloto/cmd/piloto/cli/runs"
	"piloto/cmd/piloto/client"
	"piloto/internal/conversation"
	"piloto/internal/edge/httpapi"
)

// conclusionWithin is how long a conversation waits for the conclusion of a run.
const conclusionWithin = 30 * time.Second

// followToConclusion follows a run, and prints the model's conclusion. It returns the exit code of the run.
func (g *Group) followToConclusion(ctx context.Context, c *client.Client, id string) error {
	ended := g.Runs.Follow(ctx, c, id)
	if g.Con.JSON {
		return ended
	}
	r, err := client.Get[httpapi.Run](ctx, c, runs.RunPath(id), nil)
	if err != nil || !r.Concludes {
		return ended
	}
	var pace runs.Pace
	for until := time.Now().Add(conclusionWithin); time.Now().Before(until); {
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
		if pace.Wait(ctx) != nil {
			return ended
		}
	}
	return ended
}
