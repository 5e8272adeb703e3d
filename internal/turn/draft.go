package turn

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"piloto/internal/conversation"
	"piloto/internal/fault"
	"piloto/internal/parallel"
	"piloto/internal/plan"
	"piloto/internal/run"
	"piloto/internal/tool"
)

// proposals collects what the tool calls of one answer propose. Several
// requests in one answer are the steps of one plan, in order.
type proposals struct {
	proposal plan.Proposal
	wrong    []fault.Field
	refused  string
	calls    int
}

func (p *proposals) any() bool { return p.calls > 0 }

func (p *proposals) refuse(why string) { p.refused = why }

func (p *proposals) read(name string, raw json.RawMessage) {
	p.calls++
	if name == toolRequest {
		s, wrong := readRequest(raw)
		p.proposal.Steps = append(p.proposal.Steps, s)
		p.wrong = append(p.wrong, wrong...)
		return
	}
	whole, wrong := readPlan(raw)
	p.wrong = append(p.wrong, wrong...)
	p.proposal.Steps = append(p.proposal.Steps, whole.Steps...)
	if p.proposal.Goal == "" {
		p.proposal.Goal = whole.Goal
	}
}

// reason says in one line what was wrong, for the person.
func (p *proposals) reason() string {
	var lines []string
	for _, f := range p.wrong {
		lines = append(lines, strings.TrimSpace(place(f.Loc)+" "+f.Msg))
	}
	if len(lines) == 0 {
		var r struct{ Problems []struct{ What string } }
		if json.Unmarshal([]byte(p.refused), &r) == nil && len(r.Problems) > 0 {
			return r.Problems[0].What
		}
	}
	const most = 3
	if len(lines) > most {
		lines = append(lines[:most], "…")
	}
	return strings.Join(lines, "; ")
}

// draft turns a proposal into a plan in which every step is bound to a tool of
// the catalogue and its arguments fit that tool's own schema; or says everything
// that keeps it from being one.
func (d *dialog) draft(ctx context.Context, p plan.Proposal) (plan.Plan, []fault.Field, error) {
	bindings := make([]plan.Binding, len(p.Steps))
	titles := make([]string, len(p.Steps))
	tools := make([]tool.Operation, len(p.Steps))
	var wrong []fault.Field
	for i := range p.Steps {
		binding, op, bad, err := d.bind(ctx, &p.Steps[i])
		if err != nil {
			return plan.Plan{}, nil, err
		}
		for _, f := range bad {
			if len(p.Steps) > 1 {
				f.Loc = append([]any{"steps", i}, f.Loc...)
			}
			wrong = append(wrong, f)
		}
		bindings[i], tools[i], titles[i] = binding, op, titled(op.Entry)
		if strings.TrimSpace(p.Steps[i].Title) == "" {
			p.Steps[i].Title = titles[i]
		}
	}
	steps, shape := plan.Arrange(p)
	if wrong = append(wrong, shape...); len(wrong) > 0 {
		return plan.Plan{}, wrong, nil
	}
	for i := range steps {
		bindings[i].StepID = steps[i].ID
		steps[i].Risk = steps[i].Risk.Raised(tools[i].Destructive)
	}
	at := d.Now()
	out := plan.Plan{
		ID: d.IDs.New(at), Revision: 1, Goal: goal(p.Goal, titles), Steps: steps, Bindings: bindings,
		ExpiresAt: at.Add(d.DraftLife).UTC().Truncate(time.Second),
	}
	if raw, err := json.Marshal(out); err != nil || len(raw) > plan.MaxPlanSize {
		return out, []fault.Field{{Loc: []any{"steps"}, Type: "too_long", Msg: fmt.Sprintf("the plan is larger than %d bytes", plan.MaxPlanSize)}}, err
	}
	return out, nil, nil
}

func goal(said string, titles []string) string {
	if said = plan.Line(said); said == "" {
		said = plan.Line(strings.Join(slices.Compact(titles), "; "))
	}
	if runes := []rune(said); len(runes) > plan.MaxGoal {
		said = string(runes[:plan.MaxGoal-1]) + "…"
	}
	return said
}

// titled is what a step is called that has no title.
func titled(e tool.Entry) string {
	if title := oneLine(e.Summary); title != "" {
		return title
	}
	return e.String()
}

// bind finds the tool of a step and checks its arguments against it.
func (d *dialog) bind(ctx context.Context, s *plan.ProposedStep) (plan.Binding, tool.Operation, []fault.Field, error) {
	one := func(loc, typ, msg string) (plan.Binding, tool.Operation, []fault.Field, error) {
		return plan.Binding{}, tool.Operation{}, []fault.Field{{Loc: []any{loc}, Type: typ, Msg: msg}}, nil
	}
	at := slices.IndexFunc(d.listed, func(l tool.Listed) bool { return l.Server.ID == s.MCPID })
	if at < 0 {
		var ids []string
		for _, l := range d.listed {
			ids = append(ids, fmt.Sprintf("%s (%s)", l.Server.ID, oneLine(l.Server.Name)))
		}
		return one("mcp_id", "unknown", "is no server of the catalogue; there are: "+strings.Join(ids, ", "))
	}
	listed := d.listed[at]
	entry, args, where, err := choose(listed, s)
	if err != nil {
		return one(where, "not_allowed", explain(err))
	}
	op, err := d.Store.Operation(ctx, d.req.Principal.Account, listed.Server, entry)
	if err != nil {
		return plan.Binding{}, tool.Operation{}, nil, err
	}
	var wrong []fault.Field
	for _, p := range op.Check(args) {
		wrong = append(wrong, p.Field())
	}
	s.Path, s.Query, s.Body = args.Path, args.Query, args.Body
	return plan.Binding{
		MCPID: listed.Server.ID, ServerName: listed.Server.Name, BaseURL: listed.Server.BaseURL,
		Template: entry.Path, Fingerprint: entry.Fingerprint,
	}, op, wrong, nil
}

