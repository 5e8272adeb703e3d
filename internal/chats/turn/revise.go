package turn

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"time"

	"piloto/internal/access/auth"
	"piloto/internal/conversation"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/parallel"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
)

// Edit is a person's change of a draft: all the steps it is to have. Digest is that
// of the plan they saw; an empty Goal, or the absent title of a step that stays,
// leaves it as it is.
type Edit struct {
	Principal auth.Principal
	RunID     string
	Digest    plan.Digest
	Goal      string
	Steps     []plan.ProposedStep
	Locale    locale.Tag
	TraceID   string
}

// Revise gives a draft another plan, checked as any proposal is. An edit that
// changes nothing leaves the draft as it is.
//
// It returns plan.ErrInvalid, with Fields at ["body", "steps", …], for what is no
// plan; plan.ErrStale when the draft is not the one that was seen; plan.ErrExpired,
// plan.ErrNotPending, plan.ErrAlreadyRunning or plan.ErrRunNotFound when there is no
// draft; and changes nothing then.
func (s *Service) Revise(ctx context.Context, e Edit) (plan.Run, error) {
	account := e.Principal.Account
	r, err := s.Store.Run(ctx, account, e.RunID)
	if err != nil {
		return plan.Run{}, err
	}
	if err := editable(r, e.Digest, s.Now()); err != nil {
		return plan.Run{}, err
	}
	began := s.Now()
	d := drafting{Service: s, account: account, tag: e.Locale}
	var project conversation.Project
	err = parallel.Do(
		func() (err error) { d.listed, err = s.loadCatalogue(ctx, account); return },
		func() (err error) { d.rules, err = s.Store.Rules(ctx, account); return },
		func() (err error) { project, err = s.loadProject(ctx, account, r.ProjectID); return },
	)
	if err != nil {
		return plan.Run{}, err
	}
	d.listed = allowed(d.listed, project)
	p, wrong := tidied(plan.Proposal{Goal: e.Goal, Steps: e.Steps})
	next, changed, bad, err := d.revised(ctx, r, p)
	switch wrong = unique(append(wrong, bad...)); {
	case err != nil:
		return plan.Run{}, err
	case len(wrong) > 0:
		return plan.Run{}, plan.ErrInvalid.At(within("body", wrong)...)
	case !changed:
		return r, nil
	}
	c := change{
		tag: e.Locale, before: r, next: next, by: e.Principal.User, data: map[string]any{"trace_id": e.TraceID},
		viewer: Request{Principal: e.Principal}.Viewer(),
	}
	reply, err := s.change(ctx, c, began.Add(previewTime))
	if err != nil {
		return plan.Run{}, err
	}
	return *reply.Run, nil
}

// tidied brings the steps of an edit into the one form that is shown and sent.
func tidied(p plan.Proposal) (plan.Proposal, []fault.Field) {
	p.Steps = slices.Clone(p.Steps)
	var wrong []fault.Field
	for i := range p.Steps {
		for _, f := range tidy(&p.Steps[i]) {
			f.Loc = append([]any{"steps", i}, f.Loc...)
			wrong = append(wrong, f)
		}
	}
	return p, wrong
}

// editable says why a run is no draft that may be changed as it was seen, or nil.
func editable(r plan.Run, seen plan.Digest, at time.Time) error {
	switch {
	case r.Status == plan.Expired, r.Status == plan.Draft && !at.Before(r.Plan.ExpiresAt):
		return plan.ErrExpired
	case r.Status == plan.Superseded:
		return plan.ErrStale
	case r.Status.Active():
		return plan.ErrAlreadyRunning
	case r.Status != plan.Draft:
		return plan.ErrNotPending
	case r.Digest != seen:
		return plan.ErrStale
	}
	return nil
}

