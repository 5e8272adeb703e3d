package turn

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"piloto/internal/chats/ask"
	"piloto/internal/chats/claim"
	"piloto/internal/chats/job"
	"piloto/internal/chats/setup"
	"piloto/internal/conversation"
	"piloto/internal/ground/clip"
	"piloto/internal/ground/locale"
	"piloto/internal/models/eligibility"
	"piloto/internal/models/llm"
	"piloto/internal/models/paid"
	"piloto/internal/runs/plan"
)

// Bounds of one turn with the model.
const (
	maxRounds = 10       // model calls
	maxText   = 64 << 10 // bytes of an answer
)

// dialog is the strategy of a turn in which a model converses, and may propose plans: it makes steps of a loop until one
// is the answer. It keeps the state of the loop in memory.
type dialog struct {
	loop    *loop
	service *Service
	watched bool                   // a client has the page open
	held    conversation.Answering // lease; the sweep notifies the chat from it when this process dies in the delay

	question  *inquiry // with which the turn ends; nil: none
	verdict   verdict
	corrected int          // answers that were written anew because of a verdict
	ending    ending       // how the answer ends, when it is no success
	unpaid    paid.Blocked // a call that could not be paid; zero: none

	mu    sync.Mutex
	notes []conversation.Note // of rule denials, and of data removed to make room for changes of files
}

func (s *Service) dialog(req Request, chat conversation.Chat) *dialog {
	d := &dialog{service: s}
	d.loop = &loop{exchange: s.exchange(req, chat), service: s, journal: d, terms: terms{revises: true, asks: true, viewer: req.Viewer()}}
	return d
}

func (d *dialog) state() *exchange { return &d.loop.exchange }

// loaders implements strategy.
func (d *dialog) loaders(ctx context.Context, message conversation.Message) []func() error {
	l := d.loop
	l.incoming = message
	of := l.req.history(l.chat, message)
	return []func() error{
		func() (err error) { l.past, err = d.service.history().Load(ctx, of); return },
		func() error { d.watched = d.service.Tell.Watched(ctx, l.req.Principal.Account); return nil },
	}
}

// equip implements strategy.
func (d *dialog) equip(ctx context.Context, set setup.Setup) error { return d.loop.equip(ctx, set) }

// prepare implements strategy.
func (d *dialog) prepare(snapshot eligibility.Snapshot) error { return d.loop.prepare(snapshot) }

// converse makes steps until one is the answer. asking bounds the model calls.
func (d *dialog) converse(ctx, asking context.Context) (reply Reply, err error) {
	l := d.loop
	defer func() { reply.Before = append(l.withdrawn, reply.Before...) }()
	asking, l.query.Writing = l.stream(asking, d.service)
	l.query.Writing.Shown, l.words.stream = d.watched, l.query.Writing
	defer l.query.Writing.End(ctx)
	defer d.summarise(asking)()
	d.announceGone(ctx)
	asking, cancel := d.within(asking)
	defer cancel()
	l.query.Closes = mayRead(l.listed)
	for n := range l.agent.rounds() {
		l.left = l.agent.rounds() - n - 1
		l.final = l.left == 0
		s, err := l.next(ctx, asking)
		if failed, ok := errors.AsType[*unanswered](err); ok {
			return d.handleFailure(ctx, asking, s.answer, failed)
		}
		switch {
		case err != nil:
			return Reply{}, err
		case s.question != nil:
			return d.askPerson(ctx, s.question)
		case s.kind == stepPlanned:
			return s.reply, nil
		case s.kind == stepMoved:
			return d.giveUp(ctx, locale.Say("turn.draft_moved"))
		case s.kind == stepSilent:
			return d.close(ctx, asking, conversation.StopModel)
		case s.kind == stepSaid && !d.corrects(asking, s.answer.Text):
			if d.ending = (ending{}); s.answer.Cut || d.verdict.partial() {
				d.ending.status = conversation.Partial
			}
			return d.say(ctx, s.answer.Text)
		}
	}
	return d.close(ctx, asking, conversation.StopSteps)
}

// unanswered is the error of a model call that gave no answer.
type unanswered struct {
	stop      conversation.StopReason // "": an internal error
	agentTime bool                    // the time of the agent was over
	err       error
}

func (u *unanswered) Error() string { return u.err.Error() }
func (u *unanswered) Unwrap() error { return u.err }

// ask implements journal.
func (d *dialog) ask(asking context.Context) (llm.Reply, error) {
	round, cancel := d.roundTime(asking)
	defer cancel()
	answer, err := d.loop.query.Ask(round, d.loop.calls)
	noteLimits(d, d.loop.req, answer)
	if err != nil {
		err = &unanswered{stopOf(round, err), errors.Is(context.Cause(round), errAgentTime), err}
	}
	d.loop.query.Closes = d.loop.query.Closes || len(answer.Calls) > 0 || d.loop.files.Waits()
	return answer, err
}

// noteLimits notes what a model could not do: it takes no tools, or its provider ended its text.
func noteLimits(j journal, r Request, answer llm.Reply) {
	if answer.NoTools {
		j.note(r.note(conversation.NoteNoTools, "note.no_tools"))
	}
	switch {
	case len(answer.Calls) > 0 || answer.Text == "":
	case answer.Length:
		j.note(r.note(conversation.NoteCutShort, "note.cut_short"))
	case answer.Cut:
		j.note(r.note(conversation.NoteFiltered, "note.filtered"))
	}
}

