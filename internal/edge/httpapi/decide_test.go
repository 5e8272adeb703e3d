package httpapi_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"piloto/infra/local/fixture"
	"piloto/internal/access/auth"
	"piloto/internal/chats/turn"
	"piloto/internal/edge/httpapi"
	"piloto/internal/ground/locale"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/receipt"
	"piloto/internal/tools/tool"
)

// bench is the handlers over the real services and a real table.
type bench struct {
	*fixture.World
	t        *testing.T
	handlers map[httpapi.Function]http.Handler
}

func newBench(t *testing.T) bench {
	w := fixture.NewWorld(t)
	c := httpapi.Config{Now: w.Clock, NewID: w.IDs.New, Trace: func(context.Context) string { return "trace-1" }, Rules: w.Store.Runs}
	turns := &turn.Service{
		Chats: w.Store.Chats, Answers: w.Store.Chats, Drafts: w.Store.Chats, Plans: w.Store.Runs, Servers: w.Store.Registry, Setups: w.Store.Setups,
		Runs: w.Runs, IDs: w.IDs, Now: w.Clock, DraftLife: time.Hour,
	}
	return bench{w, t, map[httpapi.Function]http.Handler{
		httpapi.FunctionChat: httpapi.Chat(c, turns, w.Runs), httpapi.FunctionConfirm: httpapi.Confirm(c, w.Runs), httpapi.FunctionRecords: httpapi.Records(c, httpapi.Stores{
			Projects: w.Store.Chats, Servers: w.Store.Registry, Chats: w.Store.Chats, Loops: w.Store.Registry, Runs: w.Store.Runs, Receipts: w.Store.Receipts,
		}, nil, nil),
		httpapi.FunctionRegistry: httpapi.Registry(c, nil, nil),
	}}
}

// do sends a request of a user of the account, and checks its status and code.
func (b bench) do(user, method, path, body string, status int, code string) map[string]any {
	b.t.Helper()
	w := b.send(user, method, path, body)
	var got map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		b.t.Fatalf("%s %s: %d %s: %v", method, path, w.Code, w.Body, err)
	}
	if told, _ := got["code"].(string); w.Code != status || told != code {
		b.t.Errorf("%s %s: %d %s, want %d %s", method, path, w.Code, w.Body, status, code)
	}
	return got
}

// send sends a request to the function that serves it.
func (b bench) send(user, method, target, body string) *httptest.ResponseRecorder {
	who := auth.Principal{Account: fixture.Account, User: user, Scopes: []auth.Scope{auth.ScopeAdmin, auth.ScopeApprove}}
	if user == "stranger" {
		who.Account = "other"
	}
	function := httpapi.FunctionRecords
	switch {
	case method == http.MethodPatch, slices.Contains([]string{"settle", "retry", "undo", "repeat"}, path.Base(target)):
		function = httpapi.FunctionChat
	case method == http.MethodPost:
		function = httpapi.FunctionConfirm
	case strings.HasPrefix(target, "/api/rules"):
		function = httpapi.FunctionRegistry
	}
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	w := httptest.NewRecorder()
	b.handlers[function].ServeHTTP(w, r.WithContext(auth.NewContext(r.Context(), who)))
	return w
}

// waitingPlan returns a plan whose second step is destructive, run up to where that step waits.
func (b bench) waitingPlan() (r plan.Run, path string) {
	b.t.Helper()
	r = b.Propose(fixture.To("POST", "/bookings", `{"room":"norte","people":3}`), fixture.To("DELETE", "/bookings/9", ""))
	path = "/api/runs/" + r.ID
	b.do("ana", "POST", path+"/confirm", `{"digest":"`+string(r.Digest)+`"}`, 202, "")
	b.Execute(r.ID)
	return r, path
}

