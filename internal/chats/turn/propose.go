package turn

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"piloto/internal/chats/proposal"
	"piloto/internal/chats/reads"
	"piloto/internal/conversation"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/ref"
	"piloto/internal/ground/retry"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
)

// handleProposals creates a draft, or a new revision of the pending one. It returns the errors
// that the model has to correct.
func (d *dialog) handleProposals(ctx context.Context, p *proposal.Batch) (Reply, []fault.Field, error) {
	if p.Revises {
		return d.revise(ctx, p.Proposal)
	}
	draft, wrong, err := d.drafter().Draft(ctx, p.Proposal)
	if err != nil {
		return Reply{}, []fault.Field{{Msg: d.unread(ctx, err)}}, nil
	}
	if len(wrong) > 0 {
		return Reply{}, wrong, nil
	}
	r, err := d.newDraft(ctx, draft)
	if err == nil {
		err = d.refuses(ctx, r.Plan)
	}
	var reply Reply
	if err == nil {
		reply, err = d.show(ctx, r)
	}
	if errors.Is(err, plan.ErrInvalid) {
		return Reply{}, fault.Of(err).Fields, nil
	}
	return reply, nil, err
}

// drafter returns a drafter with the catalogue and the rules of this turn.
func (d *dialog) drafter() proposal.Drafter {
	out := d.service.drafter(d.req.Principal.Account, d.req.Locale)
	out.Listed, out.Rules, out.Denied = d.listed, d.rules, d.noteDeniedStep
	return out
}

func (s *Service) drafter(account string, tag locale.Tag) proposal.Drafter {
	return proposal.Drafter{Operations: s.Store, Schemas: s.Schemas, IDs: s.IDs, Now: s.Now, Life: s.DraftLife, Account: account, Locale: tag}
}

// propose stores a plan as a draft and answers with its card.
func (d *dialog) propose(ctx context.Context, p plan.Plan) (Reply, error) {
	r, err := d.newDraft(ctx, p)
	if err != nil {
		return Reply{}, err
	}
	return d.show(ctx, r)
}

// newDraft returns the draft of a plan, with what is known of it. plan.ErrInvalid says what could not be sent.
func (d *dialog) newDraft(ctx context.Context, p plan.Plan) (plan.Run, error) {
	account := d.req.Principal.Account
	r := plan.Run{
		ID: cmp.Or(d.runID, d.service.IDs.New(d.service.Now())), Account: account, User: d.req.Principal.User, ChatID: d.chat.ID,
		ProjectID: d.chat.ProjectID, Locale: string(d.req.Locale), TraceID: d.req.TraceID, Plan: p, Status: plan.Draft, Question: d.incoming.ID,
	}
	if d.concludes {
		r.Conclude = plan.ConcludeWanted
	}
	r.ReadFrom = d.dataFrom()
	if d.job != nil {
		r.JobID = d.job.ID
	}
	r.Besides = d.askers()
	for _, s := range p.Steps {
		r.Steps = append(r.Steps, plan.StepState{StepID: s.ID, Status: plan.StepPending})
	}
	err := d.service.addKnown(ctx, &r, d.reading.Results(), d.began.Add(d.service.modelTime()))
	return r, err
}

// show stores a draft and answers with its card. It settles the turn's hold at the same time.
func (d *dialog) show(ctx context.Context, r plan.Run) (Reply, error) {
	r.Taken = r.Plan.TakenFrom(d.reading.Answers(), d.incoming.Content, nil)
	var err error
	if r.Digest, err = r.Plan.Digest(); err != nil {
		return Reply{}, err
	}
	var reply Reply
	var writes sync.WaitGroup // the hold is settled although the draft is not stored
	writes.Go(func() { reply, err = d.storeDraft(ctx, r) })
	writes.Go(func() { d.settle(ctx, Reply{Kind: KindPlan, By: d.by(), Run: &r}) })
	writes.Wait()
	return reply, err
}

// askers returns the users who asked for a plan of this turn, besides the one whose request it is: who pressed «answer again»
// asks for what somebody else wrote.
func (d *dialog) askers() []string {
	return slices.DeleteFunc(union(d.incoming.Writers, []string{d.req.speaksFor}), func(user string) bool {
		return user == "" || user == d.req.Principal.User
	})
}

