// Package registry owns the rows of registered services: servers, their keys, their allowlists
// and the names of agents.
package registry

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"strings"
	"time"

	"piloto/internal/chats/agent"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/sweep"
	"piloto/internal/store/kv"
	"piloto/internal/store/setups"
	"piloto/internal/tools/tool"
)

// Store is the registered services of a table.
type Store struct {
	table *kv.Table
	memo  memo
}

// New returns the registered services of a table.
func New(table *kv.Table) *Store { return &Store{table: table} }

type serverRow struct {
	kv.Key
	ServerID    string            `dynamodbav:"mcp_id"`
	Name        string            `dynamodbav:"name"`
	Kind        string            `dynamodbav:"kind"`
	Role        string            `dynamodbav:"role"`
	Transport   string            `dynamodbav:"transport,omitempty"`
	About       string            `dynamodbav:"about,omitempty"`
	Keywords    []string          `dynamodbav:"keywords,omitempty"`
	Frozen      []string          `dynamodbav:"frozen,stringset,omitempty"`
	BaseURL     string            `dynamodbav:"base_url"`
	DocumentURL string            `dynamodbav:"document_url,omitempty"`
	Said        string            `dynamodbav:"document_said,omitempty"`
	Active      bool              `dynamodbav:"active"`
	Reads       string            `dynamodbav:"reads,omitempty"` // the mode; off when absent
	Zone        string            `dynamodbav:"circle,omitempty"`
	ReadTools   map[string]string `dynamodbav:"read_tools,omitempty"` // fingerprint by name
	Errors      string            `dynamodbav:"errors,omitempty"`     // the meaning of an error of it; doubt when absent
	State       string            `dynamodbav:"state"`
	Catalogue   string            `dynamodbav:"catalogue"` // empty: none yet
	Operations  int               `dynamodbav:"operations"`
	Warnings    []string          `dynamodbav:"warnings,omitempty"`
	KeyIn       string            `dynamodbav:"key_in,omitempty"` // of the first key
	KeyName     string            `dynamodbav:"key_name,omitempty"`
	TokenURL    string            `dynamodbav:"token_url,omitempty"`
	Scope       string            `dynamodbav:"key_scope,omitempty"`
	MoreKeys    []placeItem       `dynamodbav:"more_keys,omitempty"` // the positions of the others
	Wants       []placeItem       `dynamodbav:"wants,omitempty"`
	LastError   string            `dynamodbav:"last_error,omitempty"`
	CreatedAt   int64             `dynamodbav:"created_at"`
	UpdatedAt   int64             `dynamodbav:"updated_at"`
	RefreshedAt int64             `dynamodbav:"refreshed_at,omitempty"`
	Tries       int               `dynamodbav:"looks,omitempty"`
	DuePK       string            `dynamodbav:"DuePK,omitempty"` // while the sweep retries it
	DueSK       string            `dynamodbav:"DueSK,omitempty"`
}

const serverKind = "SERVER#"

func serverKey(account ids.Account, id string) kv.Key {
	return kv.Key{PK: kv.Account(account), SK: serverKind + id}
}

// dueAbsent is the list of the servers that have no allowlist yet.
const dueAbsent = "ABSENT"

func rowOfServer(account ids.Account, s tool.Server) serverRow {
	row := serverRow{
		Key: serverKey(account, s.ID), ServerID: s.ID, Name: s.Name, Kind: string(s.Kind),
		Role: string(s.Role), Transport: string(s.Transport), About: s.About, Keywords: s.Keywords, Frozen: s.Frozen,
		BaseURL: s.BaseURL, DocumentURL: s.DocumentURL, Said: s.DocumentSaid, Active: s.Active, State: string(s.Status), Catalogue: s.Catalogue,
		Operations: s.Operations, Warnings: s.Warnings, LastError: s.LastError,
		CreatedAt: kv.Millis(s.CreatedAt), UpdatedAt: kv.Millis(s.UpdatedAt), RefreshedAt: kv.Millis(s.RefreshedAt),
		Zone: s.Reads.Zone, ReadTools: s.Reads.Tools, Errors: string(s.Errors),
	}
	if s.Reads.Mode != tool.ReadsOff {
		row.Reads = string(s.Reads.Mode)
	}
	row.setKeys(s.Keys)
	row.Wants = itemsOf(s.Wants)
	if s.Catalogue == "" && s.Active {
		row.DuePK, row.DueSK = kv.DueList(dueAbsent, account), kv.At(s.CreatedAt, s.ID)
	}
	return row
}

