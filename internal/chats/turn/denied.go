package turn

import (
	"errors"
	"sync"

	"piloto/internal/chats/job"
	"piloto/internal/chats/toolcall"
	"piloto/internal/conversation"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/rule"
)

// mostDenials is how many notes of a kind stand beside an answer.
const mostDenials = 5

// denials are the notes of what rules denied in a turn, and of what made room for its changes of files. Reads that are made at the same time may add to them.
type denials struct {
	mu    sync.Mutex
	notes []conversation.Note
	step  bool // a call of this round of a job that would have changed something is on record
}

// noteDenied notes which rule denied a call, for the person: the model may say nothing of it. A job keeps the notes until
// its last message.
func (d *dialog) noteDenied(by rule.Rule, call plan.Step) {
	d.keepNote(d.req.note(conversation.NoteRuleDenied, "note.rule_denied", "rule", by.ID, "reason", plan.Line(by.Reason), "called", toolcall.OneLine(call.Called())))
}

// keepNote keeps a note for the message that the turn ends with.
func (d *dialog) keepNote(n conversation.Note) {
	d.denials.mu.Lock()
	defer d.denials.mu.Unlock()
	list := &d.denials.notes
	if d.job != nil {
		list = &d.job.Denied
	}
	alike := 0
	for _, other := range *list {
		if other == n {
			return
		}
		if other.Code == n.Code {
			alike++
		}
	}
	if alike < mostDenials {
		*list = append(*list, n)
	}
}

// noteDeniedStep notes which rule denied a call that was to be proposed or made. A plan may do without an undo or a check.
func (d *dialog) noteDeniedStep(by rule.Rule, call plan.Step) {
	d.noteDenied(by, call)
	if !call.ID.Undo() && !call.ID.Check() {
		d.recordDenied(call)
	}
}

// noteDeniedRead notes which rule denied a read, when that is why it failed.
func (d *dialog) noteDeniedRead(err error, call plan.Step) {
	if denied, ok := errors.AsType[*plan.ReadDenied](err); ok {
		d.noteDenied(rule.Rule{ID: denied.Rule, Reason: denied.Reason}, call)
		d.recordDenied(call)
	}
}

// recordDenied puts a call that a rule denied on the record of the job.
func (d *dialog) recordDenied(call plan.Step) {
	if d.job == nil {
		return
	}
	d.denials.mu.Lock()
	defer d.denials.mu.Unlock()
	kind := job.DeedCall
	if call.Method == "GET" || call.Method == "HEAD" {
		kind = job.DeedRead
	}
	d.denials.step = d.denials.step || kind == job.DeedCall
	d.job.Record.Deny(kind, toolcall.OneLine(call.Called()))
}

// cardNotes returns the same, for the card of a plan. A job tells it in its last message.
func (d *dialog) cardNotes() []conversation.Note {
	if d.job != nil {
		return nil
	}
	return d.denials.notes
}

// deniedNotes returns what rules denied, and what made room for changes of files.
func (d *dialog) deniedNotes() []conversation.Note {
	if d.job != nil {
		return d.job.Denied
	}
	return d.denials.notes
}