// revised is the plan that a draft becomes with other steps, and whether it is
// another.
func (d drafting) revised(ctx context.Context, r plan.Run, p plan.Proposal) (next plan.Plan, changed bool, wrong []fault.Field, err error) {
	before := r.Plan
	p.Goal = cmp.Or(plan.Line(p.Goal), before.Goal)
	for i := range p.Steps {
		s := &p.Steps[i]
		old, ok := before.Step(cmp.Or(s.ID, "s"+strconv.Itoa(i+1)))
		if ok && plan.Line(s.Title) == "" && s.MCPID == old.MCPID && s.Tool == old.Tool && s.Method == old.Method {
			s.Title = old.Title
		}
	}
	next, wrong, err = d.draft(ctx, p)
	if err != nil || len(wrong) > 0 {
		return plan.Plan{}, false, wrong, err
	}
	next.ID, next.Reuse = before.ID, before.Reuse
	if wrong := doneAlready(before, next); len(wrong) > 0 {
		return plan.Plan{}, false, wrong, nil
	}
	same := next
	same.Revision, same.ExpiresAt, same.Replaces = before.Revision, before.ExpiresAt, before.Replaces
	same.Steps = slices.Clone(next.Steps)
	for i := range same.Steps {
		if i < len(before.Steps) {
			same.Steps[i].Targets = before.Steps[i].Targets
		}
	}
	digest, err := same.Digest()
	next.Revision, next.Replaces = before.Revision+1, r.Digest
	return next, digest != r.Digest, nil, err
}

// doneAlready lists the steps whose results are those of an earlier run, and which
// would be others: what was done stays what it was.
func doneAlready(before, next plan.Plan) []fault.Field {
	if before.Reuse == nil {
		return nil
	}
	var wrong []fault.Field
	for _, id := range before.Reuse.Steps {
		was, _ := before.Step(id)
		now, ok := next.Step(id)
		a, errA := json.Marshal(proposedOf(was))
		b, errB := json.Marshal(proposedOf(now))
		if ok && errA == nil && errB == nil && string(a) == string(b) {
			continue
		}
		at := max(0, slices.IndexFunc(next.Steps, func(s plan.Step) bool { return s.ID == id }))
		wrong = append(wrong, fault.Field{
			Loc: []any{"steps", at}, Type: "done", Msg: "the step " + id + " was done before: it can neither be changed nor left out",
		})
	}
	return wrong
}

// change is another plan for a draft, ready to be written.
type change struct {
	tag    locale.Tag
	before plan.Run
	next   plan.Plan
	by     string
	model  *conversation.By // nil: a person wrote it
	data   map[string]any   // of the event
	asked  Request          // what it answers; none of a person's own edit
	viewer string           // to whom it is answered
	// What stands before its card; nil: nothing.
	said func(context.Context, plan.Run, time.Time) ([]conversation.Message, error)
}

// change looks at what the plan is about and writes it, while the draft is the one
// that was seen and its chat waits for it.
func (s *Service) change(ctx context.Context, c change, until time.Time) (Reply, error) {
	looked := c.before
	looked.Plan = c.next
	s.aim(ctx, &looked, until)
	c.next = looked.Plan
	digest, err := c.next.Digest()
	if err != nil {
		return Reply{}, err
	}
	var reply Reply
	err = run.Retry(ctx, func() error {
		r, err := s.Store.Run(ctx, c.before.Account, c.before.ID)
		if err != nil {
			return err
		}
		chat, err := s.Store.Chat(ctx, r.Account, r.ChatID)
		if errors.Is(err, conversation.ErrChatNotFound) {
			return plan.ErrNotPending
		}
		if err != nil {
			return err
		}
		at := s.Now()
		if r.Digest == digest && r.Status == plan.Draft { // written, and the answer was lost
			reply = Reply{Kind: KindPlan, Message: run.Message(s.IDs, r, conversation.KindPlan, at, c.text()), Chat: chat, Run: &r, By: c.model}
			return nil
		}
		if err := editable(r, c.before.Digest, at); err != nil {
			return err
		}
		if chat.PendingRunID != r.ID {
			return plan.ErrStale
		}
		var messages []conversation.Message
		if c.said != nil {
			if messages, err = c.said(ctx, r, at); err != nil {
				return err
			}
		}
		card := answering(c.asked, run.Message(s.IDs, r, conversation.KindPlan, at, c.text()))
		card.By = c.model
		rev := plan.Revision{Plan: c.next, Digest: digest, By: c.by, For: c.asked.speaksFor, At: at}
		if c.model != nil {
			rev.Model = c.model.Model
		}
		shown := r
		shown.Plan, shown.Digest = c.next, digest
		next, err := s.Store.Revise(ctx, r, chat, rev, run.Record{
			At: at, Type: plan.EventRevised, Data: c.event(digest), Messages: append(messages, card), Shown: shown.Sighted(c.viewer, at),
		})
		if err != nil {
			return err
		}
		chat.UpdatedAt = at
		reply = Reply{Kind: KindPlan, Before: messages, Message: card, Chat: chat, Run: &next, By: c.model}
		return nil
	})
	return reply, err
}

