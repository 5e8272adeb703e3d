package webui

import (
	"encoding/json"
	"net/http"
	"strconv"

	"piloto/internal/conversation"
	"piloto/internal/ground/locale"
	"piloto/internal/runs/plan"
)

func (w *world) more(rw http.ResponseWriter, r *http.Request, _ map[string]any) {
	run, ok := w.runs[r.PathValue("id")]
	if !ok {
		refuse(rw, 404, "run.not_found", "No existe.")
		return
	}
	for range 2 {
		if !w.held && run.Status.Active() && run.Status != plan.Waiting {
			w.advance(&run)
		}
	}
	w.runs[run.ID] = run
	after, _ := strconv.Atoi(r.URL.Query().Get("after"))
	events := w.events[run.ID]
	tell(rw, 200, map[string]any{"events": append([]plan.Event{}, events[min(after, len(events)):]...)})
}

// advance advances a run by one event.
func (w *world) advance(r *plan.Run) {
	if r.Status == plan.Queued {
		r.Status = plan.Running
		w.event(r, plan.EventStarted, "", "{}")
		return
	}
	for i := range r.Steps {
		s := &r.Steps[i]
		switch s.Status {
		case plan.StepPending:
			if w.waits(r, s) {
				return
			}
			s.Status, s.Attempts = plan.StepRunning, 1
			url, body, request := requestOf(*r, i)
			s.Last = plan.Attempt{Number: 1, URL: url, Body: json.RawMessage(body), SentAt: w.now()}
			w.tellEvent(r, plan.EventStepStart, s.StepID.String(), map[string]any{"attempt": 1, "method": r.Plan.Steps[i].Method, "url": url, "request": request, "title": r.Plan.Steps[i].Title})
			return
		case plan.StepRunning:
			if w.breaks(r, s) {
				return
			}
			s.Status = plan.StepDone
			s.Result = &plan.Result{Status: 200, Body: json.RawMessage(`{"id":"r-` + s.StepID.String() + `","ok":true}`), Bytes: 24}
			w.event(r, plan.EventStepDone, s.StepID.String(), `{"status":200,"bytes":24,"sha256":"ab12"}`)
			return
		}
	}
	w.finish(r, plan.Done)
}

// finish ends a run: steps that have not begun are cancelled.
func (w *world) finish(r *plan.Run, status plan.Status) {
	r.Status = status
	for i := range r.Steps {
		switch s := &r.Steps[i]; s.Status {
		case plan.StepPending, plan.StepWaiting:
			s.Status = plan.StepCancelled
		}
	}
	w.event(r, plan.EventFinished, "", `{"status":"`+string(status)+`"}`)
	w.free(*r)
	c := w.chats[r.ChatID]
	c.LastRunID, c.LastRunStatus = r.ID, string(status)
	w.chats[c.ID] = c
	w.say(r.ChatID, conversation.RoleSystem, conversation.KindFinal, r.ID, locale.Text("es", "run.finished_"+string(status), "goal", r.Plan.Goal, "steps", "", "reason", ""))
}
