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
	"piloto/internal/ground/ids"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/ref"
	"piloto/internal/ground/retry"
	"piloto/internal/models/eligibility"
	"piloto/internal/models/paid"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
)

// handleProposals creates a draft, or a new revision of the pending one, and notes it in the step. It returns the errors that the
// model has to correct.
func (l *loop) handleProposals(ctx context.Context, p *proposal.Batch, s *step) (wrong []fault.Field, err error) {
	s.kind = stepPlanned
	switch wrong, err = l.draft(ctx, p, s); {
	case errors.Is(err, plan.ErrInvalid):
		wrong, err = fault.Of(err).Fields, nil
	case p.Revises && (fault.KindOf(err) == fault.Conflict || fault.KindOf(err) == fault.Gone):
		s.kind, err = stepMoved, nil
	}
	if len(wrong) > 0 {
		s.kind = stepCalled
	}
	return wrong, err
}

func (l *loop) draft(ctx context.Context, p *proposal.Batch, s *step) (wrong []fault.Field, err error) {
	if p.Revises {
		return l.revise(ctx, p.Proposal, s)
	}
	draft, wrong, err := l.drafter().Draft(ctx, p.Proposal)
	if err != nil {
		return []fault.Field{{Msg: l.unread(ctx, err)}}, nil
	}
	if len(wrong) == 0 {
		s.reply, err = l.drafting().propose(ctx, draft)
	}
	return wrong, err
}

// drafter returns a drafter with the catalogue and the rules of this turn.
func (l *loop) drafter() proposal.Drafter {
	out := l.service.drafter(l.req.Principal.Account, l.req.Locale)
	out.Listed, out.Rules, out.Denied = l.listed, l.rules, l.denied().step
	return out
}

func (s *Service) drafter(account ids.Account, tag locale.Tag) proposal.Drafter {
	return proposal.Drafter{Operations: s.Servers, Schemas: s.Schemas, IDs: s.IDs, Now: s.Now, Life: s.DraftLife, Account: account, Locale: tag}
}

// provenance is the origin of a plan and who asked for it. It is stored with the draft, and shown on its card.
type provenance struct {
	asked    Request          // the request that it answers, or a person's own edit
	by       *conversation.By // the model that wrote it; nil: a person did
	said     string           // the message that it answers
	sources  []conversation.Source
	answers  []plan.Answered     // the model's reads, the newest first
	read     reads.Results       // the same, by the calls
	readFrom []string            // the ids of the services whose data the model had read
	notes    []conversation.Note // beside the card
	askers   []string            // who asked for it, besides the user of the request
	data     map[string]any      // data of the event
	viewer   string              // who gets the answer; "": nobody waits for it
	// refuses returns plan.ErrInvalid for a plan that a person refused; nil: it may be shown again.
	refuses func(context.Context, plan.Plan) error
	// transcript returns how the model came to the plan of a run; nil: no model did.
	transcript func(plan.Run) *conversation.Transcript
	// preceding returns the messages before the card; nil: none.
	preceding func(context.Context, plan.Run, time.Time) ([]conversation.Message, error)
}

// provenance returns the provenance of the loop's next proposal.
func (l *loop) provenance() provenance {
	return provenance{
		asked: l.req, by: l.by(), said: l.incoming.Content, sources: l.sources, answers: l.reading.Answers(), read: l.reading.Results(),
		readFrom: l.dataFrom(), notes: l.journal.cardNotes(), askers: l.askers(), data: modelData(l.calls.Use), viewer: l.terms.viewer,
		refuses: l.refusals().check, preceding: l.textMessages,
		transcript: func(r plan.Run) *conversation.Transcript { return l.trail.transcript(waits(r)) },
	}
}

// askers returns the users who asked for a plan of this turn, besides the one whose request it is: a person who pressed
// «answer again» repeats somebody else's request.
func (l *loop) askers() []string {
	return slices.DeleteFunc(union(l.incoming.Writers, []string{l.req.speaksFor}), func(user string) bool {
		return user == "" || user == l.req.Principal.User
	})
}

