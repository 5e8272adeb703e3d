package provider

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// startReferenceServer starts the protocol's reference server over a transport, and returns its address.
func startReferenceServer(t *testing.T, transport, path string) string {
	t.Helper()
	folder := os.Getenv("PILOTO_EVERYTHING")
	if folder == "" {
		t.Skip("PILOTO_EVERYTHING names no folder with @modelcontextprotocol/server-everything; `make provider` does")
	}
	port := freePort(t)
	address := startServer(t, port, []string{fmt.Sprintf("PORT=%d", port)}, "node",
		filepath.Join(folder, "node_modules/@modelcontextprotocol/server-everything/dist/index.js"), transport)
	return "http://" + address + path
}

// startServer starts a program with variables, waits until it listens at a port of this machine, and returns the address.
// The program ends with the test.
func startServer(t *testing.T, port int, variables []string, program string, arguments ...string) string {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	server := exec.CommandContext(ctx, program, arguments...)
	server.Env = append(os.Environ(), variables...)
	var said lockedText
	server.Stdout, server.Stderr = &said, &said
	if err := server.Start(); err != nil {
		stop()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		_ = server.Wait()
		if t.Failed() {
			t.Log(said.String())
		}
	})
	address := fmt.Sprintf("127.0.0.1:%d", port)
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
		if err == nil {
			_ = c.Close()
			return address
		}
		if time.Now().After(deadline) {
			t.Fatalf("it does not listen: %v\n%s", err, said.String())
		}
	}
}

// lockedText collects the output of a process, from several writers.
type lockedText struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lockedText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lockedText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// planner returns the address of a model that always proposes one plan.
func planner(t *testing.T, steps func() []any) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		arguments, _ := json.Marshal(map[string]any{"goal": "Probar", "steps": steps()})
		_ = json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{
			"finish_reason": "tool_calls",
			"message": map[string]any{"role": "assistant", "tool_calls": []any{map[string]any{
				"id": "c1", "type": "function", "function": map[string]any{"name": "propose_plan", "arguments": string(arguments)},
			}}},
		}}})
	}))
	t.Cleanup(server.Close)
	return server.URL + "/v1"
}

// TestPlanUsesReferenceServer registers the reference server over both transports, and makes a plan call its tools.
func TestPlanUsesReferenceServer(t *testing.T) {
	for transport, path := range map[string]string{"streamableHttp": "/mcp", "sse": "/sse"} {
		t.Run(transport, func(t *testing.T) {
			url := startReferenceServer(t, transport, path)
			var id string
			origin := start(t, planner(t, func() []any {
				return []any{
					map[string]any{"id": "s1", "title": "Sumar", "mcp_id": id, "tool": "get-sum", "body": map[string]any{"a": 2, "b": 40}},
					map[string]any{"id": "s2", "title": "Repetir", "mcp_id": id, "tool": "echo", "body": map[string]any{"message": "${s1.body.content[0].text}"}},
					map[string]any{"id": "s3", "title": "Dibujar", "mcp_id": id, "tool": "get-tiny-image", "body": map[string]any{}},
				}
			}))
			server := call(t, origin, "POST", "/api/mcps", map[string]any{"url": url, "kind": "mcp", "name": "everything"})
			id, _ = server["mcp_id"].(string)
			if server["status"] != "online" || len(server["tools"].([]any)) < 5 {
				t.Fatalf("%v", server)
			}
			chat := call(t, origin, "POST", "/api/chats", map[string]any{})["chat_id"]
			turn := call(t, origin, "POST", "/api/send", map[string]any{"chat_id": chat, "message": "suma y repite"})
			if turn["kind"] != "plan" {
				t.Fatalf("%v", turn)
			}
			run := turn["run"].(map[string]any)
			call(t, origin, "POST", "/api/runs/"+run["run_id"].(string)+"/confirm", map[string]any{"digest": run["digest"]})
			for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
				run = call(t, origin, "GET", "/api/runs/"+run["run_id"].(string), nil)
				if run["status"] != "queued" && run["status"] != "running" || time.Now().After(deadline) {
					break
				}
			}
			text, _ := json.Marshal(run["steps"])
			if run["status"] != "done" || !strings.Contains(string(text), "Echo: The sum of 2 and 40 is 42") || !strings.Contains(string(text), "image/png") {
				t.Errorf("%s: %s", run["status"], text)
			}
		})
	}
}
