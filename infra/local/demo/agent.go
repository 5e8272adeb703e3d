package demo

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"piloto/internal/ground/locale"
)

// AgentName is the registered name of the demonstration agent.
const AgentName = "reserva"

// The limits of the agent's memory and input.
const (
	mostSessions    = 1000
	sessionTime     = 2 * time.Hour
	mostRepeats     = 8       // answers of a session that are kept for repeated messages
	maxMessage      = 4 << 10 // bytes that are read of one message
	maxAgentRequest = 1 << 20 // bytes of a request, with its context
	maxSession      = 256     // bytes
	idempotencyIn   = "piloto/idempotency-key"
)

// bookingAgent converses about rooms, with one booking in each session.
type bookingAgent struct {
	rooms *Service
	now   func() time.Time

	mu       sync.Mutex
	sessions map[string]*booking
}

// chatInput is the input of the tool chat.
type chatInput struct {
	Message   string `json:"message" jsonschema:"what the person wrote"`
	SessionID string `json:"session_id" jsonschema:"the conversation that the message belongs to"`
	Context   any    `json:"context,omitempty" jsonschema:"what is known of the conversation"`
}

// NewAgent returns the demonstration agent, a server of the Model Context Protocol (Streamable
// HTTP, without protocol sessions). Its tool chat {message, session_id, context} reserves rooms of
// s by fixed rules, and asks before it reserves. Two messages with the same idempotency key (in
// _meta or as a header) make one reservation. Days are those of now's time zone.
//
// The state of a session is in memory only; the reservations are in s's file.
func NewAgent(s *Service, now func() time.Time) http.Handler {
	c := &bookingAgent{rooms: s, now: now, sessions: map[string]*booking{}}
	servers := map[locale.Tag]*mcp.Server{}
	for _, tag := range locale.Tags() {
		servers[tag] = mcp.NewServer(&mcp.Implementation{Name: "piloto-demo-reserva", Title: In(tag, "Reservas (demostración)"), Version: "1.0.0"}, nil)
		mcp.AddTool(servers[tag], &mcp.Tool{
			Name: "chat", Title: In(tag, "Conversar sobre una reserva de sala"),
			Description: In(tag, "Agente de demostración, con reglas fijas: reserva salas de demostración, dice qué horas están libres y cancela una reserva por su número."),
		}, c.handleChat)
	}
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return servers[s.Language()] },
		&mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true, MaxRequestBodyBytes: maxAgentRequest})
}

func (c *bookingAgent) handleChat(_ context.Context, req *mcp.CallToolRequest, in chatInput) (*mcp.CallToolResult, any, error) {
	if strings.TrimSpace(in.SessionID) == "" || len(in.SessionID) > maxSession {
		return nil, nil, fmt.Errorf("session_id must have 1 to %d bytes", maxSession)
	}
	key, _ := req.Params.Meta[idempotencyIn].(string)
	if extra := req.Extra; key == "" && extra != nil {
		key = extra.Header.Get("Idempotency-Key")
	}
	if len(key) > maxKey {
		return nil, nil, fmt.Errorf("an idempotency key has at most %d bytes", maxKey)
	}
	message := strings.ToValidUTF8(in.Message[:min(len(in.Message), maxMessage)], "")
	company, english := readContext(in.Context)
	text, err := c.chat(company+"/"+in.SessionID, message, key, english)
	if err != nil {
		return nil, nil, err
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
}

// readContext returns two values of a context: the company, which separates sessions of the same
// name, and whether the conversation is in English.
func readContext(about any) (company string, english bool) {
	members, _ := about.(map[string]any)
	if inner, ok := members["config"].(map[string]any); ok && members["id_empresa"] == nil {
		members = inner
	}
	if id := members["id_empresa"]; id != nil {
		company = fmt.Sprint(id)
	}
	return company, members["idioma"] == "en"
}

// chat answers one message. english is the language of a session whose messages show none. Messages
// are answered one after the other, so that the state of a session is never read half-changed.
func (c *bookingAgent) chat(session, message, key string, english bool) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	b := c.session(session, english)
	for _, before := range b.answers {
		if key != "" && before.key == key {
			return before.text, nil
		}
	}
	t := turn{booking: b, service: c.rooms, now: c.now(), key: key}
	text, err := t.answer(message)
	if err != nil {
		return "", err
	}
	b.answers = append(b.answers[max(0, len(b.answers)-mostRepeats+1):], keyedAnswer{key, text})
	return text, nil
}

// session returns the state of a session, and starts a new one after sessionTime. It drops the oldest
// session over the limit.
func (c *bookingAgent) session(name string, english bool) *booking {
	at := c.now()
	b, known := c.sessions[name]
	if !known || at.Sub(b.seen) > sessionTime {
		b = &booking{speech: speech{english}}
		c.sessions[name] = b
	}
	b.seen = at
	if len(c.sessions) > mostSessions {
		delete(c.sessions, slices.MinFunc(slices.Sorted(maps.Keys(c.sessions)), func(x, y string) int {
			return c.sessions[x].seen.Compare(c.sessions[y].seen)
		}))
	}
	return b
}
