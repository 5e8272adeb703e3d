package webui

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	neturl "net/url"
	"slices"
	"strings"
	"time"

	"piloto/internal/conversation"
	"piloto/internal/ground/fault"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/receipt"
	"piloto/internal/runs/rule"
	"piloto/internal/tools/tool"
)

// planOf returns the plan for the words of a message; nil for none.
func planOf(text string, now time.Time) *plan.Plan {
	p := roomPlan(now)
	switch {
	case strings.Contains(text, "eserva"):
	case strings.Contains(text, "orra"):
		p.Goal = "Borrar la reserva vieja"
		p.Steps = p.Steps[:2]
		p.Steps[1].Method, p.Steps[1].Path, p.Steps[1].Body, p.Steps[1].Title = "DELETE", "/reservations/7", nil, "Borrar la vieja"
		p.Steps[1].Risk = plan.Destructive
		p.Steps[1].Ask = &plan.Ask{Reason: "Destruye datos.", Minutes: 60}
	case strings.Contains(text, "duda"):
		p.Goal = "Reservar con duda"
		p.Steps[1].Title = "Reservar con duda"
	case strings.Contains(text, "falla"):
		p.Goal = "Reservar y que falle"
		p.Steps[1].Title = "Reservar y que falle"
	default:
		return nil
	}
	p.Bindings = p.Bindings[:len(p.Steps)]
	if strings.Contains(text, "deshacible") {
		p.Steps[1].Undo = &plan.Undo{Call: plan.Call{MCPID: "rooms", Method: "DELETE", Path: "/reservations/${s2.body.id}"}}
		undo := p.Bindings[1]
		undo.StepID = plan.UndoOf(p.Steps[1].ID)
		p.Bindings = append(p.Bindings, undo)
	}
	return &p
}

// requestOf returns a step's request, with its references resolved, and its hash.
func requestOf(r plan.Run, i int) (url, body, request string) {
	step := r.Plan.Steps[i]
	named := strings.NewReplacer("${s1.body.items[0].id}", "a1", "${s2.body.id}", "r-s2")
	url, body = r.Plan.Bindings[i].BaseURL+named.Replace(step.Path), named.Replace(string(step.Body))
	var query map[string]any
	_ = json.Unmarshal(step.Query, &query)
	values := neturl.Values{}
	for name, v := range query {
		values.Set(name, fmt.Sprint(v))
	}
	if len(values) > 0 {
		url += "?" + values.Encode()
	}
	sum := sha256.Sum256([]byte(step.Method + "\n" + url + "\n" + body))
	return url, body, hex.EncodeToString(sum[:])
}

// tellEvent appends an event whose data it encodes.
func (w *world) tellEvent(r *plan.Run, kind, step string, data map[string]any) {
	text, err := json.Marshal(data)
	if err != nil {
		panic(err)
	}
	w.event(r, kind, step, string(text))
}

// busy reports whether another active run that does not wait holds the chat.
func (w *world) busy(r plan.Run) bool {
	active, ok := w.runs[w.chats[r.ChatID].ActiveRunID]
	return ok && active.ID != r.ID && active.Status.Active() && active.Status != plan.Waiting
}

// free releases the chat that a run holds.
func (w *world) free(r plan.Run) {
	c := w.chats[r.ChatID]
	if c.PendingRunID == r.ID {
		c.PendingRunID = ""
	}
	if c.ActiveRunID == r.ID {
		c.ActiveRunID = ""
	}
	w.chats[c.ID] = c
}

// waits makes a step wait for its approval, and reports whether it does.
func (w *world) waits(r *plan.Run, s *plan.StepState) bool {
	step, _ := r.Plan.Step(s.StepID)
	if step.Ask == nil || s.Approval != nil {
		return false
	}
	s.Status, r.Status = plan.StepWaiting, plan.Waiting
	url, _, request := requestOf(*r, slices.IndexFunc(r.Plan.Steps, func(p plan.Step) bool { return p.ID == s.StepID }))
	s.Approval = &plan.Approval{
		Ask: *step.Ask, Method: step.Method, URL: url, Body: step.Body, Request: request, Token: "s3cret-token",
		AskedAt: w.now(), ExpiresAt: w.now().Add(time.Duration(step.Ask.Minutes) * time.Minute),
	}
	w.tellEvent(r, plan.EventStepAsked, s.StepID.String(), map[string]any{"request": request, "url": url, "method": step.Method, "reason": step.Ask.Reason, "rule": "", "another": step.Ask.Another, "expires_at": s.Approval.ExpiresAt})
	return true
}