// storeDraft stores a run as the chat's draft. When the chat or its older draft changed after they were read for the
// prompt, it reads them again.
func (d *dialog) storeDraft(ctx context.Context, r plan.Run) (reply Reply, err error) {
	chat, old := d.chat, d.draftIn(d.chat)
	again := chat.PendingRunID != "" && old == nil || d.req.anew != nil
	err = retry.Do(ctx, func() (err error) {
		if again {
			if chat, old, err = d.readDraft(ctx); err != nil {
				return err
			}
		}
		replaced, err := d.replacedByCard(ctx)
		if err != nil {
			return err
		}
		again = true
		at := d.service.Now()
		preceding, err := d.textMessages(ctx, r, at) // created first, because it sorts before the card
		if err != nil {
			return err
		}
		r.Dropped = plan.DroppedFor(old, r.Plan)
		card := withAnswerID(d.req, run.Message(d.service.IDs, r, conversation.KindPlan, at, d.req.Locale, d.describe(r)))
		card.By, card.Sources, card.Notes = d.by(), d.sources, d.cardNotes()
		draft, err := d.service.Store.Propose(ctx, r, chat, old, run.Record{
			At: at, Type: plan.EventProposed, Messages: append(preceding, card), Replaced: replaced,
			Data: run.Proposed(r, d.modelData()), Shown: r.Sighted(d.viewer(), at),
		})
		if err != nil {
			return err
		}
		chat.PendingRunID, chat.UpdatedAt = draft.ID, at
		reply = Reply{Kind: KindPlan, Before: preceding, Message: card, Chat: chat, Run: &draft, By: card.By}
		return nil
	})
	return reply, err
}

// describe returns the text of a proposed plan. Nobody waits for the answer of a job, so its plan is shown to whoever says
// yes to it before the yes counts, where their client does not say what they saw.
func (d *dialog) describe(r plan.Run) locale.Phrase {
	if d.job == nil {
		return run.Describe(r.Plan, r.Dropped)
	}
	return locale.Lines(run.Describe(r.Plan, r.Dropped), locale.Say("turn.proposed_by_job"))
}

// viewer returns who is shown what the dialog proposes: nobody, when a job does.
func (d *dialog) viewer() string {
	if d.job != nil {
		return ""
	}
	return d.req.Viewer()
}

// replacedByCard returns the answers whose place the card of a plan takes, when the turn answers anew.
func (d *dialog) replacedByCard(ctx context.Context) ([]conversation.Message, error) {
	if d.req.anew == nil {
		return nil, nil
	}
	account := d.req.Principal.Account
	if _, err := d.service.thread().stillDraft(ctx, account, d.req.anew.draft); err != nil {
		return nil, err
	}
	return d.req.anew.answers, d.service.thread().stillStand(ctx, account, d.chat.ID, d.req.anew.answers)
}

// draftIn returns the draft that waits in a chat, if it was read for the prompt.
func (d *dialog) draftIn(chat conversation.Chat) *plan.Run {
	for _, r := range d.past.Runs {
		if r.ID == chat.PendingRunID && r.Status == plan.Draft {
			return &r
		}
	}
	return nil
}

// readDraft reads the chat, and the draft that waits in it, if there is one.
func (d *dialog) readDraft(ctx context.Context) (conversation.Chat, *plan.Run, error) {
	account := d.req.Principal.Account
	chat, err := d.service.Store.Chat(ctx, account, d.chat.ID)
	if err != nil || chat.PendingRunID == "" {
		return chat, nil, err
	}
	old, err := d.service.Store.Bare(ctx, account, chat.PendingRunID)
	switch {
	case errors.Is(err, plan.ErrRunNotFound):
		return chat, nil, nil
	case err != nil || old.Status != plan.Draft:
		return chat, nil, err
	}
	return chat, &old, nil
}

// modelData returns the event's data about the model that wrote a plan.
func (d *dialog) modelData() map[string]any {
	data := map[string]any{"provider": d.calls.Use.Provider, "model": d.calls.Use.Model}
	if swap := d.calls.Use.Swap; swap != nil {
		data["preferred"], data["because"] = swap.Preferred, swap.Reason
	}
	return data
}

// Previewer reads, within limit, the objects that the references of each step name, as far as
// that is possible without a change, and without telling a service what another one answered, and which requests may have been
// done before, as the chat knows. It says which calls could not
// be sent with what was read, or with what the turn looked at, by the names of the steps that make the same reads.
type Previewer interface {
	Known(ctx context.Context, r plan.Run, looked map[string]ref.Result, limit time.Duration) ([]plan.Known, []fault.Field)
}

// previewTime bounds the previews of a plan.
const previewTime = 5 * time.Second

// addKnown adds to a draft what is known of its steps. A target that cannot be read is omitted,
// and does not prevent the proposal. When no time is left for reads, the doubts are added still. plan.ErrInvalid names the calls that could not be sent with what was read, or with the answers
// of looks, by the sums of their calls.
func (s *Service) addKnown(ctx context.Context, r *plan.Run, read reads.Results, until time.Time) error {
	limit := max(0, min(previewTime, until.Sub(s.Now())))
	if s.Previews == nil {
		return nil
	}
	looked, err := read.Of(r.Plan)
	if err != nil {
		return err
	}
	known, wrong := s.Previews.Known(ctx, *r, looked, limit)
	if len(wrong) > 0 {
		return plan.ErrInvalid.At(wrong...)
	}
	r.Plan = r.Plan.Knowing(known)
	return nil
}
