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

// toolInput is the input of the test agent's tool, as a real server declares it.
type toolInput struct {
	Message   string         `json:"message"`
	SessionID string         `json:"session_id"`
	Context   map[string]any `json:"context,omitempty"`
}

// liveAgent is a real server of the protocol in this process.
type liveAgent struct {
	*httptest.Server
	mu    sync.Mutex
	keys  []string // idempotency keys of the calls that reached the tool
	deeds chan func(context.Context, toolInput) (string, error)
}

// startLiveAgent starts an agent that answers each call through deeds.
func startLiveAgent(t *testing.T) (*liveAgent, agent.Agent, *mcp.Client) {
	t.Helper()
	l := &liveAgent{deeds: make(chan func(context.Context, toolInput) (string, error), 100)}
	server := sdk.NewServer(&sdk.Implementation{Name: "reserva", Version: "1"}, nil)
	sdk.AddTool(server, &sdk.Tool{Name: tool.ChatTool, Description: "Reservas"},
		func(ctx context.Context, r *sdk.CallToolRequest, in toolInput) (*sdk.CallToolResult, any, error) {
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

func (l *liveAgent) receivedKeys() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.keys...)
}

func replyWith(text string) func(context.Context, toolInput) (string, error) {
	return func(_ context.Context, in toolInput) (string, error) { return text + in.Message + in.SessionID, nil }
}

func TestLiveAgentGetsReceivedMessageOnce(t *testing.T) {
	l, a, client := startLiveAgent(t)
	d := newDelegator(&fakeAgent{}, fixture.Table(t).Router)
	d.Caller, d.Base = client, time.Millisecond
	again := make(chan struct{})
	defer close(again)
	for _, c := range []struct {
		does func(context.Context, toolInput) (string, error)
		err  error
	}{
		{replyWith("hola "), nil},
		{func(context.Context, toolInput) (string, error) {
			go l.CloseClientConnections()
			<-again // the first attempt has no answer
			return "nobody reads this", nil
		}, agent.ErrLate},
		{func(context.Context, toolInput) (string, error) { return "", errors.New("no hay mesa") }, agent.ErrFailed},
		{replyWith("hola "), nil},
	} {
		l.deeds <- c.does
		before := len(l.receivedKeys())
		answer, err := d.Ask(context.Background(), "acme", a, hello)
		if !errors.Is(err, c.err) || c.err == nil && answer.Text != "hola una mesa para 251999" || len(l.receivedKeys()) != before+1 {
			t.Errorf("%q, %v, told %d times", answer.Text, err, len(l.receivedKeys())-before)
		}
	}
	for _, key := range l.receivedKeys() {
		if key != "m-1" {
			t.Errorf("a call with the key %q", key)
		}
	}
}

func TestLiveAgentThatIsDownIsReported(t *testing.T) {
	l, a, client := startLiveAgent(t)
	table := fixture.Table(t)
	d := newDelegator(&fakeAgent{}, table.Router)
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

// TestConcurrentClientsProbeLiveAgentOnce lets two processes of fifty clients call an agent when
// its breaker's period is over. The server counts the requests.
func TestConcurrentClientsProbeLiveAgentOnce(t *testing.T) {
	l, a, client := startLiveAgent(t)
	table := fixture.Table(t)
	var clock atomic.Int64
	now := func() time.Time { return dawn.Add(time.Duration(clock.Load())) }
	var processes []*agent.Delegator
	for range 2 {
		d := newDelegator(&fakeAgent{}, table.Router)
		d.Gate, d.Caller, d.Now = gateOver(table.Router, now), client, time.Now
		d.Gate.Wait = time.Minute
		processes = append(processes, d)
	}
	openBreaker(t, processes[0].Gate)
	clock.Store(int64(three.Open))
	hold := make(chan struct{})
	l.deeds <- func(_ context.Context, in toolInput) (string, error) { <-hold; return "sí", nil }
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
	if told := l.receivedKeys(); len(told) != 1 || answered.Load() != 1 {
		t.Errorf("%d calls reached the agent, %d clients were answered", len(told), answered.Load())
	}
	clock.Add(int64(time.Second)) // the other process caches the breaker for so long
	l.deeds <- replyWith("")
	if _, err := processes[0].Ask(context.Background(), "acme", a, hello); err != nil {
		t.Errorf("closed again: %v", err)
	}
}
