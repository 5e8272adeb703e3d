package turn

import (
	"context"
	"errors"
	"slices"
	"time"

	"piloto/internal/chats/intent"
	"piloto/internal/conversation"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/parallel"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
)

// A card is on the last screen while at most so many messages came after it, and at most so
// much time. A client that sends the digest is not held to the time.
const (
	screenMessages = 10
	screenTime     = 15 * time.Minute
)

// ShowTime is how long whoever is shown a card again waits for it: longer than noting it
// takes, and than a second press takes to come.
const ShowTime = 250 * time.Millisecond

// Moved refuses a typed yes to a plan that is another by now. Run is the draft that
// waits in its place, and Card its text: whoever is answered so has seen it, and their
// next yes is to it. Why is a plan.ErrStale that says what changed.
type Moved struct {
	Run  plan.Run
	Card string
	Why  error
}

// Error implements error.
func (m *Moved) Error() string { return m.Why.Error() }

// Unwrap returns Why.
func (m *Moved) Unwrap() error { return m.Why }

// standing is what the chat holds that a yes or a no may be about.
type standing struct {
	draft    *plan.Run // that the chat waits for; nil: none
	active   *plan.Run // that the chat runs; nil: none
	ended    *plan.Run // that the chat ran last, when the request may have begun it; nil: none
	messages []conversation.Message
}

// decide answers a yes, a no or a stop. It reports false when the words are not about a plan;
// the model answers them then. A bare yes or no answers whatever was said last. No words
// approve what a run waits for. When the chat changed meanwhile, decide reads it again and
// decides again.
func (s *Service) decide(ctx context.Context, req Request, chat conversation.Chat, said intent.Intent) (reply Reply, ours bool, err error) {
	err = run.Retry(ctx, func() (err error) {
		if reply, ours, err = s.decideOnce(ctx, req, chat, said); !errors.Is(err, plan.ErrMoved) {
			return err
		}
		if chat, err = s.chat(ctx, req); err != nil {
			return err
		}
		return plan.ErrMoved
	})
	return reply, ours || err != nil, err
}

func (s *Service) decideOnce(ctx context.Context, req Request, chat conversation.Chat, said intent.Intent) (Reply, bool, error) {
	if chat.PendingRunID == "" && chat.ActiveRunID == "" && !said.Named() && !s.mayBeAgain(req) {
		return Reply{}, false, nil
	}
	st, err := s.standing(ctx, req, chat)
	if err != nil {
		return Reply{}, true, err
	}
	if known := answerTo(st.messages, req); known.ID != "" {
		return decidedAs(s.again(ctx, req, chat, known))
	}
	if said.Agrees() {
		return s.agreed(ctx, req, chat, said, st)
	}
	return s.refused(ctx, req, chat, said, st)
}

// standing reads the draft and the run of a chat, and what was said last.
func (s *Service) standing(ctx context.Context, req Request, chat conversation.Chat) (st standing, err error) {
	account := req.Principal.Account
	read := func(id string, to **plan.Run, such func(plan.Status) bool) func() error {
		return func() error {
			if id == "" {
				return nil
			}
			r, err := s.Store.Run(ctx, account, id)
			if err == nil && such(r.Status) {
				*to = &r
			}
			return err
		}
	}
	last := ""
	if s.mayBeAgain(req) {
		last = chat.LastRunID
	}
	err = parallel.Do(
		read(chat.PendingRunID, &st.draft, func(plan.Status) bool { return true }),
		read(chat.ActiveRunID, &st.active, plan.Status.Active),
		read(last, &st.ended, plan.Status.Terminal),
		func() (err error) {
			st.messages, _, err = s.Store.Messages(ctx, account, chat.ID, "", screenMessages+1)
			return err
		},
	)
	return st, err
}

// confirmedBy is the run that a request began when it came before; nil: none.
func (st standing) confirmedBy(req Request) *plan.Run {
	for _, r := range []*plan.Run{st.active, st.ended} {
		if r != nil && run.ConfirmedBy(*r, req.Principal.User, req.MessageID) {
			return r
		}
	}
	return nil
}