// event is what the event of a revision says.
func (c change) event(digest plan.Digest) map[string]any {
	data := maps.Clone(c.data)
	data["digest"], data["before"], data["revision"], data["by"] = digest, c.before.Digest, c.next.Revision, c.by
	data["changes"] = noted(c.changes())
	return data
}

// revise changes the draft that waits, as the model says.
func (d *dialog) revise(ctx context.Context, p plan.Proposal) (Reply, []fault.Field, error) {
	next, changed, wrong, err := d.drafting().revised(ctx, *d.pending, p)
	if err != nil || len(wrong) > 0 {
		return Reply{}, wrong, err
	}
	if !changed {
		return Reply{}, []fault.Field{{Type: "unchanged", Msg: "the plan already is so: change it, or answer the person in text"}}, nil
	}
	c := change{tag: d.req.Locale, before: *d.pending, next: next, by: d.req.Principal.User, model: d.by(), data: d.written(), asked: d.req, viewer: d.req.Viewer(), said: d.beside}
	reply, err := d.change(ctx, c, d.began.Add(d.modelTime()))
	if moved := fault.KindOf(err); err != nil && (moved == fault.Conflict || moved == fault.Gone) {
		reply, err = d.giveUp(ctx, locale.Text(d.req.Locale, "turn.draft_moved"))
		return reply, nil, err
	}
	if err == nil {
		d.meter.settle(ctx, reply, nil)
	}
	return reply, nil, err
}

// waiting is the draft of the chat, when it can still be changed and the model can
// be shown all of it.
func (d *dialog) waiting() *plan.Run {
	at := slices.IndexFunc(d.runs, func(r plan.Run) bool { return r.ID == d.chat.PendingRunID })
	if at < 0 || editable(d.runs[at], d.runs[at].Digest, d.Now()) != nil {
		return nil
	}
	if raw, err := json.Marshal(d.runs[at].Plan.Steps); err != nil || len(raw) > draftBytes {
		return nil
	}
	return &d.runs[at]
}

// shownDraft writes a draft as the model reads it and may write it again: JSON in which
// no character can end a tag.
func shownDraft(r *plan.Run) (string, error) {
	if r == nil {
		return "", nil
	}
	p := plan.Proposal{Goal: r.Plan.Goal}
	for _, s := range r.Plan.Steps {
		p.Steps = append(p.Steps, proposedOf(s))
	}
	raw, err := json.Marshal(p)
	return string(raw), err
}

// proposedOf is a step as somebody would propose it. An undo that nobody wrote is
// found again.
func proposedOf(s plan.Step) plan.ProposedStep {
	p := plan.ProposedStep{
		ID: s.ID, Title: s.Title, MCPID: s.MCPID, Tool: s.Tool, Method: s.Method, Path: s.Path, Query: s.Query, Body: s.Body,
		Needs: &s.Needs, When: s.When, ForEach: s.ForEach, Verify: s.Verify, NoUndo: s.NoUndo,
	}
	if s.Undo != nil && !s.Undo.Suggested {
		p.Undo = &s.Undo.Call
	}
	return p
}