// TestARefusalNamesTheRunningRun: a refusal because of another run names that run, in the same words as the chat
// (turn.TestYesDuringRunNamesPendingDraft).
func TestARefusalNamesTheRunningRun(t *testing.T) {
	b := newBench(t)
	first := b.Draft(plan.Proposal{Goal: "Pedir tinta", Steps: []plan.ProposedStep{{Method: "GET", Path: "/rooms"}}})
	b.do("ana", "POST", "/api/runs/"+first.ID+"/confirm", `{"digest":"`+string(first.Digest)+`"}`, 202, "")
	next := b.Draft(plan.Proposal{Goal: "Pedir papel", Steps: []plan.ProposedStep{{Method: "GET", Path: "/rooms"}}})
	path := "/api/runs/" + next.ID
	for _, lang := range []locale.Tag{locale.Spanish, locale.English} {
		for _, c := range []struct{ method, path, body, key string }{
			{"POST", path + "/confirm", `{"digest":"` + string(next.Digest) + `"}`, "other"},
			{"DELETE", "/api/chats/" + b.Chat.ID, "", "chat"},
		} {
			got := b.do("ana", c.method, c.path+"?lang="+string(lang), c.body, 409, "plan.already_running")
			want := locale.Text(lang, "fault.plan.already_running."+c.key, "goal", "Pedir papel", "running", "Pedir tinta")
			if got["detail"] != want || got["running"] != first.ID || got["action"] == "" {
				t.Errorf("%s %s: %v", c.method, c.path, got)
			}
		}
		// A refusal because the run itself is running names no other run.
		own := b.do("ana", "POST", "/api/runs/"+first.ID+"/confirm?lang="+string(lang), `{"digest":"`+string(first.Digest)+`"}`, 409, "plan.already_running")
		if own["detail"] != locale.Text(lang, "fault.plan.already_running") || own["running"] != nil {
			t.Errorf("%v", own)
		}
	}
	if got := b.Read(next.ID).Status; got != plan.Draft {
		t.Errorf("it is %s", got)
	}
	b.Execute(first.ID)
	b.do("ana", "POST", path+"/confirm", `{"digest":"`+string(next.Digest)+`"}`, 202, "")
}

// TestADecisionIsTakenOnce goes by HTTP through the life of a plan that waits, and sends every decision twice, too
// late, and for another account's run.
func TestADecisionIsTakenOnce(t *testing.T) {
	b := newBench(t)
	r, path := b.waitingPlan()
	shown := b.do("ana", "GET", path, "", 200, "")
	step := second(shown)
	approval, _ := step["approval"].(map[string]any)
	if shown["status"] != "waiting" || step["status"] != "waiting" || approval["method"] != "DELETE" || approval["url"] != "https://rooms.example/bookings/9" {
		t.Fatalf("it does not wait: %v", shown)
	}
	edit := `{"digest":"` + string(r.Digest) + `","steps":[{"mcp_id":"` + b.Server.ID + `","method":"GET","path":"/rooms"}]}`
	request, _ := approval["request_digest"].(string)
	if len(request) != 64 || request != approval["request"] {
		t.Fatalf("%v", approval)
	}
	approve := `{"step_id":"s2","note":"adelante","request_digest":"` + request + `"}`
	b.do("ana", "PATCH", path+"/plan", edit, 409, "plan.already_running")
	b.do("stranger", "POST", path+"/approve", approve, 404, "run.not_found")
	b.do("stranger", "PATCH", path+"/plan", edit, 404, "run.not_found")
	b.do("ana", "POST", path+"/approve", `{"step_id":"s1","request_digest":"`+request+`"}`, 409, "approval.not_waiting")
	b.do("ana", "POST", path+"/approve", `{"step_id":"s9","request_digest":"`+request+`"}`, 404, "step.not_found")
	b.do("ana", "POST", path+"/retry", ``, 409, "plan.already_running")
	b.do("ana", "POST", path+"/settle", `{"step_id":"s2","outcome":"done"}`, 409, "plan.already_running")
	before := len(b.Requests())
	b.refusesOtherRequests(r, path, request)
	b.do("eva", "POST", path+"/approve", approve, 200, "")
	b.do("eva", "POST", path+"/approve", approve, 409, "approval.not_waiting")
	if len(b.Requests()) != before {
		t.Error("an approval by itself sends something")
	}
	b.Execute(r.ID)
	shown = b.do("ana", "GET", path, "", 200, "")
	approval, _ = second(shown)["approval"].(map[string]any)
	if shown["status"] != "done" || approval["decision"] != "approved" || approval["by"] != "eva" || approval["note"] != "adelante" {
		t.Errorf("%v", shown)
	}
	b.do("ana", "PATCH", path+"/plan", edit, 409, "plan.not_pending")
	b.do("ana", "POST", path+"/retry", ``, 409, "run.nothing_to_retry")
	b.do("ana", "POST", path+"/settle", `{"step_id":"s2","outcome":"done"}`, 409, "step.not_in_doubt")
	for _, route := range []string{"/receipt", "/revisions", "/steps/s1/result"} {
		b.do("stranger", "GET", path+route, "", 404, "run.not_found")
	}
	b.verifyReceipt(path, "ana", "eva")
}