// modelData returns the event's data about the model that wrote a plan.
func modelData(use *eligibility.Selection) map[string]any {
	data := map[string]any{"provider": use.Provider, "model": use.Model}
	if swap := use.Swap; swap != nil {
		data["preferred"], data["because"] = swap.Preferred, swap.Reason
	}
	return data
}

// seal adds the known facts to the plan of a run, and gives it its digest. plan.ErrInvalid names the calls that could not be
// sent, or are not to be proposed.
func (p provenance) seal(ctx context.Context, s *Service, r *plan.Run, until time.Time) (err error) {
	if err := s.addKnown(ctx, r, p.read, until); err != nil {
		return err
	}
	if p.refuses != nil {
		if err := p.refuses(ctx, r.Plan); err != nil {
			return err
		}
	}
	r.Digest, err = r.Plan.Digest()
	return err
}

// messages returns the card of a plan with a text, and before it the texts that precede it: they are created first, because
// messages are ordered by their ids.
func (p provenance) messages(ctx context.Context, create *ids.Source, r plan.Run, at time.Time, text locale.Phrase) (list []conversation.Message, err error) {
	if p.preceding != nil {
		if list, err = p.preceding(ctx, r, at); err != nil {
			return nil, err
		}
	}
	card := withAnswerID(p.asked, run.Message(create, r, conversation.KindPlan, at, p.asked.Locale, text))
	card.By, card.Sources, card.Notes = p.by, p.sources, p.notes
	if p.transcript != nil {
		card.Transcript = p.transcript(r)
	}
	return append(list, card), nil
}

// reply returns the answer with the messages of a stored plan.
func (p provenance) reply(messages []conversation.Message, chat conversation.Chat, r plan.Run) Reply {
	last := len(messages) - 1
	return Reply{Kind: KindPlan, Before: messages[:last], Message: messages[last], Chat: chat, Run: &r, By: p.by}
}

// drafting stores a plan as the draft of a chat.
type drafting struct {
	provenance
	service *Service
	draft   plan.Run          // without its plan
	chat    conversation.Chat // as it was read for the prompt
	old     *plan.Run         // the draft that waited in it then; nil: none
	below   []locale.Phrase   // lines of the card below the plan
	until   time.Time         // when the reads for the card end
	calls   *paid.Calls       // settled by the turn beside the write
	count   counter
}

// drafting returns the drafting of the loop's plans.
func (l *loop) drafting() drafting {
	r := plan.Run{
		ID: cmp.Or(l.runID, l.service.IDs.New(l.service.Now())), Account: l.req.Principal.Account, User: l.req.Principal.User, ChatID: l.chat.ID,
		ProjectID: l.chat.ProjectID, Locale: string(l.req.Locale), TraceID: l.req.TraceID, Status: plan.Draft, Question: l.incoming.ID,
		JobID: l.terms.jobID,
	}
	if l.concludes {
		r.Conclude = plan.ConcludeWanted
	}
	return drafting{
		provenance: l.provenance(), service: l.service, draft: r, chat: l.chat, old: draftIn(l.past.Runs, l.chat), below: l.terms.below,
		until: l.began.Add(l.service.modelTime()), calls: l.calls, count: l.count,
	}
}

// propose stores a plan as a draft and answers with its card. It settles the turn's hold at the same time.
// plan.ErrInvalid names the calls that could not be sent, or are not to be proposed.
func (d drafting) propose(ctx context.Context, p plan.Plan) (reply Reply, err error) {
	r := d.draft
	r.Plan, r.ReadFrom, r.Besides = p, d.readFrom, d.askers
	for _, s := range p.Steps {
		r.Steps = append(r.Steps, plan.StepState{StepID: s.ID, Status: plan.StepPending})
	}
	if err := d.seal(ctx, d.service, &r, d.until); err != nil {
		return Reply{}, err
	}
	r.Taken = r.Plan.TakenFrom(d.answers, d.said, nil)
	var writes sync.WaitGroup // the hold is settled although the draft is not stored
	writes.Go(func() { d.service.settle(ctx, d.calls, d.count, Reply{Kind: KindPlan, By: d.by, Run: &r}, nil) })
	reply, err = d.store(ctx, r)
	writes.Wait()
	return reply, err
}

