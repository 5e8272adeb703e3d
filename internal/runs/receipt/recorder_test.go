package receipt

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"testing"
	"time"

	"piloto/internal/ground/ref"
	"piloto/internal/runs/plan"
)

// recorder records a run as the service does: event by event, together with its state.
type recorder struct {
	t         *testing.T
	at        time.Time
	run       plan.Run
	revisions []plan.Revision
	events    []plan.Event
}

type data map[string]any

const base = "http://salas.example/api"

// examplePlan lists rooms, books each, deletes an old booking (which needs an approval) and calls a
// tool to send a message.
func examplePlan() plan.Plan {
	when := ref.Condition{Value: "${s1.body.total}", Is: ref.More, To: json.RawMessage("0")}
	return plan.Plan{
		ID: "01PLAN", Revision: 1, Goal: "Reservar", ExpiresAt: time.Date(2026, 3, 1, 11, 0, 0, 0, time.UTC),
		Steps: []plan.Step{
			{ID: plan.EffectOf("s1"), Title: "Salas", MCPID: "m", Method: "GET", Path: "/rooms", Query: json.RawMessage(`{"seats":6,"who":"ana & luis"}`), Needs: []string{}, Risk: plan.Read},
			{
				ID: plan.EffectOf("s2"), Title: "Reservar", MCPID: "m", Method: "POST", Path: "/rooms/${item.id}/bookings", Body: json.RawMessage(`{"date":"2026-03-10"}`),
				Needs: []string{"s1"}, Risk: plan.Write, ForEach: "${s1.body.items}", When: &when,
				Undo: &plan.Undo{Call: plan.Call{MCPID: "m", Method: "DELETE", Path: "/bookings/${s2.body.id}"}},
			},
			{ID: plan.EffectOf("s3"), Title: "Borrar", MCPID: "m", Method: "DELETE", Path: "/bookings/7", Needs: []string{"s2"}, Risk: plan.Destructive, Ask: &plan.Ask{Reason: "destruye", Minutes: 60}},
			{ID: plan.EffectOf("s4"), Title: "Avisar", MCPID: "n", Tool: "notify", Body: json.RawMessage(`{"text":"ya"}`), Needs: []string{"s3"}, Risk: plan.Write},
		},
		Bindings: []plan.Binding{
			{StepID: plan.EffectOf("s1"), MCPID: "m", ServerName: "Salas", BaseURL: base, Template: "/rooms", Fingerprint: "f1", Query: "seats=6&who=ana%20%26%20luis"},
			{StepID: plan.EffectOf("s2"), MCPID: "m", ServerName: "Salas", BaseURL: base, Template: "/rooms/{id}/bookings", Fingerprint: "f2"},
			{StepID: plan.ParseEffect("undo:s2"), MCPID: "m", ServerName: "Salas", BaseURL: base, Template: "/bookings/{id}", Fingerprint: "f3"},
			{StepID: plan.EffectOf("s3"), MCPID: "m", ServerName: "Salas", BaseURL: base, Template: "/bookings/{id}", Fingerprint: "f3"},
			{StepID: plan.EffectOf("s4"), MCPID: "n", ServerName: "Avisos", BaseURL: "http://avisos.example/mcp", Fingerprint: "f4"},
		},
	}
}

func begin(t *testing.T, p plan.Plan) *recorder {
	t.Helper()
	s := &recorder{t: t, at: time.Date(2026, 3, 1, 10, 0, 0, 123e6, time.UTC)}
	s.run = plan.Run{ID: "01RUN", Account: "acme", ChatID: "01CHAT", User: "ana", Plan: p, Digest: digest(t, p), Status: plan.Draft}
	for _, step := range p.Steps {
		s.run.Steps = append(s.run.Steps, plan.StepState{StepID: step.ID, Status: plan.StepPending})
	}
	s.add("", plan.EventProposed, data{"digest": s.run.Digest, "goal": p.Goal, "model": "modelo", "by": "ana", "run_id": "01RUN", "chat_id": "01CHAT"})
	s.revisions = append(s.revisions, plan.Revision{Plan: p, Digest: s.run.Digest, By: "ana", Model: "modelo", At: s.at})
	return s
}

