package httpapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"piloto/internal/access/auth"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/ref"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/view"
)

// wholeRun returns a run with every possible part.
func wholeRun() plan.Run {
	r := sampleRun()
	at := noon.Add(-time.Minute)
	r.Status, r.UndoAt, r.Confirmer, r.Reason, r.Retries = plan.Waiting, &at, "ana", "es otra sala", ghostID
	r.Plan.Revision, r.Plan.Replaces, r.Plan.Ceiling = 2, plan.Digest(strings.Repeat("cd", 32)), 4000
	call := func(method, path string) plan.Call { return plan.Call{MCPID: serverID, Method: method, Path: path} }
	reserve := &r.Plan.Steps[1]
	reserve.When = &ref.Condition{All: []ref.Condition{{Value: "${s1.status}", Is: ref.Equal, To: json.RawMessage("200")}, {Not: &ref.Condition{Value: "${s1.body.full}", Is: ref.Present}}}}
	reserve.Undo = &plan.Undo{Call: call("DELETE", "/reservations/${s2.body.id}"), Suggested: true}
	reserve.Verify = &plan.Check{Call: call("GET", "/reservations/mine"), Expect: ref.Condition{Value: "${check.status}", Is: ref.Equal, To: json.RawMessage("200")}}
	reserve.Ask = &plan.Ask{Reason: "Es caro", Rule: "r1", Another: true, Minutes: 60}
	reserve.Targets = []plan.Target{{Ref: "s1.body.id", Value: json.RawMessage("12"), Label: "Sala Norte, 6"}}
	r.Plan.Steps = append(r.Plan.Steps, plan.Step{
		ID: plan.EffectOf("s3"), Title: "Avisar", MCPID: serverID, Method: "POST", Path: "/notices", Body: json.RawMessage(`{"to":"${item.mail}"}`),
		Needs: []string{"s2"}, Risk: plan.Write, ForEach: "${s1.body.people}", Undo: &plan.Undo{Call: call("DELETE", "/notices/${s3.body.id}")},
	})
	for _, id := range []string{"undo:s2", "check:s2", "s3", "undo:s3"} {
		r.Plan.Bindings = append(r.Plan.Bindings, plan.Binding{StepID: plan.ParseEffect(id), MCPID: serverID, ServerName: "Salas", BaseURL: "http://127.0.0.1:9000/v1"})
	}
	r.Plan.Bindings[len(r.Plan.Bindings)-2].Media = "application/x-www-form-urlencoded"
	for i := range r.Plan.Bindings[1:] {
		r.Plan.Bindings[i+1].Auth = "query token"
	}
	sent := func(url string, open bool) plan.Attempt {
		return plan.Attempt{Number: 1, URL: "http://127.0.0.1:9000/v1" + url, Body: json.RawMessage(`{"to":"a@example.org"}`), SentAt: at, Open: open}
	}
	done := &plan.Result{Status: 201, Body: json.RawMessage(`{"id":7}`), Bytes: 8, SHA256: strings.Repeat("ef", 32)}
	r.Steps = append(
		r.Steps,
		plan.StepState{
			StepID: plan.EffectOf("s2"), Status: plan.StepWaiting, Approval: &plan.Approval{
				Ask: *reserve.Ask, Method: "POST", URL: "http://127.0.0.1:9000/v1/reservations", Body: json.RawMessage(`{"room":12}`),
				Request: strings.Repeat("12", 32), Token: "canary-token", AskedAt: at, ExpiresAt: noon, Decision: plan.Refused, By: "eva", Note: "hoy no", At: noon,
			},
			Command: &plan.Command{Was: "rm x", Now: "rm -f x", Because: "ya no está", Tokens: 120, Asked: true},
		},
		plan.StepState{StepID: plan.EffectOf("s3"), Status: plan.StepRunning, Items: 3, Expanded: true},
		plan.StepState{StepID: plan.ParseEffect("s3[0]"), Status: plan.StepDone, Attempts: 1, Last: sent("/notices", false), Result: done},
		plan.StepState{
			StepID: plan.ParseEffect("s3[1]"), Status: plan.StepInDoubt, Attempts: 1, Last: sent("/notices", false), Error: &plan.Failure{Code: "step.in_doubt", Message: "No se sabe."},
			Resolved: &plan.Resolution{Outcome: plan.OutcomeDone, By: "ana", Note: "lo he visto", At: noon},
		},
		plan.StepState{StepID: plan.ParseEffect("undo:s3[0]"), Status: plan.StepDone, Attempts: 1, Last: sent("/notices/7", false), Result: &plan.Result{Status: 204}},
		plan.StepState{StepID: plan.ParseEffect("undo:s2"), Status: plan.StepRunning, Attempts: 1, Last: sent("/reservations/7", true)},
	)
	r.Steps[0].Reused = ghostID
	return r
}

