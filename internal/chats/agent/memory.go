package agent

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Bounds of what a session remembers.
const (
	Kept  = 10 // exchanges that are kept
	Shown = 5  // of them, those that a decision is made with

	MemoryLife = 24 * time.Hour // since the last exchange

	maxSide    = 8 << 10  // bytes of one side of an exchange
	maxMemory  = 64 << 10 // bytes of text of all of them
	maxSpeaker = 200      // bytes of an agent's name
)

// Exchange is one turn as memory keeps it: what a person said, and what they were
// answered, by an agent or directly (Agent is "" then). ID is the message's: one
// that is sent again, because its answer was lost, is the same exchange; "" is none.
type Exchange struct {
	ID       string
	User     string
	Agent    string
	Response string
	At       time.Time
}

// MarshalJSON writes an exchange as document 001 has it:
// {"user", "agent": null when it was answered directly, "response", "timestamp"}.
func (e Exchange) MarshalJSON() ([]byte, error) {
	var by *string
	if e.Agent != "" {
		by = &e.Agent
	}
	return json.Marshal(struct {
		User      string    `json:"user"`
		Agent     *string   `json:"agent"`
		Response  string    `json:"response"`
		Timestamp time.Time `json:"timestamp"`
	}{e.User, by, e.Response, e.At.UTC()})
}

// Memory is what one session of one company remembers, the newest exchange last.
// Version is that of the stored memory it was read from, 0 for none; it grows with
// every change, also over a memory that was forgotten meanwhile.
type Memory struct {
	Company   int64
	Session   string
	Exchanges []Exchange
	Version   int64
	UpdatedAt time.Time
	ExpiresAt time.Time
}

// At is the memory as it stands at a time: all of it, or nothing once it expired.
// That a store still has it says nothing. The version stays, so that what expired
// can be written over.
func (m Memory) At(at time.Time) Memory {
	if len(m.Exchanges) > 0 && !at.Before(m.ExpiresAt) {
		return Memory{Company: m.Company, Session: m.Session, Version: m.Version}
	}
	return m
}

// Without is the memory as if a message had not been answered yet.
func (m Memory) Without(id string) Memory {
	if id != "" {
		m.Exchanges = slices.DeleteFunc(slices.Clone(m.Exchanges), func(e Exchange) bool { return e.ID == id })
	}
	return m
}

// Add is the memory with one more exchange: the newest 10, and of them as many as
// have 64 KB of text. What had expired by then is no part of it, and neither is what
// the same message was answered before.
func (m Memory) Add(e Exchange) Memory {
	e = e.kept()
	next := m.At(e.At).Without(e.ID)
	next.Exchanges = append(slices.Clone(next.Exchanges), e)
	size := 0
	for i, one := range slices.Backward(next.Exchanges) {
		size += one.size()
		if newer := len(next.Exchanges) - 1 - i; newer >= Kept || size > maxMemory {
			next.Exchanges = next.Exchanges[i+1:]
			break
		}
	}
	if next.UpdatedAt = m.UpdatedAt; e.At.After(next.UpdatedAt) { // clocks differ
		next.UpdatedAt = e.At
	}
	next.ExpiresAt = next.UpdatedAt.Add(MemoryLife)
	next.Version = max(m.Version+1, e.At.UnixMilli())
	return next
}

// Has reports whether the memory has this very exchange.
func (m Memory) Has(e Exchange) bool {
	e = e.kept()
	return slices.ContainsFunc(m.Exchanges, func(one Exchange) bool {
		return one.ID == e.ID && one.User == e.User && one.Agent == e.Agent && one.Response == e.Response && one.At.Equal(e.At)
	})
}

// Recent is what a decision is made with: the newest exchanges, the newest last.
func (m Memory) Recent() []Exchange {
	return m.Exchanges[max(0, len(m.Exchanges)-Shown):]
}

// Current is the agent that the last message was delegated to; "" when it was
// answered directly, or when there was none.
func (m Memory) Current() string {
	if len(m.Exchanges) == 0 {
		return ""
	}
	return m.Exchanges[len(m.Exchanges)-1].Agent
}

// kept is the exchange as it is stored: bounded, in whole milliseconds.
func (e Exchange) kept() Exchange {
	return Exchange{
		ID: e.ID, User: ended(legible(e.User), maxSide), Agent: ended(legible(e.Agent), maxSpeaker), Response: ended(legible(e.Response), maxSide),
		At: e.At.UTC().Truncate(time.Millisecond),
	}
}

func (e Exchange) size() int { return len(e.User) + len(e.Agent) + len(e.Response) }

// legible is a text in UTF-8 without the control characters that nobody can read.
func legible(s string) string {
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, strings.ReplaceAll(s, "\r\n", "\n"))
}

// MemoryStats counts what an account's sessions remember. A session that spoke
// with two companies counts once. More says that there are more than were counted.
type MemoryStats struct {
	Sessions  int
	Companies int
	Exchanges int
	More      bool
}

// MemoryStore keeps memories by account, company and session. A memory of one of
// them is never given for another's. Expired memories may be given: Sessions
// compares.
type MemoryStore interface {
	// Memory returns a session's memory of a company; with neither version nor
	// exchanges when there is none.
	Memory(ctx context.Context, account string, company int64, session string, at time.Time) (Memory, error)
	// Remember adds an exchange to a memory, also when it moved since it was read.
	Remember(ctx context.Context, account string, m Memory, e Exchange) error
	// Memories returns those of a session, of all companies, by company; more says
	// that there are further ones.
	Memories(ctx context.Context, account, session string, at time.Time) (list []Memory, more bool, err error)
	// Forget removes a session's memory of a company, or of all for company 0.
	Forget(ctx context.Context, account, session string, company int64) error
	MemoryStats(ctx context.Context, account string, at time.Time) (MemoryStats, error)
}

// Sessions are what an account's sessions remember now.
type Sessions struct {
	Store MemoryStore
	Now   func() time.Time
}

// Memory returns what a session remembers of its exchanges with a company.
func (s Sessions) Memory(ctx context.Context, account string, company int64, session string) (Memory, error) {
	return s.Store.Memory(ctx, account, company, session, s.Now())
}

// Remember adds an exchange to a memory. Turns of one session at once lose nothing
// of each other.
func (s Sessions) Remember(ctx context.Context, account string, m Memory, e Exchange) error {
	return s.Store.Remember(ctx, account, m, e)
}

// Memories returns what a session remembers, by company.
func (s Sessions) Memories(ctx context.Context, account, session string) (list []Memory, more bool, err error) {
	return s.Store.Memories(ctx, account, session, s.Now())
}

// Forget removes what a session remembers of a company, or of all for company 0.
func (s Sessions) Forget(ctx context.Context, account, session string, company int64) error {
	return s.Store.Forget(ctx, account, session, company)
}

// MemoryStats counts what is remembered.
func (s Sessions) MemoryStats(ctx context.Context, account string) (MemoryStats, error) {
	return s.Store.MemoryStats(ctx, account, s.Now())
}
