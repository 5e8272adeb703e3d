package webui

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"piloto/internal/access/auth"
	"piloto/internal/chats/agent"
	"piloto/internal/chats/job"
	"piloto/internal/conversation"
	jsonform "piloto/internal/conversation/wire"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
	"piloto/internal/live/hook"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/receipt"
	"piloto/internal/runs/rule"
	"piloto/internal/tools/tool"
)

// memory is a small store of one account, behind the page and behind the JSON API of the browser tests.
type memory struct {
	mu       sync.Mutex
	now      func() time.Time
	ids      *ids.Source
	account  ids.Account
	tokens   map[string]auth.Token
	chats    map[string]conversation.Chat
	messages map[string][]conversation.Message // by chat, oldest first
	runs     map[string]plan.Run
	events   map[string][]plan.Event
	jobs     map[string]job.Job

	jobEvents map[string][]job.Event // by job
	servers   map[string]tool.Server
	entries   map[string][]tool.Entry

	operations map[string]tool.Operation // by "METHOD /path", or the tool's name
	projects   map[string]conversation.Project
	planned    map[string][]plan.Revision // plans of a run
	links      map[int]receipt.Link       // of the chain of receipts
	signing    []receipt.Key              // keys of the receipts' signatures
	rules      rule.Set
	breakers   []agent.Breaker
	hooks      []auth.Webhook

	told       []hook.Hook
	deliveries []hook.Delivery
	secrets    map[string]string // of webhooks, by id
	purse      *purse
	tell       func(kind string, data map[string]any) // notifies listeners of a write
}

func newMemory(now func() time.Time) *memory {
	return &memory{
		now: now, ids: ids.NewSource(nil), account: "acc",
		tokens: map[string]auth.Token{}, chats: map[string]conversation.Chat{}, messages: map[string][]conversation.Message{},
		runs: map[string]plan.Run{}, events: map[string][]plan.Event{}, servers: map[string]tool.Server{},
		entries: map[string][]tool.Entry{}, projects: map[string]conversation.Project{}, purse: newPurse(),
		planned: map[string][]plan.Revision{}, jobs: map[string]job.Job{}, jobEvents: map[string][]job.Event{},
		secrets: map[string]string{},
		tell:    func(string, map[string]any) {},
	}
}

func find[T any](m *memory, account ids.Account, in map[string]T, id string, missing error) (T, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v, ok := in[id]
	if !ok || account != m.account {
		var none T
		return none, missing
	}
	return v, nil
}

var errTokenNotFound = fault.New(fault.NotFound, "token.not_found")

func (m *memory) Token(_ context.Context, hash string) (auth.Token, error) {
	return find(m, m.account, m.tokens, hash, errTokenNotFound)
}

func (m *memory) TakeToken(_ context.Context, hash string) (auth.Token, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t, ok := m.tokens[hash]
	if !ok {
		return t, errTokenNotFound
	}
	delete(m.tokens, hash)
	return t, nil
}

func (m *memory) PutToken(_ context.Context, t auth.Token) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tokens[t.Hash] = t
	return nil
}

func (m *memory) RenewToken(_ context.Context, hash string, until time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if t, ok := m.tokens[hash]; ok {
		t.ExpiresAt = until
		m.tokens[hash] = t
	}
	return nil
}

func (m *memory) DeleteToken(_ context.Context, hash string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.tokens, hash)
	return nil
}

func (m *memory) Chats(_ context.Context, account ids.Account, filter conversation.ChatFilter, cursor string, limit int) ([]conversation.Chat, string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []conversation.Chat
	for _, c := range m.chats {
		if account == m.account && (filter.ProjectID == "" || c.ProjectID == filter.ProjectID) && c.Archived == filter.Archived {
			list = append(list, c)
		}
	}
	slices.SortFunc(list, func(a, b conversation.Chat) int {
		return cmp.Or(pinnedFirst(a, b), b.UpdatedAt.Compare(a.UpdatedAt), cmp.Compare(b.ID, a.ID))
	})
	if i := slices.IndexFunc(list, func(c conversation.Chat) bool { return c.ID == cursor }); i >= 0 {
		list = list[i+1:]
	}
	if len(list) <= limit {
		return list, "", nil
	}
	return list[:limit], list[limit-1].ID, nil
}

func (m *memory) FindChats(_ context.Context, account ids.Account, search conversation.Search, _ string, _ int) ([]conversation.Found, string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []conversation.Found
	for _, c := range m.chats {
		if account != m.account {
			continue
		}
		if snippet, ok := conversation.Find(c.Title, search.Words); ok {
			list = append(list, conversation.Found{Chat: c, Match: &conversation.Match{Snippet: snippet}})
			continue
		}
		for _, said := range slices.Backward(m.messages[c.ID]) {
			if snippet, ok := conversation.Find(said.Content, search.Words); ok && said.Searched() {
				list = append(list, conversation.Found{Chat: c, Match: &conversation.Match{MessageID: said.ID, Role: said.Role, Snippet: snippet}})
				break
			}
		}
	}
	return list, "", nil
}

