package provider

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// delivery is a request that a hook received, as verify.mjs reads it.
type delivery struct {
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"`
	Later   int               `json:"later"` // seconds until it is verified
}

// TestAHookVerifiesWithTheLibraryOfStandardWebhooks (guarantee I40): a delivery of run.waiting verifies. Its replay
// after the tolerance, another body, another id and another secret do not. It waits for the sweep, up to a minute.
func TestAHookVerifiesWithTheLibraryOfStandardWebhooks(t *testing.T) {
	folder := os.Getenv("PILOTO_STANDARDWEBHOOKS")
	if folder == "" {
		t.Skip("PILOTO_STANDARDWEBHOOKS names no folder with standardwebhooks; `make provider` does")
	}
	got := make(chan delivery, 10)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		d := delivery{Headers: map[string]string{}, Body: string(raw)}
		for _, name := range []string{"webhook-id", "webhook-timestamp", "webhook-signature"} {
			d.Headers[name] = r.Header.Get(name)
		}
		got <- d
	}))
	t.Cleanup(receiver.Close)
	var id string
	origin := start(t, planner(t, func() []any {
		return []any{map[string]any{"id": "s1", "title": "Mirar", "mcp_id": id, "method": "GET", "path": "/rooms"}}
	}))
	id = call(t, origin, "GET", "/api/mcps", nil)["mcps"].([]any)[0].(map[string]any)["mcp_id"].(string)
	call(t, origin, "PUT", "/api/rules", map[string]any{"version": 0, "rules": []any{map[string]any{"effect": "ask", "path": "/rooms*", "reason": "Se mira"}}})
	hook := call(t, origin, "POST", "/api/hooks", map[string]any{"url": receiver.URL, "events": []string{"run.waiting"}})
	chat := call(t, origin, "POST", "/api/chats", map[string]any{})["chat_id"]
	turn := call(t, origin, "POST", "/api/send", map[string]any{"chat_id": chat, "message": "mira las salas"})
	run, _ := turn["run"].(map[string]any)
	if run == nil {
		t.Fatalf("%v", turn)
	}
	call(t, origin, "POST", "/api/runs/"+run["run_id"].(string)+"/confirm", map[string]any{"digest": run["digest"]})
	var d delivery
	select {
	case d = <-got:
	case <-time.After(90 * time.Second):
		t.Fatalf("nothing came: %v", call(t, origin, "GET", "/api/runs/"+run["run_id"].(string), nil))
	}
	if !strings.Contains(d.Body, `"type":"run.waiting"`) || !strings.Contains(d.Body, run["run_id"].(string)) {
		t.Errorf("%s", d.Body)
	}
	late, changed, renamed := d, d, d
	late.Later = 6 * 60
	changed.Body = strings.Replace(d.Body, "run.waiting", "run.finished", 1)
	renamed.Headers = map[string]string{
		"webhook-id": "msg_other", "webhook-timestamp": d.Headers["webhook-timestamp"], "webhook-signature": d.Headers["webhook-signature"],
	}
	said := verify(t, folder, hook["secret"].(string), d, late, changed, renamed)
	if said[0] != "" {
		t.Errorf("the delivery is refused: %s", said[0])
	}
	for i, what := range []string{"its replay after six minutes", "a changed body", "another id"} {
		if said[i+1] == "" {
			t.Errorf("%s verifies", what)
		}
	}
	if other := verify(t, folder, "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz", d); other[0] == "" {
		t.Error("it verifies with another secret")
	}
}

// verify returns what the library says of each delivery.
func verify(t *testing.T, folder, secret string, cases ...delivery) (said []string) {
	t.Helper()
	in, err := json.Marshal(map[string]any{"secret": secret, "cases": cases})
	if err != nil {
		t.Fatal(err)
	}
	node := exec.CommandContext(t.Context(), "node", "testdata/verify.mjs", folder)
	node.Stdin = bytes.NewReader(in)
	out, err := node.Output()
	if err != nil {
		t.Fatalf("%v %s", err, out)
	}
	if err := json.Unmarshal(out, &said); err != nil {
		t.Fatal(err)
	}
	return said
}