func (row serverRow) server() tool.Server {
	s := tool.Server{
		ID: row.ServerID, Name: row.Name, Kind: tool.Kind(row.Kind), Role: tool.Role(row.Role), BaseURL: row.BaseURL, DocumentURL: row.DocumentURL, DocumentSaid: row.Said,
		Active: row.Active, Status: tool.Status(row.State), Catalogue: row.Catalogue, Operations: row.Operations,
		Warnings: row.Warnings, LastError: row.LastError, Transport: tool.Transport(row.Transport),
		About: row.About, Keywords: row.Keywords, Frozen: row.Frozen, Errors: tool.Errors(row.Errors),
		CreatedAt: kv.Time(row.CreatedAt), UpdatedAt: kv.Time(row.UpdatedAt), RefreshedAt: kv.Time(row.RefreshedAt),
	}
	s.Reads = tool.Reads{Mode: tool.ReadMode(cmp.Or(row.Reads, string(tool.ReadsOff))), Zone: row.Zone, Tools: row.ReadTools}
	if row.KeyIn != "" {
		s.Keys = append([]tool.KeyPlace{{In: row.KeyIn, Name: row.KeyName, TokenURL: row.TokenURL, Scope: row.Scope}}, placesOf(row.MoreKeys)...)
	}
	s.Wants = placesOf(row.Wants)
	return s
}

// change makes a change of servers that a turn sees: all writes or none.
func (s *Store) change(ctx context.Context, account ids.Account, writes ...kv.Write) error {
	return s.table.Commit(ctx, append(writes, setups.Raise(account))...)
}

// Server returns a server, as the last write left it.
func (s *Store) Server(ctx context.Context, account ids.Account, id string) (tool.Server, error) {
	var row serverRow
	err := s.table.Get(ctx, serverKey(account, id), &row, tool.ErrServerNotFound)
	return row.server(), err
}

// Servers returns the account's servers, the oldest first.
func (s *Store) Servers(ctx context.Context, account ids.Account) ([]tool.Server, error) {
	items, err := s.table.Read(ctx, kv.Rows(kv.Account(account), serverKind), 0)
	if err != nil {
		return nil, err
	}
	return kv.Readable(ctx, s.table, items, func(row serverRow) (tool.Server, error) { return row.server(), nil })
}

// CreateServer stores a server with its allowlist and its first key. The allowlist is
// written first, under a revision that nothing names yet.
func (s *Store) CreateServer(ctx context.Context, account ids.Account, server tool.Server, c tool.Catalogue, key *tool.Credential) error {
	if server.IsAgent() && agent.IsShipped(strings.ToLower(server.Name)) {
		return tool.ErrAgentTaken
	}
	if err := s.writeCatalogue(ctx, account, server.ID, c); err != nil {
		return err
	}
	if key != nil {
		server.Keys = []tool.KeyPlace{key.Place}
	}
	writes := []kv.Write{kv.Insert(rowOfServer(account, server)).Else(kv.ErrTaken)}
	if server.IsAgent() {
		writes = append(writes, kv.Insert(agentRow{Key: agentKey(account, server.Name), ServerID: server.ID}).Else(tool.ErrAgentTaken))
	}
	if key != nil {
		writes = append(writes, putKeys(account, server, tool.Keys{*key}, 0).If(kv.Missing("rev")).Else(tool.ErrServerMoved))
	}
	if err := s.change(ctx, account, writes...); err != nil {
		return errors.Join(err, s.dropCatalogue(context.WithoutCancel(ctx), account, server.ID, c.Revision))
	}
	return nil
}

// ReplaceCatalogue moves the server's allowlist from revision seen to
// c.Revision at once, and removes the old one afterwards.
func (s *Store) ReplaceCatalogue(ctx context.Context, account ids.Account, server tool.Server, seen string, c tool.Catalogue) error {
	if err := s.writeCatalogue(ctx, account, server.ID, c); err != nil {
		return err
	}
	server.Catalogue = c.Revision
	if err := s.mark(ctx, account, server, seen); err != nil {
		return errors.Join(err, s.dropCatalogue(context.WithoutCancel(ctx), account, server.ID, c.Revision))
	}
	if seen == "" {
		return nil
	}
	return s.dropCatalogue(context.WithoutCancel(ctx), account, server.ID, seen)
}

// MarkServer records the end of a discovery that brought no allowlist. Frozen tools stay frozen,
// because nothing new was approved.
func (s *Store) MarkServer(ctx context.Context, account ids.Account, server tool.Server, seen string) error {
	w := updateAt(serverKey(account, server.ID), seen).Set("updated_at", server.UpdatedAt)
	return s.change(ctx, account, w.Set("state", server.Status).Set("last_error", server.LastError))
}

// updateAt returns an update of a server whose allowlist in force is still the one that was seen.
func updateAt(key kv.Key, seen string) kv.Write {
	return kv.Update(key).If(kv.Is("catalogue", seen)).Else(tool.ErrServerMoved)
}

// FreezeTool notes that a tool is another than the approved one. A server whose
// allowlist was replaced meanwhile, or that is gone, stays as it is.
func (s *Store) FreezeTool(ctx context.Context, account ids.Account, id, seen, name string, at time.Time) error {
	w := updateAt(serverKey(account, id), seen).Set("last_error", tool.ErrToolChanged.Code).Set("updated_at", at)
	err := s.change(ctx, account, w.Add("frozen", kv.Strings(name)))
	if errors.Is(err, tool.ErrServerMoved) {
		return nil
	}
	return err
}

