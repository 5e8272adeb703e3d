package webui

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"time"

	"piloto/internal/ground/locale"
	"piloto/internal/ground/render"
	"piloto/internal/runs/plan"
)

// card is a run as it is shown: a plan that asks, then its timeline, then what
// became of it.
type card struct {
	ID      string
	ChatID  string
	Goal    render.HTML
	Status  plan.Status // as shown: a draft whose time is over is expired
	Draft   bool
	Live    bool // queued, running or waiting
	Dead    bool // a draft that will never run
	Open    bool // the steps are unfolded at first
	Digest  string
	Short   string // the digest's first and last digits
	Expires time.Time
	Seq     int // of the last event the run had when it was read: what came after is asked for
	Steps   []cardStep
	Writes  int
	Destroy int
	Finished,
	Total int
	Skipped  int // by their conditions
	Settled  int // done or skipped
	Stopping bool
	Elapsed  string
	Error    render.HTML
	Marked   bool // something was written out that would not have been seen

	Revision  int
	Changes   []change   // from the revision before, of a draft that was edited
	Revisions []revision // all it had, when it had more than one
	Retries   string     // the run that this one goes on from
	Reason    render.HTML
	Undoable, // how many of the steps that change something can be undone
	Changing int
	Undoing bool
	Asks    int // how many steps will wait for an approval
	Waits   int // how many wait now
	Doubts  int // how many effects somebody must settle
	Retry   bool
	Ended   *aftermath // what an end that was no success leaves
	Receipt bool       // it was confirmed, and is over
}

// cardStep is one step: what would be sent, and what became of it.
type cardStep struct {
	ID     string
	Key    string // unique on the page
	Number int
	Title  render.HTML
	State  plan.StepStatus
	call
	Risk     plan.Risk
	Needs    []int // numbers of steps
	Attempts int
	Retries  []render.HTML // why each attempt after the first was made
	Took     string
	Since    time.Time // of a step that runs now
	Sent     render.HTML
	SentBody *code
	Answer   *answer
	Error    render.HTML
	Folded   bool // the request is behind a disclosure: it was confirmed

	When     render.HTML // it is done only if this holds
	Each     render.HTML // it is done for each element of this
	Undo     *call
	Check    *check
	Ask      *asking
	Targets  []found
	Approval *approval
	Doubt    *doubt
	Items    *items
	Undone   *effect
	Command  *replaced
	Reused   bool   // the result is that of an earlier run
	Whole    string // where all of the answer is, when only a part is shown
}

// crossing is data of one origin that goes to another.
type crossing struct{ From, To render.HTML }

// answer is what the server said: a body, or the blocks of a tool's result, which
// has no status of its own.
type answer struct {
	Status    int
	OK        bool
	Bytes     int
	Body      *code
	Blocks    []block
	Truncated bool
}

// newCard arranges a run and its events for now.
func newCard(run plan.Run, events []plan.Event, tag locale.Tag, now time.Time) *card {
	p := run.Plan
	c := &card{
		ID: run.ID, ChatID: run.ChatID, Status: run.Status, Digest: string(run.Digest), Expires: p.ExpiresAt,
		Total: len(p.Steps), Seq: run.EventSeq, Stopping: run.CancelAt != nil && run.Status.Active(),
	}
	if c.Status == plan.Draft && !p.ExpiresAt.IsZero() && !now.Before(p.ExpiresAt) {
		c.Status = plan.Expired
	}
	c.Draft, c.Live = c.Status == plan.Draft, c.Status.Active()
	c.Dead = c.Status == plan.Expired || c.Status == plan.Superseded || c.Status == plan.Cancelled && !started(run)
	c.Open = c.Draft || c.Live
	c.Short = shortDigest(c.Digest)
	a := arranger{run: run, card: c, words: words{tag: tag}, times: historyOf(events), now: now}
	c.Goal, c.Reason, c.Revision, c.Retries = a.show(p.Goal), a.show(run.Reason), p.Revision, run.Retries
	c.Undoing = run.UndoAt != nil && run.Status.Active()
	if run.Error != nil {
		c.Error = display(run.Error.Message)
	}
	for i, s := range p.Steps {
		c.Steps = append(c.Steps, a.step(i, s))
	}
	if len(events) > 0 {
		c.Elapsed = a.elapsed(events)
	}
	c.Settled = c.Finished + c.Skipped
	c.Receipt = run.Status.Terminal() && !c.Dead
	c.Ended = a.aftermath()
	c.Retry = c.Receipt && run.Status != plan.Done && c.Doubts == 0 && a.left()
	return c
}

// left reports whether a run that ended has anything that another may go on with.
func (a arranger) left() bool {
	if a.card.Ended != nil && len(a.card.Ended.Undone) > 0 {
		return true
	}
	return slices.ContainsFunc(a.run.Plan.Steps, func(s plan.Step) bool {
		state := a.run.State(s.ID)
		settledDone := state.Settled != nil && state.Settled.Outcome == plan.OutcomeDone
		return state.Status != plan.StepDone && state.Status != plan.StepSkipped && !settledDone
	})
}

func started(run plan.Run) bool {
	for _, s := range run.Steps {
		if s.Attempts > 0 {
			return true
		}
	}
	return false
}

// history is when a step first began and when it ended, and why it was repeated.
type history struct {
	began, ended time.Time
	retries      []string
}

func historyOf(events []plan.Event) map[string]history {
	times := map[string]history{}
	for _, e := range events {
		t := times[e.StepID]
		switch e.Type {
		case plan.EventStepStart:
			if t.began.IsZero() {
				t.began = e.At
			}
		case plan.EventStepRetry:
			var data struct {
				Reason string `json:"reason"`
			}
			if json.Unmarshal(e.Data, &data) == nil && data.Reason != "" {
				t.retries = append(t.retries, data.Reason)
			}
		case plan.EventStepDone, plan.EventStepFailed, plan.EventStepDoubt:
			t.ended = e.At
		}
		times[e.StepID] = t
	}
	return times
}