// refusesOtherRequests decides about no request, and about others than the one that waits, alone and among several.
func (b bench) refusesOtherRequests(r plan.Run, path, request string) {
	b.t.Helper()
	seq := b.Read(r.ID).EventSeq
	other := strings.Repeat("0", 64)
	for _, decision := range []string{"approve", "refuse"} {
		for _, body := range []string{`{"step_id":"s2","decision":"` + decision + `"}`, `{"decision":"` + decision + `","request_digest":""}`, `{"decision":"` + decision + `","request_digest":"x"}`, `{"step_id":"s2","request_digest":null}`} {
			b.do("eva", "POST", path+"/approve", body, 422, "request.invalid")
		}
		got := b.do("eva", "POST", path+"/approve", `{"step_id":"s2","decision":"`+decision+`","request_digest":"`+other+`"}`, 409, "approval.stale")
		present, _ := got["approval"].(map[string]any)
		if present["request_digest"] != request || present["step_id"] != "s2" || present["method"] != "DELETE" || present["url"] != "https://rooms.example/bookings/9" || got["action"] == "" {
			b.t.Errorf("%v", got)
		}
		item := func(more string) string {
			return `{"items":[{"run_id":"` + r.ID + `","digest":"` + string(r.Digest) + `","step_id":"s2","decision":"` + decision + `"` + more + `}]}`
		}
		for body, status := range map[string]float64{item(""): 422, item(`,"request_digest":"` + other + `"`): 409} {
			many := b.do("eva", "POST", "/api/decisions", body, 200, "")
			one, _ := many["items"].([]any)[0].(map[string]any)
			if problem, _ := one["problem"].(map[string]any); one["status"] != status || problem == nil || status == 409 && problem["approval"] == nil {
				b.t.Errorf("%s: %v", body, many)
			}
		}
	}
	if now := b.Read(r.ID); now.EventSeq != seq {
		b.t.Error("something was decided")
	}
}

// requestOf returns the digest of the request with which the second step of a run waits.
func (b bench) requestOf(id string) string {
	return b.Read(id).State(plan.EffectOf("s2")).Approval.Request
}

// second returns the second step of a run.
func second(run map[string]any) map[string]any {
	steps, _ := run["steps"].([]any)
	if len(steps) < 2 {
		return nil
	}
	step, _ := steps[1].(map[string]any)
	return step
}

// verifyReceipt reads a run's receipt and checks that it verifies and names the deciders.
func (b bench) verifyReceipt(path, confirmed, approved string) {
	b.t.Helper()
	raw := b.send("ana", "GET", path+"/receipt", "").Body.Bytes()
	var got receipt.Receipt
	if err := json.Unmarshal(raw, &got); err != nil {
		b.t.Fatal(err)
	}
	for _, problem := range receipt.Verify(got) {
		b.t.Errorf("the receipt does not hold: %v", problem)
	}
	said := func(typ, who string) bool {
		return slices.ContainsFunc(got.Events, func(e plan.Event) bool {
			var data struct{ By string }
			return e.Type == typ && json.Unmarshal(e.Data, &data) == nil && data.By == who
		})
	}
	if !said(plan.EventConfirmed, confirmed) || !said(plan.EventStepApproved, approved) {
		b.t.Errorf("the receipt does not say who decided: %s", raw)
	}
}

func TestAnApprovalThatIsTooLateIsGone(t *testing.T) {
	b := newBench(t)
	r, path := b.waitingPlan()
	b.Pass(25 * time.Hour)
	before := len(b.Requests())
	for range 2 {
		b.do("eva", "POST", path+"/approve", `{"step_id":"s2","request_digest":"`+b.requestOf(r.ID)+`"}`, 410, "approval.expired")
	}
	if len(b.Requests()) != before {
		t.Error("something was sent")
	}
}

// TestRulesAreCheckedAgainWhenTheStepRuns sets a rule after the plan was confirmed.
func TestRulesAreCheckedAgainWhenTheStepRuns(t *testing.T) {
	b := newBench(t)
	r, path := b.waitingPlan()
	b.do("ana", "PUT", "/api/rules", `{"version":0,"rules":[{"effect":"deny","method":"DELETE","path":"/bookings/*","reason":"Hoy no se borra"}]}`, 200, "")
	b.do("eva", "POST", path+"/approve", `{"request_digest":"`+b.requestOf(r.ID)+`"}`, 200, "")
	b.Execute(r.ID)
	shown := b.do("ana", "GET", path, "", 200, "")
	step := second(shown)
	if failed, _ := step["error"].(map[string]any); failed["code"] != "step.denied" {
		t.Errorf("%v", step)
	}
	if n := slices.IndexFunc(b.Requests(), func(r tool.Request) bool { return r.Method == "DELETE" }); n >= 0 {
		t.Error("what a rule denies was sent")
	}
}
