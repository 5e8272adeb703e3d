package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"piloto/internal/chats/toolset"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/locale"
	"piloto/internal/tools/tool"
)

// Kind says how an agent answers.
type Kind string

// The kinds of agent. Their names are one space.
const (
	KindServer Kind = "server" // a registered server answers messages that are delegated to it
	KindLoop   Kind = "loop"   // the account's model answers, as the agent's prompt says
)

// Entry is an agent of an account. Server is set for KindServer, Loop and Change for KindLoop.
type Entry struct {
	Kind   Kind
	Name   string
	Server tool.Server
	Loop   Loop
	Change Change
}

// RegistryStore keeps the accounts' changes of loops, in the rows of the names of agents.
type RegistryStore interface {
	LoopReader
	AgentChanges(ctx context.Context, account ids.Account) ([]Change, error)
	// PutAgentChange stores a change over the version before it, 0 for none: ErrMoved.
	PutAgentChange(ctx context.Context, account ids.Account, c Change) error
	// DeleteAgentChange removes a change while it has the version: ErrMoved.
	DeleteAgentChange(ctx context.Context, account ids.Account, name string, version int) error
	tool.ServerLister
}

// Registry reads and changes the agents of accounts.
type Registry struct {
	Store     RegistryStore
	Providers ProviderNamer
	Now       func() time.Time
}

// List returns the agents of an account, by name. A server hides the shipped agent of its name.
func (r Registry) List(ctx context.Context, account ids.Account) ([]Entry, error) {
	changes, err := r.Store.AgentChanges(ctx, account)
	if err != nil {
		return nil, err
	}
	servers, err := r.Store.Servers(ctx, account)
	if err != nil {
		return nil, err
	}
	var entries []Entry
	for _, c := range withShipped(changes) {
		if c.Unreadable {
			continue
		}
		if c.ServerID == "" {
			e, err := c.entry()
			if err != nil {
				return nil, err
			}
			entries = append(entries, e)
		} else if e, ok := serverEntry(c, servers); ok {
			entries = append(entries, e)
		}
	}
	slices.SortFunc(entries, func(a, b Entry) int { return cmp.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)) })
	return entries, nil
}

