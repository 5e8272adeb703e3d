package webui

import (
	"context"
	"net/url"
	"slices"
	"time"

	"piloto/internal/conversation"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/render"
	"piloto/internal/live/hook"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/view"
)

// waitingView lists the waits for the viewer, over all chats, by the time at which they are due.
type waitingView struct {
	Rows     []waitRow
	More     string // address of the next page
	Only     bool   // only more of the list, without its frame
	Filter   waitFilter
	Services []string // of the waits that were read, for the filter
	Agents   []string
	Facts    Facts
}

// waitFilter narrows the list. Empty members narrow nothing.
type waitFilter struct {
	Kind, Service, Agent, Risk string
	Money                      bool // only with an amount of money
}

// waitRow is one thing that waits, as one row.
type waitRow struct {
	Key      string // unique on the page
	Kind     plan.WaitKind
	RunID    string
	StepID   string
	ChatID   string
	Chat     string // title
	Title    render.HTML
	Goal     render.HTML // of the plan, when the title is that of a step
	Services []render.HTML
	Agent    string
	Risk     plan.Risk
	Steps    int
	Costs    []saidValue
	Says     []saidValue // of its first changing step
	Digest   string
	AskedAt  time.Time
	DueAt    time.Time
	Link     string // the page where it is decided

	services []string
}

// decides reports whether it is decided by a yes or a no, so that several can be decided together.
func (r waitRow) decides() bool { return r.Kind == plan.WaitDraft || r.Kind == plan.WaitApproval }

// Bounds of one page of the list.
const (
	waitingPage  = 50
	waitingReads = 6 // pages that are read to fill one, when a filter leaves few
)

// waitReader reads the drafts, approvals, doubts and jobs that wait for the viewer.
type waitReader struct {
	runs    plan.Lister
	chats   conversation.ChatReader
	answers responders
}

func (r waitReader) all(ctx context.Context, v visit) (*waitingView, error) {
	q := v.req.URL.Query()
	view := &waitingView{
		Only:   q.Get("cursor") != "",
		Filter: waitFilter{Kind: q.Get("kind"), Service: q.Get("service"), Agent: q.Get("agent"), Risk: q.Get("risk"), Money: q.Get("money") != ""},
	}
	cursor := q.Get("cursor")
	for range waitingReads {
		list, next, err := r.runs.Waiting(ctx, v.who.Account, "", v.now, cursor, waitingPage)
		if err != nil {
			return nil, err
		}
		view.add(waitRows(v, list))
		cursor = next
		if cursor == "" || len(view.Rows) >= waitingPage {
			break
		}
	}
	if cursor != "" {
		q.Set("cursor", cursor)
		view.More = q.Encode()
	}
	var who responder
	err := runAll(
		func() (err error) { who, err = r.answers.of(ctx, v, ""); return },
		func() error { return r.nameChats(ctx, v, view.Rows) },
	)
	view.Facts = who.Facts
	return view, err
}

// add adds the rows that the filter lets through.
func (view *waitingView) add(rows []waitRow) {
	for _, r := range rows {
		view.Services = addNew(view.Services, r.services...)
		if r.Agent != "" {
			view.Agents = addNew(view.Agents, r.Agent)
		}
		if view.Filter.passes(r) {
			view.Rows = append(view.Rows, r)
		}
	}
}

func addNew(list []string, more ...string) []string {
	for _, one := range more {
		if !slices.Contains(list, one) {
			list = append(list, one)
		}
	}
	return list
}

func (f waitFilter) passes(r waitRow) bool {
	return (f.Kind == "" || f.Kind == string(r.Kind)) && (f.Service == "" || slices.Contains(r.services, f.Service)) &&
		(f.Agent == "" || f.Agent == r.Agent) && (f.Risk == "" || f.Risk == string(r.Risk)) && (!f.Money || len(r.Costs) > 0)
}

// ownWaits returns the waits that have an entry of their own. A job that waits for a plan of the list has none, because
// the plan's entry names its agent; agents has those names, by the id of the run.
func ownWaits(list []plan.ListedWait) (own []plan.ListedWait, agents map[string]string) {
	agents = map[string]string{}
	listed := map[string]bool{}
	for _, w := range list {
		if w.Kind == plan.WaitJob {
			agents[w.Job.RunID] = w.Job.Agent
		} else {
			listed[w.Run.ID] = true
		}
	}
	for _, w := range list {
		if w.Kind != plan.WaitJob || !listed[w.Job.RunID] {
			own = append(own, w)
		}
	}
	return own, agents
}

