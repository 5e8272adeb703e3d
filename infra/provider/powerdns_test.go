package provider

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const dnsKey = "the-key-of-the-name-server"

// startPowerDNS starts PowerDNS with no zones, and returns the address of its API.
func startPowerDNS(t *testing.T) string {
	t.Helper()
	program, err := exec.LookPath("pdns_server")
	backends, _ := filepath.Glob("/usr/lib/*/pdns/liblmdbbackend.so")
	if err != nil || len(backends) == 0 {
		t.Skip("PowerDNS is not installed; on Debian it is in pdns-server and pdns-backend-lmdb")
	}
	folder, err := os.MkdirTemp("", "pdns") // a short path: it has a socket
	if err != nil {
		t.Fatal(err)
	}
	api, dns := freePort(t), freePort(t)
	settings := fmt.Sprintf(`launch=lmdb
lmdb-filename=%[1]s/zones
local-address=127.0.0.1
local-port=%[3]d
webserver=yes
webserver-address=127.0.0.1
webserver-port=%[2]d
api=yes
api-key=%[4]s
socket-dir=%[1]s
security-poll-suffix=
`, folder, api, dns, dnsKey)
	if err := os.WriteFile(filepath.Join(folder, "pdns.conf"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) }) // after the program ended
	return "http://" + startServer(t, api, nil, program, "--config-dir="+folder, "--daemon=no", "--guardian=no", "--setuid=", "--setgid=")
}

// zonesOf returns the names of the zones that PowerDNS has, asked without Piloto.
func zonesOf(t *testing.T, address string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", address+"/api/v1/servers/localhost/zones", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-API-Key", dnsKey)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, _ := io.ReadAll(res.Body)
	return namesIn(string(body))
}

// namesIn returns the names in a list of zones.
func namesIn(rows string) string {
	var zones []struct{ Name string }
	_ = json.Unmarshal([]byte(rows), &zones)
	var names []string
	for _, z := range zones {
		names = append(names, z.Name)
	}
	return strings.Join(names, ", ")
}

// said is one message of a request to a model.
type said struct{ Role, Content string }

// dnsModel returns the address of a model that reads the zones before it answers or proposes. server is the id of the
// service.
func dnsModel(t *testing.T, server *string) string {
	t.Helper()
	replies := func(messages []said) (text, name string, arguments map[string]any) {
		last, question := messages[len(messages)-1], ""
		for _, m := range messages {
			if m.Role == "system" && strings.Contains(m.Content, "<ended>") {
				if strings.Contains(m.Content, `edited_serial`) { // only the service's answer has it
					return "Hecho: la zona ejemplo.test. está creada.", "", nil
				}
				return "No sé qué pasó.", "", nil
			}
			if m.Role == "user" {
				question = m.Content
			}
		}
		if last.Role != "tool" {
			return "", "look", map[string]any{"mcp_id": *server, "path": "/servers/localhost/zones"}
		}
		var read struct{ Answer string }
		_ = json.Unmarshal([]byte(last.Content), &read)
		if strings.HasPrefix(question, "Crea") {
			return "", "mcp_request", map[string]any{
				"mcp_id": *server, "method": "POST", "path": "/servers/localhost/zones",
				"body": map[string]any{"name": "ejemplo.test.", "kind": "Native", "nameservers": []string{"ns1.ejemplo.test."}},
			}
		}
		return "Zonas: " + namesIn(read.Answer) + ".", "", nil
	}
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked struct{ Messages []said }
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || len(asked.Messages) == 0 {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		text, name, arguments := replies(asked.Messages)
		message, finish := map[string]any{"role": "assistant", "content": text}, "stop"
		if name != "" {
			raw, _ := json.Marshal(arguments)
			message["tool_calls"] = []any{map[string]any{"id": "c1", "type": "function", "function": map[string]any{"name": name, "arguments": string(raw)}}}
			finish = "tool_calls"
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{"finish_reason": finish, "message": message}}})
	}))
	t.Cleanup(model.Close)
	return model.URL + "/v1"
}

// TestPowerDNS registers a name server from its own document, and lets it be read: a question is answered from its zones
// without a confirmation, a new zone is a plan of one request, and what came of it is told.
func TestPowerDNS(t *testing.T) {
	dns := startPowerDNS(t)
	var id string
	origin := start(t, dnsModel(t, &id))
	s := shown{t, origin}
	server := call(t, origin, "POST", "/api/mcps", map[string]any{
		"url": dns, "document_url": dns + "/api/docs", "name": "DNS", "key": map[string]any{"in": "header", "name": "X-API-Key", "value": dnsKey},
		"reads": map[string]any{"mode": "on"},
	})
	if id, _ = server["mcp_id"].(string); server["status"] != "online" || server["operations"].(float64) < 20 {
		t.Fatalf("%v", server)
	}
	chat := call(t, origin, "POST", "/api/chats", map[string]any{})["chat_id"]
	send := func(message, kind string) map[string]any {
		t.Helper()
		got := call(t, origin, "POST", "/api/send", map[string]any{"chat_id": chat, "message": message})
		if got["kind"] != kind {
			t.Fatalf("%v", got)
		}
		return got
	}
	answers := func(question, want string) {
		t.Helper()
		m := send(question, "message")["message"].(map[string]any)
		sources, _ := m["sources"].([]any)
		if m["content"] != want || len(sources) != 1 || sources[0].(map[string]any)["status"] != 200.0 || strings.Contains(fmt.Sprint(m), dnsKey) {
			t.Errorf("%v", m)
		}
	}
	answers("¿Qué zonas hay?", "Zonas: .")

	run := send("Crea la zona ejemplo.test", "plan")["run"].(map[string]any)
	if steps := run["steps"].([]any); len(steps) != 1 || steps[0].(map[string]any)["method"] != "POST" || zonesOf(t, dns) != "" {
		t.Errorf("%v, and there is %q", steps, zonesOf(t, dns))
	}
	send("confirmo", "queued")
	s.until("/api/runs/"+run["run_id"].(string), func(now map[string]any) bool { return now["status"] == "done" })
	if now := zonesOf(t, dns); now != "ejemplo.test." {
		t.Errorf("there is %q", now)
	}
	s.until(fmt.Sprintf("/api/chats/%s/messages", chat), func(now map[string]any) bool {
		return strings.Contains(fmt.Sprint(now), "Hecho: la zona ejemplo.test. está creada.")
	})
	answers("¿Y ahora?", "Zonas: ejemplo.test..")
}