// Delegates returns the loops that a router may delegate to, by name: those that its settings name and, where these name
// no agent, the account's own that have keywords. No other takes part, because an agent for the account's own people may
// disclose internal data to any customer.
func Delegates(s Settings, changes []Change, tag locale.Tag) ([]Agent, error) {
	var out []Agent
	for _, c := range withShipped(changes) {
		if c.ServerID != "" || c.Unreadable {
			continue
		}
		l, err := c.Loop(c.Name)
		if err != nil {
			return nil, err
		}
		named := slices.ContainsFunc(s.Agents, func(n string) bool { return strings.EqualFold(n, c.Name) })
		if named || s.Agents == nil && !IsShipped(c.Name) && len(l.Keywords) > 0 {
			out = append(out, Agent{Name: l.Name, About: l.DescriptionIn(tag), Keywords: l.Keywords, Loop: &l})
		}
	}
	slices.SortFunc(out, func(a, b Agent) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}

// withShipped adds the shipped agents whose name has no row.
func withShipped(changes []Change) []Change {
	all := slices.Clone(changes)
	for _, name := range Shipped() {
		if !slices.ContainsFunc(changes, func(c Change) bool { return c.Name == name }) {
			all = append(all, Change{Name: name})
		}
	}
	return all
}

// Get returns an agent of an account: ErrNoAgent.
func (r Registry) Get(ctx context.Context, account ids.Account, name string) (Entry, error) {
	name = strings.ToLower(name)
	c, err := r.Store.AgentChange(ctx, account, name)
	if err != nil {
		return Entry{}, err
	}
	if c.Name = name; c.ServerID == "" {
		return c.entry()
	}
	servers, err := r.Store.Servers(ctx, account)
	if err != nil {
		return Entry{}, err
	}
	if e, ok := serverEntry(c, servers); ok {
		return e, nil
	}
	return Entry{}, ErrNoAgent.With("agent", name)
}

// entry returns the agent of a loop's row.
func (c Change) entry() (Entry, error) {
	l, err := c.Loop(c.Name)
	return Entry{Kind: KindLoop, Name: c.Name, Loop: l, Change: c}, err
}

// serverEntry returns the agent of a server's row; false when the server was deleted meanwhile.
func serverEntry(c Change, servers []tool.Server) (Entry, bool) {
	at := slices.IndexFunc(servers, func(s tool.Server) bool { return s.ID == c.ServerID })
	if at < 0 {
		return Entry{}, false
	}
	return Entry{Kind: KindServer, Name: servers[at].Name, Server: servers[at], Change: c}, true
}

// Put stores a merge patch over the shipped agent of the name, or over the defaults, and replaces the account's last
// one. seen is the version that the caller read, 0 for none. It returns ErrLoop with every problem, ErrTaken for the
// name of a server, ErrMoved, and ErrTooMany.
func (r Registry) Put(ctx context.Context, account ids.Account, by, name string, seen int, patch json.RawMessage) (Entry, error) {
	l, wrong := ReadLoop(name, patch)
	unknown, err := Known{r.Store, r.Providers}.Check(ctx, account, l.Servers, l.Assistant)
	if err != nil {
		return Entry{}, err
	}
	if wrong = append(wrong, unknown...); len(wrong) > 0 {
		return Entry{}, ErrLoop.With("agent", name).With("tools", strings.Join(toolset.Names(), ", ")).At(uniqueFields(wrong)...)
	}
	before, err := r.Store.AgentChanges(ctx, account)
	if err != nil {
		return Entry{}, err
	}
	if err := admit(before, name, seen); err != nil {
		return Entry{}, err
	}
	c := Change{Name: name, Version: seen + 1, Patch: patch, By: by, UpdatedAt: r.Now().UTC()}
	if err := r.Store.PutAgentChange(ctx, account, c); err != nil {
		return Entry{}, err
	}
	return c.entry()
}

// uniqueFields drops a second problem of the same location.
func uniqueFields(wrong []fault.Field) []fault.Field {
	var out []fault.Field
	for _, f := range wrong {
		if !slices.ContainsFunc(out, func(o fault.Field) bool { return slices.Equal(o.Loc, f.Loc) }) {
			out = append(out, f)
		}
	}
	return out
}

// admit judges a change by the rows that there are. The store holds the version once more when it writes.
func admit(before []Change, name string, seen int) error {
	at := slices.IndexFunc(before, func(c Change) bool { return c.Name == name })
	switch {
	case at >= 0 && before[at].ServerID != "":
		return ErrTaken.With("agent", name)
	case at >= 0 && before[at].Version != seen, at < 0 && seen != 0:
		return ErrMoved.With("agent", name)
	}
	own := 0
	for _, c := range before {
		if c.ServerID == "" && !IsShipped(c.Name) {
			own++
		}
	}
	if at < 0 && !IsShipped(name) && own >= MostLoops {
		return ErrTooMany
	}
	return nil
}

// Delete removes an agent of the account's own, or its changes of a shipped one. seen is the version that the caller
// read, 0 for none. It returns ErrNoAgent, ErrTaken for a server, ErrMoved, and ErrAsShipped.
func (r Registry) Delete(ctx context.Context, account ids.Account, name string, seen int) error {
	name = strings.ToLower(name)
	c, err := r.Store.AgentChange(ctx, account, name)
	switch {
	case err != nil:
		return err
	case c.ServerID != "":
		return ErrTaken.With("agent", name)
	case c.Version == 0 && IsShipped(name):
		return ErrAsShipped.With("agent", name)
	case c.Version == 0:
		return ErrNoAgent.With("agent", name)
	case seen != c.Version:
		return ErrMoved.With("agent", name)
	}
	return r.Store.DeleteAgentChange(ctx, account, name, c.Version)
}