// store stores a run as the chat's draft. When the chat or its older draft changed after they were read for the prompt, it reads them
// again.
func (d drafting) store(ctx context.Context, r plan.Run) (reply Reply, err error) {
	chat, old := d.chat, d.old
	again := chat.PendingRunID != "" && old == nil || d.asked.anew != nil
	err = retry.Do(ctx, func() (err error) {
		if again {
			if chat, old, err = d.readDraft(ctx); err != nil {
				return err
			}
		}
		replaced, err := d.replaced(ctx)
		if err != nil {
			return err
		}
		again = true
		at := d.service.Now()
		r.Dropped = plan.DroppedFor(old, r.Plan)
		text := locale.Lines(append([]locale.Phrase{run.Describe(r.Plan, r.Dropped)}, d.below...)...)
		messages, err := d.messages(ctx, d.service.IDs, r, at, text)
		if err != nil {
			return err
		}
		draft, err := d.service.Plans.Propose(ctx, r, chat, old, run.Record{
			At: at, Type: plan.EventProposed, Messages: messages, Replaced: replaced, Data: run.Proposed(r, d.data), Shown: r.Sighted(d.viewer, at),
		})
		if err != nil {
			return err
		}
		chat.PendingRunID, chat.UpdatedAt = draft.ID, at
		reply = d.reply(messages, chat, draft)
		return nil
	})
	return reply, err
}

// replaced returns the answers that the card of a plan replaces, when the turn answers anew.
func (d drafting) replaced(ctx context.Context) ([]conversation.Message, error) {
	if d.asked.anew == nil {
		return nil, nil
	}
	if _, err := d.service.thread().stillDraft(ctx, d.draft.Account, d.asked.anew.draft); err != nil {
		return nil, err
	}
	return d.asked.anew.answers, d.service.thread().stillStand(ctx, d.draft.Account, d.chat.ID, d.asked.anew.answers)
}

// readDraft reads the chat, and the draft that waits in it, if there is one.
func (d drafting) readDraft(ctx context.Context) (conversation.Chat, *plan.Run, error) {
	chat, err := d.service.Chats.Chat(ctx, d.draft.Account, d.chat.ID)
	if err != nil || chat.PendingRunID == "" {
		return chat, nil, err
	}
	old, err := d.service.Plans.Bare(ctx, d.draft.Account, chat.PendingRunID)
	switch {
	case errors.Is(err, plan.ErrRunNotFound):
		return chat, nil, nil
	case err != nil || old.Status != plan.Draft:
		return chat, nil, err
	}
	return chat, &old, nil
}

// draftIn returns the draft that waits in a chat, if it is one of some runs.
func draftIn(runs []plan.Run, chat conversation.Chat) *plan.Run {
	for _, r := range runs {
		if r.ID == chat.PendingRunID && r.Status == plan.Draft {
			return &r
		}
	}
	return nil
}

// Previewer reads, within limit, the objects that the references of each step name, as far as that is possible without a
// change, and without sending a service's answer to another one, and which requests may have been done before, as the
// chat knows. It returns the calls that could not be sent with the results of these reads, or of the turn's own, which
// it gets by the names of the steps that make the same reads.
type Previewer interface {
	Known(ctx context.Context, r plan.Run, results map[string]ref.Result, limit time.Duration) ([]plan.Known, []fault.Field)
}

// previewTime bounds the previews of a plan.
const previewTime = 5 * time.Second

// addKnown adds the known facts of its steps to a draft. A target that cannot be read is omitted, and does not prevent
// the proposal. When no time is left for reads, the doubts are added still. plan.ErrInvalid names the calls that could
// not be sent with the results of these reads, or of the turn's own, by the sums of their calls.
func (s *Service) addKnown(ctx context.Context, r *plan.Run, read reads.Results, until time.Time) error {
	limit := max(0, min(previewTime, until.Sub(s.Now())))
	if s.Previews == nil {
		return nil
	}
	results, err := read.Of(r.Plan)
	if err != nil {
		return err
	}
	known, wrong := s.Previews.Known(ctx, *r, results, limit)
	if len(wrong) > 0 {
		return plan.ErrInvalid.At(wrong...)
	}
	r.Plan = r.Plan.Knowing(known)
	return nil
}