func TestARunShowsAllOfItsResults(t *testing.T) {
	s := newSite()
	s.run_ = wholeRun()
	r := ask(talker, "GET", "/api/runs/"+runID, "")
	w := s.do(r)
	var body bytes.Buffer
	if err := json.Indent(&body, w.Body.Bytes(), "", "  "); err != nil {
		t.Fatal(err)
	}
	golden(t, "run_whole.json", append([]byte(http.StatusText(w.Code)+"\n"), body.Bytes()...))
	checkDocumented(t, r, w.Code, w.Body.Bytes())
	if strings.Contains(body.String(), "canary") {
		t.Error("the token of an approval is shown")
	}
}

func TestARunWithManyElementsAndLargeRequestsCanBeAnswered(t *testing.T) {
	if testing.Short() {
		t.Skip("a large run")
	}
	r := wholeRun()
	loop := r.Plan.Steps[2]
	r.Plan.Steps, r.Steps = nil, nil
	large, small := json.RawMessage(`"`+strings.Repeat("á", 150<<10)+`"`), json.RawMessage(`"`+strings.Repeat("á", 4<<10)+`"`)
	for i := range plan.MaxSteps {
		loop.ID = plan.EffectOf(fmt.Sprintf("s%d", i))
		r.Plan.Steps = append(r.Plan.Steps, loop)
		r.Steps = append(r.Steps, plan.StepState{
			StepID: loop.ID, Status: plan.StepWaiting, Items: plan.MaxEach, Expanded: true,
			Approval: &plan.Approval{Method: "POST", URL: "https://example.org", Body: large, AskedAt: noon, ExpiresAt: noon},
		})
		for n := range plan.MaxEach {
			r.Steps = append(r.Steps, plan.StepState{
				StepID: plan.ItemOf(loop.ID, n), Status: plan.StepInDoubt, Attempts: 1,
				Last:   plan.Attempt{URL: "https://example.org", Body: small, SentAt: noon},
				Result: &plan.Result{Status: 200, Body: small, Bytes: len(small)},
			})
		}
	}
	shown := showRun(r)
	raw, err := json.Marshal(shown)
	if err != nil || len(raw) > 6<<20 { // limit of a Lambda response
		t.Errorf("%d bytes, %v", len(raw), err)
	}
	if got := shown.Steps[49]; len(got.Items) != plan.MaxEach || !got.Items[49].Sent.Cut || !got.Approval.Cut {
		t.Error("what was cut does not say so, or an element is missing")
	}
	r.Plan.Steps, r.Steps = r.Plan.Steps[:1], r.Steps[:1]
	if got := showRun(r).Steps[0].Approval; got.Cut || len(got.Body) != len(large) {
		t.Error("what alone waits for an approval is not shown whole")
	}
}

