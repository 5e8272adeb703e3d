package provider

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"piloto/infra/local/fixture"
	"piloto/infra/local/process"
	"piloto/internal/chats/agent"
	"piloto/internal/models/llm"
	"piloto/internal/models/openai"
)

const token = "a-token-of-the-tests-of-providers"

// call sends a request to the deployment and returns the members of the response.
func call(t *testing.T, origin, method, path string, body any) map[string]any {
	t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, origin+path, bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	var out map[string]any
	if err := json.NewDecoder(res.Body).Decode(&out); err != nil {
		t.Fatal(err)
	}
	return out
}

// start runs the deployment with its model at base and returns its origin.
func start(t *testing.T, base string) string {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	out, in := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- process.Serve(ctx, process.Options{
			Addr: "127.0.0.1:0", Data: t.TempDir(), Template: fixture.Root(t, "template.yaml"), Log: io.Discard,
		}, process.Settings{Token: token, Demo: true, Key: "sk-test", BaseURL: base, Model: "gpt-4o-mini"}, in)
		_ = in.Close()
	}()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		t.Fatal("it did not start: ", <-done)
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	return strings.TrimPrefix(lines.Text(), "piloto ready on ")
}

// waitUntilAllowed waits until the account may ask again: after a provider asked for a pause, requests are refused
// until the pause ends.
func waitUntilAllowed(t *testing.T, origin string) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		if call(t, origin, "GET", "/ai/eligibility", nil)["canExecute"] == true {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("it may not ask any more")
		}
	}
}

// listen opens a socket, as the page does. The returned function returns the text that was pushed so far.
func listen(t *testing.T, origin string) func() string {
	t.Helper()
	address := call(t, origin, "POST", "/api/realtime", nil)["url"].(string)
	c, _, err := websocket.Dial(t.Context(), address, nil)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var text strings.Builder
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			_, frame, err := c.Read(t.Context())
			if err != nil {
				return
			}
			var push struct {
				Type string
				Data struct{ Text string }
			}
			if json.Unmarshal(frame, &push) == nil && push.Type == "ai:text" {
				mu.Lock()
				text.WriteString(push.Data.Text)
				mu.Unlock()
			}
		}
	}()
	t.Cleanup(func() {
		_ = c.CloseNow()
		<-done
	})
	return func() string {
		mu.Lock()
		defer mu.Unlock()
		return text.String()
	}
}

// requireServer returns the folder of the independent server, and a port for it.
func requireServer(t *testing.T) (folder string, port int) {
	t.Helper()
	if folder = os.Getenv("PILOTO_AIMOCK"); folder == "" {
		t.Skip("PILOTO_AIMOCK names no folder with @copilotkit/aimock; `make provider` does")
	}
	return folder, freePort(t)
}

// freePort returns a port on which nothing listens.
func freePort(t *testing.T) int {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().(*net.TCPAddr).Port
}

// provide starts that server; its plans call service.
func provide(t *testing.T, folder string, port int, service string) {
	t.Helper()
	server := exec.CommandContext(t.Context(), "node", "testdata/server.mjs", fmt.Sprint(port), folder, service)
	server.Stderr = os.Stderr
	said, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(said).ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("the provider said %q, %v", line, err)
	}
}

// TestStructuredAnswer checks both paths to a structured answer: by its schema, and by a tool when the provider
// refuses the schema.
func TestStructuredAnswer(t *testing.T) {
	folder, port := requireServer(t)
	provide(t, folder, port, "none")
	client := openai.New(openai.Endpoint{Provider: "aimock", BaseURL: fmt.Sprintf("http://127.0.0.1:%d/v1", port), Key: "sk-test"}, &http.Client{Timeout: 10 * time.Second}, time.Now)
	form := agent.Format([]agent.Agent{{Name: "reserva"}})
	for _, message := range []string{"decide", "sin forma", "sin forma", "decide"} {
		reply, err := client.Complete(t.Context(), llm.Request{
			Model: "of " + message, Messages: []llm.Message{{Role: llm.User, Content: message}}, Format: form,
		})
		if err != nil {
			t.Errorf("%s: %v", message, err)
			continue
		}
		d, err := agent.ReadDecision([]byte(reply.Text), nil)
		if err != nil || d.Response != "Aquí estoy." || reply.Calls != nil {
			t.Errorf("%s: %+v, %v", message, reply, err)
		}
	}
}

