package webui

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"piloto/internal/ground/locale"
	"piloto/internal/ground/ref"
	"piloto/internal/ground/render"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/view"
	"piloto/internal/tools/tool"
)

// call is the request of one effect, with its target.
type call struct {
	Method   string
	Tool     render.HTML // instead of a method and a path
	Server   render.HTML
	Target   target
	Path     render.HTML
	Query    *code
	Headers  *code
	Body     *code
	Media    string // of a body that is not plain JSON
	Auth     string // where the service's keys are
	Crossing []crossing

	Suggested bool // an undo that was found in the server's document
}

// check is the call that finds out whether a step was done when its response is lost.
type check struct {
	call
	Expect render.HTML
}

// plannedAsk is an approval that a step will wait for.
type plannedAsk struct {
	Reason  render.HTML
	Another bool
	Maybe   bool // it depends on the results of earlier steps
	Length  string
}

// resolvedTarget is the target of a reference: the value that is sent, and its label for people. The label comes
// from the called service, so alone it proves nothing.
type resolvedTarget struct{ Ref, Label, Value render.HTML }

// items is the results of a step's elements.
type items struct {
	Done, Total int
	List        []effect
}

// effect is one element of a step, or the undo of a step or an element.
type effect struct {
	Key    string
	Number int // of the element, from 1; 0 for none
	State  plan.StepStatus
	Code   int
	OK     bool
	Took   string
	Error  render.HTML
	Doubt  *doubt
	Undone *effect
}

// replacement is another command instead of one that failed.
type replacement struct {
	Was, Now, Because render.HTML
	Proposed          bool // it is not approved and was not sent
}

// aftermath lists the effects that an unsuccessful run leaves.
type aftermath struct {
	Undone, Kept, Stays []render.HTML // undone; undo failed; done and not undone
}

// call returns the request of a step, an undo or a check, with its address as it is sent; known are the values that must still
// be the same then.
func (a cardBuilder) call(c plan.Step, known ...plan.Target) call {
	b, _ := a.run.Plan.Binding(c.ID)
	v := call{Method: c.Method, Tool: a.pen.show(c.Tool), Server: a.pen.show(b.ServerName), Target: targetOf(b.BaseURL)}
	a.card.Marked = a.card.Marked || v.Target.Marked
	path := visibleWriter{step: a.pen.origin, known: valuesOf(known)}
	path.text(v.Target.Prefix + c.Path)
	path.known = nil // how a value stands in a query is known when it is sent
	if b.Query != "" {
		path.text("?" + b.Query)
	}
	v.Path = path.html()
	a.card.Marked = a.card.Marked || path.marked
	if string(c.Query) != "{}" {
		v.Query = a.pen.code(jsonCode(c.Query, a.pen.origin))
	}
	v.Headers = a.pen.code(jsonCode(c.Headers, a.pen.origin))
	v.Body, v.Media, v.Auth = a.pen.code(jsonCode(c.Body, a.pen.origin)), plain(b.Media), plain(b.Auth)
	for _, crossed := range view.Crossings(a.run.Plan, c.ID) {
		v.Crossing = append(v.Crossing, crossing{From: targetOf(crossed.From).Origin, To: targetOf(crossed.To).Origin})
	}
	return v
}

// valuesOf returns the values of references as they stand in a path.
func valuesOf(known []plan.Target) func(reference string) (string, bool) {
	return func(reference string) (string, bool) {
		for _, t := range known {
			if "${"+t.Ref+"}" == reference && !strings.ContainsAny(string(t.Value[:min(1, len(t.Value))]), "{[n") {
				return tool.Escape(textOf(t.Value)), true
			}
		}
		return "", false
	}
}

// addDetails adds the parts of a step in addition to its call.
func (a cardBuilder) addDetails(v *cardStep, s plan.Step) {
	p := a.run.Plan
	if s.Unanswered != nil {
		v.Again = a.pen.show(s.Unanswered.Phrase().In(a.pen.words.tag))
	}
	if s.When != nil {
		v.When = a.pen.condition(*s.When)
	}
	if s.ForEach != "" {
		v.Each = a.pen.reference(s.ForEach)
	}
	if step, ok := p.Step(plan.UndoOf(s.ID)); ok {
		undo := a.call(step)
		undo.Suggested = s.Undo.Suggested
		v.Undo = &undo
	}
	if step, ok := p.CheckOf(s.ID); ok {
		v.Check = &check{call: a.call(step), Expect: a.pen.condition(s.Verify.Expect)}
	}
	if s.Ask != nil {
		v.Ask = &plannedAsk{Maybe: s.Ask.Maybe, Reason: a.pen.show(s.Ask.Reason), Another: s.Ask.Another, Length: formatMinutes(s.Ask.Minutes)}
	}
	for _, t := range a.run.Taken {
		if t.StepID != s.ID {
			continue
		}
		if until := t.Until(); a.card.ReadUntil.IsZero() || until.Before(a.card.ReadUntil) {
			a.card.ReadUntil = until
		}
		a.card.Rereads = a.card.Rereads || len(t.Call) > 0
		if t.Own && !t.Gone { // it was not taken from there
			continue
		}
		one := takenValues{Service: a.pen.show(t.Service), Called: a.pen.show(t.Called), At: t.At, Gone: t.Gone}
		same := slices.IndexFunc(v.Taken, func(o takenValues) bool {
			return o.Called == one.Called && o.Service == one.Service && o.At.Equal(one.At) && o.Gone == one.Gone
		})
		if same < 0 {
			v.Taken, same = append(v.Taken, one), len(v.Taken)
		}
		v.Taken[same].Values = append(v.Taken[same].Values, a.pen.show(t.Value))
	}
	for _, t := range s.Targets {
		v.Targets = append(v.Targets, resolvedTarget{Ref: a.pen.reference("${" + t.Ref + "}"), Label: a.pen.show(cmp.Or(ref.NameIn(t.About), t.Label)), Value: a.pen.show(textOf(t.Value))})
	}
}