// keyOfWait returns the key of an entry on the page.
func keyOfWait(w plan.ListedWait) string {
	if w.Kind == plan.WaitJob {
		return "wait-" + w.Job.ID
	}
	return "wait-" + w.Run.ID + "-" + w.Slot().String()
}

// titleOfWait returns the title of the step that waits, else of its run or job.
func titleOfWait(w plan.ListedWait, tag locale.Tag) string {
	if w.Kind == plan.WaitJob {
		return w.Job.Title
	}
	if step, ok := w.Run.Plan.Step(w.StepID); ok && !w.StepID.IsZero() {
		return stepTitle(w.Run.Plan, step, tag)
	}
	return w.Run.Plan.Goal
}

// waitingNow is how much waits for the viewer, which the script shows beside every view. Titles are for a notification.
type waitingNow struct {
	Waits []waitNow `json:"waits"`
	More  bool      `json:"more"`
}

type waitNow struct {
	Key   string `json:"key"`
	Title string `json:"title"`
}

// mostCounted is the number of waits that are counted.
const mostCounted = 100

func (r waitReader) now(ctx context.Context, v visit) (*waitingNow, error) {
	list, cursor, err := r.runs.Waiting(ctx, v.who.Account, "", v.now, "", mostCounted)
	now := &waitingNow{Waits: []waitNow{}, More: cursor != ""}
	own, _ := ownWaits(list)
	for _, w := range own {
		now.Waits = append(now.Waits, waitNow{keyOfWait(w), plain(titleOfWait(w, v.tag))})
	}
	return now, err
}

// waitRows returns the rows of waits.
func waitRows(v visit, list []plan.ListedWait) []waitRow {
	own, agents := ownWaits(list)
	var rows []waitRow
	for _, w := range own {
		if w.Kind == plan.WaitJob {
			rows = append(rows, waitRow{
				Key: keyOfWait(w), Kind: w.Kind, RunID: w.Job.RunID, ChatID: w.Job.ChatID, Title: display(w.Job.Title), Agent: w.Job.Agent,
				AskedAt: w.Asked, DueAt: w.Due, Link: "/?chat=" + url.QueryEscape(w.Job.ChatID),
			})
			continue
		}
		r := runWaitRow(v, w)
		r.Agent = agents[w.Run.ID]
		rows = append(rows, r)
	}
	return rows
}

// runWaitRow returns the row of a plan, or of a step of one.
func runWaitRow(v visit, w plan.ListedWait) waitRow {
	run := w.Run.Run
	a := newBuilder(run, &card{}, v.words(), v.now)
	r := waitRow{
		Key: keyOfWait(w), Kind: w.Kind, RunID: run.ID, StepID: w.StepID.String(), ChatID: run.ChatID, Title: display(titleOfWait(w, v.tag)),
		Risk: plan.Read, services: view.Services(run.Plan, w.StepID), Steps: len(run.Plan.Steps), Digest: string(run.Digest), AskedAt: w.Asked, DueAt: w.Due, Link: "/?chat=" + url.QueryEscape(run.ChatID),
	}
	if _, ok := run.Plan.Step(w.StepID); ok && !w.StepID.IsZero() {
		r.Goal = display(run.Plan.Goal)
		r.Link = hook.ApprovalPath(run.ID, hook.ApprovalData{StepID: w.StepID.String(), Request: w.Request})
	}
	for _, name := range r.services {
		r.Services = append(r.Services, display(name))
	}
	for _, step := range run.Plan.Steps {
		if !w.StepID.IsZero() && step.ID.Step() != w.StepID.Step() {
			continue
		}
		if risk := view.RiskOf(step); risk == plan.Destructive || r.Risk == plan.Read {
			r.Risk = risk
		}
	}
	for _, says := range a.changing(w.StepID) {
		r.Costs = append(r.Costs, says.costs()...)
		if r.Says == nil {
			r.Says = says.inOneLine()
		}
	}
	return r
}

// nameChats reads the titles of the chats of rows.
func (r waitReader) nameChats(ctx context.Context, v visit, rows []waitRow) error {
	var ids []string
	for _, row := range rows {
		ids = addNew(ids, row.ChatID)
	}
	chats, err := readAll(ids, func(id string) (*conversation.Chat, error) {
		c, err := r.chats.Chat(ctx, v.who.Account, id)
		return &c, err
	})
	for i, row := range rows {
		rows[i].Chat = locale.Text(v.tag, "page.chat.untitled")
		if c := chats[row.ChatID]; c != nil && c.Title != "" { // it may have been deleted meanwhile
			rows[i].Chat = c.Title
		}
	}
	return err
}
