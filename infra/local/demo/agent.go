package demo

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// AgentName is what the demonstration agent is registered as.
const AgentName = "reserva"

// Bounds of what the agent remembers and reads.
const (
	mostSessions  = 1000
	sessionTime   = 2 * time.Hour
	mostRepeats   = 8       // answers of a session that are given again to who asks again
	maxMessage    = 4 << 10 // bytes that are read of one
	maxTold       = 1 << 20 // bytes of a request, with all its context
	maxSession    = 256     // bytes
	idempotencyIn = "piloto/idempotency-key"
)

// clerk converses about rooms, one booking to a session.
type clerk struct {
	rooms *Service
	now   func() time.Time

	mu       sync.Mutex
	sessions map[string]*booking
}

// chatInput is what the tool chat takes.
type chatInput struct {
	Message   string `json:"message" jsonschema:"what the person wrote"`
	SessionID string `json:"session_id" jsonschema:"the conversation that the message belongs to"`
	Context   any    `json:"context,omitempty" jsonschema:"what is known of the conversation"`
}

// NewAgent returns the demonstration agent, a server of the Model Context Protocol
// (Streamable HTTP, without sessions of its own) with the tool chat {message,
// session_id, context}. It reserves rooms of s by fixed rules, asks before it
// does, and makes one reservation of a message that comes twice with the same
// idempotency key (in _meta or as a header). Days are those of now's zone.
//
// What a session has said is in memory only; what was reserved is in s's journal.
func NewAgent(s *Service, now func() time.Time) http.Handler {
	c := &clerk{rooms: s, now: now, sessions: map[string]*booking{}}
	server := mcp.NewServer(&mcp.Implementation{Name: "piloto-demo-reserva", Title: "Reservas (demostración)", Version: "1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{
		Name: "chat", Title: "Conversar sobre una reserva de sala",
		Description: "Agente de demostración, con reglas fijas: reserva salas de demostración, dice qué horas están libres y cancela una reserva por su número.",
	}, c.called)
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true, MaxRequestBodyBytes: maxTold})
}

func (c *clerk) called(ctx context.Context, req *mcp.CallToolRequest, in chatInput) (*mcp.CallToolResult, any, error) {
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
	company, english := told(in.Context)
	text, err := c.chat(ctx, company+"/"+in.SessionID, message, key, english)
	if err != nil {
		return nil, nil, err
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
}

// told is what a context says that matters here: the company (sessions of two are
// two, even by one name), and whether the conversation is held in English.
func told(about any) (company string, english bool) {
	members, _ := about.(map[string]any)
	if inner, ok := members["config"].(map[string]any); ok && members["id_empresa"] == nil {
		members = inner
	}
	if id := members["id_empresa"]; id != nil {
		company = fmt.Sprint(id)
	}
	return company, members["idioma"] == "en"
}

// chat answers one message; a session whose messages show no language has the one
// that was told. Messages are answered one after the other: what a session
// remembers is never read half-changed.
func (c *clerk) chat(ctx context.Context, session, message, key string, english bool) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	b := c.session(session, english)
	for _, before := range b.answers {
		if key != "" && before.key == key {
			return before.text, nil
		}
	}
	t := talk{ctx: ctx, booking: b, rooms: c.rooms, now: c.now(), key: key}
	text, err := t.answer(message)
	if err != nil {
		return "", err
	}
	b.answers = append(b.answers[max(0, len(b.answers)-mostRepeats+1):], given{key, text})
	return text, nil
}

// session returns what is remembered of a session, and forgets those that nobody
// goes on with.
func (c *clerk) session(name string, english bool) *booking {
	at := c.now()
	b, known := c.sessions[name]
	if !known || at.Sub(b.seen) > sessionTime {
		b = &booking{en: english}
		c.sessions[name] = b
	}
	b.seen = at
	if len(c.sessions) > mostSessions {
		names := sortedNames(c.sessions)
		oldest := slices.MinFunc(names, func(x, y string) int {
			return cmp.Or(c.sessions[x].seen.Compare(c.sessions[y].seen), strings.Compare(x, y))
		})
		delete(c.sessions, oldest)
	}
	return b
}

// perform is what recorded does with a request, for a caller that is no request.
func (s *Service) perform(act action, r *http.Request, key string, body any) (reply, error) {
	var raw []byte
	if body != nil {
		raw = encode(body)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.once(act, request{Request: r, body: raw, at: s.now().UTC(), key: key})
}