// addEffects adds the state of a step in addition to its own: elements, undo, approval, doubt, another command.
func (a cardBuilder) addEffects(v *cardStep, s plan.Step, state plan.StepState) {
	if state.Approval != nil {
		v.Approval, v.Ask = a.approval(v, state), nil
	}
	if c := state.Command; c != nil && c.Now != "" {
		v.Command = &replacement{Was: a.pen.show(c.Was), Now: a.pen.show(c.Now), Because: a.pen.show(c.Because)}
		v.Command.Proposed = c.Asks && (state.Approval == nil || state.Approval.Decision != plan.Approved)
	}
	if s.ForEach != "" && (state.Expanded || state.Items > 0) {
		v.Items = a.items(s, state)
		return // the elements show their doubts
	}
	v.Undone = a.undo(plan.UndoOf(s.ID), 0)
	v.Doubt = a.doubt(s.ID, state)
}

func (a cardBuilder) items(s plan.Step, state plan.StepState) *items {
	list := &items{Total: state.Items}
	for n := range min(state.Items, plan.MaxEach) {
		id := plan.ItemOf(s.ID, n)
		e := a.effect(id, n+1)
		if e.State == plan.StepDone {
			list.Done++
		}
		e.Undone = a.undo(plan.UndoOf(id), n+1)
		list.List = append(list.List, *e)
	}
	return list
}

// undo returns the state of an undo; nil when it has not begun.
func (a cardBuilder) undo(id plan.EffectID, number int) *effect {
	for _, s := range a.run.Steps {
		if s.StepID == id {
			return a.effect(id, number)
		}
	}
	return nil
}

func (a cardBuilder) effect(id plan.EffectID, number int) *effect {
	state := a.run.State(id)
	e := &effect{Key: a.run.ID + "-" + plain(id.String()), Number: number, State: state.Status, Doubt: a.doubt(id, state)}
	if r := state.Result; r != nil {
		e.Code, e.OK = r.Status, state.Status == plan.StepDone
	}
	if t := a.times[id]; !t.ended.IsZero() && !t.began.IsZero() && state.Status.Terminal() {
		e.Took = a.pen.words.took(t.ended.Sub(t.began))
	}
	if state.Error != nil && e.Doubt == nil {
		e.Error = a.pen.show(state.Error.Message)
	}
	return e
}

// aftermath lists the undone, not undoable and remaining effects of a run that ended without success.
func (a cardBuilder) aftermath() *aftermath {
	if !a.card.Over || a.run.Status == plan.Done || len(a.run.Changes()) == 0 {
		return nil
	}
	return &aftermath{Undone: a.names(a.card.Undone), Kept: a.names(a.card.NotUndone), Stays: a.names(a.card.Stays)}
}

// names names effects by their steps: «2. Reservar», and the element.
func (a cardBuilder) names(ids []plan.EffectID) (list []render.HTML) {
	for _, id := range ids {
		n := a.run.Plan.Place(id)
		name := a.pen.fill("page.aftermath.step", "n", itoa(n), "title", a.card.Steps[n-1].Title)
		if id.Item() >= 0 {
			name = a.pen.fill("page.aftermath.item", "step", name, "n", itoa(id.Item()+1))
		}
		list = append(list, name)
	}
	return list
}

// isDone reports whether the effect was done, by its state or by a person's verdict.
func (e *effect) isDone() bool {
	switch {
	case e == nil:
		return false
	case e.Doubt != nil && e.Doubt.Resolved != nil:
		return e.Doubt.Resolved.Outcome == plan.OutcomeDone
	}
	return e.State == plan.StepDone
}

// sentTo splits the address of a request into its target and the rest.
func sentTo(raw string) (to target, rest render.HTML) {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return target{Origin: display(raw)}, ""
	}
	to = targetOf((&url.URL{Scheme: u.Scheme, Host: u.Host, User: u.User}).String())
	return to, display(u.RequestURI())
}

// stepOf returns the name of an effect's step: «2. Reservar (3)».
func stepOf(p plan.Plan, id plan.EffectID, tag locale.Tag) string {
	at := p.Place(id)
	if at == 0 {
		return plain(id.String())
	}
	name := itoa(at) + ". " + plain(stepTitle(p, p.Steps[at-1], tag))
	if n := id.Item(); n >= 0 {
		name += " (" + itoa(n+1) + ")"
	}
	if id.Undo() {
		return locale.Text(tag, "page.effect.undo", "step", name)
	}
	return name
}