// breaks makes a step fail, or lose its response, when its title says so.
func (w *world) breaks(r *plan.Run, s *plan.StepState) bool {
	step, _ := r.Plan.Step(s.StepID)
	switch {
	case r.Retries != "":
		return false // the retry succeeds
	case strings.Contains(step.Title, "duda"):
		s.UpdatedAt = w.now()
		s.Status, s.Error = plan.StepInDoubt, &plan.Failure{Code: "step.in_doubt", Message: "La petición se envió y no llegó respuesta."}
		w.tellEvent(r, plan.EventStepDoubt, s.StepID.String(), map[string]any{"error": s.Error})
		w.finish(r, plan.InDoubt)
	case strings.Contains(step.Title, "falle"):
		s.Status, s.Error = plan.StepFailed, &plan.Failure{Code: "step.rejected", Message: "El servicio respondió 500."}
		w.tellEvent(r, plan.EventStepFailed, s.StepID.String(), map[string]any{"error": s.Error})
		w.finish(r, plan.Failed)
	default:
		return false
	}
	return true
}

// decisionRoutes adds the routes of decisions about a plan.
func (w *world) decisionRoutes(locked lockedRoute) {
	locked("PATCH /api/runs/{id}/plan", w.revise)
	locked("POST /api/runs/{id}/approve", w.approveStep)
	locked("POST /api/runs/{id}/settle", w.resolveStep)
	locked("POST /api/runs/{id}/retry", w.retryRun)
	locked("POST /api/runs/{id}/undo", w.undoRun)
	locked("GET /api/rules", func(rw http.ResponseWriter, _ *http.Request, _ map[string]any) { tell(rw, 200, w.rules) })
	locked("PUT /api/rules", w.setRules)
	locked("GET /api/runs/{id}/receipt", func(rw http.ResponseWriter, r *http.Request, _ map[string]any) {
		run := w.runs[r.PathValue("id")]
		tell(rw, 200, receipt.New(run, w.planned[run.ID], w.events[run.ID]))
	})
	locked("PUT /api/mcps/{id}/reads", func(rw http.ResponseWriter, r *http.Request, body map[string]any) {
		s := w.servers[r.PathValue("id")]
		mode, _ := body["mode"].(string)
		s.Reads.Mode = tool.ReadMode(mode)
		s.Reads.Zone, _ = body["circle"].(string)
		w.servers[s.ID] = s
		tell(rw, 200, map[string]any{"mcp_id": s.ID})
	})
}

// refuseFields writes a 422 with fields.
func refuseFields(rw http.ResponseWriter, code string, fields []fault.Field) {
	rw.Header().Set("Content-Type", "application/problem+json")
	rw.WriteHeader(422)
	_ = json.NewEncoder(rw).Encode(map[string]any{"title": "No es válido", "status": 422, "code": code, "errors": fields})
}

