package e2e

import (
	"strings"
	"sync"
	"testing"
	"time"

	"piloto/internal/access/auth"
	"piloto/internal/ground/ids"
)

// TestSecondPersonApproves: when a rule requires a second person, the person who confirmed cannot approve, and
// neither can a person without the scope. Two approvals at the same time count as one.
func TestSecondPersonApproves(t *testing.T) {
	t.Parallel()
	d, _, model := startScriptedWithTable(t)
	people := map[string]*client{}
	for user, scopes := range map[string][]auth.Scope{
		"ana":  {auth.ScopeAdmin, auth.ScopeApprove},
		"bea":  {auth.ScopeChat},
		"carl": {auth.ScopeApprove},
		"dora": {auth.ScopeChat, auth.ScopeApprove},
	} {
		addToken(t, d, auth.Token{
			Hash: ids.Hash("token-of-" + user), Kind: auth.KindToken, Account: "shared", User: user, Scopes: scopes, CreatedAt: time.Now(),
		})
		people[user] = newClient(d.url(), "token-of-"+user)
	}
	ana := people["ana"]
	upstream := startOrders(t)
	server := ana.must(t, 201, "POST", "/api/mcps", object("url", upstream.url())).text("mcp_id")
	ana.must(t, 200, "PUT", "/api/rules", object("version", 0, "rules", []any{
		map[string]any{"effect": "ask", "method": "POST", "path": "/orders/*/pay", "another": true, "minutes": 30, "reason": "Los cobros los mira otra persona"},
	}))
	chat := ana.chat(t)
	propose(t, ana, model, chat, map[string]any{"mcp_id": server, "method": "POST", "path": "/orders/7/pay"})
	run := ana.say(t, chat, "confirmo").text("run.run_id")
	if err := eventually(patience, func() error {
		return matches(`"status":"waiting"`, ana.must(t, 200, "GET", "/api/runs/"+run, "").String())
	}); err != nil {
		t.Fatal(err)
	}
	approve := "/api/runs/" + run + "/approve"
	request := ana.must(t, 200, "GET", "/api/runs/"+run, "").text("steps.0.approval.request_digest")
	for user, code := range map[string]string{"ana": "approval.self", "bea": "auth.scope"} {
		a, err := people[user].do("POST", approve, object("request_digest", request))
		if err != nil || problemOf(a, 403, code) != nil {
			t.Errorf("%s: %v %s", user, err, a)
		}
	}
	if n := len(upstream.got("POST /orders/7/pay")); n != 0 {
		t.Fatalf("%d payments before anybody approved", n)
	}
	var wg sync.WaitGroup
	answers := make([]answer, 20)
	for i := range answers {
		wg.Go(func() {
			answers[i], _ = people[[]string{"carl", "dora"}[i%2]].do("POST", approve, object("request_digest", request, "note", "visto"))
		})
	}
	wg.Wait()
	won := 0
	for _, a := range answers {
		if a.status == 200 {
			won++
		} else if err := problemOf(a, 409, "approval.not_waiting"); err != nil {
			t.Error(err)
		}
	}
	if won != 1 {
		t.Errorf("%d approvals", won)
	}
	ended, err := ana.waitEnded(run)
	if err != nil || ended.text("status") != "done" {
		t.Fatalf("%v %s", err, ended)
	}
	if n := len(upstream.got("POST /orders/7/pay")); n != 1 {
		t.Errorf("%d payments", n)
	}
	if by := ended.text("steps.0.approval.by"); by != "carl" && by != "dora" {
		t.Errorf("approved by %q", by)
	}
	if r := receiptOf(t, ana, run); !strings.Contains(string(r.body), "step.approved") {
		t.Errorf("the receipt does not say who approved: %s", r)
	}
}
