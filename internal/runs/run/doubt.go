package run

import (
	"context"
	"slices"

	"piloto/internal/conversation"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/locale"
	"piloto/internal/runs/plan"
)

// ErrUnsettled means that nobody has said yet what became of a step in doubt; Args
// name one ("step").
var ErrUnsettled = fault.New(fault.Conflict, "run.unsettled")

// Settling is what one person says of a step in doubt.
type Settling struct {
	Account string
	User    string
	RunID   string
	StepID  string // a step, an element of one, or an undo; of a step as a whole, all its elements
	Outcome plan.Outcome
	Note    string
	Locale  locale.Tag
	TraceID string
}

// Settle writes what a person says of a step in doubt, once. The run stays in doubt:
// an end is an end. With plan.OutcomeRetry it then returns the draft that goes on
// from the run, as Retry does, when nothing else is in doubt in it; otherwise, and with
// any other outcome, the run itself.
//
// It returns plan.ErrRunNotFound, plan.ErrStepNotFound, plan.ErrAlreadyRunning while
// the run is active, plan.ErrNotInDoubt (also when it was settled before),
// plan.ErrInvalid for an outcome that is none, or retry of an undo, and what Retry
// returns.
func (s *Service) Settle(ctx context.Context, c Settling) (Decision, error) {
	c.Note = short(c.Note)
	if !slices.Contains([]plan.Outcome{plan.OutcomeDone, plan.OutcomeNotDone, plan.OutcomeRetry}, c.Outcome) {
		return Decision{}, plan.ErrInvalid.At(fault.Field{Loc: []any{"body", "outcome"}, Type: "enum", Msg: "is done, not_done or retry"})
	}
	var d Decision
	settled := map[string]bool{}
	for more := true; more; {
		err := s.decide(ctx, c.Account, c.RunID, func(r plan.Run, chat conversation.Chat) error {
			left, err := c.inDoubt(r, settled)
			if err != nil || len(left) == 0 {
				more = false
				return err
			}
			d, err = s.settle(ctx, r, chat, r.State(left[0]), c)
			if err == nil {
				settled[left[0]] = true
			}
			return err
		})
		if err != nil {
			return Decision{}, err
		}
	}
	if c.Outcome != plan.OutcomeRetry || unsettled(d.Run) != "" {
		return d, nil
	}
	return s.Retry(ctx, Retrial{Account: c.Account, User: c.User, RunID: c.RunID, Locale: c.Locale, TraceID: c.TraceID})
}

// inDoubt names what is left to settle.
func (c Settling) inDoubt(r plan.Run, settled map[string]bool) ([]string, error) {
	step, ok := r.Plan.Step(c.StepID)
	switch {
	case !ok:
		return nil, plan.ErrStepNotFound
	case c.Outcome == plan.OutcomeRetry && plan.ParseEffect(c.StepID).Undo: // what goes on from a run undoes nothing of it
		return nil, plan.ErrInvalid.At(fault.Field{Loc: []any{"body", "outcome"}, Type: "enum", Msg: "an undo is not tried again: it is done or not_done"})
	case r.Status.Active():
		return nil, plan.ErrAlreadyRunning
	}
	var left []string
	for _, st := range r.Steps {
		mine := st.StepID == c.StepID
		if step.ForEach != "" {
			e := plan.ParseEffect(st.StepID)
			mine = e.Step == c.StepID && e.Item >= 0 && !e.Undo
		}
		if mine && st.Status == plan.StepInDoubt && st.Settled == nil {
			left = append(left, st.StepID)
		}
	}
	if len(left) == 0 && len(settled) == 0 {
		return nil, plan.ErrNotInDoubt
	}
	return left, nil
}

func (s *Service) settle(ctx context.Context, r plan.Run, chat conversation.Chat, st plan.StepState, c Settling) (Decision, error) {
	at := s.Now()
	step, _ := r.Plan.Step(st.StepID)
	st.Settled = &plan.Settlement{Outcome: c.Outcome, By: c.User, Note: c.Note, At: at}
	text := locale.Text(tagOf(r), "run.settled_"+string(c.Outcome), "by", plan.Line(c.User), "title", step.Title)
	if c.Note != "" {
		text = locale.Text(tagOf(r), "run.noted", "text", text, "note", c.Note)
	}
	answer := s.message(r, conversation.KindProgress, at, text)
	rec := Record{
		At: at, Type: plan.EventStepSettled, StepID: st.StepID,
		Data: map[string]any{"by": c.User, "outcome": c.Outcome, "note": c.Note},
	}
	if chat.ID != "" {
		rec.Messages = []conversation.Message{answer}
	}
	next, err := s.Store.SettleStep(ctx, r, &st, rec)
	return Decision{Run: next, Chat: chat, Message: answer}, err
}

// unsettled names something in doubt that nobody settled; "" when there is nothing. A
// step that was done for each element is as settled as those are.
func unsettled(r plan.Run) string {
	for _, st := range r.Steps {
		if st.Status == plan.StepInDoubt && st.Settled == nil && !(st.Expanded && plan.ParseEffect(st.StepID).Item < 0) {
			return st.StepID
		}
	}
	return ""
}
