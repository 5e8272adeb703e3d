package webui

import (
	"context"
	"net/url"
	"slices"

	"piloto/internal/ground/render"
	"piloto/internal/runs/plan"
)

// reversing is a run, or a draft, that undoes effects of another run, as that one's card tells it.
type reversing struct {
	RunID  string
	Goal   render.HTML
	Status plan.Status // as shown
	How    string      // what it is to the effects: one of the reversal constants
	Link   string      // the place of its card
}

// What a run is to the effects that it undoes. The first three are open: nothing else may undo them meanwhile.
const (
	reversalAsked   = "asked"
	reversalRunning = "running"
	reversalDoubt   = "doubt"
	reversalDone    = "done"
	reversalPartly  = "partly"
)

// open reports whether it is not settled what became of the effects.
func (r reversing) open() bool {
	return r.How == reversalAsked || r.How == reversalRunning || r.How == reversalDoubt
}

// mostReversals are the drafts that are read for one card, the newest ones.
const mostReversals = 20

// reversals reads the runs that undo effects of a run, by its events, in their order. It returns the run with the undos
// that they did as if they were its own.
func (s *site) reversals(ctx context.Context, v visit, run plan.Run, events []plan.Event) (plan.Run, []reversing, error) {
	var all []plan.Reversal
	for _, e := range events {
		if r, ok := plan.ReversalOf(e); ok {
			all = append(all, r)
		}
	}
	all = all[max(0, len(all)-mostReversals):]
	ids := make([]string, len(all))
	for i, r := range all {
		ids[i] = r.RunID
	}
	found, err := readAll(ids, func(id string) (*plan.Run, error) {
		r, err := s.Runs.Run(ctx, v.who.Account, id)
		if err != nil {
			return nil, err
		}
		r, err = plan.Newest(ctx, s.Runs, r) // it may have been retried
		return &r, err
	})
	if err != nil {
		return run, nil, err
	}
	var list []reversing
	run.Steps = slices.Clone(run.Steps)
	for _, r := range all {
		if by := found[r.RunID]; by != nil {
			done := r.DoneBy(*by)
			for _, id := range done {
				run.Steps = append(slices.DeleteFunc(run.Steps, func(st plan.StepState) bool { return st.StepID == id }), plan.StepState{StepID: id, Status: plan.StepDone})
			}
			if how := howReversed(*by, len(done), len(r.Undos), v); how != "" {
				list = append(list, reversing{RunID: by.ID, Goal: display(by.Plan.Goal), Status: by.Status, How: how, Link: "/?chat=" + url.QueryEscape(by.ChatID) + "#run-" + by.ID})
			}
		}
	}
	return run, list, nil
}

// howReversed returns what a run is to the effects that it undoes; "" when it did and will do nothing.
func howReversed(by plan.Run, done, all int, v visit) string {
	inDoubt := slices.ContainsFunc(by.Steps, func(st plan.StepState) bool { return st.Status == plan.StepInDoubt && st.Resolved == nil })
	switch {
	case by.Status == plan.Draft && v.now.Before(by.Plan.ExpiresAt):
		return reversalAsked
	case by.Status.Active():
		return reversalRunning
	case inDoubt:
		return reversalDoubt
	case done == 0:
		return ""
	case done < all:
		return reversalPartly
	}
	return reversalDone
}

// setReversals adds the runs that undo effects of the card's run. While one is open, no other is offered.
func (c *card) setReversals(list []reversing) {
	c.UndoneBy = list
	c.Undo = c.Undo && !slices.ContainsFunc(list, reversing.open)
}
