package httpapi

import (
	"context"
	"net/http"
	"slices"
	"time"

	"piloto/internal/chats/agent"
	"piloto/internal/ground/ids"
)

// Memories reads and deletes the memory of an account's sessions with the router. A missing session, or one of
// another account, has an empty memory.
type Memories interface {
	Memory(ctx context.Context, account ids.Account, company int64, session string) (agent.Memory, error)
	// Memories returns a session's memories of all companies. more means that the list is not complete.
	Memories(ctx context.Context, account ids.Account, session string) (list []agent.Memory, more bool, err error)
	// Forget deletes a session's memory of a company, or of all companies for company 0.
	Forget(ctx context.Context, account ids.Account, session string, company int64) error
	MemoryStats(ctx context.Context, account ids.Account) (agent.MemoryStats, error)
}

// memory registers the routes of document 001's memory. The route of the counts comes before a session that a
// client named "stats". That session can be read as /memory/%73tats, because the path is matched as it was sent,
// and is deleted by its plain name.
func (a *api) memory(m Memories) {
	r := memoryHandler{m}
	register(a, operation{
		method: http.MethodGet, path: "/memory/stats", id: "memoryStats", access: withChat,
		summary: "Count what sessions remember",
	}, r.stats)
	register(a, operation{
		method: http.MethodGet, path: "/memory/{session_id}", id: "readMemory", access: withChat,
		summary: "Read what a session remembers; nothing of one that is not there", failures: []int{422},
	}, r.read)
	register(a, operation{
		method: http.MethodDelete, path: "/memory/{session_id}", id: "forgetMemory", access: withChat, status: http.StatusNoContent,
		summary: "Forget what a session remembers", failures: []int{422},
	}, r.forget)
}

type memoryHandler struct{ memories Memories }

// memoryInput is a session, by the client's name for it, and optionally a company.
type memoryInput struct {
	SessionID string `path:"session_id"`
	Company   int64  `query:"id_empresa" minimum:"1" doc:"that company's alone; of all when absent"`
}

// Remembered is the memory of a session (document 001).
type Remembered struct {
	SessionID string           `json:"session_id"`
	Turns     []RememberedTurn `json:"turns" nullable:"false" doc:"the newest last"`
	Agent     *string          `json:"current_agent" nullable:"true" doc:"that the last message was delegated to; null when it was answered directly"`
	Truncated bool             `json:"truncated,omitempty" doc:"there are further companies: name one"`
}

// RememberedTurn is one exchange of a session.
type RememberedTurn struct {
	User      string    `json:"user"`
	Agent     *string   `json:"agent" nullable:"true"`
	Response  string    `json:"response"`
	Timestamp time.Time `json:"timestamp"`
	Company   int64     `json:"id_empresa"`
}

func (r memoryHandler) read(ctx context.Context, in *memoryInput) (*reply[Remembered], error) {
	v := Remembered{SessionID: in.SessionID, Turns: []RememberedTurn{}}
	if !isPrintable(in.SessionID) { // no session can have this name
		return answer(v), nil
	}
	list, more, err := r.find(ctx, in)
	if err != nil {
		return nil, err
	}
	for _, m := range list {
		for _, e := range m.Exchanges {
			v.Turns = append(v.Turns, RememberedTurn{User: e.User, Agent: nullable(e.Agent), Response: e.Response, Timestamp: e.At.UTC(), Company: m.Company})
		}
	}
	if len(list) > 1 {
		slices.SortStableFunc(v.Turns, func(a, b RememberedTurn) int { return a.Timestamp.Compare(b.Timestamp) })
	}
	if n := len(v.Turns); n > 0 {
		v.Agent = v.Turns[n-1].Agent
	}
	v.Truncated = more
	return answer(v), nil
}

func (r memoryHandler) find(ctx context.Context, in *memoryInput) ([]agent.Memory, bool, error) {
	if in.Company == 0 {
		return r.memories.Memories(ctx, caller(ctx).Account, in.SessionID)
	}
	m, err := r.memories.Memory(ctx, caller(ctx).Account, in.Company, in.SessionID)
	return []agent.Memory{m}, false, err
}

// nullable returns a name, or nil for "".
func nullable(name string) *string {
	if name == "" {
		return nil
	}
	return &name
}

func (r memoryHandler) forget(ctx context.Context, in *memoryInput) (*nothing, error) {
	if !isPrintable(in.SessionID) {
		return nil, nil
	}
	return nil, r.memories.Forget(ctx, caller(ctx).Account, in.SessionID, in.Company)
}

// MemoryStats counts the memories of an account.
type MemoryStats struct {
	Sessions  int  `json:"sessions"`
	Companies int  `json:"companies"`
	Turns     int  `json:"turns"`
	Kept      int  `json:"max_turns" doc:"that a session keeps of each company"`
	Shown     int  `json:"shown_turns" doc:"of them, those that a decision is made with"`
	Hours     int  `json:"ttl_hours" doc:"since the last turn"`
	Truncated bool `json:"truncated,omitempty" doc:"there are more than were counted"`
}

func (r memoryHandler) stats(ctx context.Context, _ *nothing) (*reply[MemoryStats], error) {
	got, err := r.memories.MemoryStats(ctx, caller(ctx).Account)
	if err != nil {
		return nil, err
	}
	return answer(MemoryStats{
		Sessions: got.Sessions, Companies: got.Companies, Turns: got.Exchanges, Truncated: got.More,
		Kept: agent.Kept, Shown: agent.Shown, Hours: int(agent.MemoryLife / time.Hour),
	}), nil
}
