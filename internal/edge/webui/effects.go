package webui

import (
	"net/url"

	"piloto/internal/ground/locale"
	"piloto/internal/ground/render"
	"piloto/internal/runs/plan"
)

// call is what one effect sends, and where.
type call struct {
	Method   string
	Tool     render.HTML // instead of a method and a path
	Server   render.HTML
	Target   target
	Path     render.HTML
	Query    *code
	Body     *code
	Crossing []crossing

	Suggested bool // of an undo: nobody wrote it, it was found in the document
}

// check is how it is found out whether a step was done whose answer was lost.
type check struct {
	call
	Expect render.HTML
}

// asking is an approval that a step will wait for.
type asking struct {
	Reason  render.HTML
	Another bool
	Maybe   bool // depending on what earlier steps answer
	Length  string
}

// found is what a reference was found to name: the value that is sent, and what a person
// calls it. The label is of the service that answered, and alone could be anything.
type found struct{ Ref, Label, Value render.HTML }

// items is what became of the elements that a step is done for.
type items struct {
	Done, Total int
	List        []effect
}

// effect is one element of a step, or the undo of a step or an element.
type effect struct {
	Key    string
	Number int // of the element, from 1; 0 when it is of none
	State  plan.StepStatus
	Code   int
	OK     bool
	Took   string
	Error  render.HTML
	Doubt  *doubt
	Undone *effect
}

// replaced is another command in the place of one that failed.
type replaced struct {
	Was, Now, Because render.HTML
	Proposed          bool // nobody approved it, or not yet: it was not sent
}

// aftermath is what an end that was no success leaves in the world.
type aftermath struct {
	Undone, Kept, Stays []render.HTML // undone; could not be undone; was done and stays
}

// call arranges what is sent; uses are the steps whose results are sent with it.
func (a arranger) call(b plan.Binding, c plan.Call, uses map[string]bool) call {
	v := call{Method: c.Method, Tool: a.show(c.Tool), Server: a.show(b.ServerName), Target: targetOf(b.BaseURL)}
	a.card.Marked = a.card.Marked || v.Target.Marked
	path := pen{step: a.origin}
	path.text(v.Target.Prefix + c.Path)
	v.Path = path.html()
	a.card.Marked = a.card.Marked || path.marked
	if string(c.Query) != "{}" {
		v.Query = a.code(jsonCode(c.Query, a.origin))
	}
	v.Body = a.code(jsonCode(c.Body, a.origin))
	v.Crossing = a.crossings(uses, b)
	return v
}

// crossings says where data of another origin is sent on.
func (a arranger) crossings(uses map[string]bool, to plan.Binding) (list []crossing) {
	for _, other := range a.run.Plan.Steps {
		from, ok := a.run.Plan.Binding(other.ID)
		if ok && uses[other.ID] && originOf(from.BaseURL) != originOf(to.BaseURL) {
			list = append(list, crossing{From: targetOf(from.BaseURL).Origin, To: targetOf(to.BaseURL).Origin})
		}
	}
	return list
}

// beside arranges what stands beside a step's own call.
func (a arranger) beside(v *cardStep, s plan.Step) {
	p := a.run.Plan
	if s.When != nil {
		v.When = a.condition(*s.When)
	}
	if s.ForEach != "" {
		v.Each = a.named(s.ForEach)
	}
	if s.Undo != nil {
		binding, _ := p.Binding(plan.EffectID{Step: s.ID, Item: -1, Undo: true}.String())
		undo := a.call(binding, s.Undo.Call, sends(s.Undo.Call))
		undo.Suggested = s.Undo.Suggested
		v.Undo = &undo
	}
	if s.Verify != nil {
		c, _ := p.CheckOf(s.ID)
		binding, _ := p.Binding(c.ID)
		v.Check = &check{call: a.call(binding, s.Verify.Call, sends(s.Verify.Call)), Expect: a.condition(s.Verify.Expect)}
	}
	if s.Ask != nil {
		a.card.Asks++
		v.Ask = &asking{Maybe: s.Ask.Maybe, Reason: a.show(s.Ask.Reason), Another: s.Ask.Another, Length: lasts(s.Ask.Minutes)}
	}
	for _, t := range s.Targets {
		v.Targets = append(v.Targets, found{Ref: a.named("${" + t.Ref + "}"), Label: a.show(t.Label), Value: a.inline(t.Value)})
	}
}