// goes reports a run that is going on, and does not wait for an approval.
func (st standing) goes() bool { return st.active != nil && st.active.Status != plan.Waiting }

// last reports whether the last message of the chat is about a run, and not a person's.
func (st standing) last(r *plan.Run) bool {
	n := len(st.messages)
	return r != nil && n > 0 && st.messages[n-1].RunID == r.ID && st.messages[n-1].Role != conversation.RoleUser
}

// card returns how many messages came after the newest card of the draft, and when the card
// was shown; false when no card is among the messages.
func (st standing) card() (after int, at time.Time, ok bool) {
	for i, m := range slices.Backward(st.messages) {
		if m.Kind == conversation.KindPlan && st.draft != nil && m.RunID == st.draft.ID {
			return len(st.messages) - 1 - i, m.At, true
		}
	}
	return 0, time.Time{}, false
}

// agreed answers a yes.
func (s *Service) agreed(ctx context.Context, req Request, chat conversation.Chat, said intent.Intent, st standing) (Reply, bool, error) {
	if r := st.confirmedBy(req); r != nil {
		return s.queued(req, chat, *r), true, nil
	}
	ours := said == intent.Confirm || st.last(st.active)
	switch {
	case st.goes() && st.draft != nil:
		return decidedAs(s.notice(ctx, req, chat, "fault.plan.already_running.other", "running", st.active.Plan.Goal, "goal", st.draft.Plan.Goal))
	case st.goes() && ours:
		return decidedAs(s.notice(ctx, req, chat, "turn.already_running", "goal", st.active.Plan.Goal))
	case st.draft != nil:
		return s.assent(ctx, req, chat, said, st)
	case st.active != nil && !st.goes() && ours:
		return decidedAs(s.notice(ctx, req, chat, "turn.waiting", "title", waitingStep(*st.active)))
	case said == intent.Confirm:
		return decidedAs(s.notice(ctx, req, chat, "turn.none_pending"))
	}
	return Reply{}, false, nil
}

func decidedAs(r Reply, err error) (Reply, bool, error) { return r, true, err }

// assent confirms the draft as its viewer saw it. A bare yes counts right after the card, and
// never for a plan that destroys. A named yes counts while the card is on the last screen.
// Otherwise the card is shown again, and the next yes counts.
func (s *Service) assent(ctx context.Context, req Request, chat conversation.Chat, said intent.Intent, st standing) (Reply, bool, error) {
	draft, bare := *st.draft, said == intent.Assent
	after, shownAt, onScreen := st.card()
	last := onScreen && after == 0 && !req.before(shownAt) // what was said last when the person spoke
	if expired := draft.Status != plan.Draft || !s.Now().Before(draft.Plan.ExpiresAt); expired && bare && !last {
		return Reply{}, false, nil // it was said to something else, and there is nothing to show
	} else if expired {
		return decidedAs(s.confirm(ctx, req, draft.ID, draft.Digest))
	}
	if bare && !last {
		return decidedAs(s.showAgain(ctx, req, chat, draft, "turn.shown_bare"))
	}
	seen, err := s.seen(ctx, req, chat, draft)
	if err != nil {
		return Reply{}, true, err
	}
	onScreen = onScreen && after <= screenMessages && (req.Seen != "" || !s.Now().After(shownAt.Add(screenTime)))
	switch {
	case seen.Digest == "":
		return decidedAs(s.showAgain(ctx, req, chat, draft, "turn.shown_first"))
	case seen.RunID != draft.ID || seen.Digest != draft.Digest:
		return decidedAs(s.moved(ctx, req, draft, seen))
	case !onScreen:
		return decidedAs(s.showAgain(ctx, req, chat, draft, "turn.shown_late"))
	case bare && draft.Plan.Destroys():
		return decidedAs(s.showAgain(ctx, req, chat, draft, "turn.shown_destroys"))
	}
	return decidedAs(s.confirm(ctx, req, draft.ID, draft.Digest))
}

// before reports words that came before a time: a second press, or a request that is sent
// again, does not answer what the first one was answered with.
func (r Request) before(at time.Time) bool { return !r.Came.IsZero() && r.Came.Before(at) }

