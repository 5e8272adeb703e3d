package turn

import (
	"errors"

	"piloto/internal/chats/toolcall"
	"piloto/internal/conversation"
	"piloto/internal/ground/clip"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/rule"
)

// mostAlike is how many notes of a kind stand beside an answer.
const mostAlike = 5

// denied notes which rule denied a call, for the person: the model may say nothing of it.
type denied struct {
	req     Request
	journal journal
}

func (l *loop) denied() denied { return denied{l.req, l.journal} }

func (d denied) note(by rule.Rule, call plan.Step) {
	d.journal.note(d.req.note(conversation.NoteRuleDenied, "note.rule_denied", "rule", by.ID, "reason", clip.Line(by.Reason), "called", toolcall.OneLine(call.Called())))
}

// step notes a call that was to be proposed or made. A plan may do without an undo or a check.
func (d denied) step(by rule.Rule, call plan.Step) {
	d.note(by, call)
	if !call.ID.Undo() && !call.ID.Check() {
		d.journal.deny(call)
	}
}

// read notes a read, when a rule is why it failed.
func (d denied) read(err error, call plan.Step) {
	if by, ok := errors.AsType[*plan.ReadDenied](err); ok {
		d.note(rule.Rule{ID: by.Rule, Reason: by.Reason}, call)
		d.journal.deny(call)
	}
}

// withNote returns notes with one more, unless it is there already or there are enough of its kind.
func withNote(list []conversation.Note, n conversation.Note) []conversation.Note {
	alike := 0
	for _, other := range list {
		if other == n {
			return list
		}
		if other.Code == n.Code {
			alike++
		}
	}
	if alike == mostAlike {
		return list
	}
	return append(list, n)
}