// TestDecisionsPassTheirDataToTheDomain checks the arguments and the user of each decision.
func TestDecisionsPassTheirDataToTheDomain(t *testing.T) {
	s := newSite()
	path := "/api/runs/" + runID
	s.do(ask(approver, "POST", path+"/approve?lang=en", `{"step_id":"s2","decision":"refuse","request_digest":"`+request+`","digest":"`+string(digest)+`","note":"hoy no"}`))
	s.do(ask(manager, "POST", path+"/approve", `{"request_digest":"`+request+`"}`))
	s.do(ask(talker, "POST", path+"/settle", `{"step_id":"undo:s2","outcome":"retry","note":"otra vez"}`))
	s.do(ask(talker, "POST", path+"/retry", ``))
	s.do(ask(talker, "POST", path+"/cancel", `{"reason":"es otra sala"}`))
	s.do(ask(talker, "PATCH", path+"/plan", `{"digest":"`+string(digest)+`","goal":"Otra","steps":[{"id":"a","mcp_id":"`+serverID+`","method":"POST","path":"/x","body":{"n":12345678901234567890},"needs":[],`+
		`"when":{"not":{"value":"${b.body}","is":"present"}},"undo":{"method":"DELETE","path":"/x/1"},"verify":{"method":"GET","path":"/x","expect":{"value":"${check.status}","is":"equal","to":200}}}]}`))
	if got := s.approved[0]; got.User != "eva" || !got.MayApprove || got.StepID.String() != "s2" || !got.Refuse || got.Request != request || got.Digest != digest || got.Note != "hoy no" {
		t.Errorf("%+v", got)
	}
	if got := s.approved[1]; got.User != "ana" || got.MayApprove || got.StepID.String() != "" || got.Refuse { // admin does not include approve
		t.Errorf("%+v", got)
	}
	if got := s.resolved[0]; got.StepID.String() != "undo:s2" || got.Outcome != plan.OutcomeRetry || got.Note != "otra vez" || got.TraceID != "trace-1" || got.User != "ana" {
		t.Errorf("%+v", got)
	}
	if got := s.retried[0]; got.RunID != runID || got.User != "ana" || got.Account != "a" || got.TraceID != "trace-1" {
		t.Errorf("%+v", got)
	}
	if got := s.cancels[0]; got.Reason != "es otra sala" {
		t.Errorf("%+v", got)
	}
	edit := s.edits[0]
	step := edit.Steps[0]
	if edit.Digest != digest || edit.Goal != "Otra" || edit.Principal.User != "ana" || string(step.Body) != `{"n":12345678901234567890}` ||
		step.Needs == nil || step.When.Not.Is != ref.Present || step.Undo.Path != "/x/1" || string(step.Verify.Expect.To) != "200" {
		t.Errorf("%+v", edit)
	}
}

// TestDomainRefusalsBecomeProblems sends each decision while the domain refuses it.
func TestDomainRefusalsBecomeProblems(t *testing.T) {
	approve, resolve, retry := `{"step_id":"s2","request_digest":"`+request+`"}`, `{"step_id":"s2","outcome":"done"}`, ``
	edit := bodies["revisePlan"]
	for _, c := range []struct {
		method, route, body string
		refusal             *fault.Error
		status              int
	}{
		{"POST", "approve", approve, plan.ErrNotWaiting, 409},
		{"POST", "approve", approve, plan.ErrApprovalOver, 410},
		{"POST", "approve", approve, plan.ErrSelfApproval, 403},
		{"POST", "approve", approve, auth.ErrScope.With("scope", "approve"), 403},
		{"POST", "approve", approve, plan.ErrStepNotFound, 404},
		{"POST", "approve", approve, plan.ErrStale, 409},
		{"POST", "settle", resolve, plan.ErrNotInDoubt, 409},
		{"POST", "settle", resolve, plan.ErrStepNotFound, 404},
		{"POST", "retry", retry, plan.ErrNothingToRetry, 409},
		{"POST", "retry", retry, plan.ErrAlreadyRunning, 409},
		{"PATCH", "plan", edit, plan.ErrAlreadyRunning, 409},
		{"PATCH", "plan", edit, plan.ErrNotPending, 409},
		{"PATCH", "plan", edit, plan.ErrStale.WithFault("changed", fault.Reason("run.changed_edited").With("revision", "2")), 409},
		{"PATCH", "plan", edit, plan.ErrExpired, 410},
	} {
		for _, lang := range []string{"es", "en"} {
			s := newSite()
			s.refusal = c.refusal
			r := ask(talker, c.method, "/api/runs/"+runID+"/"+c.route+"?lang="+lang, c.body)
			w := s.do(r)
			told := decode(t, w)
			detail, _ := told["detail"].(string)
			if w.Code != c.status || told["code"] != c.refusal.Code || detail == "" || strings.Contains(detail, "fault.") || told["action"] == "" {
				t.Errorf("%s %s: %d %s", c.route, c.refusal.Code, w.Code, w.Body)
			}
			if !strings.Contains(detail, c.refusal.Args["reason"]) {
				t.Errorf("%s %s does not say the reason: %s", c.route, c.refusal.Code, detail)
			}
			if why := c.refusal.Inner["changed"]; why != nil && !strings.Contains(detail, locale.OfFault(why).In(locale.Tag(lang))) {
				t.Errorf("%s %s does not say the change: %s", c.route, c.refusal.Code, detail)
			}
			checkDocumented(t, r, w.Code, w.Body.Bytes())
		}
	}
}