// mark writes the attributes that a discovery read, and none that others may change.
func (s *Store) mark(ctx context.Context, account ids.Account, server tool.Server, seen string) error {
	row := rowOfServer(account, server)
	w := updateAt(serverKey(account, server.ID), seen).Set("catalogue", row.Catalogue).Set("state", row.State).Set("operations", row.Operations).
		Set("warnings", row.Warnings).Set("document_url", row.DocumentURL).Set("base_url", row.BaseURL).Set("transport", row.Transport).
		Set("last_error", row.LastError).Set("updated_at", row.UpdatedAt).Set("refreshed_at", row.RefreshedAt).Set("wants", row.Wants).
		Set("name", row.Name).Set("about", row.About)
	return s.change(ctx, account, w.Remove("frozen", "looks", "DuePK", "DueSK"))
}

// Absent lists the absent servers that the sweep must retry by a time.
func (s *Store) Absent(ctx context.Context, at time.Time, limit int) ([]sweep.Row[tool.Absent], error) {
	return kv.DueRows(ctx, s.table, dueAbsent, at, limit, func(k kv.DueKey) (tool.Absent, error) {
		var row serverRow
		err := s.table.Get(ctx, k.Key, &row, kv.ErrBehind)
		if err == nil && row.DueSK != k.DueSK {
			err = kv.ErrBehind
		}
		return tool.Absent{Account: kv.AccountOf(k.PK, ""), ID: row.ServerID, Tries: row.Tries, Seen: row.DueSK}, err
	})
}

// PutOffServer sets when the sweep retries an absent server, and counts the attempt.
func (s *Store) PutOffServer(ctx context.Context, a tool.Absent, until time.Time) error {
	w := kv.Update(serverKey(a.Account, a.ID)).Set("DueSK", kv.At(until, a.ID)).Add("looks", 1)
	return s.table.Commit(ctx, w.If(kv.Is("DueSK", a.Seen)).Else(tool.ErrServerMoved))
}

// SetServerActive switches a server on or off. The sweep does not retry a server that is off.
func (s *Store) SetServerActive(ctx context.Context, account ids.Account, id string, active bool, at time.Time) (tool.Server, error) {
	var err error = tool.ErrServerMoved
	for n := 0; n < mostMoves && errors.Is(err, tool.ErrServerMoved); n++ {
		err = s.setActive(ctx, account, id, active, at)
	}
	if err != nil {
		return tool.Server{}, err
	}
	return s.Server(ctx, account, id)
}

// mostMoves is how often a server that others refresh is switched again.
const mostMoves = 4

func (s *Store) setActive(ctx context.Context, account ids.Account, id string, active bool, at time.Time) error {
	server, err := s.Server(ctx, account, id)
	if err != nil {
		return err
	}
	w := updateAt(serverKey(account, id), server.Catalogue).Set("active", active).Set("updated_at", at)
	switch {
	case server.Catalogue != "":
	case active:
		w = w.Set("DuePK", kv.DueList(dueAbsent, account)).Set("DueSK", kv.At(at, id))
	default:
		w = w.Remove("looks", "DuePK", "DueSK")
	}
	return s.change(ctx, account, w)
}

// SetServerReads sets which tools of a server may be called without a confirmation.
func (s *Store) SetServerReads(ctx context.Context, account ids.Account, id string, reads tool.Reads) (tool.Server, error) {
	tools := map[string]string{} // and not NULL
	maps.Copy(tools, reads.Tools)
	return set(ctx, s, account, id, kv.Update(serverKey(account, id)).Set("reads", reads.Mode).Set("circle", reads.Zone).Set("read_tools", tools).Remove("preview"))
}

// SetServerErrors sets the meaning of an error of a server.
func (s *Store) SetServerErrors(ctx context.Context, account ids.Account, id string, errors tool.Errors) (tool.Server, error) {
	return set(ctx, s, account, id, kv.Update(serverKey(account, id)).Set("errors", errors))
}

// set makes an update of a server that is there, and returns the server after it.
func set(ctx context.Context, s *Store, account ids.Account, id string, w kv.Write) (tool.Server, error) {
	if err := s.change(ctx, account, w.If(kv.Exists("PK")).Else(tool.ErrServerNotFound)); err != nil {
		return tool.Server{}, err
	}
	return s.Server(ctx, account, id)
}

// DeleteServer removes a server, its key, its name and its allowlist.
func (s *Store) DeleteServer(ctx context.Context, account ids.Account, id string) error {
	server, err := s.Server(ctx, account, id)
	if err != nil {
		return err
	}
	writes := []kv.Write{
		kv.Delete(serverKey(account, id)).If(kv.Exists("PK")).Else(tool.ErrServerNotFound),
		kv.Delete(keysKey(account, server)),
	}
	if server.IsAgent() {
		writes = append(writes, kv.Delete(agentKey(account, server.Name)))
	}
	if err := s.change(ctx, account, writes...); err != nil || server.Catalogue == "" {
		return err
	}
	return s.dropCatalogue(context.WithoutCancel(ctx), account, id, server.Catalogue)
}
