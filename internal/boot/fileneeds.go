package boot

import (
	"context"
	"time"

	"piloto/internal/chats/job"
	"piloto/internal/conversation"
	"piloto/internal/ground/ids"
	"piloto/internal/runs/plan"
	"piloto/internal/workspace/files"
)

// FileNeeds reads from the rows of chats, runs and jobs which kept files are needed (serve.Needs).
type FileNeeds struct {
	Chats interface {
		Deleted(ctx context.Context, account ids.Account) ([]conversation.Gone, error)
	}
	Runs plan.Lister
	Jobs interface {
		Jobs(ctx context.Context, account ids.Account, cursor string, limit int) ([]job.Job, string, error)
	}
}

// Deleted implements serve.Needs.
func (n FileNeeds) Deleted(ctx context.Context, account ids.Account) ([]files.Place, error) {
	list, err := n.Chats.Deleted(ctx, account)
	var places []files.Place
	for _, g := range list {
		places = append(places, files.PlaceOf(g.Account, g.ProjectID, g.ChatID))
	}
	return places, err
}

// beforeItsSet is longer than a draft may wait (DraftHours): a set may be of a later revision of it.
const beforeItsSet = 8 * 24 * time.Hour

// page is how many rows are read at once.
const page = 100

// Open implements serve.Needs.
func (n FileNeeds) Open(ctx context.Context, account ids.Account, since, young time.Time) (func(id string, made time.Time) bool, error) {
	open, decided := map[string]bool{}, map[string]time.Time{}
	err := n.sets(ctx, account, since, []plan.Status{plan.Draft, plan.Queued, plan.Running, plan.Waiting}, func(_ plan.Head, set string) {
		open[set] = true
	})
	if err != nil {
		return nil, err
	}
	err = n.sets(ctx, account, young, []plan.Status{plan.Cancelled, plan.Expired, plan.Superseded}, func(r plan.Head, set string) {
		if r.Confirmer == "" && r.EndedAt.After(decided[set]) {
			decided[set] = r.EndedAt
		}
	})
	if err != nil {
		return nil, err
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
	return func(id string, made time.Time) bool {
		return open[id] || !made.Before(young) && decided[id].Before(made)
	}, nil
}

// sets calls each with every change set in the runs of an account that are in some states and newer than since.
func (n FileNeeds) sets(ctx context.Context, account ids.Account, since time.Time, in []plan.Status, each func(r plan.Head, set string)) error {
	wanted := plan.Filter{Statuses: in, From: since.Add(-beforeItsSet)}
	for cursor, more := "", true; more; more = cursor != "" {
		list, next, err := n.Runs.Runs(ctx, account, wanted, cursor, page)
		if err != nil {
			return err
		}
		for _, r := range list {
			for _, st := range r.Plan.Steps {
				each(r, plan.ChangesOf(st).Set)
			}
		}
		cursor = next
	}
	return nil
}
