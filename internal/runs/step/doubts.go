package step

import (
	"context"
	"encoding/json"
	"slices"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/ref"
	"piloto/internal/runs/plan"
)

// An unanswered request is sent again only if the card warned of it. A draft has the warning when the values of the request are
// known. Else the request is found when they become known, and the run ends before it is sent: the draft of its retry knows
// them.

// doubts are the unanswered requests of a chat, for a plan.
type doubts struct {
	trial  *trial
	stores Stores
	all    []plan.Unanswered // each is of one effect of the plan at most
	runs   map[string]plan.Run
}

// addDoubts sets the doubt of each step of a draft that sends an unanswered request again. A request whose values are not all
// known cannot be compared.
func (p Preview) addDoubts(ctx context.Context, t *trial, known []plan.Known) error {
	d := doubts{trial: t, stores: p.Reader.Stores, runs: map[string]plan.Run{}}
	if err := d.read(ctx); err != nil {
		return err
	}
	return d.each(ctx, func(i int, doubt *plan.Doubt) { known[i].Unanswered = doubt })
}

// unsaid returns the first step of a run that would send an unanswered request of another run again without a warning in its
// plan, and the reason; a nil reason when there is none.
func (o outlook) unsaid(ctx context.Context, t *trial) (id plan.EffectID, why *plan.Failure, err error) {
	r := t.run
	if len(r.Unanswered) == 0 {
		return id, nil, nil
	}
	d := doubts{trial: t, stores: o.stores, runs: map[string]plan.Run{r.ID: r}}
	if d.all, err = d.stores.Runs.Unanswered(ctx, r.Account, r.ChatID); err != nil {
		return id, nil, err
	}
	d.all = slices.DeleteFunc(d.all, func(u plan.Unanswered) bool { return u.RunID == r.ID })
	err = d.each(ctx, func(i int, doubt *plan.Doubt) {
		if s := r.Plan.Steps[i]; why == nil && doubt != nil && s.Unanswered == nil {
			id, why = s.ID, failure(r, "step.may_be_done", "run", doubt.RunID)
		}
	})
	return id, why, err
}

// each calls found with the doubt of each step that has not begun and may run; nil for none.
func (d *doubts) each(ctx context.Context, found func(i int, doubt *plan.Doubt)) error {
	if len(d.all) == 0 {
		return nil
	}
	for i, s := range d.trial.run.Plan.Steps {
		st := d.trial.run.State(s.ID)
		if s.Risk == plan.Read || st.Status != plan.StepPending || st.Attempts > 0 || d.trial.fateOf(s) == skips {
			continue
		}
		doubt, err := d.of(ctx, s)
		if err != nil {
			return err
		}
		found(i, doubt)
	}
	return nil
}

// read lists the requests of the chat to which no answer is known, and those that its active run waits for.
func (d *doubts) read(ctx context.Context) (err error) {
	r := d.trial.run
	if r.ChatID == "" {
		return nil
	}
	if d.all, err = d.stores.Runs.Unanswered(ctx, r.Account, r.ChatID); err != nil {
		return err
	}
	chat, err := d.stores.Chats.Chat(ctx, r.Account, r.ChatID)
	if fault.KindOf(err) == fault.NotFound || err == nil && chat.ActiveRunID == "" {
		return nil
	}
	if err != nil {
		return err
	}
	active, err := d.sender(ctx, chat.ActiveRunID)
	if err != nil {
		return err
	}
	for _, st := range active.Steps {
		if s, ok := active.Plan.Step(st.StepID); !ok || s.Risk == plan.Read || !st.Last.Open || !st.MayBeDone() {
			continue
		}
		u, err := active.AsUnanswered(st)
		if err != nil {
			return err
		}
		d.all = append(slices.DeleteFunc(d.all, func(o plan.Unanswered) bool { return o.Request == u.Request && o.Key == u.Key }), u)
	}
	return nil
}

// sender returns a run that sent a request. A run that is gone has no doubts.
func (d *doubts) sender(ctx context.Context, id string) (plan.Run, error) {
	if r, ok := d.runs[id]; ok {
		return r, nil
	}
	r, err := d.stores.Runs.Bare(ctx, d.trial.run.Account, id)
	if fault.KindOf(err) == fault.NotFound {
		err = nil
	}
	d.runs[id] = r
	return r, err
}

// of returns the doubt that a step, or one of its elements, sends again; nil when there is none.
func (d *doubts) of(ctx context.Context, s plan.Step) (*plan.Doubt, error) {
	if slices.ContainsFunc(referencesOf(s), func(r ref.Reference) bool { return r.Step != plan.ItemName && !d.trial.answers.knows(r.Step) }) {
		return nil, nil
	}
	b, ok, err := d.trial.bind(ctx, s)
	if err != nil || !ok {
		return nil, err
	}
	if s.ForEach == "" {
		return d.ofCall(ctx, b, s)
	}
	list, err := d.trial.answers.elements(s)
	if err != nil { // it is reported when the plan is tried
		return nil, d.trial.answers.err
	}
	return d.ofElements(ctx, b, s, list)
}

func (d *doubts) ofElements(ctx context.Context, b bound, s plan.Step, list []json.RawMessage) (first *plan.Doubt, err error) {
	defer delete(d.trial.answers.read, plan.ItemName)
	n := 0
	for _, element := range list {
		d.trial.answers.read[plan.ItemName] = &ref.Result{Status: 200, Body: element}
		doubt, err := d.ofCall(ctx, b, s)
		if err != nil {
			return nil, err
		}
		if doubt != nil {
			n++
			if first == nil {
				first = doubt
			}
		}
	}
	if first != nil {
		first.Elements = n
	}
	return first, nil
}

// ofCall returns the doubt that one effect sends again. A call that cannot be made has none: it is refused elsewhere.
func (d *doubts) ofCall(ctx context.Context, b bound, s plan.Step) (*plan.Doubt, error) {
	args, _, err := b.resolve(d.trial.schemas, s, d.trial.answers.lookup)
	if d.trial.answers.err != nil || err != nil {
		return nil, d.trial.answers.err
	}
	request, err := b.build(d.trial.schemas, s, args)
	if err != nil {
		return nil, nil //nolint:nilerr // it is reported when the plan is tried
	}
	sum, err := s.Sum(plan.Attempt{URL: request.URL, Headers: args.Headers, Body: args.Body})
	if err != nil {
		return nil, err
	}
	return d.take(ctx, sum)
}

// take returns the first doubt of a request that no other effect has.
func (d *doubts) take(ctx context.Context, request string) (*plan.Doubt, error) {
	for i, u := range d.all {
		if u.Request != request || !u.Concerns(d.trial.run.Plan) {
			continue
		}
		r, err := d.sender(ctx, u.RunID)
		if err != nil {
			return nil, err
		}
		if r.State(u.StepID).MayBeDone() {
			d.all = slices.Delete(d.all, i, i+1)
			return &plan.Doubt{RunID: u.RunID, StepID: u.StepID}, nil
		}
	}
	return nil, nil
}
