package webui

import (
	"context"
	"slices"

	"piloto/internal/conversation"
	"piloto/internal/ground/ids"
	"piloto/internal/runs/plan"
)

// cardReader reads runs as cards.
type cardReader struct {
	runs  Runs
	chats conversation.ChatReader
}

// open reads one run as an unfolded card.
func (k cardReader) open(ctx context.Context, v visit, runID string) (*card, error) {
	if !ids.Valid(runID) {
		return nil, plan.ErrRunNotFound
	}
	c, err := k.card(ctx, v, runID)
	if err != nil {
		return nil, err
	}
	c.Open = true
	return c, nil
}

// card reads one run and, if it was confirmed, its events.
func (k cardReader) card(ctx context.Context, v visit, runID string) (*card, error) {
	run, err := k.runs.Run(ctx, v.who.Account, runID)
	if err != nil {
		return nil, err
	}
	var events []plan.Event
	var revisions []plan.Revision
	var chat conversation.Chat
	err = runAll(
		func() (err error) {
			if run.Status != plan.Draft {
				events, err = readEvents(ctx, k.runs, v.who.Account, runID, cardEvents)
			}
			return
		},
		func() (err error) {
			if run.Plan.Revision > 1 {
				revisions, err = k.runs.Revisions(ctx, run)
			}
			return
		},
		func() (err error) {
			if run.Status == plan.Waiting {
				chat, err = k.chats.Chat(ctx, v.who.Account, run.ChatID)
			}
			if isMissing(err) { // a run remains when its chat is deleted
				err = nil
			}
			return
		},
	)
	if err != nil {
		return nil, err
	}
	run, reversals, err := k.reversals(ctx, v, run, events)
	if err != nil {
		return nil, err
	}
	c := newCard(run, events, v.tag, v.now)
	c.setReversals(reversals)
	c.setRevisions(run, revisions, v.tag)
	c.setPermissions(v.who, run, chat.UserID, revisions)
	return c, k.undone(ctx, v, run, c)
}

// readEvents reads at most that many events of a run.
func readEvents(ctx context.Context, runs plan.EventReader, account ids.Account, runID string, most int) (all []plan.Event, err error) {
	for len(all) < most {
		page, err := runs.Events(ctx, account, runID, len(all), eventsPage)
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
		if len(page) < eventsPage {
			break
		}
	}
	return all, nil
}

// of reads the runs that the messages name. A missing run leaves its message without a card.
func (k cardReader) of(ctx context.Context, v visit, messages []conversation.Message) (map[string]*card, error) {
	var ids []string
	for _, m := range messages {
		if m.RunID != "" && !slices.Contains(ids, m.RunID) && (m.Kind == conversation.KindPlan || m.Kind == conversation.KindFinal) {
			ids = append(ids, m.RunID)
		}
	}
	return readAll(ids, func(id string) (*card, error) { return k.card(ctx, v, id) })
}

// readAll reads the values of the ids, at most eight at a time. Missing ones are left out.
func readAll[T any](ids []string, read func(id string) (*T, error)) (map[string]*T, error) {
	got, reads := make([]*T, len(ids)), make([]func() error, len(ids))
	for i, id := range ids {
		reads[i] = func() (err error) {
			if got[i], err = read(id); isMissing(err) {
				got[i], err = nil, nil
			}
			return err
		}
	}
	err := runAll(reads...)
	all := map[string]*T{}
	for i, id := range ids {
		if got[i] != nil {
			all[id] = got[i]
		}
	}
	return all, err
}
