package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestPlansOfOneToFiftyStepsRun: chains, fans and lattices of every allowed size succeed, with every step sent
// once. A plan with one step more is refused.
func TestPlansOfOneToFiftyStepsRun(t *testing.T) {
	t.Parallel()
	_, c, model := startScripted(t)
	upstream := startOrders(t)
	server := c.must(t, 201, "POST", "/api/mcps", object("url", upstream.url())).text("mcp_id")
	step := func(i int, needs ...string) map[string]any {
		path := fmt.Sprintf("/orders/%d/pay", i)
		if len(needs) > 0 {
			path = "/orders/${" + needs[0] + ".body.id}/pay"
		}
		return map[string]any{"id": fmt.Sprint("s", i), "mcp_id": server, "method": "POST", "path": path, "needs": append([]string{}, needs...)}
	}
	shapes := map[string]func(i int) []string{
		"chain": func(i int) []string {
			if i == 1 {
				return nil
			}
			return []string{fmt.Sprint("s", i-1)}
		},
		"fan": func(i int) []string {
			if i == 1 {
				return nil
			}
			return []string{"s1"}
		},
		"lattice": func(i int) []string {
			if i < 3 {
				return nil
			}
			return []string{fmt.Sprint("s", i/2), fmt.Sprint("s", i-2)}
		},
	}
	chat := c.chat(t)
	for name, needs := range shapes {
		for _, n := range []int{2, 8, 9, 50} {
			if !every && n != 9 && (n != 50 || name != "lattice") { // 9 is one more than a wave
				continue
			}
			var steps []map[string]any
			for i := 1; i <= n; i++ {
				steps = append(steps, step(i, needs(i)...))
			}
			before := len(upstream.got(""))
			propose(t, c, model, chat, steps...)
			run := c.say(t, chat, "confirmo").text("run.run_id")
			ended, err := c.waitEnded(run)
			if err != nil || ended.text("status") != "done" {
				t.Fatalf("%s of %d: %v %s", name, n, err, ended)
			}
			if got := len(upstream.got("")) - before; got != n {
				t.Errorf("%s of %d: %d requests", name, n, got)
			}
			receiptOf(t, c, run)
		}
	}
	var many []map[string]any
	for i := 1; i <= 51; i++ {
		many = append(many, step(i))
	}
	call := reply{calls: []call{{"propose_plan", object("goal", "Demasiado", "steps", many)}}}
	model.will(call)
	model.will(reply{text: "Son demasiados pasos."})
	a := c.say(t, chat, "Hazlo todo")
	asked := model.allRequests()
	if told := string(asked[len(asked)-1].Body); a.text("kind") != "message" || !strings.Contains(told, "a plan has at most 50 steps") {
		t.Errorf("51 steps: %s, and the model was told %s", a, told)
	}
}

// receiptOf reads the receipt of a run and verifies it with the command.
func receiptOf(t *testing.T, c *client, run string) answer {
	t.Helper()
	a, err := signedReceipt(c, run)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	file, keys := filepath.Join(folder, "receipt.json"), filepath.Join(folder, "keys.json")
	if err := errors.Join(os.WriteFile(file, a.body, 0o600), os.WriteFile(keys, c.must(t, 200, "GET", "/api/keys", "").body, 0o600)); err != nil {
		t.Fatal(err)
	}
	out, err := verify(t, keys, file)
	if err != nil || !strings.Contains(out, "\nvalid: ") {
		t.Errorf("run %s: %v\n%s", run, err, out)
	}
	forged := strings.Replace(string(a.body), `"url":"http://127`, `"url":"http://128`, 1)
	if forged == string(a.body) {
		t.Fatalf("the receipt names no request: %s", a)
	}
	if err := os.WriteFile(file, []byte(forged), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := verify(t, keys, file); err == nil {
		t.Errorf("a forged receipt is called valid:\n%s", out)
	}
	return a
}

func verify(t *testing.T, keys, file string) (string, error) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), binary, "verify", "--keys", keys, file).CombinedOutput()
	return string(out), err
}

// TestLargeResultsNeverWedgeARun: answers around every limit are stored, referenced by later steps, and read
// completely.
func TestLargeResultsNeverWedgeARun(t *testing.T) {
	t.Parallel()
	_, c, model := startScripted(t)
	upstream := startOrders(t)
	server := c.must(t, 201, "POST", "/api/mcps", object("url", upstream.url())).text("mcp_id")
	chat := c.chat(t)
	for _, size := range []int{199 << 10, 200 << 10, 201 << 10, 255 << 10, 256 << 10, 257 << 10, 399 << 10, 400 << 10, 401 << 10, 1 << 20} {
		for _, sign := range []string{"x", "ñ", "😀"} {
			if !every && (size < 400<<10 || sign != "ñ") {
				continue
			}
			text := strings.Repeat(sign, size/len(sign))
			upstream.behave("GET /orders", behaviour{behaveBody, object("id", "last", "text", text)})
			propose(t, c, model, chat,
				map[string]any{"id": "s1", "mcp_id": server, "method": "GET", "path": "/orders"},
				map[string]any{"id": "s2", "mcp_id": server, "method": "POST", "path": "/orders/${s1.body.id}/pay"})
			run := c.say(t, chat, "confirmo").text("run.run_id")
			ended, err := c.waitEnded(run)
			if err != nil || ended.text("status") != "done" {
				t.Fatalf("%d bytes of %q: %v %s", size, sign, err, tail(ended.String()))
			}
			whole := c.must(t, 200, "GET", "/api/runs/"+run+"/steps/s1/result", "")
			if got := whole.text("body.text"); got != text {
				t.Errorf("%d bytes of %q came back as %d", size, sign, len(got))
			}
		}
	}
	want := 30
	if !every {
		want = 3
	}
	if n := len(upstream.got("POST /orders/last/pay")); n != want {
		t.Errorf("%d steps used what came before them", n)
	}
}