// pinnedFirst orders chats by whether they are pinned.
func pinnedFirst(a, b conversation.Chat) int {
	switch {
	case a.Pinned == b.Pinned:
		return 0
	case a.Pinned:
		return -1
	}
	return 1
}

func (m *memory) Chat(_ context.Context, account ids.Account, id string) (conversation.Chat, error) {
	return find(m, account, m.chats, id, conversation.ErrChatNotFound)
}

func (m *memory) Messages(_ context.Context, key conversation.Key, cursor string, limit int) ([]conversation.Message, string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := slices.Clone(m.messages[key.ChatID])
	if i := slices.IndexFunc(list, func(x conversation.Message) bool { return x.ID == cursor }); i >= 0 {
		list = list[:i]
	}
	if len(list) <= limit {
		return list, "", nil
	}
	list = list[len(list)-limit:]
	return list, list[0].ID, nil
}

func (m *memory) Run(_ context.Context, account ids.Account, id string) (plan.Run, error) {
	r, err := find(m, account, m.runs, id, plan.ErrRunNotFound)
	m.mu.Lock() // steps are changed in place
	defer m.mu.Unlock()
	r.Steps = slices.Clone(r.Steps)
	return r, err
}

func (m *memory) Events(_ context.Context, _ ids.Account, runID string, after, limit int) ([]plan.Event, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	events := m.events[runID]
	events = events[min(after, len(events)):]
	return slices.Clone(events[:min(limit, len(events))]), nil
}

func (m *memory) Revisions(_ context.Context, r plan.Run) ([]plan.Revision, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.planned[r.ID]), nil
}

func (m *memory) Link(_ context.Context, account ids.Account, seq int) (receipt.Link, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	l, ok := m.links[seq]
	if !ok || account != m.account {
		return receipt.Link{}, receipt.ErrNoLink
	}
	return l, nil
}

func (m *memory) SigningKeys(context.Context) ([]receipt.Key, error) { return m.signing, nil }

func (m *memory) Rules(_ context.Context, account ids.Account) (rule.Set, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if account != m.account {
		return rule.Set{}, nil
	}
	set := m.rules
	set.Rules = slices.Clone(set.Rules)
	return set, nil
}

func (m *memory) Servers(_ context.Context, account ids.Account) ([]tool.Server, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []tool.Server
	for _, s := range m.servers {
		if account == m.account {
			list = append(list, s)
		}
	}
	slices.SortFunc(list, func(a, b tool.Server) int { return cmp.Compare(a.Name, b.Name) })
	return list, nil
}

func (m *memory) Server(_ context.Context, account ids.Account, id string) (tool.Server, error) {
	return find(m, account, m.servers, id, tool.ErrServerNotFound)
}

func (m *memory) Entries(_ context.Context, _ ids.Account, s tool.Server) ([]tool.Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.entries[s.ID], nil
}

func (m *memory) Operation(_ context.Context, _ ids.Account, _ tool.Server, e tool.Entry) (tool.Operation, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if op, ok := m.operations[e.String()]; ok {
		return op, nil
	}
	return tool.Operation{Entry: e}, nil
}

func (m *memory) Breakers(_ context.Context, account ids.Account) ([]agent.Breaker, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if account != m.account {
		return nil, nil
	}
	return slices.Clone(m.breakers), nil
}

func (m *memory) Projects(_ context.Context, account ids.Account) ([]conversation.Project, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []conversation.Project
	for _, p := range m.projects {
		if account == m.account {
			list = append(list, p)
		}
	}
	slices.SortFunc(list, func(a, b conversation.Project) int { return cmp.Compare(a.Name, b.Name) })
	return list, nil
}

func (m *memory) Project(_ context.Context, account ids.Account, id string) (conversation.Project, error) {
	return find(m, account, m.projects, id, conversation.ErrProjectNotFound)
}

// say appends a message to a chat; the lock is held.
func (m *memory) say(chatID string, role conversation.Role, kind conversation.Kind, runID, content string) conversation.Message {
	at := m.now()
	msg := conversation.Message{ID: m.ids.New(at), Role: role, Kind: kind, Content: content, RunID: runID, At: at}
	if kind == conversation.KindFinal {
		msg.ID = conversation.FinalID(runID)
	}
	m.messages[chatID] = append(m.messages[chatID], msg)
	c := m.chats[chatID]
	c.UpdatedAt = at
	if c.Title == "" && role == conversation.RoleUser {
		c.Title = conversation.Title(content)
	}
	m.chats[chatID] = c
	m.tell("message", map[string]any{"conversationId": chatID, "message": jsonform.Message(msg)})
	return msg
}

// event appends an event to a run; the lock is held.
func (m *memory) event(r *plan.Run, kind, step string, data string) {
	r.EventSeq++
	e, err := plan.Event{Seq: r.EventSeq, At: m.now().Truncate(time.Millisecond), Type: kind, StepID: plan.ParseEffect(step), Data: []byte(data)}.Chained(r.Chain)
	if err != nil {
		panic(err)
	}
	r.Chain = e.Hash
	m.events[r.ID] = append(m.events[r.ID], e)
	m.tell("run", map[string]any{"conversationId": r.ChatID, "run_id": r.ID, "status": r.Status})
}
