package turn

import (
	"context"
	"errors"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"piloto/internal/chats/consent"
	"piloto/internal/chats/history"
	"piloto/internal/chats/intent"
	"piloto/internal/conversation"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/retry"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
	"piloto/internal/runs/view"
)

// A card is on the last screen while at most screenMessages messages follow it and at most
// screenTime has passed. The time does not bind a client that sends the digest.
const (
	screenMessages = 10
	screenTime     = 15 * time.Minute
)

// ShowTime is how long a viewer waits for a card that is shown again. It is longer than its
// record takes to write, and than a second press takes to arrive.
const ShowTime = 250 * time.Millisecond

// Moved refuses a typed yes to a plan that has changed. Run is the current draft, and Card its
// text. The refusal shows the card, so the viewer's next yes is to it. Why is a plan.ErrStale
// that names the change.
type Moved struct {
	Run  plan.Run
	Card locale.Phrase
	Why  error
}

// Error implements error.
func (m *Moved) Error() string { return m.Why.Error() }

// Unwrap returns Why.
func (m *Moved) Unwrap() error { return m.Why }

// chatState holds the runs and messages of a chat that a yes or a no may refer to.
type chatState struct {
	draft    *plan.Run // the chat's pending draft; nil: none
	active   *plan.Run // the chat's active run; nil: none
	ended    *plan.Run // the chat's last run, read when the request may have started it; nil: none
	messages []conversation.Message
}

// runConfirmedBy returns the run that an earlier attempt of the request confirmed; nil: none.
func (st chatState) runConfirmedBy(req Request) *plan.Run {
	for _, r := range []*plan.Run{st.active, st.ended} {
		if r != nil && run.ConfirmedBy(*r, req.Principal.User, req.MessageID) {
			return r
		}
	}
	return nil
}

// isRunning reports whether the active run makes progress and does not wait for an approval.
func (st chatState) isRunning() bool { return st.active != nil && st.active.Status != plan.Waiting }

// isLast reports whether the chat's last message is about the run, and not from a user.
func (st chatState) isLast(r *plan.Run) bool {
	n := len(st.messages)
	return r != nil && n > 0 && st.messages[n-1].RunID == r.ID && st.messages[n-1].Role != conversation.RoleUser
}

// card returns the number of messages after the draft's newest card, and the time of that card.
// It returns false when no card is among the messages.
func (st chatState) card() (after int, at time.Time, ok bool) {
	for i, m := range slices.Backward(st.messages) {
		if m.Kind == conversation.KindPlan && st.draft != nil && m.RunID == st.draft.ID {
			return len(st.messages) - 1 - i, m.At, true
		}
	}
	return 0, time.Time{}, false
}

// asHandled marks a reply as the answer to the message.
func asHandled(r Reply, err error) (Reply, bool, error) { return r, true, err }

// sentBefore reports whether the user sent the message before a time. A second press, or a
// retried request, does not answer the reply to the first one.
func (r Request) sentBefore(at time.Time) bool {
	return !r.ReceivedAt.IsZero() && r.ReceivedAt.Before(at)
}

// Viewer returns the key of the request's sender as a viewer of the chat.
func (r Request) Viewer() string {
	if r.Route != nil { // a customer is shown no plan
		return ""
	}
	v := plan.Viewer{Contract: "send", User: r.Principal.User, TokenID: r.Principal.TokenID}
	if r.Session != nil {
		v.Contract, v.Person = "operator", r.Session.UserID
	}
	return v.ID()
}

// activeNotice says that an active run waits for an approval, or else that it goes on.
func (d decider) activeNotice(ctx context.Context, req Request, chat conversation.Chat, r plan.Run) (Reply, error) {
	if waits := view.Of(r, d.thread.Now()).Waits; len(waits) > 0 {
		step, _ := r.Plan.Step(waits[0].StepID)
		return d.thread.notice(ctx, req, chat, "turn.waiting", "title", step.Title)
	}
	return d.thread.notice(ctx, req, chat, "turn.already_running", "goal", r.Plan.Goal)
}

