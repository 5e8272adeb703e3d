package boot

import (
	"context"
	"time"

	"piloto/internal/chats/job"
	"piloto/internal/conversation"
	"piloto/internal/runs/plan"
	"piloto/internal/workspace/files"
)

// FileNeeds is what the rows of chats, runs and jobs say of kept files (serve.Needs).
type FileNeeds struct {
	Chats interface {
		Deleted(ctx context.Context, account string) ([]conversation.Gone, error)
	}
	Runs plan.Lister
	Jobs interface {
		Jobs(ctx context.Context, account, cursor string, limit int) ([]job.Job, string, error)
	}
}

// Deleted implements serve.Needs.
func (n FileNeeds) Deleted(ctx context.Context, account string) ([]files.Place, error) {
	list, err := n.Chats.Deleted(ctx, account)
	var places []files.Place
	for _, g := range list {
		places = append(places, files.PlaceOf(g.Account, g.ProjectID, g.ChatID))
	}
	return places, err
}

// beforeItsSet is longer than a draft may wait (DraftHours): a set may be of a later revision of it.
const beforeItsSet = 8 * 24 * time.Hour

// Open implements serve.Needs. While runs of an earlier version are missing in the lists, every set counts as open.
func (n FileNeeds) Open(ctx context.Context, account string, since time.Time) (func(id string) bool, error) {
	whole, err := n.Runs.Complete(ctx)
	if err != nil || !whole {
		return func(string) bool { return true }, err
	}
	const page = 100
	open := map[string]bool{}
	going := plan.Filter{Statuses: []plan.Status{plan.Draft, plan.Queued, plan.Running, plan.Waiting}, From: since.Add(-beforeItsSet)}
	for cursor, more := "", true; more; more = cursor != "" {
		var list []plan.Head
		if list, cursor, err = n.Runs.Runs(ctx, account, going, cursor, page); err != nil {
			return nil, err
		}
		for _, r := range list {
			for _, st := range r.Plan.Steps {
				open[plan.ChangesOf(st).Set] = true
			}
		}
	}
	for cursor, more := "", true; more; more = cursor != "" {
		var list []job.Job
		if list, cursor, err = n.Jobs.Jobs(ctx, account, cursor, page); err != nil {
			return nil, err
		}
		for _, j := range list {
			if !j.Status.Terminal() {
				open[j.Changes.Set], open[j.Changes.Proposed], open[j.Changes.Rest] = true, true, true
			}
		}
	}
	return func(id string) bool { return open[id] }, nil
}
