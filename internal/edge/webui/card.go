package webui

import (
	"encoding/json"
	"net/url"
	"slices"
	"time"

	"piloto/internal/ground/locale"
	"piloto/internal/ground/meaning"
	"piloto/internal/ground/render"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/view"
)

// card is the view of a run: the plan to confirm, then its timeline, then its result.
type card struct {
	view.View
	ID   string
	Goal render.HTML

	Withdrawn bool         // the model took the draft back; Reason is its own
	Dropped   *droppedPlan // the draft that this one replaced
	Open      bool         // the steps are unfolded initially
	Digest    string
	Short     string // first and last digits of the digest
	Expires   time.Time
	Seq       int // number of the run's last event when it was read; later ones are requested from there
	Steps     []cardStep
	Rows      []stepRow // the same steps, those that are alike together
	Graph     *graph
	Left      int    // steps that are neither done nor skipped
	Remains   string // about how long they take
	Costs     int    // changing steps with an amount of money
	Elapsed   string
	Error     render.HTML
	Marked    bool // the text has marked characters

	Revision  int
	Changes   []change   // from the previous revision, for an edited draft
	Revisions []revision // all revisions, if more than one
	Retries   string     // the run that this one continues
	Reason    render.HTML

	UndoneBy []reversing

	Rereads   bool      // values of its steps were read, and can be read again
	ReadUntil time.Time // when the earliest of those reads is old
	ReadOld   bool
	Ended     *aftermath // effects left by an unsuccessful end
}

// cardStep is one step: its request and its result.
type cardStep struct {
	ID     string
	Key    string // unique on the page
	Number int
	Title  render.HTML
	Plain  string // the title without markup
	State  plan.StepStatus
	call
	Says        sentence
	Costs       []saidValue // amounts of money in it
	Risk        plan.Risk
	Needs       []int // numbers of steps
	Attempts    int
	Retries     []render.HTML // reason of each retry
	Took        string
	Since       time.Time // start of a running step
	Sent        render.HTML
	SentBody    *code
	SentHeaders *code
	Answer      *answer
	Error       render.HTML
	Folded      bool // the details beside the request are folded, because it was confirmed
	Request     bool // the request is unfolded: it has more than its sentence says, or a part that must be seen

	When     render.HTML // condition of the step
	Each     render.HTML // list whose elements the step runs for
	Undo     *call
	Check    *check
	Ask      *plannedAsk
	Targets  []resolvedTarget
	Again    render.HTML // the same request may have been done before
	Taken    []takenValues
	Approval *approval
	Doubt    *doubt
	Items    *items
	Undone   *effect
	Reverses *reversed // the effect that it undoes
	Command  *replacement
	Files    *fileChanges // of a step that changes files
	Reused   bool         // the result of an earlier run
	Whole    string       // address of the complete answer, when only a part is shown
}

// takenValues are the values of a step that one read answered.
type takenValues struct {
	Values          []render.HTML
	Service, Called render.HTML
	At              time.Time
	Gone            bool
}

// crossing is a transfer of data from one origin to another.
type crossing struct{ From, To render.HTML }

// answer is the server's response: a body, or the blocks of a tool's result, which has no status.
type answer struct {
	Status    int
	OK        bool
	Bytes     int
	Body      *code
	Blocks    []block
	Read      *legible // the body as a person reads it; nil: as it is
	Step      string   // where more of it is
	Truncated bool
}

// newCard returns the card of a run and its events at a time.
func newCard(run plan.Run, events []plan.Event, tag locale.Tag, now time.Time) *card {
	p := run.Plan
	c := &card{View: view.Of(run, now), ID: run.ID, Digest: string(run.Digest), Expires: p.ExpiresAt, Seq: run.EventSeq}
	c.Open = c.Draft || c.Live
	c.Short = shortDigest(c.Digest)
	a := newBuilder(run, c, words{tag: tag}, now)
	a.times = historyOf(events)
	c.Goal, c.Reason, c.Revision, c.Retries = a.pen.show(p.Goal), a.pen.show(run.Reason), p.Revision, run.Retries
	if run.Withdrawn != nil {
		c.Withdrawn, c.Reason = true, a.pen.show(run.Withdrawn.Reason)
	}
	if run.Dropped != nil && c.Draft {
		c.Dropped = a.pen.dropped(*run.Dropped)
	}
	if run.Error != nil {
		c.Error = display(run.Error.Message)
	}
	for i, s := range p.Steps {
		c.Steps = append(c.Steps, a.step(i, s))
	}
	if len(events) > 0 {
		c.Elapsed = a.elapsed(events)
	}
	c.Left, c.Remains = c.Total-c.Completed, a.remaining()
	c.Rows, c.Graph = a.rowsOf(c.Steps), graphOf(c.Steps)
	c.ReadOld = !c.ReadUntil.IsZero() && !now.Before(c.ReadUntil)
	c.Ended = a.aftermath()
	return c
}