func (w *world) revise(rw http.ResponseWriter, r *http.Request, body map[string]any) {
	run, ok := w.runs[r.PathValue("id")]
	switch {
	case !ok:
		refuse(rw, 404, "run.not_found", "No existe.")
		return
	case run.Status != plan.Draft:
		refuse(rw, 409, "plan.not_pending", "El plan ya no está pendiente.")
		return
	case body["digest"] != string(run.Digest):
		refuse(rw, 409, "plan.stale", "El plan ha cambiado.")
		return
	}
	var p plan.Proposal
	if err := json.Unmarshal(w.lastBody, &p); err != nil {
		refuse(rw, 400, "malformed", err.Error())
		return
	}
	steps, wrong := plan.Arrange(p)
	for i, s := range steps {
		if strings.Contains(string(s.Body), `"people":0`) {
			wrong = append(wrong, fault.Field{Loc: []any{"body", "steps", i, "body", "people"}, Type: "greater_than_equal", Msg: "minimum 1"})
		}
	}
	if len(wrong) > 0 {
		refuseFields(rw, "plan.invalid", wrong)
		return
	}
	next := run.Plan
	next.Revision, next.Replaces, next.Steps = run.Plan.Revision+1, run.Digest, steps
	if p.Goal != "" {
		next.Goal = p.Goal
	}
	next.Bindings = nil
	for _, s := range steps {
		next.Bindings = append(next.Bindings, plan.Binding{StepID: s.ID, MCPID: s.MCPID, ServerName: "Salas de demostración", BaseURL: roomsURL, Template: templateOf(s.Path), Fingerprint: "f"})
	}
	run.Plan = next
	before := run.Digest
	run.Digest, _ = next.Digest()
	run.Steps = nil
	for _, s := range steps {
		run.Steps = append(run.Steps, plan.StepState{StepID: s.ID, Status: plan.StepPending})
	}
	w.tellEvent(&run, plan.EventRevised, "", map[string]any{"by": "ana", "before": before, "digest": run.Digest, "revision": next.Revision})
	told := w.events[run.ID]
	w.planned[run.ID] = append(w.planned[run.ID], plan.Revision{Plan: next, Digest: run.Digest, By: "ana", At: told[len(told)-1].At})
	w.runs[run.ID] = run
	tell(rw, 200, map[string]any{"run_id": run.ID, "revision": next.Revision, "digest": run.Digest})
}

// stepOfRun returns the state of a step; nil, and a refusal, when there is none.
func (w *world) stepOfRun(rw http.ResponseWriter, r *http.Request, body map[string]any) (plan.Run, *plan.StepState) {
	run, ok := w.runs[r.PathValue("id")]
	if !ok {
		refuse(rw, 404, "run.not_found", "No existe.")
		return run, nil
	}
	run.Steps = slices.Clone(run.Steps)
	for i := range run.Steps {
		if run.Steps[i].StepID.String() == body["step_id"] {
			return run, &run.Steps[i]
		}
	}
	refuse(rw, 404, "step.not_found", "No existe.")
	return run, nil
}

func (w *world) approveStep(rw http.ResponseWriter, r *http.Request, body map[string]any) {
	run, s := w.stepOfRun(rw, r, body)
	switch {
	case s == nil:
		return
	case run.Status != plan.Waiting || s.Status != plan.StepWaiting || s.Approval.Decision != "":
		refuse(rw, 409, "approval.not_waiting", "Ese paso ya no espera.")
		return
	case body["digest"] != nil && body["digest"] != string(run.Digest):
		refuse(rw, 409, "plan.stale", "El plan ha cambiado.")
		return
	case !s.Approval.Open(w.now()):
		refuse(rw, 410, "approval.expired", "La aprobación caducó.")
		return
	case s.Approval.Another && run.Confirmer == "ana":
		refuse(rw, 403, "approval.self", "No puedes aprobar lo que confirmaste.")
		return
	}
	approval := *s.Approval
	approval.By, approval.At = "ana", w.now()
	approval.Note, _ = body["note"].(string)
	s.Approval = &approval
	if body["decision"] == "refuse" {
		approval.Decision = plan.Refused
		s.Status, s.Error = plan.StepFailed, &plan.Failure{Code: "step.refused", Message: "No se aprobó."}
		w.tellEvent(&run, plan.EventStepRefused, s.StepID.String(), map[string]any{"by": "ana", "note": approval.Note, "request": approval.Request})
		w.finish(&run, plan.Failed)
	} else {
		approval.Decision = plan.Approved
		s.Status, run.Status = plan.StepPending, plan.Running
		w.tellEvent(&run, plan.EventStepApproved, s.StepID.String(), map[string]any{"by": "ana", "note": approval.Note, "request": approval.Request})
	}
	w.runs[run.ID] = run
	tell(rw, 200, map[string]any{"run": map[string]any{"run_id": run.ID, "status": run.Status}})
}

