package httpapi

import (
	"context"
	"net/http"
	"time"

	"piloto/internal/conversation"
	"piloto/internal/ground/ids"
	"piloto/internal/runs/plan"
)

// Page sizes.
const (
	pageSize    = 50
	eventsSize  = 200
	pingTimeout = 2 * time.Second
)

// Records serves the stored data (projects, chats, messages, runs, sessions), /health, /config, /metrics, the
// OpenAPI document and /docs. It also answers requests without a route (API Gateway's $default). print writes an export as a
// PDF file.
func Records(c Config, stores Stores, memories Memories, print Printer, checks ...Check) http.Handler {
	a := newAPI(c)
	a.records(stores, print, checks)
	a.memory(memories)
	return a.handler()
}

func (a *api) records(of Stores, print Printer, checks []Check) {
	a.function = FunctionRecords
	chats := chatRecords{a.config, of.Chats, of.Projects, of.Loops, of.Runs, print}
	runs := runRecords{a.config, of.Runs, of.Chats, of.Receipts}
	a.projects(projectRecords{a.config, of.Projects, of.Servers})
	a.chats(chats)
	register(a, operation{
		method: http.MethodGet, path: "/api/runs/{id}", id: "readRun", access: withChat,
		summary: "Read a run, at once or when its status changes", failures: []int{404, 422},
	}, runs.run)
	register(a, operation{
		method: http.MethodGet, path: "/api/runs/{id}/events", id: "listEvents", access: withChat,
		summary: "Read a run's events, in order, after a sequence number", failures: []int{404, 422},
	}, runs.events)
	a.lists(runs)
	a.export(chats)
	a.branches(chats)
	a.history(runs)
	a.sessions(sessionRecords{a.config, chats})
	a.ops(checks)
	register(a, operation{
		method: http.MethodPost, path: "/api/realtime", id: "openRealtime", access: withChat, status: http.StatusCreated,
		summary: "Where to open a socket, and a ticket that opens it once", failures: []int{503},
	}, a.realtime)
	a.documents()
}

// PageInput is the start and the size of a page.
type PageInput struct {
	Cursor string `query:"cursor" maxLength:"1024" doc:"from the page before"`
	Limit  int    `query:"limit" minimum:"1" maximum:"200" doc:"50 when absent"`
}

func (p PageInput) size() int {
	if p.Limit == 0 {
		return pageSize
	}
	return p.Limit
}

// runRecords serves runs, with their events and receipts.
type runRecords struct {
	config   Config
	runs     StoredRuns
	chats    conversation.ChatReader
	receipts Receipts
}

func (s runRecords) run(ctx context.Context, in *struct {
	ID   string `path:"id"`
	Wait int    `query:"wait" minimum:"0" maximum:"25" doc:"seconds to wait until the status differs from the present one. A run that ended is answered at once"`
},
) (*reply[Run], error) {
	if !ids.Valid(in.ID) {
		return nil, plan.ErrRunNotFound
	}
	if in.Wait > 0 {
		if err := s.awaitChange(ctx, in.ID, time.Duration(in.Wait)*time.Second); err != nil {
			return nil, err
		}
	}
	r, err := s.runs.Run(ctx, caller(ctx).Account, in.ID)
	if err != nil {
		return nil, err
	}
	return answer(showRun(r)), nil
}

// The pauses between two reads of a run that is waited for. An event in this process ends them.
const (
	firstRead = 250 * time.Millisecond
	lastRead  = 2 * time.Second
)

// awaitChange returns when the status of a run is another than at first, when it cannot change any more, or after a
// time. It reads only the status, because it does so at each event of the run.
func (s runRecords) awaitChange(ctx context.Context, id string, most time.Duration) error {
	account := caller(ctx).Account
	waiting, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	first, err := s.runs.Status(ctx, account, id)
	if err != nil {
		return err
	}
	next := func() <-chan struct{} { return nil }
	if s.config.Watcher != nil {
		watch, stop := s.config.Watcher.Watch(account, id)
		defer stop()
		next = watch
	}
	for pause := firstRead; !first.Terminal(); pause = min(2*pause, lastRead) {
		changed := next()
		now, err := s.runs.Status(ctx, account, id)
		if err != nil || now != first {
			return err
		}
		timer := time.NewTimer(pause)
		select {
		case <-changed:
		case <-timer.C:
		case <-waiting.Done():
			timer.Stop()
			return ctx.Err() // of a client that went away
		}
		timer.Stop()
	}
	return nil
}

// EventList is a page of a run's events.
type EventList struct {
	Events []plan.Event `json:"events" nullable:"false"`
}

func (s runRecords) events(ctx context.Context, in *struct {
	ID    string `path:"id"`
	After int    `query:"after" minimum:"0" doc:"the last sequence number known"`
	Limit int    `query:"limit" minimum:"1" maximum:"500" doc:"200 when absent"`
},
) (*reply[EventList], error) {
	if !ids.Valid(in.ID) {
		return nil, plan.ErrRunNotFound
	}
	limit := in.Limit
	if limit == 0 {
		limit = eventsSize
	}
	account := caller(ctx).Account
	events, err := s.runs.Events(ctx, account, in.ID, in.After, limit)
	if err != nil {
		return nil, err
	}
	if len(events) == 0 { // no new events, or no such run
		if _, err := s.runs.Status(ctx, account, in.ID); err != nil {
			return nil, err
		}
	}
	return answer(EventList{list(events)}), nil
}