func TestASecondApprovalIsRefused(t *testing.T) {
	s := newSite()
	for _, want := range []int{200, 409, 409} {
		if w := s.do(ask(approver, "POST", "/api/runs/"+runID+"/approve", `{"step_id":"s2","request_digest":"`+request+`"}`)); w.Code != want {
			t.Errorf("%d %s, want %d", w.Code, w.Body, want)
		}
	}
}

// TestNoLinkApproves: clients that follow links send GET or HEAD.
func TestNoLinkApproves(t *testing.T) {
	for _, route := range []string{"confirm", "cancel", "approve", "settle", "retry", "plan"} {
		for _, method := range []string{"GET", "HEAD", "OPTIONS"} {
			s := newSite()
			if w := s.do(ask(boss, method, "/api/runs/"+runID+"/"+route+"?decision=approve&step_id=s2", "")); w.Code != 405 || s.count() != 0 {
				t.Errorf("%s %s: %d", method, route, w.Code)
			}
		}
	}
}

func TestInvalidPlansAreRefused(t *testing.T) {
	step := func(id, needs string) string {
		return fmt.Sprintf(`{"id":%q,"mcp_id":"m","method":"GET","path":"/%s","needs":[%s]}`, id, id, needs)
	}
	many := make([]string, 51)
	for i := range many {
		many[i] = step(fmt.Sprintf("s%d", i), "")
	}
	for name, c := range map[string]struct{ steps, want string }{
		"in a circle":        {step("a", `"b"`) + "," + step("b", `"a"`), "[body steps] cycle"},
		"to itself":          {step("a", `"a"`), "[body steps 0 needs] cycle"},
		"51 steps":           {strings.Join(many, ","), "[body steps] too_long"},
		"no steps":           {"", "[body steps] too_short"},
		"to nothing":         {step("a", `"z"`), "[body steps 0 needs] unknown"},
		"twice":              {step("a", "") + "," + step("a", ""), "[body steps 1 id] duplicate"},
		"reference":          {`{"mcp_id":"m","method":"GET","path":"/${z.body}"}`, "[body steps 0 path] reference"},
		"unknown member":     {`{"mcp_id":"m","method":"GET","path":"/","Risk":"read"}`, "[body steps 0 Risk] extra_forbidden"},
		"unknown condition":  {`{"mcp_id":"m","method":"GET","path":"/","when":{"eval":"1"}}`, "[body steps 0 when eval] extra_forbidden"},
		"deep unknown":       {`{"mcp_id":"m","method":"GET","path":"/","when":{"not":{"not":{"x":1}}}}`, "[body steps 0 when not not x] extra_forbidden"},
		"a step is no text":  {`"a"`, "[body steps 0] object_type"},
		"no server":          {`{"method":"GET","path":"/"}`, "[body steps 0 mcp_id] missing"},
		"suggested by whom?": {`{"mcp_id":"m","method":"POST","path":"/","undo":{"method":"DELETE","path":"/1","suggested":true}}`, "[body steps 0 undo suggested] extra_forbidden"},
	} {
		s := newSite()
		w := s.do(ask(talker, "PATCH", "/api/runs/"+runID+"/plan", `{"digest":"`+string(digest)+`","steps":[`+c.steps+`]}`))
		if got := wrong(t, w); w.Code != 422 || got != c.want {
			t.Errorf("%s: %d %s, want %s", name, w.Code, got, c.want)
		}
	}
}