func (w *world) resolveStep(rw http.ResponseWriter, r *http.Request, body map[string]any) {
	run, s := w.stepOfRun(rw, r, body)
	if s == nil {
		return
	}
	outcome, _ := body["outcome"].(string)
	if !run.Status.Terminal() || s.Status != plan.StepInDoubt || s.Resolved != nil {
		refuse(rw, 409, "step.not_in_doubt", "Ese paso no está en duda.")
		return
	}
	note, _ := body["note"].(string)
	s.Resolved = &plan.Resolution{Outcome: plan.Outcome(outcome), By: "ana", Note: note, At: w.now()}
	w.tellEvent(&run, plan.EventStepResolved, s.StepID.String(), map[string]any{"by": "ana", "outcome": outcome, "note": note})
	w.runs[run.ID] = run
	if outcome == string(plan.OutcomeRetry) {
		run = w.again(run)
	}
	tell(rw, 200, map[string]any{"run": map[string]any{"run_id": run.ID, "status": run.Status}})
}

func (w *world) retryRun(rw http.ResponseWriter, r *http.Request, _ map[string]any) {
	run, ok := w.runs[r.PathValue("id")]
	open := slices.ContainsFunc(run.Steps, func(s plan.StepState) bool { return s.Status == plan.StepInDoubt && s.Resolved == nil })
	switch {
	case !ok:
		refuse(rw, 404, "run.not_found", "No existe.")
	case !run.Status.Terminal() || run.Status == plan.Done || open:
		refuse(rw, 409, "run.nothing_to_retry", "No queda nada por reintentar.")
	default:
		next := w.again(run)
		tell(rw, 201, map[string]any{"run": map[string]any{"run_id": next.ID, "status": next.Status}})
	}
}

// again proposes a run that continues another one: its results are reused.
func (w *world) again(old plan.Run) plan.Run {
	p := old.Plan
	p.Revision, p.Replaces, p.ExpiresAt = p.Revision+1, old.Digest, w.now().Add(24*time.Hour).Truncate(time.Second)
	p.Reuse = &plan.Reuse{RunID: old.ID}
	for _, s := range old.Steps {
		if s.Status == plan.StepDone {
			p.Reuse.Steps = append(p.Reuse.Steps, s.StepID)
		}
	}
	next := w.propose(old.ChatID, p)
	next.Retries = old.ID
	for i, s := range old.Steps {
		if s.Status == plan.StepDone {
			s.Reused = old.ID
			next.Steps[i] = s
		}
	}
	w.runs[next.ID] = next
	w.event(&old, plan.EventRetried, "", `{"run_id":"`+next.ID+`"}`)
	w.runs[old.ID] = old
	return next
}

func (w *world) setRules(rw http.ResponseWriter, _ *http.Request, _ map[string]any) {
	var sent struct {
		Version int
		Rules   []rule.Rule
	}
	if err := json.Unmarshal(w.lastBody, &sent); err != nil {
		refuse(rw, 400, "malformed", err.Error())
		return
	}
	if sent.Version != w.rules.Version {
		refuse(rw, 409, "rules.moved", "Alguien las cambió entretanto.")
		return
	}
	for i := range sent.Rules {
		if sent.Rules[i].ID == "" {
			sent.Rules[i].ID = w.ids.New(w.now())
		}
	}
	set := rule.Set{Rules: sent.Rules, Version: sent.Version + 1, By: "ana", UpdatedAt: w.now()}
	if wrong := set.Check(); len(wrong) > 0 {
		refuseFields(rw, "rules.invalid", wrong)
		return
	}
	w.rules = set
	tell(rw, 200, map[string]any{"version": set.Version, "rules": set.Rules})
}

// waitingChat adds a chat with a waiting run.
func (w *world) waitingChat() plan.Run {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := waitingRun()
	r.ID, r.ChatID = w.ids.New(w.now()), "c1"
	w.chats["c1"] = conversation.Chat{ID: "c1", Title: "Salas", ActiveRunID: r.ID, UpdatedAt: w.now()}
	w.runs[r.ID] = r
	w.say("c1", conversation.RoleAssistant, conversation.KindPlan, r.ID, "Plan propuesto")
	return r
}
