package agent_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"piloto/infra/local/fixture"
	"piloto/internal/chats/agent"
	"piloto/internal/ground/fault"
	"piloto/internal/tools/mcp"
	"piloto/internal/tools/tool"
)

// order is what an agent of the tests takes, as a real server declares it.
type order struct {
	Message   string         `json:"message"`
	SessionID string         `json:"session_id"`
	Context   map[string]any `json:"context,omitempty"`
}

// living is a real server of the protocol in this process.
type living struct {
	*httptest.Server
	mu    sync.Mutex
	keys  []string // idempotency keys of the calls that reached the tool
	deeds chan func(context.Context, order) (string, error)
}

// live starts an agent that does what it is sent through deeds, one for each call.
func live(t *testing.T) (*living, agent.Agent, *mcp.Client) {
	t.Helper()
	l := &living{deeds: make(chan func(context.Context, order) (string, error), 100)}
	server := sdk.NewServer(&sdk.Implementation{Name: "reserva", Version: "1"}, nil)
	sdk.AddTool(server, &sdk.Tool{Name: tool.ChatTool, Description: "Reservas"},
		func(ctx context.Context, r *sdk.CallToolRequest, in order) (*sdk.CallToolResult, any, error) {
			l.mu.Lock()
			l.keys = append(l.keys, fmt.Sprint(r.Params.Meta["piloto/idempotency-key"]))
			l.mu.Unlock()
			text, err := (<-l.deeds)(ctx, in)
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}, nil, err
		})
	l.Server = httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{Stateless: true}))
	t.Cleanup(l.Close)
	transport := &http.Transport{}
	client := mcp.NewClient(mcp.Options{HTTP: &http.Client{Transport: transport}, Now: time.Now})
	t.Cleanup(func() {
		_ = client.Close()
		transport.CloseIdleConnections()
	})
	found, err := mcp.Discoverer{Client: &http.Client{Transport: transport}}.Discover(context.Background(), tool.Target{Base: l.URL})
	if err != nil {
		t.Fatal(err)
	}
	chat := found.Operations[0]
	chat.Fingerprint = tool.Fingerprint(found.BaseURL, chat)
	return l, agent.Agent{
		Name: "reserva", Chat: chat,
		Server: tool.Server{ID: "a", BaseURL: found.BaseURL, Transport: found.Transport, Kind: tool.KindMCP, Role: tool.RoleAgent},
	}, client
}

func (l *living) told() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.keys...)
}

func says(text string) func(context.Context, order) (string, error) {
	return func(_ context.Context, in order) (string, error) { return text + in.Message + in.SessionID, nil }
}

func TestARealAgentThatHeardTheMessageIsNotToldItAgain(t *testing.T) {
	l, a, client := live(t)
	d := asker(&desk{}, fixture.Table(t))
	d.Caller, d.Base = client, time.Millisecond
	again := make(chan struct{})
	defer close(again)
	for _, c := range []struct {
		does func(context.Context, order) (string, error)
		err  error
	}{
		{says("hola "), nil},
		{func(context.Context, order) (string, error) {
			go l.CloseClientConnections()
			<-again // nothing was answered before
			return "nobody reads this", nil
		}, agent.ErrLate},
		{func(context.Context, order) (string, error) { return "", errors.New("no hay mesa") }, agent.ErrFailed},
		{says("hola "), nil},
	} {
		l.deeds <- c.does
		before := len(l.told())
		answer, err := d.Ask(context.Background(), "acme", a, hello)
		if !errors.Is(err, c.err) || c.err == nil && answer.Text != "hola una mesa para 251999" || len(l.told()) != before+1 {
			t.Errorf("%q, %v, told %d times", answer.Text, err, len(l.told())-before)
		}
	}
	for _, key := range l.told() {
		if key != "m-1" {
			t.Errorf("a call with the key %q", key)
		}
	}
}

func TestARealAgentThatIsDownIsToldBy(t *testing.T) {
	l, a, client := live(t)
	table := fixture.Table(t)
	d := asker(&desk{}, table)
	d.Caller, d.Base = client, time.Millisecond
	l.Close()
	answer, err := d.Ask(context.Background(), "acme", a, hello)
	if !errors.Is(err, agent.ErrSilent) || !errors.Is(err, tool.ErrNotSent) || answer.Attempts != 3 || fault.Of(err).Args["agent"] != "reserva" {
		t.Errorf("%v after %d", err, answer.Attempts)
	}
	list, err := d.Gate.Breakers(context.Background(), "acme")
	if err != nil || len(list) != 1 || list[0].Phase(time.Now()) != agent.Open {
		t.Errorf("%+v, %v", list, err)
	}
	if _, err := d.Ask(context.Background(), "acme", a, hello); !errors.Is(err, agent.ErrOpen) {
		t.Error(err)
	}
}

// TestFiftyAtOnceTryARealAgentWithOneCall has two processes of fifty clients come to
// an agent whose breaker's time is over: the server counts what reaches it.
func TestFiftyAtOnceTryARealAgentWithOneCall(t *testing.T) {
	l, a, client := live(t)
	table := fixture.Table(t)
	var clock atomic.Int64
	now := func() time.Time { return dawn.Add(time.Duration(clock.Load())) }
	var processes []*agent.Delegator
	for range 2 {
		d := asker(&desk{}, table)
		d.Gate, d.Caller, d.Now = gateOver(table, now), client, time.Now
		d.Gate.Wait = time.Minute
		processes = append(processes, d)
	}
	fail(t, processes[0].Gate)
	clock.Store(int64(three.Open))
	hold := make(chan struct{})
	l.deeds <- func(_ context.Context, in order) (string, error) { <-hold; return "sí", nil }
	start := make(chan struct{})
	var clients, others sync.WaitGroup
	others.Add(99)
	var answered atomic.Int64
	for i := range 100 {
		clients.Go(func() {
			<-start
			_, err := processes[i%2].Ask(context.Background(), "acme", a, hello)
			switch {
			case err == nil:
				answered.Add(1)
			case errors.Is(err, agent.ErrOpen):
				others.Done()
			default:
				t.Error(err)
			}
		})
	}
	close(start)
	others.Wait()
	close(hold)
	clients.Wait()
	if told := l.told(); len(told) != 1 || answered.Load() != 1 {
		t.Errorf("%d calls reached the agent, %d clients were answered", len(told), answered.Load())
	}
	clock.Add(int64(time.Second)) // what the other process learnt is relied on for so long
	l.deeds <- says("")
	if _, err := processes[0].Ask(context.Background(), "acme", a, hello); err != nil {
		t.Errorf("closed again: %v", err)
	}
}
