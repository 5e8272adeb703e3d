package registry

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"piloto/internal/chats/agent"
	"piloto/internal/ground/ids"
	"piloto/internal/store/kv"
)

// agentRow is an agent's name, which one agent of the account has: a server, or a loop with the account's changes of
// it. So a server and a loop cannot have the same name.
type agentRow struct {
	kv.Key
	ServerID  string `dynamodbav:"mcp_id,omitempty"` // of a server
	Version   int    `dynamodbav:"version,omitempty"`
	Patch     []byte `dynamodbav:"patch,omitempty"`
	By        string `dynamodbav:"by,omitempty"`
	UpdatedAt int64  `dynamodbav:"updated_at,omitempty"`
}

var patches = kv.Document[map[string]json.RawMessage]{Name: "patch"}

// agentKey is the same for names that differ by case alone.
func agentKey(account ids.Account, name string) kv.Key {
	return kv.Key{PK: kv.Account(account), SK: agentKind + strings.ToLower(name)}
}

const agentKind = "AGENT#"

func (row agentRow) change() (agent.Change, error) {
	c := agent.Change{
		Name: strings.TrimPrefix(row.SK, agentKind), ServerID: row.ServerID, Version: row.Version, By: row.By, UpdatedAt: kv.Time(row.UpdatedAt),
	}
	if row.ServerID != "" {
		return c, nil
	}
	raw, err := patches.Unpack(row.Patch)
	if err != nil {
		return c, err
	}
	c.Patch, err = json.Marshal(raw)
	return c, err
}

// readable returns the change of a row; kv.ErrUnreadable when it makes no loop.
func (row agentRow) readable() (agent.Change, error) {
	c, err := row.change()
	if err != nil || c.ServerID != "" {
		return c, err
	}
	if _, err = c.Loop(c.Name); errors.Is(err, agent.ErrLoop) {
		return c, errors.Join(kv.ErrUnreadable, err)
	}
	return c, nil
}

// AgentChange returns the row of an agent's name; the zero Change when there is none.
func (s *Store) AgentChange(ctx context.Context, account ids.Account, name string) (agent.Change, error) {
	var row agentRow
	err := s.table.Get(ctx, agentKey(account, name), &row, agent.ErrNoAgent)
	if errors.Is(err, agent.ErrNoAgent) {
		return agent.Change{}, nil
	}
	if err != nil {
		return agent.Change{}, err
	}
	return row.change()
}

// AgentChanges returns the rows of the names of an account's agents. One that cannot be read, or whose patch is no change of
// a loop, is logged, and says so.
func (s *Store) AgentChanges(ctx context.Context, account ids.Account) ([]agent.Change, error) {
	items, err := s.table.Read(ctx, kv.Rows(kv.Account(account), agentKind), 0)
	if err != nil {
		return nil, err
	}
	changes := make([]agent.Change, len(items))
	for i, it := range items {
		var row agentRow
		if err = kv.Decode(it, &row); err == nil {
			changes[i], err = row.readable()
		}
		if err != nil {
			if !s.table.LeavesOut(ctx, kv.KeyOf(it), err) {
				return nil, err
			}
			changes[i] = agent.Change{Name: strings.TrimPrefix(kv.Text(it, "SK"), agentKind), Version: row.Version, Unreadable: true}
		}
	}
	return changes, nil
}

// PutAgentChange stores the change of a loop over the version before it: agent.ErrMoved.
func (s *Store) PutAgentChange(ctx context.Context, account ids.Account, c agent.Change) error {
	var members map[string]json.RawMessage
	err := json.Unmarshal(c.Patch, &members)
	raw, packErr := patches.Pack(members)
	unchanged := kv.Missing("PK")
	if seen := c.Version - 1; seen > 0 {
		unchanged = kv.Is("version", seen)
	}
	w := kv.Put(agentRow{Key: agentKey(account, c.Name), Version: c.Version, Patch: raw, By: c.By, UpdatedAt: kv.Millis(c.UpdatedAt)}).Unless(errors.Join(err, packErr))
	return s.change(ctx, account, w.If(unchanged).Else(agent.ErrMoved.With("agent", c.Name)))
}

// DeleteAgentChange removes the change of a loop while it has the version: agent.ErrMoved.
func (s *Store) DeleteAgentChange(ctx context.Context, account ids.Account, name string, version int) error {
	w := kv.Delete(agentKey(account, name)).If(kv.Is("version", version)).Else(agent.ErrMoved.With("agent", name))
	return s.change(ctx, account, w)
}