// choose finds the entry that a step names, and its arguments in the one form that
// is shown and sent. With an error it says which member of the step it is about.
func choose(l tool.Listed, s *plan.ProposedStep) (e tool.Entry, args tool.Arguments, where string, err error) {
	if l.Server.Kind == tool.KindMCP {
		var names []string
		for _, e := range l.Entries {
			if e.Name == s.Tool {
				return e, tool.Arguments{Body: json.RawMessage(cmp.Or(string(s.Body), "{}"))}, "", nil
			}
			names = append(names, e.Name)
		}
		const most = 20
		if len(names) > most {
			names = append(names[:most], "…")
		}
		return e, args, "tool", fmt.Errorf("the server has no tool %q; it has %s", s.Tool, strings.Join(names, ", "))
	}
	if s.Tool != "" {
		return e, args, "tool", errors.New("the server has operations: give a method and a path in its place")
	}
	args, err = tool.SplitQuery(tool.Arguments{
		Method: s.Method, Path: relative(s.Path, l.Server.BaseURL), Query: s.Query, Body: s.Body,
	})
	if err != nil {
		return e, args, "path", err
	}
	e, _, err = tool.Match(l.Entries, args.Method, args.Path)
	return e, args, "path", err
}

// relative takes the server's own base URL off a path that was written whole.
func relative(path, base string) string {
	if rest, ok := strings.CutPrefix(path, base); ok {
		path = rest
	}
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	return path
}

// explain writes a fault of the catalogue for a model, which mends what it is
// told.
func explain(err error) string {
	var f *fault.Error
	if !errors.As(err, &f) {
		return err.Error()
	}
	if errors.Is(f, tool.ErrNotAllowed) {
		text := fmt.Sprintf("the server has no operation %s %s", f.Args["method"], f.Args["path"])
		if nearest := f.Args["nearest"]; nearest != "" {
			return text + "; the nearest are " + nearest
		}
		return text + "; look in the catalogue, or call search_tools"
	}
	var parts []string
	for _, field := range f.Fields {
		parts = append(parts, field.Msg)
	}
	if len(parts) == 0 {
		return f.Error()
	}
	return strings.Join(parts, "; ")
}

// propose writes the draft and answers with its card. What the turn used is
// settled at the same time.
func (d *dialog) propose(ctx context.Context, p plan.Plan) (Reply, error) {
	digest, err := p.Digest()
	if err != nil {
		return Reply{}, err
	}
	account := d.req.Principal.Account
	r := plan.Run{
		ID: d.IDs.New(d.Now()), Account: account, User: d.req.Principal.User, ChatID: d.chat.ID,
		ProjectID: d.chat.ProjectID, Locale: string(d.req.Locale), TraceID: d.req.TraceID, Plan: p, Digest: digest,
	}
	for _, s := range p.Steps {
		r.Steps = append(r.Steps, plan.StepState{StepID: s.ID, Status: plan.StepPending})
	}
	var reply Reply
	_ = parallel.Do(
		func() error { reply, err = d.draftOf(ctx, r); return nil },
		func() error { d.meter.settle(ctx, Reply{Kind: KindPlan, By: d.by(), Run: &r}, nil); return nil },
	)
	return reply, err
}

// draftOf writes the draft of a run, again when the chat moved meanwhile.
func (d *dialog) draftOf(ctx context.Context, r plan.Run) (reply Reply, err error) {
	account := r.Account
	err = run.Retry(ctx, func() error {
		chat, err := d.Store.Chat(ctx, account, d.chat.ID)
		if err != nil {
			return err
		}
		var old *plan.Run
		if chat.PendingRunID != "" {
			before, err := d.Store.Run(ctx, account, chat.PendingRunID)
			if err == nil && before.Status == plan.Draft {
				old = &before
			} else if err != nil && !errors.Is(err, plan.ErrRunNotFound) {
				return err
			}
		}
		at := d.Now()
		card := run.Message(d.IDs, r, conversation.KindPlan, at, run.Describe(d.req.Locale, r.Plan, old != nil))
		card.By = d.by()
		draft, err := d.Store.Propose(ctx, r, chat, old, run.Record{
			At: at, Type: plan.EventProposed, Messages: []conversation.Message{card},
			Data: d.proposed(r.Plan, r.Digest),
		})
		if err != nil {
			return err
		}
		chat.PendingRunID, chat.UpdatedAt = draft.ID, at
		reply = Reply{Kind: KindPlan, Message: card, Chat: chat, Run: &draft, By: card.By}
		return nil
	})
	return reply, err
}

// proposed is what the event of a proposal says.
func (d *dialog) proposed(p plan.Plan, digest plan.Digest) map[string]any {
	data := map[string]any{"goal": p.Goal, "digest": digest, "steps": len(p.Steps), "provider": d.use.Provider, "model": d.use.Model}
	if swap := d.use.Swap; swap != nil {
		data["preferred"], data["because"] = swap.Preferred, swap.Reason
	}
	return data
}