// shown is a deployment whose model is the independent server, and whose service is the demonstration's.
type shown struct {
	*testing.T
	origin string
}

// written returns the number of bookings that reached the service.
func (s shown) written() (n int) {
	for _, one := range call(s.T, s.origin, "GET", "/demo/rooms/ledger", nil)["items"].([]any) {
		if one.(map[string]any)["method"] == "POST" {
			n++
		}
	}
	return n
}

// confirm confirms a plan that books the cheapest room, and waits until the chat says in words what came of it: of a plan of
// a job the job says it.
func (s shown) confirm(run string) {
	s.Helper()
	before, path := s.written(), "/api/runs/"+run
	draft := call(s.T, s.origin, "GET", path, nil)
	steps, _ := draft["steps"].([]any)
	if len(steps) != 1 || !strings.Contains(fmt.Sprint(steps[0]), "room_id:este") {
		s.Fatalf("the plan is %v", draft)
	}
	call(s.T, s.origin, "POST", path+"/confirm", map[string]any{"digest": draft["digest"]})
	s.until(path, func(now map[string]any) bool { return now["status"] == "done" })
	if after := s.written(); after != before+1 {
		s.Errorf("%d bookings became %d", before, after)
	}
	s.until(fmt.Sprintf("/api/chats/%s/messages", draft["chat_id"]), func(now map[string]any) bool {
		return strings.Contains(fmt.Sprint(now), "Hecho: la Sala Este es tuya")
	})
}

// until reads a thing of the API until it is as it should be.
func (s shown) until(path string, is func(map[string]any) bool) map[string]any {
	s.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		now := call(s.T, s.origin, "GET", path, nil)
		if is(now) {
			return now
		}
		if time.Now().After(deadline) {
			s.Fatalf("%s is %v", path, now)
		}
	}
}

// TestIndependentProviderLooksProposesAndConcludes asks, orders and gives a job, with the tool calls of a server that is
// not ours.
func TestIndependentProviderLooksProposesAndConcludes(t *testing.T) {
	folder, port := requireServer(t)
	origin := start(t, fmt.Sprintf("http://127.0.0.1:%d/v1", port))
	servers := call(t, origin, "GET", "/api/mcps", nil)["mcps"].([]any)
	provide(t, folder, port, servers[0].(map[string]any)["mcp_id"].(string))
	const free = "Libres: Sala Este, Sala Norte, Sala Sur, Sala Oeste, Auditorio."

	t.Run("page", func(t *testing.T) {
		s := shown{t, origin}
		chat := call(t, origin, "POST", "/api/chats", map[string]any{})["chat_id"]
		send := func(message string) map[string]any {
			return call(t, origin, "POST", "/api/send", map[string]any{"chat_id": chat, "message": message})
		}
		asked := send("¿qué salas hay libres el 2030-01-02?")
		if message, _ := asked["message"].(map[string]any); asked["kind"] != "message" || message["content"] != free || len(message["sources"].([]any)) != 1 {
			t.Errorf("%v", asked)
		}
		ordered := send("ocupa la más barata el 2030-01-02")
		if ordered["kind"] != "plan" || s.written() != 0 {
			t.Fatalf("%v", ordered)
		}
		s.confirm(ordered["run"].(map[string]any)["run_id"].(string))
	})
	t.Run("operator", func(t *testing.T) {
		send := func(message string) map[string]any {
			return call(t, origin, "POST", "/operator/chat", map[string]any{"session_id": "s1", "message": message})
		}
		if asked := send("¿qué salas hay libres el 2030-01-03?"); asked["response"] != free || asked["tool_calls"] != nil || len(asked["sources"].([]any)) != 1 {
			t.Errorf("%v", asked)
		}
		ordered := send("ocupa la más barata el 2030-01-03")
		calls, _ := ordered["tool_calls"].([]any)
		if len(calls) != 1 {
			t.Fatalf("%v", ordered)
		}
		shown{t, origin}.confirm(calls[0].(map[string]any)["run_id"].(string))
	})
	t.Run("job", func(t *testing.T) {
		s := shown{t, origin}
		begun := call(t, origin, "POST", "/api/agents/build/jobs", map[string]any{"prompt": "encárgate de una sala para el 2030-01-04"})
		path := fmt.Sprintf("/api/jobs/%s", begun["job_id"])
		waiting := s.until(path, func(now map[string]any) bool { return now["status"] == "waiting" })
		s.confirm(waiting["waits_for"].(string))
		ended := s.until(path, func(now map[string]any) bool { return now["status"] != "waiting" && now["status"] != "running" })
		if ended["status"] != "success" || ended["output"] != "Hecho: la Sala Este es tuya." || ended["rounds"] != 3.0 || ended["looks"] != 1.0 {
			t.Errorf("%v", ended)
		}
	})
}