func TestRulesAreSetOnceForAVersion(t *testing.T) {
	s := newSite()
	put := func(version int) int {
		return s.do(ask(manager, "PUT", "/api/rules", fmt.Sprintf(`{"version":%d,"rules":[{"effect":"deny","reason":"Nada\nde nada"}]}`, version))).Code
	}
	for i, c := range []struct{ version, want int }{{1, 409}, {0, 200}, {0, 409}, {1, 200}, {-1, 422}} {
		if got := put(c.version); got != c.want {
			t.Errorf("%d: version %d: %d, want %d", i, c.version, got, c.want)
		}
	}
	if s.ruled.Version != 2 || s.ruled.By != "ana" || s.ruled.Rules[0].Reason != "Nada de nada" || s.ruled.Rules[0].ID == "" {
		t.Errorf("%+v", s.ruled)
	}
	if w := s.do(ask(other, "GET", "/api/rules", "")); strings.Contains(w.Body.String(), "nada") {
		t.Errorf("another account reads %s", w.Body)
	}
}

// TestAReceiptIsOfOneState reads one while the run continues: no part of it is newer than the run.
func TestAReceiptIsOfOneState(t *testing.T) {
	s := newSite()
	s.run_.EventSeq = 1
	w := s.do(ask(talker, "GET", "/api/runs/"+runID+"/receipt", ""))
	got := decode(t, w)
	if n := len(listOf(got["events"])); n != 1 {
		t.Errorf("%d events, want the one the run knows of", n)
	}
	if n := len(listOf(got["revisions"])); n != 1 {
		t.Errorf("%d revisions, want the one the run has", n)
	}
	s.run_.EventSeq, s.run_.Plan.Revision = 2, 2
	got = decode(t, s.do(ask(talker, "GET", "/api/runs/"+runID+"/receipt", "")))
	if len(listOf(got["events"])) != 2 || len(listOf(got["revisions"])) != 2 {
		t.Errorf("%s", w.Body)
	}
}

func TestAResultIsReadWhole(t *testing.T) {
	s := newSite()
	s.run_.Steps[0].Result.Apart = 3
	for path, want := range map[string]string{
		"s1": `"whole"`, "s2": "step.no_result", "s9": "step.not_found", "s1%5B0%5D": "step.not_found", "undo:s1": "step.not_found",
		"..%2fs1": "step.not_found", "%C3%B1": "step.not_found",
	} {
		if w := s.do(ask(talker, "GET", "/api/runs/"+runID+"/steps/"+path+"/result", "")); !strings.Contains(w.Body.String(), want) || strings.Contains(w.Body.String(), "apart") {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

// TestAMovedPlanIsShownWithItsRefusal: the answer to a typed yes to a plan that changed contains the new plan, on
// both contracts.
func TestAMovedPlanIsShownWithItsRefusal(t *testing.T) {
	for path, body := range map[string]string{
		"/api/send":      `{"chat_id":"` + chatID + `","message":"moved"}`,
		"/operator/chat": `{"session_id":"` + chatID + `","message":"moved"}`,
	} {
		w := newSite().do(ask(talker, "POST", path, body))
		told := decode(t, w)
		run, _ := told["run"].(map[string]any)
		if w.Code != 409 || told["code"] != "plan.stale" || run["run_id"] != runID || run["digest"] == "" || told["card"] != "Plan propuesto: otro" || told["action"] == "" {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

// TestAClientSeesTheViewOfARun: the answer has everything that the view is made of.
func TestAClientSeesTheViewOfARun(t *testing.T) {
	for _, status := range []plan.Status{plan.Draft, plan.Running, plan.Waiting, plan.InDoubt, plan.Failed, plan.Done} {
		r := wholeRun()
		r.Status = status
		for _, undoing := range []*time.Time{nil, &r.CreatedAt} {
			r.UndoAt = undoing
			got, want := showRun(r).View(), view.Of(r, time.Time{})
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s, undoing %v:\n%+v, not\n%+v", status, undoing != nil, got, want)
			}
		}
	}
}
