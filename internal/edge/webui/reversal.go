package webui

import (
	"context"
	"net/url"
	"slices"

	"piloto/internal/ground/ref"
	"piloto/internal/ground/render"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/view"
)

// reversing is a run, or a draft, that undoes effects of another run, as shown on that one's card.
type reversing struct {
	RunID  string
	Goal   render.HTML
	Status plan.Status // as shown
	How    string      // the state of the undo: one of the reversal constants
	Link   string      // to its card
}

// States of an undo. The first three are open: nothing else may undo the effects meanwhile.
const (
	reversalAsked   = "asked"
	reversalRunning = "running"
	reversalDoubt   = "doubt"
	reversalDone    = "done"
	reversalPartly  = "partly"
)

// open reports whether the outcome of the undo is not final.
func (r reversing) open() bool {
	return r.How == reversalAsked || r.How == reversalRunning || r.How == reversalDoubt
}

// mostReversals are the drafts that are read for one card, the newest ones.
const mostReversals = 20

// reversals reads the runs that undo effects of a run, by its events, in their order. It returns the run with the undos
// that they did as if they were its own.
func (k cardReader) reversals(ctx context.Context, v visit, run plan.Run, events []plan.Event) (plan.Run, []reversing, error) {
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
		r, err := k.runs.Run(ctx, v.who.Account, id)
		if err != nil {
			return nil, err
		}
		r, err = plan.Newest(ctx, k.runs, r) // it may have been retried
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

// howReversed returns the state of an undo; "" when it did and will do nothing.
func howReversed(by plan.Run, done, all int, v visit) string {
	switch seen := view.Of(by, v.now); {
	case seen.Draft:
		return reversalAsked
	case seen.Live:
		return reversalRunning
	case len(seen.Doubts) > 0:
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

// reversed is the effect that a step undoes, as it was done: the id in an undo's own call says little of it.
type reversed struct {
	Title render.HTML
	Says  sentence
}

// mostRetries are the runs that are read to find the draft that began an undo.
const mostRetries = 5

// undone adds to the steps of a card the effects that they undo, when its run undoes another.
func (k cardReader) undone(ctx context.Context, v visit, run plan.Run, c *card) error {
	if run.Plan.Undoes == "" {
		return nil
	}
	var old plan.Run
	var events []plan.Event
	err := runAll(
		func() (err error) { old, err = k.runs.Run(ctx, v.who.Account, run.Plan.Undoes); return },
		func() (err error) {
			events, err = readEvents(ctx, k.runs, v.who.Account, run.Plan.Undoes, cardEvents)
			return
		},
	)
	first := run
	for n := 0; err == nil && first.Retries != "" && n < mostRetries; n++ { // the event names the run that was retried
		first, err = k.runs.Run(ctx, v.who.Account, first.Retries)
	}
	if isMissing(err) {
		return nil
	}
	a := newBuilder(old, c, words{tag: v.tag}, v.now)
	for _, e := range events {
		of, ok := plan.ReversalOf(e)
		if !ok || of.RunID != first.ID {
			continue
		}
		for n, id := range of.Undos {
			at := slices.IndexFunc(c.Steps, func(st cardStep) bool { return st.ID == plan.ReversalStep(n).String() })
			if at < 0 {
				continue
			}
			if c.Steps[at].Reverses = a.reversed(id.Base()); c.Steps[at].Reverses != nil {
				c.addCosts(&c.Steps[at], c.Steps[at].Reverses.Says.costs())
			}
		}
	}
	return err
}

// reversed describes an effect; nil when its plan does not have it.
func (a cardBuilder) reversed(id plan.EffectID) *reversed {
	i := slices.IndexFunc(a.run.Plan.Steps, func(s plan.Step) bool { return s.ID.Step() == id.Step() })
	if i < 0 {
		return nil
	}
	s := a.run.Plan.Steps[i]
	binding, _ := a.run.Plan.Binding(s.ID)
	if sent := a.run.State(id).Last.Body; id.Item() >= 0 && len(sent) > 0 { // of one element
		s.Body = sent
	}
	says := a.sentence(s, binding)
	if body, ok := a.resultOf(id); ok {
		w := sentenceWriter{card: a, sentence: says}
		w.addThing("", ref.Facts(structured(s, body.Body), ""), "", binding.AnswerNames)
		says = w.sentence
	}
	return &reversed{Title: a.pen.show(a.pen.title(s)), Says: says}
}