// decisionReply returns the reply to a decision over a draft or a run.
func decisionReply(kind Kind, d run.Decision) Reply {
	r := d.Run
	return Reply{Kind: kind, Message: d.Message, Chat: d.Chat, Run: &r}
}

// decider answers a yes, a no or a stop over the chat's draft or its run.
type decider struct {
	thread   thread
	runs     Deciders
	showTime time.Duration
}

func (s *Service) decider() decider {
	return decider{thread: s.thread(), runs: s.Runs, showTime: s.ShowTime}
}

// decide answers a yes, a no or a stop, as the message says it to the chat's draft. It reports false when the message is
// not about a plan; the model answers it then. A bare yes or no refers to the last message of the chat. A message that
// answers a question of the model is not about a plan, unless it stops a run. No chat message grants an approval that a run
// waits for. When the chat changed meanwhile, decide reads it again and retries.
func (d decider) decide(ctx context.Context, req Request, chat conversation.Chat) (reply Reply, ours bool, err error) {
	err = retry.Do(ctx, func() (err error) {
		if reply, ours, err = d.decideOnce(ctx, req, chat); !errors.Is(err, fault.ErrMoved) {
			return err
		}
		if chat, err = d.thread.chat(ctx, req); err != nil {
			return err
		}
		return fault.ErrMoved
	})
	return reply, ours || err != nil, err
}

func (d decider) decideOnce(ctx context.Context, req Request, chat conversation.Chat) (Reply, bool, error) {
	meaning := intent.Classify(req.Message)
	switch {
	case meaning.Named():
	case chat.PendingRunID == "" && (chat.ActiveRunID == "" || meaning == intent.Other) && !d.thread.mayBeRepeat(req), meaning == intent.Other && !consent.MayAgree(req.Message):
		return Reply{}, false, nil
	}
	st, err := d.loadState(ctx, req, chat)
	if err != nil {
		return Reply{}, true, err
	}
	yes := st.read(req, meaning)
	if yes.Points && !yes.Confirms && meaning != intent.Other && !st.cardIsLast(req) { // «sí, cancélalo»
		if yes = (consent.Yes{Meaning: meaning}); meaning.Refuses() { // “yes, cancel it” of a plan that cancels drops nothing
			yes = consent.Yes{}
		}
	}
	if yes.Meaning == intent.Other {
		return Reply{}, false, nil
	}
	if known := history.Answer(st.messages, req.MessageID); known.ID != "" {
		return asHandled(d.thread.previousReply(ctx, req, chat, known))
	}
	if chat.Company == 0 && st.openQuestion(req) && st.runConfirmedBy(req) == nil {
		if yes.Meaning == intent.Stop && st.active != nil {
			return asHandled(d.stopRun(ctx, req, *st.active, st.draft))
		}
		return Reply{}, false, nil
	}
	talks := chat.Company == 0 && st.answersText(req)
	if talks && st.draft != nil && st.draft.StatusAt(d.thread.Now()) != plan.Draft {
		st.draft = nil
	}
	if yes.Meaning.Agrees() {
		return d.handleYes(ctx, req, chat, yes, st, talks)
	}
	return d.handleNo(ctx, req, chat, yes.Meaning, st, talks)
}

// loadState reads a chat's draft, its run and its last messages.
func (d decider) loadState(ctx context.Context, req Request, chat conversation.Chat) (st chatState, err error) {
	account := req.Principal.Account
	read := func(id string, to **plan.Run, such func(plan.Status) bool) func() error {
		return func() error {
			if id == "" {
				return nil
			}
			r, err := d.thread.Plans.Run(ctx, account, id)
			if err == nil && such(r.Status) {
				*to = &r
			}
			return err
		}
	}
	last := ""
	if d.thread.mayBeRepeat(req) {
		last = chat.LastRunID
	}
	var reads errgroup.Group
	reads.Go(read(chat.PendingRunID, &st.draft, func(plan.Status) bool { return true }))
	reads.Go(read(chat.ActiveRunID, &st.active, plan.Status.Active))
	reads.Go(read(last, &st.ended, plan.Status.Terminal))
	reads.Go(func() (err error) {
		st.messages, _, err = d.thread.Chats.Messages(ctx, chat.Key(account), "", screenMessages+1)
		st.messages = history.Standing(st.messages)
		return err
	})
	err = reads.Wait()
	return st, err
}

