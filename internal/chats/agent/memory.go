package agent

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"piloto/internal/ground/clip"
	"piloto/internal/ground/ids"
)

// Bounds of a session's memory.
const (
	Kept  = 10 // exchanges that are stored
	Shown = 5  // newest exchanges in the prompt of a decision

	MemoryLife = 24 * time.Hour // from the last exchange on

	maxSide    = 8 << 10  // bytes of each side of an exchange
	maxMemory  = 64 << 10 // bytes of text of all exchanges
	maxSpeaker = 200      // bytes of an agent's name
)

// Exchange is one message and its answer, by an agent or directly (Agent is "" then). ID is the
// message's ID: a retried message is the same exchange; "" means no ID. ReadFrom are the ids of the services whose data the
// answer may have, because the model that wrote it had read them.
type Exchange struct {
	ID       string
	User     string
	Agent    string
	Response string
	At       time.Time
	ReadFrom []string
}

// MarshalJSON encodes an exchange in the format of document 001: {"user", "agent": null when it
// was answered directly, "response", "timestamp"}.
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

// Memory holds the exchanges of one session with one company, the newest last. Version is that
// of the stored memory it was read from, 0 for none. It grows with every change, also when the
// memory was deleted meanwhile.
type Memory struct {
	Company   int64
	Session   string
	Exchanges []Exchange
	Version   int64
	UpdatedAt time.Time
	ExpiresAt time.Time
}

// At returns the memory at a time: without exchanges once it expired, even when the store still
// has it. The version stays, so that an expired memory can be overwritten.
func (m Memory) At(at time.Time) Memory {
	if len(m.Exchanges) > 0 && !at.Before(m.ExpiresAt) {
		return Memory{Company: m.Company, Session: m.Session, Version: m.Version}
	}
	return m
}

// Without returns the memory without the exchange of a message.
func (m Memory) Without(id string) Memory {
	if id != "" {
		m.Exchanges = slices.DeleteFunc(slices.Clone(m.Exchanges), func(e Exchange) bool { return e.ID == id })
	}
	return m
}

// Add returns the memory with one more exchange: the newest 10, and of them as many as have 64
// KB of text. It drops expired exchanges and an earlier exchange of the same message.
func (m Memory) Add(e Exchange) Memory {
	e = e.storedForm()
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

// Has reports whether the memory contains an equal exchange.
func (m Memory) Has(e Exchange) bool {
	e = e.storedForm()
	return slices.ContainsFunc(m.Exchanges, func(one Exchange) bool {
		return one.ID == e.ID && one.User == e.User && one.Agent == e.Agent && one.Response == e.Response && one.At.Equal(e.At)
	})
}

// Recent returns the newest exchanges for a decision, the newest last.
func (m Memory) Recent() []Exchange {
	return m.Exchanges[max(0, len(m.Exchanges)-Shown):]
}

// Current returns the agent that answered the last message; "" when it was answered directly, or
// when there is none.
func (m Memory) Current() string {
	if len(m.Exchanges) == 0 {
		return ""
	}
	return m.Exchanges[len(m.Exchanges)-1].Agent
}

// storedForm returns the exchange as it is stored: bounded, in whole milliseconds.
func (e Exchange) storedForm() Exchange {
	return Exchange{
		ID: e.ID, User: clip.Bytes(cleanText(e.User), maxSide), Agent: clip.Bytes(cleanText(e.Agent), maxSpeaker), Response: clip.Bytes(cleanText(e.Response), maxSide),
		At: e.At.UTC().Truncate(time.Millisecond), ReadFrom: e.ReadFrom,
	}
}

func (e Exchange) size() int { return len(e.User) + len(e.Agent) + len(e.Response) }

// cleanText returns a text in UTF-8 without control characters other than line breaks and tabs.
func cleanText(s string) string {
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, strings.ReplaceAll(s, "\r\n", "\n"))
}

// MemoryStats counts the memories of an account. A session with two companies counts once. More
// reports that the count is incomplete.
type MemoryStats struct {
	Sessions  int
	Companies int
	Exchanges int
	More      bool
}

// MemoryStore stores memories by account, company and session, each separate from the others. It
// may return expired memories: Sessions checks the expiry.
type MemoryStore interface {
	// Memory returns a session's memory of a company; without version and exchanges when there
	// is none.
	Memory(ctx context.Context, account ids.Account, company int64, session string, at time.Time) (Memory, error)
	// Remember adds an exchange to a memory, also when it changed since it was read.
	Remember(ctx context.Context, account ids.Account, m Memory, e Exchange) error
	// Memories returns a session's memories of all companies, ordered by company. more reports
	// that the list is incomplete.
	Memories(ctx context.Context, account ids.Account, session string, at time.Time) (list []Memory, more bool, err error)
	// Forget removes a session's memory of a company, or of all for company 0.
	Forget(ctx context.Context, account ids.Account, session string, company int64) error
	MemoryStats(ctx context.Context, account ids.Account, at time.Time) (MemoryStats, error)
}

// Sessions reads and changes the memories of an account's sessions.
type Sessions struct {
	Store MemoryStore
	Now   func() time.Time
}

// Memory returns a session's memory of a company.
func (s Sessions) Memory(ctx context.Context, account ids.Account, company int64, session string) (Memory, error) {
	return s.Store.Memory(ctx, account, company, session, s.Now())
}

// Remember adds an exchange to a memory. Concurrent turns of one session do not overwrite each
// other.
func (s Sessions) Remember(ctx context.Context, account ids.Account, m Memory, e Exchange) error {
	return s.Store.Remember(ctx, account, m, e)
}

// Memories returns a session's memories, ordered by company.
func (s Sessions) Memories(ctx context.Context, account ids.Account, session string) (list []Memory, more bool, err error) {
	return s.Store.Memories(ctx, account, session, s.Now())
}

// Forget deletes a session's memory of a company, or of all for company 0.
func (s Sessions) Forget(ctx context.Context, account ids.Account, session string, company int64) error {
	return s.Store.Forget(ctx, account, session, company)
}

// MemoryStats counts the memories of an account.
func (s Sessions) MemoryStats(ctx context.Context, account ids.Account) (MemoryStats, error) {
	return s.Store.MemoryStats(ctx, account, s.Now())
}
