package history

import (
	"context"
	"errors"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"piloto/internal/conversation"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/locale"
	"piloto/internal/models/llm"
	"piloto/internal/runs/plan"
)

// A model's text beside a plan stays in its prompt as its own words, and after it stands the outcome of the plan. The
// plan itself reaches the model as data only.

// mostFates bounds the plans that the texts of a prompt stand beside. Texts beside older plans are left out.
const mostFates = 20

// saidText is a text of the history, with the prompt's line about its plan.
type saidText struct {
	conversation.Message
	fate    fate
	changed bool // the plan was changed after it
}

// line returns the prompt's line about a text; "" for none.
func (m saidText) line(tag locale.Tag) string {
	line := m.fate.line(tag)
	if m.changed && line != "" {
		line += " " + locale.Text(tag, "prompt.beside.changed")
	}
	return line
}

// fate is the outcome of a plan; "": the text stands beside none.
type fate string

// The fates. Those that are no status of a run say who ended it, and that it is not here.
const (
	fateRefused   fate = "refused" // a person cancelled the draft
	fateStopped   fate = "stopped" // it was confirmed, and stopped
	fateWithdrawn fate = "withdrawn"
	fateActive    fate = "active"
	fateDeleted   fate = "deleted"
	fateCopied    fate = "copied" // it is of the chat from which this one branched off
)

// resolved reports whether the fate does not change any more.
func (f fate) resolved() bool { return f != fateActive && f != fate(plan.Draft) }

// line returns the prompt's line about a plan with the fate; "" for none.
func (f fate) line(tag locale.Tag) string {
	if f == "" {
		return ""
	}
	return locale.Text(tag, "prompt.beside."+string(f))
}

// fateOf returns the fate of a run.
func fateOf(r plan.Run, at time.Time) fate {
	switch {
	case r.Withdrawn != nil:
		return fateWithdrawn
	case r.Status.Active():
		return fateActive
	case r.Status == plan.Cancelled && r.Confirmer == "":
		return fateRefused
	case r.Status == plan.Cancelled:
		return fateStopped
	}
	return fate(r.StatusAt(at))
}

// withFates returns texts, the oldest first, with the fates of the plans that they stand beside. messages are those of the chat
// since the first text, and runs were read already.
func (r Reader) withFates(ctx context.Context, account ids.Account, texts, messages []conversation.Message, runs []plan.Run) ([]saidText, error) {
	var ids []string // the newest first
	for _, m := range slices.Backward(texts) {
		if m.RunID != "" && m.Kind == conversation.KindText && !slices.Contains(ids, m.RunID) && len(ids) < mostFates {
			ids = append(ids, m.RunID)
		}
	}
	fates := make([]fate, len(ids))
	var loads errgroup.Group
	for i, id := range ids {
		if at := slices.IndexFunc(runs, func(one plan.Run) bool { return one.ID == id }); at >= 0 {
			fates[i] = fateOf(runs[at], r.Now())
			continue
		}
		loads.Go(func() (err error) { fates[i], err = r.readFate(ctx, account, id); return })
	}
	if err := loads.Wait(); err != nil {
		return nil, err
	}
	var said []saidText
	for _, m := range texts {
		one := saidText{Message: m}
		switch at := slices.Index(ids, m.RunID); {
		case m.Kind != conversation.KindText:
		case m.FromRunID != "":
			one.fate = fateCopied
		case m.RunID != "" && at < 0:
			continue
		case m.RunID != "":
			one.fate, one.changed = fates[at], changedAfter(m, messages)
		}
		said = append(said, one)
	}
	return said, nil
}

// changedAfter reports whether a plan was changed after a text that stands beside its card: another card of it follows, which is not
// the same one shown again.
func changedAfter(text conversation.Message, messages []conversation.Message) bool {
	cards := 0
	for _, m := range messages {
		again := slices.ContainsFunc(m.Notes, func(n conversation.Note) bool { return n.Code == conversation.NoteNotConfirmed })
		if m.Kind == conversation.KindPlan && m.RunID == text.RunID && m.Seq > text.Seq && !again {
			cards++
		}
	}
	return cards > 1
}

// readFate reads the fate of a run. Only a draft and a run that was cancelled need more than their status.
func (r Reader) readFate(ctx context.Context, account ids.Account, id string) (fate, error) {
	status, err := r.Runs.Status(ctx, account, id)
	of := plan.Run{Status: status}
	if err == nil && (status == plan.Draft || status == plan.Cancelled) {
		of, err = r.Runs.Bare(ctx, account, id)
	}
	if errors.Is(err, plan.ErrRunNotFound) {
		return fateDeleted, nil
	}
	return fateOf(of, r.Now()), err
}

// roleOf returns the role in which the model reads a text.
func roleOf(m conversation.Message) llm.Role {
	if m.Role == conversation.RoleUser {
		return llm.User
	}
	return llm.Assistant
}