// handleYes answers a yes. One that answers a text while nothing waits or runs goes to the model.
func (d decider) handleYes(ctx context.Context, req Request, chat conversation.Chat, yes consent.Yes, st chatState, talks bool) (Reply, bool, error) {
	if r := st.runConfirmedBy(req); r != nil {
		return d.queuedReply(req, chat, *r), true, nil
	}
	meaning := yes.Meaning
	ours := meaning == intent.Confirm || st.isLast(st.active)
	switch {
	case st.isRunning() && st.draft != nil:
		return asHandled(d.thread.notice(ctx, req, chat, "fault.plan.already_running.other", "running", st.active.Plan.Goal, "goal", st.draft.Plan.Goal))
	case st.draft != nil:
		return d.assent(ctx, req, chat, yes, st)
	case st.active != nil && ours:
		return asHandled(d.activeNotice(ctx, req, chat, *st.active))
	case meaning == intent.Confirm && !talks:
		return asHandled(d.thread.notice(ctx, req, chat, "turn.none_pending"))
	}
	return Reply{}, false, nil
}

// assent confirms the draft that its viewer saw. A bare yes counts directly after the card, never for a plan that
// destroys, and not beside a text that asks something else. One that names the plan by its act counts directly after the card,
// too, because the talk may have gone on to another thing. One that names the plan itself, or confirms in so many words, counts while
// the card is on the last screen. Otherwise assent shows the card again, and the next yes counts.
func (d decider) assent(ctx context.Context, req Request, chat conversation.Chat, yes consent.Yes, st chatState) (Reply, bool, error) {
	draft, bare, last := *st.draft, yes.Meaning == intent.Assent, st.cardIsLast(req)
	ofCard := bare || yes.Names != consent.Itself && !yes.Confirms // it needs the card as the last message
	after, shownAt, onScreen := st.card()
	if expired := draft.StatusAt(d.thread.Now()) != plan.Draft; expired && ofCard && !last {
		return Reply{}, false, nil // the yes refers to another message, and there is no draft to show
	} else if expired {
		return asHandled(d.confirm(ctx, req, draft.ID, draft.Digest))
	}
	if ofCard && !last {
		return asHandled(d.showAgain(ctx, req, chat, draft, "turn.shown_bare"))
	}
	seen, err := d.lastSight(ctx, req, chat, draft)
	if err != nil {
		return Reply{}, true, err
	}
	onScreen = onScreen && after <= screenMessages && (req.Seen != "" || !d.thread.Now().After(shownAt.Add(screenTime)))
	switch {
	case seen.Digest == "":
		return asHandled(d.showAgain(ctx, req, chat, draft, "turn.shown_first"))
	case seen.RunID != draft.ID || seen.Digest != draft.Digest:
		return asHandled(d.refuseMoved(ctx, req, draft, seen))
	case !onScreen:
		return asHandled(d.showAgain(ctx, req, chat, draft, "turn.shown_late"))
	case (bare || yes.Names == consent.Anything) && draft.Plan.Destroys():
		return asHandled(d.showAgain(ctx, req, chat, draft, "turn.shown_destroys"))
	case bare && draft.Plan.MayRepeat():
		return asHandled(d.showAgain(ctx, req, chat, draft, "turn.shown_doubt"))
	case st.asksElse(yes):
		return asHandled(d.showAgain(ctx, req, chat, draft, "turn.shown_asked"))
	case st.titlesAskElse(yes):
		return asHandled(d.showAgain(ctx, req, chat, draft, "turn.shown_titled"))
	}
	return asHandled(d.confirm(ctx, req, draft.ID, draft.Digest))
}

