package show

import (
	"encoding/json"
	"strconv"
	"strings"

	"piloto/internal/edge/httpapi"
	"piloto/internal/ground/visible"
	"piloto/internal/runs/plan"
	"piloto/internal/tools/tool"
)

// longest is the number of characters of an answer that a list of steps shows; runs show prints it whole.
const longest = 400

// Run writes a run: its plan, the state of each step, and the answers.
func (w *Writer) Run(r httpapi.Run) {
	w.line(0, w.style(bold, visible.Line(r.Goal)), "·", w.Status(r.Status, r.Withdrawn))
	if r.Withdrawn != nil {
		w.line(0, w.text("page.dead.withdrawn"), w.text("page.card.withdrawn_reason"), visible.Line(r.Withdrawn.Reason))
		w.line(0, w.text("page.card.propose_again")+": piloto runs repeat "+visible.Line(r.RunID))
	}
	for i, s := range r.Steps {
		w.line(0, strconv.Itoa(i+1)+".", w.style(bold, visible.Line(s.Title)), "·", w.risk(s.Risk), "·", w.text("page.state."+string(s.Status)))
		if !w.files(4, s) {
			w.request(4, s.Base, s.URL, s.Media, callOf(s.PlannedStep))
			if s.Sent != nil {
				w.line(4, w.text("page.step.sent"), address(s.Sent.URL))
			}
		}
		w.crossings(4, r, plan.ParseEffect(s.ID))
		w.answer(4, s, false)
		w.failure(4, s.Error)
		for _, item := range s.Items {
			w.line(4, strconv.Itoa(item.N+1)+".", w.text("page.state."+string(item.Status)))
			w.result(8, item.Result, false)
			w.failure(8, item.Error)
		}
		if s.UndoState != nil {
			w.line(4, w.text("page.step.undo")+":", w.text("page.state."+string(s.UndoState.Status)))
			w.failure(8, s.UndoState.Error)
		}
	}
	w.failure(0, r.Error)
	w.line(0, w.text("page.card.digest"), visible.Line(string(r.Digest)))
}

// Outcome writes how a run ended, or its open decision, in a few lines.
func (w *Writer) Outcome(r httpapi.Run) {
	seen := r.View()
	told := false // a step said why
	w.line(0, w.Status(r.Status, r.Withdrawn)+":", visible.Line(r.Goal), "·", w.text("page.card.done_of", "done", strconv.Itoa(seen.Done), "n", strconv.Itoa(seen.Total)))
	for i, s := range r.Steps {
		if s.Status == plan.StepPending {
			continue
		}
		w.line(0, strconv.Itoa(i+1)+".", visible.Line(s.Title), "·", w.text("page.state."+string(s.Status)))
		w.answer(4, s, true)
		w.failure(4, s.Error)
		told = told || r.Error != nil && s.Error != nil && s.Error.Message == r.Error.Message
	}
	if !told {
		w.failure(0, r.Error)
	}
}

// answer writes the answer to a step. That of changed files is left out, because it only repeats their names.
func (w *Writer) answer(indent int, s httpapi.Step, brief bool) {
	if s.MCPID != tool.FilesID {
		w.result(indent, s.Result, brief)
	}
}

// result writes the answer of a service; brief shortens it, and says so.
func (w *Writer) result(indent int, r *plan.Result, brief bool) {
	if r == nil {
		return
	}
	head := ""
	if r.Status != 0 {
		head = strconv.Itoa(r.Status)
	}
	if r.Truncated {
		head += " " + w.text("page.step.truncated")
	}
	if head != "" {
		w.line(indent, strings.TrimSpace(head))
	}
	text := strings.TrimSpace(string(r.Body))
	if text == "" || text == "null" {
		return
	}
	var plainText string
	shown := JSON(r.Body)
	if json.Unmarshal(r.Body, &plainText) == nil { // text, and not an object
		shown = visible.Lines(plainText)
	}
	if runes := []rune(shown); brief && len(runes) > longest {
		shown = string(runes[:longest]) + "… " + w.text("cli.more", "n", strconv.Itoa(len(runes)-longest))
	}
	w.block(indent, w.style(faint, shown))
}

func (w *Writer) failure(indent int, f *plan.Failure) {
	if f != nil {
		w.line(indent, w.style(red, visible.Line(f.Message)))
	}
}
