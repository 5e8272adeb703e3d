package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"piloto/internal/access/auth"
	"piloto/internal/chats/agent"
	"piloto/internal/chats/usage"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
	"piloto/internal/tools/tool"
)

// opsStore has the turns and agents of account a.
type opsStore struct {
	world    *world
	totals   usage.Totals
	servers  []tool.Server
	breakers []agent.Breaker
	err      error
}

func (w *opsStore) Totals(_ context.Context, account ids.Account) (usage.Totals, error) {
	if err := w.world.called(account, "", "", nil); err != nil || account != "a" {
		return usage.Totals{}, err
	}
	return w.totals, w.err
}

func (w *opsStore) Servers(_ context.Context, account ids.Account) ([]tool.Server, error) {
	if account != "a" {
		return nil, w.world.called(account, "", "", nil)
	}
	return w.servers, w.world.called(account, "", "", nil)
}

func (w *opsStore) Breakers(_ context.Context, account ids.Account) ([]agent.Breaker, error) {
	if account != "a" {
		return nil, w.world.called(account, "", "", nil)
	}
	return w.breakers, errors.Join(w.err, w.world.called(account, "", "", nil))
}

func newOpsStore(w *world) *opsStore {
	h := usage.Histogram{Sum: 2345 * time.Millisecond}
	h.Counts[2], h.Counts[8], h.Counts[14] = 3, 2, 1
	other := usage.Histogram{Sum: time.Second}
	other.Counts[7] = 1
	mcp := func(id, name string, role tool.Role) tool.Server {
		return tool.Server{ID: id, Name: name, Kind: tool.KindMCP, Role: role, Active: true}
	}
	return &opsStore{
		world: w,
		totals: usage.Totals{
			Turns: map[usage.Kind]int64{
				{Contract: "agent", Outcome: "respond"}: 3, {Contract: "agent", Outcome: "delegate"}: 2, {Contract: "agent", Outcome: "unreachable"}: 1,
				{Contract: "agent", Outcome: "apology"}: 1, {Contract: "agent", Outcome: "blocked"}: 4, {Contract: "send", Outcome: "message"}: 1 << 60,
			},
			Reasons: map[usage.Cause]int64{
				{Contract: "agent", Outcome: "blocked", Reason: "no_api_key"}: 4, {Contract: "agent", Outcome: "unreachable", Reason: "agent.open"}: 1,
			},
			Agents:  map[string]usage.AgentTotals{"reserva": {Turns: 2, Attempts: 3, Failures: 1}, `a "quoted\` + "\n" + `one"`: {Turns: 1}},
			Latency: map[string]usage.Histogram{"agent": h, "send": other},
			Recent:  map[string]usage.Histogram{"agent": h},
		},
		servers: []tool.Server{
			mcp("01", "reserva", tool.RoleAgent), mcp("02", "venta", tool.RoleAgent), mcp("03", "cita", tool.RoleAgent),
			mcp("04", "herramientas", tool.RoleTools), sampleServer(),
		},
		breakers: []agent.Breaker{
			{Agent: "01", Failed: []time.Time{noon}, OpenedAt: noon, OpenUntil: noon.Add(time.Minute)},
			{Agent: "02", Failed: []time.Time{noon, noon}},
			{Agent: "03", OpenedAt: noon.Add(-2 * time.Minute), OpenUntil: noon.Add(-time.Minute), Probe: "x", ProbedAt: noon, ProbedBy: noon.Add(time.Second)},
			{Agent: "99", OpenedAt: noon, OpenUntil: noon.Add(time.Minute)}, // of a deleted server
		},
	}
}

// opsOf returns the Ops of a site's world.
func opsOf(w *opsStore) Ops {
	return Ops{
		Version: "0.2.0", Counted: w, Servers: w, Breakers: w,
		Effective: Effective{
			{Name: "version", Group: "service", Value: "0.2.0"},
			{Name: "openai_model", Group: "openai", Value: "gpt-4o-mini"},
			{Name: "mcp_timeout", Group: "timeouts", Value: "30s"},
			{Name: "openai_base_url", Group: "openai", Value: "https://user:canary@llm.example.org/v1?key=canary"},
			{Name: "openai_api_key", Group: "openai", Value: "canary-secret", Secret: true},
			{Name: "groq_api_key", Group: "openai", Value: "", Secret: true},
			{Name: "forgotten_token", Group: "openai", Value: "canary"},
			{Name: "contexto_negocio_url", Group: "timeouts"},
		},
	}
}

func TestHealthShowsAgentsToTheirAccountAlone(t *testing.T) {
	s := newSite(Check{"table", func(context.Context) error { return nil }})
	for _, c := range []struct {
		who  auth.Principal
		want string
	}{
		{auth.Principal{}, `{"status":"ok","version":"0.2.0","checks":{"table":"ok"}}`},
		{other, `{"status":"ok","version":"0.2.0","checks":{"table":"ok"}}`},
		{scopeNo, `{"status":"ok","version":"0.2.0","checks":{"table":"ok"}}`},
		{talker, `{"status":"degraded","version":"0.2.0","checks":{"table":"ok"},"agents":{` +
			`"cita":{"state":"half_open","failures":0,"retry_at":"2026-03-01T12:00:01Z"},` +
			`"reserva":{"state":"open","failures":1,"retry_at":"2026-03-01T12:01:00Z"},` +
			`"venta":{"state":"closed","failures":2}}}`},
	} {
		w := s.do(ask(c.who, "GET", "/health", ""))
		if got := strings.TrimSpace(w.Body.String()); w.Code != 200 || got != c.want {
			t.Errorf("%s: %d\n%s\nwant\n%s", c.who.Account, w.Code, got, c.want)
		}
	}
	s.watch.err = errors.New("canary")
	if w := s.do(ask(talker, "GET", "/health", "")); w.Code != 200 || strings.Contains(w.Body.String(), "agents") || !strings.Contains(s.logs.String(), "health.agents_unread") {
		t.Errorf("breakers that cannot be read: %d %s", w.Code, w.Body)
	}
}

// TestAFullDiskIsUnhealthyAndNotLogged: the store logs it, once.
func TestAFullDiskIsUnhealthyAndNotLogged(t *testing.T) {
	s := newSite(Check{"table", func(context.Context) error { return fmt.Errorf("get item: %w", fault.ErrStorage) }})
	w := s.do(ask(auth.Principal{}, "GET", "/health", ""))
	if want := `{"status":"unavailable","version":"0.2.0","checks":{"table":"unwritable"}}`; w.Code != 503 || strings.TrimSpace(w.Body.String()) != want {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	Problems(Config{Log: slog.New(slog.NewTextHandler(s.logs, nil))})(httptest.NewRecorder(), httptest.NewRequest("GET", "/api/x", nil), fault.ErrStorage.Because(errors.New("no space")))
	if strings.Contains(s.logs.String(), "no space") || strings.Contains(s.logs.String(), "health") {
		t.Errorf("it is said for each request: %s", s.logs.String())
	}
}

func TestHealthDoesNotWaitForAHangingCheck(t *testing.T) {
	s := newSite(Check{"hangs", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }}, Check{"table", func(context.Context) error { return nil }})
	r := ask(auth.Principal{}, "GET", "/health", "")
	ctx, cancel := context.WithCancel(r.Context())
	cancel()
	w := s.do(r.WithContext(ctx))
	if w.Code != 503 || !strings.Contains(w.Body.String(), `"table":"ok"`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestConfigurationHoldsNoSecret(t *testing.T) {
	w := newSite().do(ask(manager, "GET", "/config", ""))
	if strings.Contains(w.Body.String(), "canary") {
		t.Error(w.Body)
	}
	want := `{"version":"0.2.0","groups":[` +
		`{"name":"service","settings":[{"name":"version","value":"0.2.0","set":true}]},` +
		`{"name":"openai","settings":[{"name":"openai_model","value":"gpt-4o-mini","set":true},` +
		`{"name":"openai_base_url","value":"https://llm.example.org/v1?••••","set":true},` +
		`{"name":"openai_api_key","value":"••••","set":true,"secret":true},` +
		`{"name":"groq_api_key","value":"","set":false,"secret":true},` +
		`{"name":"forgotten_token","value":"••••","set":true,"secret":true}]},` +
		`{"name":"timeouts","settings":[{"name":"mcp_timeout","value":"30s","set":true},{"name":"contexto_negocio_url","value":"","set":false}]}]}`
	if got := strings.TrimSpace(w.Body.String()); w.Code != 200 || got != want {
		t.Errorf("%d\n%s\nwant\n%s", w.Code, got, want)
	}
}

func TestMetricsMatchTheirGoldens(t *testing.T) {
	for _, c := range []struct{ query, file, media string }{
		{"", "metrics.txt", expositionType},
		{"?format=prometheus", "metrics.txt", expositionType},
		{"?format=json", "metrics.json", "application/json"},
	} {
		w := newSite().do(ask(talker, "GET", "/metrics"+c.query, ""))
		if w.Code != 200 || w.Header().Get("Content-Type") != c.media {
			t.Errorf("%s: %d %s", c.query, w.Code, w.Header())
		}
		body := w.Body.Bytes()
		if c.media == "application/json" {
			var out bytes.Buffer
			if err := json.Indent(&out, body, "", "  "); err != nil {
				t.Fatal(err)
			}
			body = out.Bytes()
		}
		file := filepath.Join("testdata", c.file)
		if *update {
			if err := os.WriteFile(file, body, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(want), string(body)); d != "" {
			t.Errorf("%s: %s", c.query, d)
		}
	}
}

func TestMetricsOfAnotherAccountAreNotSeen(t *testing.T) {
	for _, query := range []string{"", "?format=json"} {
		w := newSite().do(ask(other, "GET", "/metrics"+query, ""))
		if w.Code != 200 || strings.Contains(w.Body.String(), "reserva") || strings.Contains(w.Body.String(), "no_api_key") {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	}
}