func digest(t *testing.T, p plan.Plan) plan.Digest {
	t.Helper()
	d, err := p.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func (s *recorder) add(stepID, kind string, d data) {
	s.t.Helper()
	s.at = s.at.Add(time.Second)
	raw, err := json.Marshal(d)
	if err != nil {
		s.t.Fatal(err)
	}
	e, err := plan.Event{Seq: len(s.events) + 1, At: s.at, Type: kind, StepID: plan.ParseEffect(stepID), Data: raw}.Chained(s.run.Chain)
	if err != nil {
		s.t.Fatal(err)
	}
	s.events, s.run.Chain, s.run.EventSeq = append(s.events, e), e.Hash, e.Seq
}

func (s *recorder) revise(f func(*plan.Plan)) {
	p := examplePlan()
	f(&p)
	p.Revision, p.Replaces = s.run.Plan.Revision+1, s.run.Digest
	before := s.run.Digest
	s.run.Plan, s.run.Digest = p, digest(s.t, p)
	s.add("", plan.EventRevised, data{"digest": s.run.Digest, "before": before, "revision": p.Revision, "by": "luis"})
	s.revisions = append(s.revisions, plan.Revision{Plan: p, Digest: s.run.Digest, By: "luis", At: s.at})
}

func (s *recorder) confirm() {
	s.run.Status, s.run.Confirmer = plan.Queued, "ana"
	s.add("", plan.EventConfirmed, data{"by": "ana", "digest": s.run.Digest})
	s.run.Status = plan.Running
	s.add("", plan.EventStarted, data{"goal": s.run.Plan.Goal})
}

func (s *recorder) state(id string, status plan.StepStatus) {
	for i := range s.run.Steps {
		if s.run.Steps[i].StepID.String() == id {
			s.run.Steps[i].Status = status
			return
		}
	}
	s.run.Steps = append(s.run.Steps, plan.StepState{StepID: plan.ParseEffect(id), Status: status})
}

// request returns the data of an effect's request, with its hash.
func (s *recorder) request(id, url, body string) data {
	step, ok := s.run.Plan.Step(plan.ParseEffect(id))
	if !ok {
		s.t.Fatal(id)
	}
	d := data{"method": step.Method, "url": url}
	named := step.Method
	if step.Tool != "" {
		named, d["tool"] = step.Tool, step.Tool
	}
	sum := sha256.Sum256([]byte(named + "\n" + url + "\n" + body))
	d["request"] = hex.EncodeToString(sum[:])
	return d
}

func (s *recorder) send(id string, attempt int, url, body string) {
	d := s.request(id, url, body)
	d["attempt"], d["title"] = attempt, "t"
	kind := plan.EventStepStart
	if attempt > 1 {
		kind = plan.EventStepRetry
	}
	s.add(id, kind, d)
	s.state(id, plan.StepRunning)
}

func (s *recorder) finishStep(id string, status int) {
	s.add(id, plan.EventStepDone, data{"status": status, "bytes": 12, "sha256": "ab12"})
	s.state(id, plan.StepDone)
}

func (s *recorder) endStep(id, kind string, status plan.StepStatus, code string) {
	s.add(id, kind, data{"error": plan.Failure{Code: code, Message: "m"}})
	s.state(id, status)
}

func (s *recorder) ask(id, url string) {
	d := s.request(id, url, "")
	d["reason"], d["rule"], d["another"], d["expires_at"] = "destruye", "r1", true, s.at.Add(time.Hour)
	s.askWith(id, d)
}

func (s *recorder) askWith(id string, d data) {
	s.add(id, plan.EventStepAsked, d)
	s.state(id, plan.StepWaiting)
	s.run.Status = plan.Waiting
}

func (s *recorder) decide(id, kind, url, by string) {
	s.add(id, kind, data{"by": by, "note": "vale", "request": s.request(id, url, "")["request"]})
	s.state(id, plan.StepPending)
	s.run.Status = plan.Running
}

func (s *recorder) finish(status plan.Status) {
	closed := map[plan.StepStatus][]string{}
	for i, st := range s.run.Steps {
		if st.Status.Terminal() {
			continue
		}
		to := plan.StepCancelled
		if st.Status == plan.StepRunning {
			to = plan.StepFailed
		}
		s.run.Steps[i].Status = to
		closed[to] = append(closed[to], st.StepID.String())
	}
	s.add("", plan.EventFinished, data{"status": status, "done": 1, "closed": closed})
	s.run.Status = status
}

func (s *recorder) receipt() Receipt { return New(s.run, s.revisions, s.events) }

const (
	rooms = base + "/rooms?seats=6&who=ana%20%26%20luis"
	room  = base + "/rooms/"
	old   = base + "/bookings/7"
	tell  = "http://avisos.example/mcp"
	date  = `{"date":"2026-03-10"}`
)

// exampleReceipts returns the receipts of all kinds of runs.
func exampleReceipts(t *testing.T) map[string]Receipt {
	t.Helper()
	all := map[string]Receipt{}
	s := begin(t, examplePlan())
	all["draft"] = s.receipt()
	s.revise(func(p *plan.Plan) { p.Goal = "Reservar el martes" })
	s.confirm()
	s.send("s1", 1, rooms, "")
	all["going"] = s.receipt()
	s.endStep("s1", plan.EventStepWait, plan.StepRunning, "step.transient")
	s.send("s1", 2, rooms, "")
	s.finishStep("s1", 200)
	s.add("s2", plan.EventStepExpanded, data{"items": 2})
	s.state("s2", plan.StepRunning)
	s.send("s2[0]", 1, room+"a%2Fb/bookings", date)
	s.finishStep("s2[0]", 201)
	s.send("s2[1]", 1, room+"9/bookings", date)
	branch := *s
	branch.run.Steps = append([]plan.StepState{}, s.run.Steps...)
	s.finishStep("s2[1]", 201)
	s.finishStep("s2", 200)
	s.ask("s3", old)
	all["waiting"] = s.receipt()
	s.decide("s3", plan.EventStepApproved, old, "luis")
	s.send("s3", 1, old, "")
	s.finishStep("s3", 204)
	s.send("s4", 1, tell, `{"text":"ya"}`)
	s.finishStep("s4", 200)
	s.finish(plan.Done)
	all["done"] = s.receipt()

	undone := branch
	undone.run.Steps = append([]plan.StepState{}, branch.run.Steps...)
	undone.events = append([]plan.Event{}, branch.events...)
	undone.endStep("s2[1]", plan.EventStepFailed, plan.StepFailed, "step.rejected")
	undone.endStep("s2", plan.EventStepFailed, plan.StepFailed, "step.elements_failed")
	undone.add("", plan.EventUndoing, data{"undos": []string{"undo:s2[0]"}})
	undone.send("undo:s2[0]", 1, base+"/bookings/31", "")
	undone.finishStep("undo:s2[0]", 204)
	undone.finish(plan.Failed)
	all["undone"] = undone.receipt()

	doubt := branch
	doubt.run.Steps = append([]plan.StepState{}, branch.run.Steps...)
	doubt.events = append([]plan.Event{}, branch.events...)
	doubt.endStep("s2[1]", plan.EventStepDoubt, plan.StepInDoubt, "step.in_doubt")
	doubt.endStep("s2", plan.EventStepDoubt, plan.StepInDoubt, "step.elements_in_doubt")
	doubt.finish(plan.InDoubt)
	doubt.add("s2[1]", plan.EventStepResolved, data{"by": "eva", "outcome": plan.OutcomeNotDone, "note": "no está"})
	doubt.add("", plan.EventRetried, data{"run_id": "01NEXT", "by": "eva"})
	all["in doubt"] = doubt.receipt()

	p := examplePlan()
	p.Revision, p.Replaces, p.Reuse = 3, doubt.run.Digest, &plan.Reuse{RunID: "01RUN", Steps: []plan.EffectID{plan.EffectOf("s1")}}
	again := begin(t, p)
	again.state("s1", plan.StepDone)
	again.confirm()
	again.add("s2", plan.EventStepSkipped, data{"because": "no se cumple"})
	again.state("s2", plan.StepSkipped)
	again.ask("s3", old)
	again.decide("s3", plan.EventStepRefused, old, "luis")
	again.endStep("s3", plan.EventStepFailed, plan.StepFailed, "step.refused")
	again.finish(plan.Failed)
	all["refused"] = again.receipt()

	p = examplePlan()
	p.Steps[1].Ask, p.Steps[1].Verify = &plan.Ask{Reason: "caro", Minutes: 5}, &plan.Check{Call: plan.Call{MCPID: "m", Method: "GET", Path: "/bookings"}}
	each := begin(t, p)
	each.confirm()
	each.send("s1", 1, rooms, "")
	each.finishStep("s1", 200)
	first, second := each.request("s2[0]", room+"1/bookings", date), each.request("s2[1]", room+"2/bookings", date)
	each.askWith("s2", data{
		"method": "POST", "url": room + "${item.id}/bookings", "request": "of both", "reason": "caro", "expires_at": each.at.Add(time.Hour),
		"requests": []any{first["request"], second["request"]},
	})
	each.add("s2", plan.EventStepApproved, data{"by": "luis", "note": "", "request": "of both"})
	each.state("s2", plan.StepPending)
	each.run.Status = plan.Running
	all["approved"] = each.receipt()
	each.add("s2", plan.EventStepExpanded, data{"items": 2})
	each.state("s2", plan.StepRunning)
	each.send("s2[0]", 1, room+"1/bookings", date)
	each.add("s2[0]", plan.EventStepWait, data{"error": plan.Failure{Code: "step.in_doubt"}})
	each.add("s2[0]", plan.EventStepChecked, data{"held": false, "check": 1, "status": 404})
	each.add("s2[0]", plan.EventStepChecked, data{"held": true, "check": 2, "status": 200})
	each.state("s2[0]", plan.StepDone)
	each.send("s2[1]", 1, room+"2/bookings", date)
	each.add("s2[1]", plan.EventStepWait, data{"error": plan.Failure{Code: "step.in_doubt"}})
	each.endStep("s2[1]", plan.EventStepFailed, plan.StepFailed, "step.not_done")
	each.finish(plan.Failed)
	all["checked"] = each.receipt()

	command := begin(t, examplePlan())
	command.confirm()
	command.send("s1", 1, rooms, "")
	command.endStep("s1", plan.EventStepWait, plan.StepRunning, "step.rejected")
	command.add("s1", plan.EventStepReasoned, data{"was": "ls", "now": "ls -a", "because": "hidden"})
	command.send("s1", 2, rooms, "")
	command.finishStep("s1", 200)
	command.finish(plan.Cancelled)
	all["replaced"] = command.receipt()

	gone := begin(t, examplePlan())
	gone.add("", plan.EventCancelled, data{"by": "ana", "reason": "mejor no"})
	gone.run.Status = plan.Cancelled
	all["rejected"] = gone.receipt()
	return all
}
