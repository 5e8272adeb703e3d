package turn_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"piloto/infra/local/fixture"
	"piloto/internal/chats/job"
	"piloto/internal/models/llm"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/rule"
	"piloto/internal/runs/run"
	"piloto/internal/runs/step"
)

// askFirst has each reservation wait for an approval.
func askFirst(t *testing.T, w *world) {
	t.Helper()
	set := rule.Set{Rules: []rule.Rule{{ID: "r1", Effect: rule.Ask, Path: "/bookings", Reason: "Se mira antes."}}}
	if err := w.Store.Runs.SetRules(t.Context(), fixture.Account, 0, set); err != nil {
		t.Fatal(err)
	}
}

// refuseStep confirms a plan, executes it up to a step that waits, and refuses that.
func refuseStep(t *testing.T, w *world, r *plan.Run, id, note string) {
	t.Helper()
	decideStep(t, w, r, id, note, true)
}

// approveStep does the same, and approves it.
func approveStep(t *testing.T, w *world, r *plan.Run, id string) {
	t.Helper()
	decideStep(t, w, r, id, "", false)
}

func decideStep(t *testing.T, w *world, r *plan.Run, id, note string, refuse bool) {
	t.Helper()
	if r == nil {
		t.Fatal("nothing was proposed")
	}
	if err := w.Confirm(*r); err != nil {
		t.Fatal(err)
	}
	w.Execute(r.ID)
	if err := w.Steps.Await(t.Context(), step.Task{Account: fixture.Account, RunID: r.ID, StepID: plan.ParseEffect(id)}, "token"); err != nil {
		t.Fatal(err)
	}
	asked := w.Read(r.ID).State(plan.ParseEffect(id)).Approval
	if asked == nil {
		t.Fatalf("%s does not wait: %+v", id, w.Read(r.ID).Steps)
	}
	if _, err := w.Runs.Approve(t.Context(), run.Approval{Account: fixture.Account, User: "ana", RunID: r.ID, Request: asked.Request, Refuse: refuse, Note: note}); err != nil {
		t.Fatal(err)
	}
	w.Execute(r.ID)
	w.Pass(time.Minute)
}

// TestAStepRefusedAtItsApprovalIsNotShownAgain: alone, beside other steps, with the value in the place of its reference, and however
// the plan around it is; until the person asks for it.
func TestAStepRefusedAtItsApprovalIsNotShownAgain(t *testing.T) {
	two := `{"goal":"Anula","steps":[{"id":"s1","title":"Mira","mcp_id":"M","method":"GET","path":"/rooms"},{"id":"s2","title":"Anula","mcp_id":"M","method":"DELETE","path":"/bookings/${s1.body.id}"}]}`
	for name, c := range map[string]struct {
		says, again string
		shown       bool
	}{
		"the same plan":      {"hola", two, false},
		"with other names":   {"hola", strings.NewReplacer("s1", "leer", "s2", "quitar", "Anula", "Un favor").Replace(two), false},
		"its value":          {"hola", `{"goal":"g","steps":[{"id":"a","title":"t","mcp_id":"M","method":"DELETE","path":"/bookings/r-1"}]}`, false},
		"its value, escaped": {"hola", `{"goal":"g","steps":[{"id":"a","title":"t","mcp_id":"M","method":"DELETE","path":"/bookings/r%2D1"}]}`, false},
		"beside another":     {"hola", `{"goal":"g","steps":[{"id":"a","title":"t","mcp_id":"M","method":"POST","path":"/bookings","body":{"room":"n1"}},{"id":"b","title":"t","mcp_id":"M","method":"DELETE","path":"/bookings/r-1"}]}`, false},
		"under a condition":  {"hola", `{"goal":"g","steps":[{"id":"a","title":"t","mcp_id":"M","method":"GET","path":"/rooms"},{"id":"b","title":"t","mcp_id":"M","method":"DELETE","path":"/bookings/r-1","when":{"value":"${a.status}","is":"equal","to":200}}]}`, false},
		"after another read": {"hola", strings.Replace(two, `"steps":[`, `"steps":[{"id":"s0","title":"Otra","mcp_id":"M","method":"GET","path":"/bookings/7"},`, 1), false},
		"another thing":      {"hola", `{"goal":"g","steps":[{"id":"a","title":"t","mcp_id":"M","method":"DELETE","path":"/bookings/r-2"}]}`, true},
		"asked for again":    {"ahora sí, anula la reserva", two, true},
		"refused again":      {"no la anules", two, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			propose := func(text string) llm.Reply {
				return calls("propose_plan", strings.ReplaceAll(text, `"M"`, `"`+w.Server.ID+`"`))
			}
			w.model.answers = []any{propose(two)}
			refuseStep(t, w, w.send(t, "anula la reserva de la primera sala").Run, "s2", "es la de Berta")
			w.model.answers = []any{propose(c.again), text("vale")}
			if reply := w.send(t, c.says); (reply.Run != nil) != c.shown {
				t.Errorf("shown: %v, %+v; the model was told %s", reply.Run != nil, reply.Message, w.model.lastTool())
			}
			if told := w.model.lastTool(); !c.shown && !strings.Contains(told, "refused, because es la de Berta") {
				t.Errorf("the model is told %s", told)
			}
		})
	}
}