func TestIndependentProvider(t *testing.T) {
	folder, port := requireServer(t)
	origin := start(t, fmt.Sprintf("http://127.0.0.1:%d/v1", port))
	servers := call(t, origin, "GET", "/api/mcps", nil)["mcps"].([]any)
	provide(t, folder, port, servers[0].(map[string]any)["mcp_id"].(string))

	chat := call(t, origin, "POST", "/api/chats", map[string]any{})["chat_id"]
	send := func(message string) map[string]any {
		return call(t, origin, "POST", "/api/send", map[string]any{"chat_id": chat, "message": message})
	}
	failures := func(t *testing.T, streamed bool) {
		if got := send("hola"); got["kind"] != "message" || got["message"].(map[string]any)["content"] != "Hola desde fuera." {
			t.Errorf("text: %v", got)
		}
		for message, reason := range map[string]string{
			"clave": "no_api_key", "roto": "provider_unreachable", "modelo": "provider_refused", "cuelga": "provider_unreachable",
			"basura": "provider_unreachable", "limite": "rate_limited",
		} {
			got := send(message)
			if block, _ := got["block"].(map[string]any); got["kind"] != "blocked" || block["reason"] != reason || block["message"] == "" || block["action"] == "" {
				t.Errorf("%s: %v", message, got)
			}
			waitUntilAllowed(t, origin)
		}
		if got := send("mudo"); got["kind"] != "notice" {
			t.Errorf("an answer without a word: %v", got)
		}
		if got := send("cortado"); streamed && got["kind"] != "blocked" {
			t.Errorf("an answer that was cut: %v", got)
		}
	}
	t.Run("plain", func(t *testing.T) { failures(t, false) })
	t.Run("streamed", func(t *testing.T) {
		heard := listen(t, origin)
		failures(t, true)
		if got := send("cuento"); got["message"].(map[string]any)["content"] != "Érase una vez un servicio. Respondía siempre. Fin." {
			t.Errorf("%v", got)
		}
		if text := heard(); !strings.Contains(text, "Érase una vez un servicio.") {
			t.Errorf("what was told on the way: %q", text)
		}
	})
	t.Run("routed", func(t *testing.T) {
		ask := func(message string) map[string]any {
			return call(t, origin, "POST", "/api/agent/chat", map[string]any{"message": message, "session_id": message, "config": map[string]any{"id_empresa": 7}})
		}
		if got := ask("garabato"); got["reply"] == "" || strings.Contains(got["reply"].(string), "{") || got["agent_used"] != nil {
			t.Errorf("an answer in no form: %v", got)
		}
		for _, c := range []struct{ message, reply, agent string }{
			{"decide", "Aquí estoy.", ""},
			{"quiero una sala", "¿Para cuántas personas?", "reserva"}, // the demonstration's agent
			{"sin forma", "Aquí estoy.", ""},                          // the last: the refusal of the schema is cached
		} {
			got := ask(c.message)
			if agent, _ := got["agent_used"].(string); got["reply"] != c.reply || agent != c.agent {
				t.Errorf("%s: %v", c.message, got)
			}
		}
	})
	status := call(t, origin, "GET", "/ai/status", nil)
	if attempts, _ := status["attempts"].([]any); len(attempts) == 0 || len(attempts) > 20 {
		t.Errorf("%v", status)
	}
	if got := send("haz una reserva"); got["kind"] != "plan" {
		t.Fatalf("tool call: %v", got)
	}
	queued := send("confirmo")
	run := queued["run"].(map[string]any)["run_id"].(string)
	for deadline := time.Now().Add(20 * time.Second); ; {
		now := call(t, origin, "GET", "/api/runs/"+run, nil)
		if now["status"] == "done" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the run is %v", now)
		}
		time.Sleep(50 * time.Millisecond)
	}
}