// history is the start, the end and the retries of a step.
type history struct {
	began, ended time.Time
	retries      []string
}

func historyOf(events []plan.Event) map[plan.EffectID]history {
	times := map[plan.EffectID]history{}
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

// cardBuilder builds the parts of a card from those of a run.
type cardBuilder struct {
	pen   pen
	run   plan.Run
	card  *card
	times map[plan.EffectID]history
	now   time.Time
}

func newBuilder(run plan.Run, c *card, w words, now time.Time) cardBuilder {
	return cardBuilder{pen: pen{run.Plan, w, &c.Marked}, run: run, card: c, now: now}
}

// pen writes the texts of a plan, and remembers whether a character of them was marked.
type pen struct {
	plan   plan.Plan
	words  words
	marked *bool
}

// show renders text with display, and marks the card if a character was marked.
func (w pen) show(text string) render.HTML {
	var p visibleWriter
	p.text(text)
	*w.marked = *w.marked || p.marked
	return p.html()
}

func (w pen) code(c *code) *code {
	*w.marked = *w.marked || c != nil && c.Marked
	return c
}

// elapsed returns the time from the start of the run to its end.
func (a cardBuilder) elapsed(events []plan.Event) string {
	var began time.Time
	for _, e := range events {
		switch e.Type {
		case plan.EventStarted, plan.EventConfirmed:
			if began.IsZero() || e.Type == plan.EventStarted {
				began = e.At
			}
		case plan.EventFinished:
			if !began.IsZero() {
				return a.pen.words.took(e.At.Sub(began))
			}
		}
	}
	return ""
}

func (a cardBuilder) step(i int, s plan.Step) cardStep {
	binding, _ := a.run.Plan.Binding(s.ID)
	state := a.run.State(s.ID)
	marked := a.card.Marked
	a.card.Marked = false
	known := s.Targets
	if s.Risk == plan.Read { // it may name another thing when it is sent
		known = nil
	}
	v := cardStep{
		ID: s.ID.String(), Key: a.run.ID + "-" + plain(s.ID.String()), Number: i + 1, Title: a.pen.show(a.pen.title(s)), Plain: plain(a.pen.title(s)), State: state.Status,
		call:     a.call(s, known...),
		Risk:     view.RiskOf(s),
		Attempts: state.Attempts, Folded: !a.card.Draft && !a.card.Dead, Reused: state.Reused != "",
	}
	v.Says = a.sentence(s, binding)
	a.addFiles(&v, s)
	if v.Risk == plan.Read { // reading a thing costs nothing
		v.Costs = sentence{Values: v.Says.Values}.costs()
	} else {
		a.card.addCosts(&v, v.Says.costs())
		a.card.addCosts(&v, a.answeredCosts(s))
	}
	v.Needs = a.needs(s)
	a.addDetails(&v, s)
	a.addOutcome(&v, state)
	a.addEffects(&v, s, state)
	crosses := len(v.Crossing) > 0 || v.Undo != nil && len(v.Undo.Crossing) > 0 || v.Check != nil && len(v.Check.Crossing) > 0
	mustSee := !v.Says.Whole || v.Risk == plan.Destructive || crosses || s.Unanswered != nil || a.card.Marked
	v.Request = mustSee && !v.Folded
	a.card.Marked = a.card.Marked || marked
	return v
}

// changing returns the sentences of the steps that change something: of all, or of the one of an effect.
func (a cardBuilder) changing(of plan.EffectID) (list []sentence) {
	for _, s := range a.run.Plan.Steps {
		if (of.IsZero() || s.ID.Step() == of.Step()) && view.RiskOf(s) != plan.Read {
			binding, _ := a.run.Plan.Binding(s.ID)
			list = append(list, a.sentence(s, binding))
		}
	}
	return list
}

// addCosts adds amounts of money to a changing step, each once.
func (c *card) addCosts(v *cardStep, costs []saidValue) {
	if len(v.Costs) == 0 && len(costs) > 0 {
		c.Costs++
	}
	for _, cost := range costs {
		if !slices.ContainsFunc(v.Costs, cost.readsAs) {
			v.Costs = append(v.Costs, cost)
		}
	}
}

// title returns the title of a step in the reader's language.
func (w pen) title(s plan.Step) string { return stepTitle(w.plan, s, w.words.tag) }

// origin returns the description of the step that a reference names.
func (w pen) origin(id string) string {
	switch id {
	case plan.ItemName:
		return locale.Text(w.words.tag, "page.step.reference_item")
	case plan.CheckName:
		return locale.Text(w.words.tag, "page.step.reference_check")
	}
	if n := w.plan.Place(plan.EffectOf(id)); n > 0 {
		return locale.Text(w.words.tag, "page.step.reference", "n", itoa(n), "title", plain(w.title(w.plan.Steps[n-1])))
	}
	return locale.Text(w.words.tag, "page.step.reference_unknown", "id", plain(id))
}

// needs returns the numbers of the steps that come first.
func (a cardBuilder) needs(s plan.Step) (numbers []int) {
	for i, other := range a.run.Plan.Steps {
		if slices.Contains(s.Needs, other.ID.Step()) {
			numbers = append(numbers, i+1)
		}
	}
	return numbers
}

// Limits of the requests and answers on a card, in bytes. A plan to be confirmed is always shown completely.
const (
	resultShown  = 16 << 10
	resultsShown = 128 << 10 // of all steps together
)

// room returns the limit of one answer on the card.
func (a cardBuilder) room() int { return min(resultShown, resultsShown/max(1, len(a.run.Plan.Steps))) }

func (a cardBuilder) addOutcome(v *cardStep, state plan.StepState) {
	t := a.times[state.StepID]
	switch {
	case !t.ended.IsZero() && !t.began.IsZero() && state.Status.Terminal():
		v.Took = a.pen.words.took(t.ended.Sub(t.began))
	case state.Status == plan.StepRunning:
		v.Since = t.began
	}
	for _, why := range t.retries {
		v.Retries = append(v.Retries, display(why))
	}
	if state.Error != nil {
		v.Error = display(state.Error.Message)
	}
	s := a.run.Plan.Steps[v.Number-1]
	if b, _ := a.run.Plan.Binding(s.ID); state.Last.URL != "" && v.Tool == "" && state.Last.URL != b.URL(s) {
		v.Sent = display(state.Last.URL)
	}
	if refs, _ := s.Call().References(); len(refs) > 0 {
		v.SentHeaders = jsonCode(state.Last.Headers, nil)
		sent := plan.Result{Body: state.Last.Body}.Shortened(a.room())
		v.SentBody = answerBody(sent.Body)
	}
	switch {
	case state.Result != nil && v.Tool != "":
		v.Answer = toolAnswer(*state.Result, state.Status, a.room(), a.read(state.StepID))
		v.Answer.Truncated = v.Answer.Truncated || state.Result.Apart > 0
	case state.Result != nil:
		r := state.Result.Shortened(a.room())
		v.Answer = &answer{
			Status: r.Status, OK: meaning.Of(r.Status, false) == meaning.Done, Bytes: r.Bytes,
			Body: answerBody(r.Body), Truncated: r.Truncated || r.Apart > 0, Step: a.rows(state.StepID),
		}
		if !state.Result.Truncated && state.Result.Apart == 0 {
			v.Answer.Read = a.read(state.StepID)(state.Result.Body)
		}
	}
	if r := state.Result; r != nil && (r.Apart > 0 || len(r.Body) > a.room()) {
		v.Whole = a.result(state.StepID)
	}
}

// read returns a function of the answer to an effect, which returns its legible form.
func (a cardBuilder) read(id plan.EffectID) func(raw json.RawMessage) *legible {
	return func(raw json.RawMessage) *legible {
		return a.pen.words.read(raw, answerNames(a.run.Plan, id), 0, a.room(), a.now)
	}
}

// rows returns the address of the rows of an effect's answer.
func (a cardBuilder) rows(id plan.EffectID) string {
	return "/ui/runs/" + url.PathEscape(a.run.ID) + "/rows/" + url.PathEscape(id.String())
}

// result returns the address of an effect's complete answer.
func (a cardBuilder) result(id plan.EffectID) string {
	return "/api/runs/" + url.PathEscape(a.run.ID) + "/steps/" + url.PathEscape(id.String()) + "/result"
}