// TestAJobRemembersARefusedStep: the job whose step was refused, and a later one.
func TestAJobRemembersARefusedStep(t *testing.T) {
	w := newJobWorld(t)
	w.Store.Runs.Jobs = w.jobs
	askFirst(t, w.world)
	propose := calls("mcp_request", w.request("POST", "/bookings", `,"body":{"room":"n1"}`))
	w.model.answers = []any{propose, propose, text("No lo quieres.")}
	j := w.drive(t, w.start(t, "build", job.Order{}).ID)
	r := w.Read(j.RunID)
	refuseStep(t, w.world, &r, "s1", "no quiero salas")
	if j = w.drive(t, j.ID); j.Status != job.Partial || j.Output != "No lo quieres." {
		t.Fatalf("%+v", j)
	}
	if told := w.model.lastTool(); !strings.Contains(told, "refused, because no quiero salas") {
		t.Errorf("the model is told %s", told)
	}
	if pending := w.ChatNow().PendingRunID; pending != "" {
		t.Errorf("a card waits: %s", pending)
	}
}

// TestRulesJudgeHeaders: when a plan is proposed, and with the value of a reference before it is sent.
func TestRulesJudgeHeaders(t *testing.T) {
	for name, c := range map[string]struct {
		headers string
		status  plan.Status // "": it is not proposed
	}{
		"a value": {`{"If-Match":"7"}`, ""}, "one that is allowed": {`{"If-Match":"5"}`, plan.Done}, "a reference": {`{"If-Match":"${s1.headers.ETag}"}`, plan.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			w, s := newConditionalWorld(t)
			set := rule.Set{Rules: []rule.Rule{{ID: "r1", Effect: rule.Deny, Over: &rule.Over{At: "headers.if-match", Most: "6"}, Reason: "Demasiado."}}}
			if err := w.Store.Runs.SetRules(t.Context(), fixture.Account, 0, set); err != nil {
				t.Fatal(err)
			}
			server, _ := json.Marshal(s.ID)
			w.model.answers = []any{calls("propose_plan", `{"goal":"g","steps":[{"id":"s1","title":"lee","mcp_id":`+string(server)+`,"method":"GET","path":"/o"},{"id":"s2","title":"c","mcp_id":`+string(server)+`,"method":"PUT","path":"/o","body":{"t":"x"},"headers":`+c.headers+`}]}`), text("no puedo")}
			reply := w.send(t, "cambia la cosa")
			if (reply.Run == nil) != (c.status == "") {
				t.Fatalf("%+v, %s", reply.Message, w.model.lastTool())
			}
			if reply.Run == nil {
				return
			}
			if err := w.Confirm(*reply.Run); err != nil {
				t.Fatal(err)
			}
			w.Execute(reply.Run.ID)
			if r := w.Read(reply.Run.ID); r.Status != c.status || c.status == plan.Failed && len(w.Requests()) != 1 {
				t.Errorf("%s: %+v", r.Status, w.Requests())
			}
		})
	}
}
