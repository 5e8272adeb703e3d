package turn_test

import (
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"piloto/infra/local/fixture"
	"piloto/internal/chats/agent"
	"piloto/internal/chats/job"
	"piloto/internal/conversation"
	"piloto/internal/models/llm"
)

// TestAnswerOfAJobIsEvaluated: basic judges once and says what may be missing; full has the model answer again in further
// rounds, twice at most, within the steps. What cannot be evaluated stays as it is.
func TestAnswerOfAJobIsEvaluated(t *testing.T) {
	bad, good := verdictOf(false, 1, `"falta la Este"`), verdictOf(true, 1, "")
	for name, c := range map[string]struct {
		order   job.Order
		answers []any
		status  job.Status
		output  string
		note    string
		events  string
	}{
		"off":                   {job.Order{}, []any{text("Una.")}, job.Success, "Una.", "", "started round ended"},
		"basic, complete":       {job.Order{Eval: "basic"}, []any{text("Una."), good}, job.Success, "Una.", "", "started round judged ended"},
		"basic, unsure":         {job.Order{Eval: "basic"}, []any{text("Una."), verdictOf(true, 0.79, "")}, job.Partial, "Una.", "no cumpla todo", "started round judged ended"},
		"basic, incomplete":     {job.Order{Eval: "basic"}, []any{text("Una."), bad}, job.Partial, "Una.", "falta la Este", "started round judged ended"},
		"basic, unreadable":     {job.Order{Eval: "basic"}, []any{text("Una."), text("Está bien.")}, job.Success, "Una.", "", "started round judged ended"},
		"basic, in percent":     {job.Order{Eval: "basic"}, []any{text("Una."), verdictOf(false, 95, `"falta"`)}, job.Success, "Una.", "", "started round judged ended"},
		"basic, failed":         {job.Order{Eval: "basic"}, []any{text("Una."), errors.New("no network")}, job.Success, "Una.", "", "started round ended"},
		"basic, at its end":     {job.Order{Eval: "basic", MaxSteps: 1}, []any{text("Una."), bad}, job.Partial, "Una.", "falta la Este", "started round judged ended"},
		"basic, no text":        {job.Order{Eval: "basic"}, []any{text(""), text("Nada.")}, job.Failed, "Nada.", "", "started round round ended"},
		"full, corrected":       {job.Order{Eval: "full"}, []any{text("Una."), bad, text("Dos."), good}, job.Success, "Dos.", "", "started round judged round judged ended"},
		"full, after it looked": {job.Order{Eval: "full"}, []any{text("Una."), bad, "look", text("Dos."), good}, job.Success, "Dos.", "", "started round judged round looked round judged ended"},
		"full, twice at most": {
			job.Order{Eval: "full"},
			[]any{text("Una."), bad, text("Dos."), bad, text("Tres."), bad},
			job.Partial, "Tres.", "falta la Este",
			"started round judged round judged round judged ended",
		},
		"full, no steps left":   {job.Order{Eval: "full", MaxSteps: 1}, []any{text("Una."), bad}, job.Partial, "Una.", "falta la Este", "started round judged ended"},
		"full, then it failed":  {job.Order{Eval: "full"}, []any{text("Una."), bad, llm.ErrUnreachable}, job.Partial, "Una.", "falta la Este", "started round judged ended"},
		"full, then it is mute": {job.Order{Eval: "full"}, []any{text("Una."), bad, text("")}, job.Partial, "Una.", "falta la Este", "started round judged round ended"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newJobWorld(t, c.answers...)
			w.service.Log = slog.New(slog.DiscardHandler)
			for i, a := range w.model.answers {
				if a == "look" {
					w.model.answers[i] = calls("look", lookAt(w.Server.ID, "/rooms"))
				}
			}
			j := w.drive(t, w.start(t, "build", c.order).ID)
			m, note := w.last(t), ""
			for _, n := range m.Notes {
				note += n.Text
			}
			if j.Status != c.status || !strings.HasPrefix(j.Output, c.output) || m.Content != j.Output || !strings.Contains(note, c.note) || (note == "") != (c.note == "") {
				t.Errorf("%s %s: %q with %q", j.Status, j.StopReason, j.Output, note)
			}
			if !slices.Equal(j.Notes, m.Notes) {
				t.Errorf("the job has the notes %+v, its message %+v", j.Notes, m.Notes)
			}
			if got := w.events(t, j.ID); got != c.events {
				t.Errorf("%s, want %s", got, c.events)
			}
			if string(m.Status) != string(c.status) && c.status != job.Success || len(w.model.answers) > 0 {
				t.Errorf("the message is %q, and %d answers are left", m.Status, len(w.model.answers))
			}
			for i, r := range w.model.asked {
				if r.Format != nil && (len(r.Tools) > 0 || i == 0) {
					t.Errorf("call %d judges with tools, or judges nothing", i)
				}
			}
		})
	}
}

// TestStoppedEvaluationLeavesTheAnswer: who stops a job while its answer is judged still gets that answer.
func TestStoppedEvaluationLeavesTheAnswer(t *testing.T) {
	w := newJobWorld(t, text("Una."))
	id := w.start(t, "build", job.Order{Eval: agent.EvalBasic}).ID
	if next, err := w.service.Round(t.Context(), fixture.Account, id); next != job.NextRound || err != nil {
		t.Fatal(next, err)
	}
	if _, err := w.jobs.Stop(t.Context(), fixture.Account, id); err != nil {
		t.Fatal(err)
	}
	if j := w.drive(t, id); j.Status != job.Partial || j.StopReason != conversation.StopPerson || j.Output != "Una." || len(w.model.asked) != 1 {
		t.Errorf("%+v after %d calls", j, len(w.model.asked))
	}
}
