package e2e

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

const decided = `{"action":"respond","agent_name":null,"response":"Una vez."}`

// TestTurnOutlivesRequestAndProcess: a turn whose request was answered 202 is answered after the process was killed
// in the middle of it, and is in the chat once.
func TestTurnOutlivesRequestAndProcess(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	first := make(chan struct{})
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if asked.Add(1) == 1 {
			close(first)
			<-r.Context().Done() // the process that asked was killed
			return
		}
		_, _ = io.WriteString(w, reply{text: decided}.completion())
	}))
	t.Cleanup(model.Close)
	d := newDeployment(t, "PILOTO_DEMO=off", "OPENAI_BASE_URL="+model.URL+"/v1", "OPENAI_MODEL=fake-1")
	d.mustStart(t)
	c := newClient(d.url(), testToken)
	accepted := c.must(t, http.StatusAccepted, "POST", "/api/agent/chat", routerMessage("larga", "Hola"), "Prefer", "respond-async")
	read := accepted.header.Get("Location")
	<-first
	d.kill()
	d.mustStart(t)
	c = newClient(d.url(), testToken)
	got := c.must(t, http.StatusOK, "GET", read, "", "Prefer", "wait=60")
	if got.text("reply") != "Una vez." || asked.Load() != 2 {
		t.Errorf("%s, and the model was asked %d times", got, asked.Load())
	}
	messages := c.must(t, http.StatusOK, "GET", "/api/chats/"+got.text("chat_id")+"/messages", "")
	if said := strings.Count(messages.String(), `"content":"Hola"`); said != 1 || strings.Count(messages.String(), "Una vez.") != 1 {
		t.Errorf("the chat has %s", messages)
	}
}

// toReserva makes the model delegate to the agent reserva.
var toReserva = reply{text: `{"action":"delegate","agent_name":"reserva","response":null}`}

// slowAgent registers an agent, reserva, that holds its first answer until it is released.
func slowAgent(t *testing.T, c *client) *toolServer {
	t.Helper()
	slow := newToolServer(freeAddress(t))
	if err := slow.start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(slow.stop)
	slow.mu.Lock()
	slow.behaviours = []behaviour{{behaveHold, ""}}
	slow.mu.Unlock()
	c.must(t, http.StatusCreated, "POST", "/api/mcps", object("url", slow.url(), "name", "reserva", "kind", "mcp", "role", "agent"))
	return slow
}

// waitCalled waits until an agent was called, once.
func waitCalled(t *testing.T, agent *toolServer) {
	t.Helper()
	if err := eventually(patience, func() error {
		if n := len(agent.got()); n != 1 {
			return fmt.Errorf("the agent was called %d times", n)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// TestSlowAgentIsCalledOnceAndAnsweredLater: the request is answered 202, the agent takes its time, and its answer
// is read later.
func TestSlowAgentIsCalledOnceAndAnsweredLater(t *testing.T) {
	t.Parallel()
	_, c, model := startScripted(t)
	slow := slowAgent(t, c)
	model.will(toReserva)
	accepted := c.must(t, http.StatusAccepted, "POST", "/api/agent/chat", routerMessage("lenta", "¿Hay mesa?"), "Prefer", "respond-async, wait=1")
	read := accepted.text("read")
	waitCalled(t, slow)
	c.must(t, http.StatusAccepted, "GET", read, "")
	slow.release()
	got := c.must(t, http.StatusOK, "GET", read, "", "Prefer", "wait=60")
	if got.text("agent_used") != "reserva" || got.text("reply") == "" || len(slow.got()) != 1 {
		t.Errorf("%s, called %d times", got, len(slow.got()))
	}
}

// TestPageWaitsForSlowTurn: the person sees that the turn goes on, and then the answer.
func TestPageWaitsForSlowTurn(t *testing.T) {
	t.Parallel()
	d, c, model := startScripted(t)
	b := openBrowser(t, d)
	b.signIn()
	b.see("#composer, textarea")
	// As if every turn were answered outside its request.
	if _, err := value[bool](b, `(() => {
		const real = window.fetch; window.asked = 0;
		window.fetch = (url, options) => {
			if (url.startsWith("/api/turns/")) window.asked++;
			if (url === "/api/send") options = { ...options, headers: { ...options.headers, Prefer: "respond-async" } };
			return real(url, options);
		};
		return true;
	})()`); err != nil {
		t.Fatal(err)
	}
	released := make(chan struct{})
	model.will(reply{text: "Ha tardado.", release: released})
	b.say("Hola")
	b.until(`window.asked > 0 && document.getElementById("writing") !== null`)
	if said := b.text("#thread"); !strings.Contains(said, "Hola") || strings.Contains(said, "Ha tardado.") {
		t.Errorf("meanwhile the page says %q", said)
	}
	close(released)
	b.reads("#thread", `Ha tardado\.`)
	if n, err := value[int](b, `document.querySelectorAll("#thread .failed, #thread .problem").length`); err != nil || n != 0 {
		t.Errorf("%d failures are shown, %v", n, err)
	}
	if err := model.leftovers(); err != nil {
		t.Error(err)
	}
	if n := c.must(t, http.StatusOK, "GET", "/api/chats", "").text("chats.count"); n != "1" {
		t.Errorf("%s chats", n)
	}
}

// TestAgentIsNotCalledAgainAfterKill: the agent may have acted already. The customer is informed that no answer
// came, and may ask again.
func TestAgentIsNotCalledAgainAfterKill(t *testing.T) {
	t.Parallel()
	d, c, model := startScripted(t)
	slow := slowAgent(t, c)
	for range 2 { // before and after the kill
		model.will(toReserva)
	}
	read := c.must(t, http.StatusAccepted, "POST", "/api/agent/chat", routerMessage("muere", "Reserva"), "Prefer", "respond-async").header.Get("Location")
	waitCalled(t, slow)
	d.kill()
	slow.release()
	d.mustStart(t)
	c = newClient(d.url(), testToken)
	got := c.must(t, http.StatusOK, "GET", read, "", "Prefer", "wait=60")
	if got.text("failure.code") != "agent.timeout" || got.text("agent") != "reserva" || got.text("reply") == "" || len(slow.got()) != 1 {
		t.Errorf("%s, called %d times", got, len(slow.got()))
	}
	model.will(toReserva)
	again := c.must(t, http.StatusOK, "POST", "/api/agent/chat", routerMessage("muere", "Reserva"))
	if again.text("agent_used") != "reserva" || len(slow.got()) != 2 {
		t.Errorf("asked again by the customer: %s, called %d times", again, len(slow.got()))
	}
}