// effects arranges what became of a step beside its own state: its elements, its
// undo, an approval, a doubt, another command.
func (a arranger) effects(v *cardStep, s plan.Step, state plan.StepState) {
	if state.Approval != nil {
		v.Approval, v.Ask = a.approval(v, state), nil
	}
	if c := state.Command; c != nil && c.Now != "" {
		v.Command = &replaced{Was: a.show(c.Was), Now: a.show(c.Now), Because: a.show(c.Because)}
		v.Command.Proposed = c.Asks && (state.Approval == nil || state.Approval.Decision != plan.Approved)
	}
	if s.ForEach != "" && (state.Expanded || state.Items > 0) {
		v.Items = a.items(s, state)
		return // of what is in doubt, the elements say so
	}
	v.Undone = a.undo(plan.EffectID{Step: s.ID, Item: -1, Undo: true}, 0)
	v.Doubt = a.doubt(s.ID, state)
}

func (a arranger) items(s plan.Step, state plan.StepState) *items {
	list := &items{Total: state.Items}
	for n := range min(state.Items, plan.MaxEach) {
		id := plan.EffectID{Step: s.ID, Item: n}
		e := a.effect(id.String(), n+1)
		if e.State == plan.StepDone {
			list.Done++
		}
		id.Undo = true
		e.Undone = a.undo(id, n+1)
		list.List = append(list.List, *e)
	}
	return list
}

// undo is what became of an undo; nil when it has not begun.
func (a arranger) undo(id plan.EffectID, number int) *effect {
	name := id.String()
	for _, s := range a.run.Steps {
		if s.StepID == name {
			return a.effect(name, number)
		}
	}
	return nil
}

func (a arranger) effect(id string, number int) *effect {
	state := a.run.State(id)
	e := &effect{Key: a.run.ID + "-" + plain(id), Number: number, State: state.Status, Doubt: a.doubt(id, state)}
	if r := state.Result; r != nil {
		e.Code, e.OK = r.Status, state.Status == plan.StepDone
	}
	if t := a.times[id]; !t.ended.IsZero() && !t.began.IsZero() && state.Status.Terminal() {
		e.Took = a.words.took(t.ended.Sub(t.began))
	}
	if state.Error != nil && e.Doubt == nil {
		e.Error = a.show(state.Error.Message)
	}
	return e
}

// aftermath lists what was undone, what could not be and what stays, of a run that
// ended without success.
func (a arranger) aftermath() *aftermath {
	if !a.card.Receipt || a.run.Status == plan.Done {
		return nil
	}
	var all aftermath
	for i, s := range a.run.Plan.Steps {
		if plan.RiskOf(s.Method).Raised(s.Risk == plan.Destructive) == plan.Read {
			continue
		}
		state, v := a.run.State(s.ID), a.card.Steps[i]
		name := a.fill("page.aftermath.step", "n", itoa(i+1), "title", v.Title)
		if v.Items == nil {
			all.add(name, state.Status, v.Undone)
			continue
		}
		for _, e := range v.Items.List {
			all.add(a.fill("page.aftermath.item", "step", name, "n", itoa(e.Number)), e.State, e.Undone)
		}
	}
	if len(all.Undone)+len(all.Kept)+len(all.Stays) == 0 {
		return nil
	}
	return &all
}

// done reports whether the effect was done, as far as is known or as somebody said.
func (e *effect) done() bool {
	switch {
	case e == nil:
		return false
	case e.Doubt != nil && e.Doubt.Settled != nil:
		return e.Doubt.Settled.Outcome == plan.OutcomeDone
	}
	return e.State == plan.StepDone
}

func (l *aftermath) add(name render.HTML, state plan.StepStatus, undo *effect) {
	switch {
	case undo.done():
		l.Undone = append(l.Undone, name)
	case undo != nil:
		l.Kept = append(l.Kept, name)
	case state == plan.StepDone:
		l.Stays = append(l.Stays, name)
	}
}

// sentTo is an address as it was or would be sent: where it goes, and the rest.
func sentTo(raw string) (to target, rest render.HTML) {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return target{Origin: display(raw)}, ""
	}
	to = targetOf((&url.URL{Scheme: u.Scheme, Host: u.Host, User: u.User}).String())
	return to, display(u.RequestURI())
}

// stepOf names the step that an effect is of: «2. Reservar (3)».
func stepOf(p plan.Plan, id string, tag locale.Tag) string {
	e := plan.ParseEffect(id)
	for i, s := range p.Steps {
		if s.ID != e.Step {
			continue
		}
		name := itoa(i+1) + ". " + plain(s.Title)
		if e.Item >= 0 {
			name += " (" + itoa(e.Item+1) + ")"
		}
		if e.Undo {
			return locale.Text(tag, "page.effect.undo", "step", name)
		}
		return name
	}
	return plain(id)
}