// seen is what the sender of a request had on the screen: what the client says, else
// what it was answered last. It has no digest when that says nothing of the draft, or
// came after the person's words.
func (s *Service) seen(ctx context.Context, req Request, chat conversation.Chat, draft plan.Run) (plan.Sight, error) {
	if req.Seen != "" {
		return plan.Sight{RunID: draft.ID, Digest: req.Seen}, nil
	}
	sight, err := s.Store.Shown(ctx, req.Principal.Account, chat.ID, req.Viewer(), s.Now())
	if err == nil && req.before(sight.At) {
		return plan.Sight{}, nil
	}
	if err != nil || sight.RunID == draft.ID || sight.RunID == "" {
		return sight, err
	}
	before, err := s.Store.Run(ctx, req.Principal.Account, sight.RunID)
	if errors.Is(err, plan.ErrRunNotFound) {
		return plan.Sight{}, nil
	}
	if before.Status != plan.Superseded { // it came to its own end, and the draft is not in its place
		return plan.Sight{}, err
	}
	return sight, err
}

// Viewer names the sender of a request as a viewer of the chat.
func (r Request) Viewer() string {
	contract, person := "send", ""
	if r.Session != nil {
		contract, person = "operator", r.Session.UserID
	}
	return plan.ViewerOf(contract, r.Principal.User, r.Principal.TokenID, person)
}

// confirm confirms a draft as it was seen.
func (s *Service) confirm(ctx context.Context, req Request, runID string, seen plan.Digest) (Reply, error) {
	d, err := s.Runs.Confirm(ctx, run.Confirmation{
		Account: req.Principal.Account, User: req.Principal.User, For: req.speaksFor, RunID: runID, Digest: seen, Key: req.MessageID,
		Typed: req.Message, Locale: req.Locale, TraceID: req.TraceID,
	})
	return decided(KindQueued, d), err
}

// moved refuses a yes to a plan that is another by now, and shows the other.
func (s *Service) moved(ctx context.Context, req Request, draft plan.Run, seen plan.Sight) (Reply, error) {
	reply, err := s.confirm(ctx, req, seen.RunID, seen.Digest) // it says what changed
	if !errors.Is(err, plan.ErrStale) {
		return reply, err
	}
	if err := s.show(ctx, req, draft); err != nil {
		return Reply{}, err
	}
	return Reply{}, &Moved{Run: draft, Card: run.Describe(req.Locale, draft.Plan, false), Why: err}
}

// showAgain answers with the card of a draft, and says why nothing was confirmed.
func (s *Service) showAgain(ctx context.Context, req Request, chat conversation.Chat, draft plan.Run, why string) (Reply, error) {
	at := s.Now()
	said := s.said(req, at) // first: it stands before what answers it
	note := conversation.Note{Code: conversation.NoteNotConfirmed, Text: locale.Text(req.Locale, why)}
	text := note.Text + "\n" + run.Describe(req.Locale, draft.Plan, false)
	card := answering(req, run.Message(s.IDs, draft, conversation.KindPlan, at, text))
	card.Notes = []conversation.Note{note}
	if err := s.show(ctx, req, draft, said, card); err != nil {
		return Reply{}, err
	}
	chat.UpdatedAt = at
	return Reply{Kind: KindPlan, Message: card, Chat: chat, Run: &draft}, nil
}

// show notes that whoever sent a request is shown a draft in answer to it. They are
// answered no sooner than the note counts: of many yeses at once, or of two presses,
// none is to the answer of another.
func (s *Service) show(ctx context.Context, req Request, draft plan.Run, said ...conversation.Message) error {
	at := s.Now()
	if !req.Came.IsZero() {
		at = at.Add(s.ShowTime)
	}
	if err := s.Store.Show(ctx, draft, *draft.Sighted(req.Viewer(), at), said...); err != nil {
		return err
	}
	if wait := at.Sub(s.Now()); wait > 0 {
		time.Sleep(wait + time.Millisecond) // times are stored in milliseconds
	}
	if now := s.Now(); now.Before(at) { // the clock was put back, or stands
		return s.Store.Show(ctx, draft, *draft.Sighted(req.Viewer(), now))
	}
	return nil
}

