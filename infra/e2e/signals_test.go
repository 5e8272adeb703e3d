package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestSecondProcessOnFolderReportsOwner(t *testing.T) {
	t.Parallel()
	d, c := startDemonstration(t)
	cmd := exec.CommandContext(t.Context(), binary, "up", "--addr", "127.0.0.1:0", "-data", d.data)
	cmd.Dir = root
	attach(cmd)
	said, err := cmd.CombinedOutput()
	if err == nil {
		t.Fatalf("it started:\n%s", said)
	}
	for _, want := range []string{d.data, d.url(), " open"} {
		if !strings.Contains(string(said), want) {
			t.Errorf("it does not name %s:\n%s", want, said)
		}
	}
	c.chat(t) // the first is not disturbed

	// After a kill the folder is free at once, even when a write was in progress.
	d.kill()
	d.mustStart(t)
	c.chat(t)
}

func TestCtrlCStopsWithinSecondsWithoutLoss(t *testing.T) {
	t.Parallel()
	d, c, model := startScripted(t)
	upstream := startOrders(t)
	server := c.must(t, 201, "POST", "/api/mcps", object("url", upstream.url())).text("mcp_id")
	chat := c.chat(t)
	run := propose(t, c, model, chat,
		map[string]any{"id": "s1", "title": "uno", "mcp_id": server, "method": "GET", "path": "/orders"},
		map[string]any{"id": "s2", "title": "dos", "mcp_id": server, "method": "POST", "path": "/orders/1/pay"})
	upstream.behave("GET /orders", behaviour{kind: behaveHold}, behaviour{})
	c.must(t, 202, "POST", "/api/runs/"+run.text("run.run_id")+"/confirm", object("digest", run.text("run.digest")))
	other := c.chat(t)
	never := make(chan struct{})
	t.Cleanup(func() { close(never) })
	model.will(reply{text: "never", release: never})
	asked := make(chan error, 1)
	go func() {
		a, err := c.do("POST", "/api/send", object("chat_id", other, "message", "¿Sigues ahí?"))
		if err == nil && a.status != 200 && a.status != 503 {
			err = fmt.Errorf("the turn under way was answered %s", a)
		}
		asked <- err
	}()
	if err := eventually(patience, func() error {
		if len(upstream.got("GET /orders")) != 1 || len(model.allRequests()) != 2 {
			return fmt.Errorf("nothing is under way yet")
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := d.stop(patience); err != nil { // some 3 s when a step in progress never ends
		t.Fatal(err)
	}
	t.Logf("stopped in %s with a turn and a step under way", time.Since(began).Round(time.Millisecond))
	<-asked
	if !strings.Contains(d.out.String(), "piloto: stopped") {
		t.Errorf("it does not say that it stopped:\n%s", d.out)
	}
	if strings.Contains(d.log.String(), "panic") {
		t.Errorf("it panicked:\n%s", tail(d.log.String()))
	}
	if held, err := filepath.Glob(filepath.Join(d.data, "*.pid")); err != nil || len(held) > 0 {
		t.Errorf("the folder still names who has it: %v %v", held, err)
	}

	d.mustStart(t)
	ended, err := c.waitEnded(run.text("run.run_id"))
	if err != nil || ended.text("status") != "done" {
		t.Errorf("the run did not go on: %v %s", err, ended)
	}
	if n := len(upstream.got("POST /orders/1/pay")); n != 1 {
		t.Errorf("the unsafe step reached the service %d times", n)
	}
	if a := c.must(t, 200, "GET", "/api/chats/"+other+"/messages", ""); a.text("messages.0.content") != "¿Sigues ahí?" {
		t.Errorf("the message was lost: %s", a)
	}
}

// TestCtrlCWaitsForRunningStep: a clean stop leaves no call in doubt that is answered within its time limit, and begins no
// other call. Whoever asks meanwhile hears that the process stops.
func TestCtrlCWaitsForRunningStep(t *testing.T) {
	t.Parallel()
	d, c, model := startScripted(t, "PILOTO_STOP_TIMEOUT=") // the default
	upstream := startOrders(t)
	server := c.must(t, 201, "POST", "/api/mcps", object("url", upstream.url())).text("mcp_id")
	run := propose(t, c, model, c.chat(t),
		map[string]any{"id": "s1", "title": "uno", "mcp_id": server, "method": "POST", "path": "/orders/1/pay"},
		map[string]any{"id": "s2", "title": "dos", "mcp_id": server, "method": "POST", "path": "/orders/2/pay"})
	id := run.text("run.run_id")
	upstream.behave("POST /orders/1/pay", behaviour{kind: behaveHold})
	c.must(t, 202, "POST", "/api/runs/"+id+"/confirm", object("digest", run.text("run.digest")))
	if err := eventually(patience, func() error {
		if len(upstream.got("POST /orders/1/pay")) == 0 {
			return fmt.Errorf("nothing is under way yet")
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := d.interrupt(); err != nil {
		t.Fatal(err)
	}
	if err := eventually(patience, func() error { // it began to stop
		if a, err := c.do("GET", "/health", ""); err != nil || a.status != 503 || a.text("status") != "stopping" {
			return fmt.Errorf("it does not say that it stops: %s, %v", a, err)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	c.must(t, 503, "POST", "/api/chats", "{}")
	time.Sleep(4 * time.Second) // longer than what only reads has
	upstream.release()
	if err := d.waitEnd(patience); err != nil {
		t.Fatal(err)
	}
	if d.failed != nil || !strings.Contains(d.out.String(), "en marcha") {
		t.Errorf("%v, and it says\n%s", d.failed, d.out)
	}
	if n := len(upstream.got("POST /orders/2/pay")); n != 0 {
		t.Errorf("the next step began although the process was stopping")
	}
	d.mustStart(t)
	ended, err := c.waitEnded(id)
	if err != nil || ended.text("status") != "done" {
		t.Errorf("want done: %v %s", err, ended)
	}
	for _, path := range []string{"/orders/1/pay", "/orders/2/pay"} {
		if n := len(upstream.got("POST " + path)); n != 1 {
			t.Errorf("POST %s reached the service %d times", path, n)
		}
	}
}

func TestTokenIsKeptWhenNoneIsConfigured(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, "PILOTO_TOKEN=")
	d.mustStart(t)
	file := filepath.Join(d.data, "token")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	token := strings.TrimSpace(string(text))
	if said := d.out.String(); strings.Contains(said, token) || strings.Contains(said, "code=") || !strings.Contains(said, "piloto open ") || !strings.Contains(said, file) {
		t.Errorf("what signs in is in a log, or how to get it is not:\n%s", said)
	}
	for want, address := range map[int]string{303: d.signInAddress(t), 401: d.url() + "/signin?code=another"} {
		newClient(d.url(), "").must(t, want, "GET", strings.TrimPrefix(address, d.url()), "")
	}
	newClient(d.url(), token).chat(t)
	d.kill()
	d.mustStart(t)
	newClient(d.url(), token).chat(t)

	// A configured token replaces it: the old one is refused from then on.
	d.kill()
	d.env = []string{"PILOTO_TOKEN=" + testToken}
	d.mustStart(t)
	newClient(d.url(), testToken).chat(t)
	newClient(d.url(), token).must(t, 401, "POST", "/api/chats", "{}")
}