// lastSight returns the plan on the sender's screen: the digest that the client sent, else the
// record of the last card. Its digest is empty when that record is not about the draft, or is
// newer than the user's message.
func (d decider) lastSight(ctx context.Context, req Request, chat conversation.Chat, draft plan.Run) (plan.Sight, error) {
	if req.Seen != "" {
		return plan.Sight{RunID: draft.ID, Digest: req.Seen}, nil
	}
	sight, err := d.thread.Drafts.Shown(ctx, chat.Key(req.Principal.Account), req.Viewer(), d.thread.Now())
	if err == nil && req.sentBefore(sight.At) {
		return plan.Sight{}, nil
	}
	if err != nil || sight.RunID == draft.ID || sight.RunID == "" {
		return sight, err
	}
	before, err := d.thread.Plans.Run(ctx, req.Principal.Account, sight.RunID)
	if errors.Is(err, plan.ErrRunNotFound) {
		return plan.Sight{}, nil
	}
	if before.Status != plan.Superseded { // the run ended otherwise, and the draft does not replace it
		return plan.Sight{}, err
	}
	return sight, err
}

// confirm confirms a draft with the digest that the viewer saw.
func (d decider) confirm(ctx context.Context, req Request, runID string, seen plan.Digest) (Reply, error) {
	decided, err := d.runs.Confirm(ctx, run.Confirmation{
		Account: req.Principal.Account, User: req.Principal.User, For: req.speaksFor, RunID: runID, Digest: seen, Key: req.MessageID,
		Typed: req.Message, Locale: req.Locale, TraceID: req.TraceID,
	})
	return decisionReply(KindQueued, decided), err
}

// refuseMoved refuses a yes to a plan that has changed, and shows the current draft.
func (d decider) refuseMoved(ctx context.Context, req Request, draft plan.Run, seen plan.Sight) (Reply, error) {
	reply, err := d.confirm(ctx, req, seen.RunID, seen.Digest) // the refusal names the change
	if !errors.Is(err, plan.ErrStale) {
		return reply, err
	}
	if err := d.show(ctx, req, draft); err != nil {
		return Reply{}, err
	}
	return Reply{}, &Moved{Run: draft, Card: run.Describe(draft.Plan, draft.Dropped), Why: err}
}

// showAgain answers with the draft's card and the reason why nothing was confirmed.
func (d decider) showAgain(ctx context.Context, req Request, chat conversation.Chat, draft plan.Run, why string) (Reply, error) {
	at := d.thread.Now()
	message := d.thread.userMessage(req, at) // created first, because it sorts before its answer
	note := req.note(conversation.NoteNotConfirmed, why)
	text := locale.Lines(locale.Verbatim(note.Text), run.Describe(draft.Plan, draft.Dropped))
	card := withAnswerID(req, run.Message(d.thread.IDs, draft, conversation.KindPlan, at, req.Locale, text))
	card.Notes = []conversation.Note{note}
	if err := d.show(ctx, req, draft, message, card); err != nil {
		return Reply{}, err
	}
	chat.UpdatedAt = at
	return Reply{Kind: KindPlan, Message: card, Chat: chat, Run: &draft}, nil
}

// show records that the sender of a request is shown a draft in answer to it. It returns only
// when the record counts. So, of many requests at once, or of two presses, no yes refers to the
// answer of another.
func (d decider) show(ctx context.Context, req Request, draft plan.Run, messages ...conversation.Message) error {
	at := d.thread.Now()
	if !req.ReceivedAt.IsZero() {
		at = at.Add(d.showTime)
	}
	if err := d.thread.Drafts.Show(ctx, draft, *draft.Sighted(req.Viewer(), at), messages...); err != nil {
		return err
	}
	if wait := at.Sub(d.thread.Now()); wait > 0 {
		time.Sleep(wait + time.Millisecond) // times are stored in milliseconds
	}
	if now := d.thread.Now(); now.Before(at) { // the clock was set back, or stands still
		return d.thread.Drafts.Show(ctx, draft, *draft.Sighted(req.Viewer(), now))
	}
	return nil
}