// queued is the reply to a yes that was answered before.
func (s *Service) queued(req Request, chat conversation.Chat, r plan.Run) Reply {
	m := run.Message(s.IDs, r, conversation.KindProgress, s.Now(), locale.Text(req.Locale, "turn.confirmed"))
	return Reply{Kind: KindQueued, Message: m, Chat: chat, Run: &r}
}

// refused answers a no or a stop. What it means when a chat has both a draft and a run:
// to cancel drops the draft, to stop stops the run; what was not meant is said.
func (s *Service) refused(ctx context.Context, req Request, chat conversation.Chat, said intent.Intent, st standing) (Reply, bool, error) {
	after, shownAt, shown := st.card()
	switch {
	case said == intent.Refusal && shown && after == 0 && !req.before(shownAt):
		return decidedAs(s.drop(ctx, req, *st.draft, st.active))
	case said == intent.Refusal && st.last(st.active):
		return decidedAs(s.notice(ctx, req, chat, "turn.how_to_stop", "goal", st.active.Plan.Goal))
	case said == intent.Refusal:
		return Reply{}, false, nil
	case said == intent.Stop && st.goes(), st.draft == nil && st.active != nil:
		return decidedAs(s.stopRun(ctx, req, *st.active, st.draft))
	case st.draft != nil:
		return decidedAs(s.drop(ctx, req, *st.draft, st.active))
	}
	waits, err := s.waitingElsewhere(ctx, req, st)
	if err != nil {
		return Reply{}, true, err
	}
	if waits != "" {
		return decidedAs(s.notice(ctx, req, chat, "turn.waits_elsewhere", "goal", waits))
	}
	return decidedAs(s.notice(ctx, req, chat, "turn.nothing_to_cancel"))
}

// drop cancels the draft, and says what the chat has beside it.
func (s *Service) drop(ctx context.Context, req Request, draft plan.Run, active *plan.Run) (Reply, error) {
	also := ""
	if active != nil {
		also = locale.Text(req.Locale, "turn.also_running", "goal", active.Plan.Goal)
	}
	d, err := s.Runs.Cancel(ctx, run.Cancellation{
		Account: req.Principal.Account, User: req.Principal.User, RunID: draft.ID, Digest: req.Seen,
		Typed: req.Message, Also: also, Locale: req.Locale,
	})
	return decided(KindCancelled, d), err
}

// stopRun stops what runs, as its button does, and says what the chat has beside it.
func (s *Service) stopRun(ctx context.Context, req Request, active plan.Run, draft *plan.Run) (Reply, error) {
	also := ""
	if draft != nil {
		also = locale.Text(req.Locale, "turn.also_pending", "goal", draft.Plan.Goal)
	}
	d, err := s.Runs.Cancel(ctx, run.Cancellation{
		Account: req.Principal.Account, User: req.Principal.User, RunID: active.ID,
		Typed: req.Message, Also: also, Locale: req.Locale,
	})
	return decided(KindCancelled, d), err
}

// waitingElsewhere returns the goal of a run that waits for an approval while another run has
// its place in the chat. It looks at the runs of the last screen.
func (s *Service) waitingElsewhere(ctx context.Context, req Request, st standing) (string, error) {
	looked := map[string]bool{}
	for _, m := range slices.Backward(st.messages) {
		if m.RunID == "" || looked[m.RunID] {
			continue
		}
		looked[m.RunID] = true
		r, err := s.Store.Run(ctx, req.Principal.Account, m.RunID)
		if err != nil && !errors.Is(err, plan.ErrRunNotFound) {
			return "", err
		}
		if err == nil && r.Status == plan.Waiting {
			return r.Plan.Goal, nil
		}
	}
	return "", nil
}

// waitingStep is the title of the step for which a run waits.
func waitingStep(r plan.Run) string {
	for _, st := range r.Steps {
		if s, ok := r.Plan.Step(st.StepID); ok && st.Status == plan.StepWaiting {
			return s.Title
		}
	}
	return r.Plan.Goal
}

func decided(kind Kind, d run.Decision) Reply {
	r := d.Run
	return Reply{Kind: kind, Message: d.Message, Chat: d.Chat, Run: &r}
}