// bound implements journal: it leaves time to close.
func (d *dialog) bound(asking context.Context) (context.Context, context.CancelFunc) {
	return d.beforeClosing(asking)
}

// wasProposed implements journal: a turn is made once.
func (d *dialog) wasProposed(context.Context) (bool, error) { return false, nil }

// proposing implements journal: the changes of a turn end with it.
func (d *dialog) proposing(context.Context, job.Changes) error { return nil }

// note implements journal.
func (d *dialog) note(n conversation.Note) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.notes = withNote(d.notes, n)
}

// cardNotes implements journal: the card of a turn ends it.
func (d *dialog) cardNotes() []conversation.Note { return d.notes }

// deny implements journal: a note has it already.
func (d *dialog) deny(plan.Step) {}

// handleFailure returns the reply of a turn whose model call gave no answer: the user stopped it, it
// ends early, it is blocked, or an internal error occurred.
func (d *dialog) handleFailure(ctx, asking context.Context, answer llm.Reply, failed *unanswered) (Reply, error) {
	ctx, stop, err := context.WithoutCancel(ctx), failed.stop, failed.err
	d.unpaid, _ = errors.AsType[paid.Blocked](err)
	if errors.Is(context.Cause(asking), ask.ErrStopped) {
		return d.stopped(ctx, answer.Text)
	}
	switch {
	case stop == conversation.StopContext, stop != "" && d.hasRead(), failed.agentTime:
		d.service.Log.WarnContext(ctx, "turn.closed", "chat_id", d.loop.chat.ID, "stop_reason", stop, "error", err)
		return d.close(ctx, asking, stop)
	case len(d.loop.words.list) == 0 && d.loop.doubted == "":
		return d.service.blockedReply(ctx, &d.loop.exchange, err)
	}
	d.service.Log.WarnContext(ctx, "turn.not_asked_again", "chat_id", d.loop.chat.ID, "error", err)
	d.ending = ending{conversation.Partial, cmp.Or(stop, conversation.StopModel)}
	return d.storeText(ctx, d.loop.by(), d.loop.words.with(d.loop.doubted)) // the partial text is no answer; the earlier texts stay
}

// stopped returns the reply of a turn that a person stopped: the text so far, if there is one.
func (d *dialog) stopped(ctx context.Context, soFar string) (Reply, error) {
	by, text := d.loop.by(), d.loop.words.with(cmp.Or(soFar, d.loop.doubted))
	by.Stopped = true
	d.ending = ending{conversation.Partial, conversation.StopPerson}
	if text != "" {
		return d.storeText(ctx, by, text)
	}
	if !d.hasRead() {
		d.ending.status = conversation.Failed
	}
	return d.service.thread().text(ctx, d.loop.req, d.loop.chat, conversation.KindNotice, locale.Say("turn.stopped"), answerMeta{by: by, notes: d.notes, sources: d.loop.sources, readFrom: d.loop.dataFrom(), ending: d.ending, transcript: d.loop.trail.transcript(unknowns)})
}

// storeText stores a text of the model as the answer, with the notes under it.
func (d *dialog) storeText(ctx context.Context, by *conversation.By, text string) (Reply, error) {
	notes, err := d.loop.checker().notes(ctx, claim.Read(text))
	if err != nil {
		return Reply{}, err
	}
	return d.service.thread().text(ctx, d.loop.req, d.loop.chat, conversation.KindText, locale.Verbatim(shorten(text)), answerMeta{by: by, notes: append(notes, d.notes...), sources: d.loop.sources, readFrom: d.loop.dataFrom(), ending: d.ending, transcript: d.loop.trail.transcript(unknowns)})
}

// finish stores a text of this turn's model, or about it, as the answer. It settles the turn's
// hold at the same time, because nothing more is used.
func (d *dialog) finish(ctx context.Context, kind conversation.Kind, text locale.Phrase, notes ...conversation.Note) (Reply, error) {
	by := d.loop.by()
	notes = slices.Concat(notes, d.notes, d.verdict.note(d.loop.req), d.loop.agent.costNote(d.loop.req, d.loop.calls.Turn.Micros+d.loop.calls.Beside))
	result := unknowns
	if d.question != nil {
		result = asked
	}
	var writes sync.WaitGroup // the hold is settled although the answer is not stored
	writes.Go(func() { d.service.settle(ctx, d.loop.calls, d.loop.count, Reply{Kind: replyOf(kind), By: by}, nil) })
	reply, err := d.service.thread().text(ctx, d.loop.req, d.loop.chat, kind, text, answerMeta{by, notes, d.loop.sources, d.loop.dataFrom(), d.ending, d.failed(), d.question, d.loop.trail.transcript(result)})
	writes.Wait()
	return reply, err
}

// say answers with a text of the model, below its earlier ones. A note stands where the record contradicts it.
func (d *dialog) say(ctx context.Context, text string) (Reply, error) {
	whole := d.loop.words.with(text)
	notes, err := d.loop.checker().notes(ctx, claim.Read(whole))
	if err != nil {
		return Reply{}, err
	}
	return d.finish(ctx, conversation.KindText, locale.Verbatim(shorten(whole)), notes...)
}

// shorten cuts an answer to maxText bytes, because a message is one item of the table.
func shorten(text string) string {
	return clip.Bytes(text, maxText)
}
