package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"piloto/internal/access/auth"
)

// TestAHookHearsOfAPlanAndItsRun (guarantee I40): through the real process and its roles, also when the process is
// killed after the run ended and before anything was sent.
func TestAHookHearsOfAPlanAndItsRun(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var types []string
	var secret string
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		h := r.Header.Get
		err := auth.Delivery{ID: h("webhook-id"), Timestamp: h("webhook-timestamp"), Body: body, Signature: h("webhook-signature")}.Verify(secret, time.Now())
		var m struct{ Type string }
		if jsonErr := json.Unmarshal(body, &m); err != nil || jsonErr != nil {
			t.Error(err, jsonErr)
		}
		types = append(types, m.Type)
	}))
	t.Cleanup(receiver.Close)

	d, c, model := startScriptedWithTable(t)
	upstream := startOrders(t)
	server := c.must(t, 201, "POST", "/api/mcps", object("url", upstream.url())).text("mcp_id")
	made := c.must(t, 201, "POST", "/api/hooks", `{"url":"`+receiver.URL+`/x","events":["plan.proposed","run.finished"]}`)
	mu.Lock()
	secret = made.text("secret")
	mu.Unlock()
	run := propose(t, c, model, c.chat(t), map[string]any{"mcp_id": server, "method": "DELETE", "path": "/orders/1"})
	c.must(t, 202, "POST", "/api/runs/"+run.text("run.run_id")+"/confirm", object("digest", run.text("run.digest")))
	c.must(t, 200, "GET", "/api/runs/"+run.text("run.run_id")+"?wait=20", "")
	d.kill()
	d.mustStart(t) // each start runs a sweep
	if err := eventually(20*time.Second, func() error {
		mu.Lock()
		defer mu.Unlock()
		slices.Sort(types)
		if !slices.Equal(types, []string{"plan.proposed", "run.finished"}) {
			return fmt.Errorf("it heard of %v", types)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := eventually(20*time.Second, func() error { // the answer is stored after it was given
		log := newClient(d.url(), testToken).must(t, 200, "GET", "/api/hooks/"+made.text("hook_id")+"/deliveries", "")
		if log.text("deliveries.0.state") != "delivered" || log.text("deliveries.0.attempts.0.status") != "200" {
			return fmt.Errorf("the log says %s", log)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}