// arranger turns the parts of one run into the parts of its card.
type arranger struct {
	run   plan.Run
	card  *card
	words words
	times map[string]history
	now   time.Time
}

// show is display, remembering whether anything was written out.
func (a arranger) show(text string) render.HTML {
	var p pen
	p.text(text)
	a.card.Marked = a.card.Marked || p.marked
	return p.html()
}

func (a arranger) code(c *code) *code {
	a.card.Marked = a.card.Marked || c != nil && c.Marked
	return c
}

// elapsed is from the start of the run to its end.
func (a arranger) elapsed(events []plan.Event) string {
	var began time.Time
	for _, e := range events {
		switch e.Type {
		case plan.EventStarted, plan.EventConfirmed:
			if began.IsZero() || e.Type == plan.EventStarted {
				began = e.At
			}
		case plan.EventFinished:
			if !began.IsZero() {
				return a.words.took(e.At.Sub(began))
			}
		}
	}
	return ""
}

func (a arranger) step(i int, s plan.Step) cardStep {
	binding, _ := a.run.Plan.Binding(s.ID)
	state := a.run.State(s.ID)
	v := cardStep{
		ID: s.ID, Key: a.run.ID + "-" + plain(s.ID), Number: i + 1, Title: a.show(s.Title), State: state.Status,
		call:     a.call(binding, plan.Call{Tool: s.Tool, Method: s.Method, Path: s.Path, Query: s.Query, Body: s.Body}, referenced(s)),
		Risk:     plan.RiskOf(s.Method).Raised(s.Risk == plan.Destructive),
		Attempts: state.Attempts, Folded: !a.card.Draft && !a.card.Dead, Reused: state.Reused != "",
	}
	switch v.Risk {
	case plan.Write:
		a.card.Writes++
	case plan.Destructive:
		a.card.Destroy++
	}
	if v.Risk != plan.Read {
		a.card.Changing++
		if s.Undo != nil {
			a.card.Undoable++
		}
	}
	switch state.Status {
	case plan.StepDone:
		a.card.Finished++
	case plan.StepSkipped:
		a.card.Skipped++
	}
	v.Needs = a.needs(s)
	a.beside(&v, s)
	a.outcome(&v, state)
	a.effects(&v, s, state)
	return v
}

// origin says which step a reference names.
func (a arranger) origin(id string) string {
	switch id {
	case plan.ItemName:
		return locale.Text(a.words.tag, "page.step.reference_item")
	case plan.CheckName:
		return locale.Text(a.words.tag, "page.step.reference_check")
	}
	for i, s := range a.run.Plan.Steps {
		if s.ID == id {
			return locale.Text(a.words.tag, "page.step.reference", "n", itoa(i+1), "title", plain(s.Title))
		}
	}
	return locale.Text(a.words.tag, "page.step.reference_unknown", "id", plain(id))
}

// needs returns the numbers of the steps that come first.
func (a arranger) needs(s plan.Step) (numbers []int) {
	uses := referenced(s)
	for i, other := range a.run.Plan.Steps {
		if slices.Contains(s.Needs, other.ID) || uses[other.ID] {
			numbers = append(numbers, i+1)
		}
	}
	return numbers
}

// How much a card shows of what was sent and answered, in bytes. What asks to be
// confirmed is always shown whole.
const (
	resultShown  = 16 << 10
	resultsShown = 128 << 10 // of all steps together
)

// room is how much of one answer is shown.
func (a arranger) room() int { return min(resultShown, resultsShown/max(1, len(a.run.Plan.Steps))) }

func (a arranger) outcome(v *cardStep, state plan.StepState) {
	t := a.times[v.ID]
	switch {
	case !t.ended.IsZero() && !t.began.IsZero() && state.Status.Terminal():
		v.Took = a.words.took(t.ended.Sub(t.began))
	case state.Status == plan.StepRunning:
		v.Since = t.began
	}
	for _, why := range t.retries {
		v.Retries = append(v.Retries, display(why))
	}
	if state.Error != nil {
		v.Error = display(state.Error.Message)
	}
	asProposed := v.Target.Prefix + strings.TrimSpace(a.run.Plan.Steps[v.Number-1].Path)
	if state.Last.URL != "" && v.Tool == "" && !strings.HasSuffix(state.Last.URL, asProposed) {
		v.Sent = display(state.Last.URL)
	}
	if len(referenced(a.run.Plan.Steps[v.Number-1])) > 0 {
		sent := plan.Result{Body: state.Last.Body}.Shortened(a.room())
		v.SentBody = answerBody(sent.Body)
	}
	switch {
	case state.Result != nil && v.Tool != "":
		v.Answer = toolAnswer(*state.Result, state.Status, a.room())
		v.Answer.Truncated = v.Answer.Truncated || state.Result.Apart > 0
	case state.Result != nil:
		r := state.Result.Shortened(a.room())
		v.Answer = &answer{
			Status: r.Status, OK: r.Status >= 200 && r.Status < 300, Bytes: r.Bytes,
			Body: answerBody(r.Body), Truncated: r.Truncated || r.Apart > 0,
		}
	}
	if r := state.Result; r != nil && (r.Apart > 0 || len(r.Body) > a.room()) {
		v.Whole = a.result(v.ID)
	}
}

// result is where all of an effect's answer is.
func (a arranger) result(effectID string) string {
	return "/api/runs/" + url.PathEscape(a.run.ID) + "/steps/" + url.PathEscape(effectID) + "/result"
}
