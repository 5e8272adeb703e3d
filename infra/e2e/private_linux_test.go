package e2e

import (
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// inNetwork is the environment variable that marks the run in a network of its own.
const inNetwork = "PILOTO_TEST_NETWORK"

// TestPrivateAddressNeedsItsNetworkAllowed uses an agent and a service on a private address, in a network namespace
// that the test creates.
func TestPrivateAddressNeedsItsNetworkAllowed(t *testing.T) {
	if os.Getenv(inNetwork) == "" {
		inOwnNetwork(t)
		return
	}
	for _, args := range [][]string{{"link", "set", "lo", "up"}, {"addr", "add", "192.168.77.5/24", "dev", "lo"}} {
		if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
			t.Fatalf("ip %v: %v %s", args, err, out)
		}
	}
	agent := newToolServer("192.168.77.5:" + freePort(t))
	if err := agent.start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(agent.stop)
	orders := startOrdersAt(t, "192.168.77.5:"+freePort(t))
	asAgent, asService := object("name", "agenda", "url", agent.url(), "role", "agent"), object("url", orders.url())

	_, closed, _ := startScripted(t)
	for _, body := range []string{asAgent, asService} {
		refused := closed.must(t, 422, "POST", "/api/mcps", body)
		if refused.text("code") != "url.refused" || !strings.Contains(refused.text("action"), "PILOTO_ALLOW_PRIVATE") {
			t.Errorf("%s", refused)
		}
	}

	_, open, model := startScripted(t, "PILOTO_ALLOW_PRIVATE=192.168.77.0/28")
	open.must(t, 201, "POST", "/api/mcps", asAgent)
	model.will(reply{text: `{"action":"delegate","agent_name":"agenda","response":""}`})
	told := open.must(t, 200, "POST", "/api/agent/chat", object("message", "¿Qué sala está libre?", "session_id", "s1", "config", map[string]any{"id_empresa": 7}))
	if told.text("agent_used") != "agenda" || told.text("reply") != "1: ¿Qué sala está libre?" {
		t.Errorf("%s", told)
	}
	server, chat := open.must(t, 201, "POST", "/api/mcps", asService).text("mcp_id"), open.chat(t)
	propose(t, open, model, chat, map[string]any{"mcp_id": server, "method": "POST", "path": "/orders/7/pay"})
	run, err := open.waitEnded(open.say(t, chat, "confirmo").text("run.run_id"))
	if err != nil || run.text("status") != "done" || len(orders.got("POST /orders/7/pay")) != 1 {
		t.Errorf("%s %v", run, err)
	}
	for _, elsewhere := range []string{"http://192.168.77.16:9/mcp", "http://169.254.169.254/", "http://10.0.0.1/"} {
		open.must(t, 422, "POST", "/api/mcps", object("url", elsewhere, "allow_offline", true))
	}
}

// inOwnNetwork runs the test again in a network namespace of its own.
func inOwnNetwork(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("there is no ip(8) to set up a network with")
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", "-lambda="+*lambdaMode)
	cmd.Env = append(os.Environ(), inNetwork+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	if cmd.Process == nil {
		t.Skipf("no network of its own can be made here: %v", err)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

func freePort(t *testing.T) string {
	t.Helper()
	_, port, err := net.SplitHostPort(freeAddress(t))
	if err != nil {
		t.Fatal(err)
	}
	return port
}