// queuedReply returns the reply to a yes that was processed before.
func (d decider) queuedReply(req Request, chat conversation.Chat, r plan.Run) Reply {
	m := run.Message(d.thread.IDs, r, conversation.KindProgress, d.thread.Now(), req.Locale, locale.Say("turn.confirmed"))
	return Reply{Kind: KindQueued, Message: m, Chat: chat, Run: &r}
}

// handleNo answers a no or a stop. When a chat has both a draft and a run, a cancel drops the
// draft and a stop stops the run; the reply names the other one. Without both, a cancel that answers a text, or begins the chat,
// goes to the model.
func (d decider) handleNo(ctx context.Context, req Request, chat conversation.Chat, meaning intent.Intent, st chatState, talks bool) (Reply, bool, error) {
	switch {
	case meaning == intent.Refusal && st.cardIsLast(req):
		return asHandled(d.drop(ctx, req, *st.draft, st.active))
	case meaning == intent.Refusal && st.isLast(st.active):
		return asHandled(d.thread.notice(ctx, req, chat, "turn.how_to_stop", "goal", st.active.Plan.Goal))
	case meaning == intent.Refusal:
		return Reply{}, false, nil
	case meaning == intent.Stop && st.isRunning(), st.draft == nil && st.active != nil:
		return asHandled(d.stopRun(ctx, req, *st.active, st.draft))
	case st.draft != nil:
		return asHandled(d.drop(ctx, req, *st.draft, st.active))
	}
	waits, err := d.waitingElsewhere(ctx, req, st)
	if err != nil {
		return Reply{}, true, err
	}
	if waits != "" {
		return asHandled(d.thread.notice(ctx, req, chat, "turn.waits_elsewhere", "goal", waits))
	}
	if meaning == intent.Cancel && (talks || len(st.before(req)) == 0) {
		return Reply{}, false, nil
	}
	return asHandled(d.thread.notice(ctx, req, chat, "turn.nothing_to_cancel"))
}

// drop cancels the draft. The reply also names the active run.
func (d decider) drop(ctx context.Context, req Request, draft plan.Run, active *plan.Run) (Reply, error) {
	var also locale.Phrase
	if active != nil {
		also = locale.Say("turn.also_running", "goal", active.Plan.Goal)
	}
	decided, err := d.runs.Cancel(ctx, run.Cancellation{
		Account: req.Principal.Account, User: req.Principal.User, RunID: draft.ID, Digest: req.Seen,
		Typed: req.Message, Also: also, Locale: req.Locale,
	})
	return decisionReply(KindCancelled, decided), err
}

// stopRun stops the active run, as its button does. The reply also names the draft.
func (d decider) stopRun(ctx context.Context, req Request, active plan.Run, draft *plan.Run) (Reply, error) {
	var also locale.Phrase
	if draft != nil {
		also = locale.Say("turn.also_pending", "goal", draft.Plan.Goal)
	}
	decided, err := d.runs.Cancel(ctx, run.Cancellation{
		Account: req.Principal.Account, User: req.Principal.User, RunID: active.ID,
		Typed: req.Message, Also: also, Locale: req.Locale,
	})
	return decisionReply(KindCancelled, decided), err
}

// waitingElsewhere returns the goal of a run that waits for an approval while another run is the
// chat's active one. It reads the runs of the last screen's messages.
func (d decider) waitingElsewhere(ctx context.Context, req Request, st chatState) (string, error) {
	seen := map[string]bool{}
	for _, m := range slices.Backward(st.messages) {
		if m.RunID == "" || seen[m.RunID] {
			continue
		}
		seen[m.RunID] = true
		r, err := d.thread.Plans.Run(ctx, req.Principal.Account, m.RunID)
		if err != nil && !errors.Is(err, plan.ErrRunNotFound) {
			return "", err
		}
		if err == nil && r.Status == plan.Waiting {
			return r.Plan.Goal, nil
		}
	}
	return "", nil
}
