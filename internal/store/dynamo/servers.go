package dynamo

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"piloto/internal/tools/tool"
)

type serverRow struct {
	PK          string   `dynamodbav:"PK"`
	SK          string   `dynamodbav:"SK"`
	ServerID    string   `dynamodbav:"mcp_id"`
	Name        string   `dynamodbav:"name"`
	Kind        string   `dynamodbav:"kind"`
	Role        string   `dynamodbav:"role"`
	Transport   string   `dynamodbav:"transport,omitempty"`
	About       string   `dynamodbav:"about,omitempty"`
	Keywords    []string `dynamodbav:"keywords,omitempty"`
	Frozen      []string `dynamodbav:"frozen,stringset,omitempty"`
	BaseURL     string   `dynamodbav:"base_url"`
	DocumentURL string   `dynamodbav:"document_url,omitempty"`
	Said        string   `dynamodbav:"document_said,omitempty"`
	Active      bool     `dynamodbav:"active"`
	Preview     bool     `dynamodbav:"preview,omitempty"`
	State       string   `dynamodbav:"state"`
	Catalogue   string   `dynamodbav:"catalogue"` // empty: none yet
	Operations  int      `dynamodbav:"operations"`
	Warnings    []string `dynamodbav:"warnings,omitempty"`
	KeyIn       string   `dynamodbav:"key_in,omitempty"`
	KeyName     string   `dynamodbav:"key_name,omitempty"`
	TokenURL    string   `dynamodbav:"token_url,omitempty"`
	Scope       string   `dynamodbav:"key_scope,omitempty"`
	LastError   string   `dynamodbav:"last_error,omitempty"`
	CreatedAt   int64    `dynamodbav:"created_at"`
	UpdatedAt   int64    `dynamodbav:"updated_at"`
	RefreshedAt int64    `dynamodbav:"refreshed_at,omitempty"`
	Looks       int      `dynamodbav:"looks,omitempty"`
	DuePK       string   `dynamodbav:"DuePK,omitempty"` // while it is looked for
	DueSK       string   `dynamodbav:"DueSK,omitempty"`
}

// dueAbsent is what servers are due for that have no allowlist yet.
const dueAbsent = "ABSENT"

func rowOfServer(account string, s tool.Server) serverRow {
	row := serverRow{
		PK: accountKey(account), SK: "SERVER#" + s.ID, ServerID: s.ID, Name: s.Name, Kind: string(s.Kind),
		Role: string(s.Role), Transport: string(s.Transport), About: s.About, Keywords: s.Keywords, Frozen: s.Frozen,
		BaseURL: s.BaseURL, DocumentURL: s.DocumentURL, Said: s.DocumentSaid, Active: s.Active, Preview: s.Preview, State: string(s.Status), Catalogue: s.Catalogue,
		Operations: s.Operations, Warnings: s.Warnings, LastError: s.LastError,
		CreatedAt: millis(s.CreatedAt), UpdatedAt: millis(s.UpdatedAt), RefreshedAt: millis(s.RefreshedAt),
	}
	if s.Key != nil {
		row.KeyIn, row.KeyName, row.TokenURL, row.Scope = s.Key.In, s.Key.Name, s.Key.TokenURL, s.Key.Scope
	}
	if s.Catalogue == "" && s.Active {
		row.DuePK, row.DueSK = dueAbsent, dueAt(s.CreatedAt, s.ID)
	}
	return row
}

func (row serverRow) server() tool.Server {
	s := tool.Server{
		ID: row.ServerID, Name: row.Name, Kind: tool.Kind(row.Kind), Role: tool.Role(row.Role), BaseURL: row.BaseURL, DocumentURL: row.DocumentURL, DocumentSaid: row.Said,
		Active: row.Active, Preview: row.Preview, Status: tool.Status(row.State), Catalogue: row.Catalogue, Operations: row.Operations,
		Warnings: row.Warnings, LastError: row.LastError, Transport: tool.Transport(row.Transport),
		About: row.About, Keywords: row.Keywords, Frozen: row.Frozen,
		CreatedAt: fromMillis(row.CreatedAt), UpdatedAt: fromMillis(row.UpdatedAt), RefreshedAt: fromMillis(row.RefreshedAt),
	}
	if row.KeyIn != "" {
		s.Key = &tool.KeyPlace{In: row.KeyIn, Name: row.KeyName, TokenURL: row.TokenURL, Scope: row.Scope}
	}
	return s
}

type keyRow struct {
	PK     string `dynamodbav:"PK"`
	SK     string `dynamodbav:"SK"`
	In     string `dynamodbav:"in"`
	Name   string `dynamodbav:"name,omitempty"`
	Secret string `dynamodbav:"secret"`

	TokenURL string `dynamodbav:"token_url,omitempty"`
	Scope    string `dynamodbav:"scope,omitempty"`
}

// Server returns a server, as the last write left it.
func (t *Table) Server(ctx context.Context, account, id string) (tool.Server, error) {
	var row serverRow
	err := t.get(ctx, accountKey(account), "SERVER#"+id, &row, tool.ErrServerNotFound)
	return row.server(), err
}

// Servers returns the account's servers, the oldest first.
func (t *Table) Servers(ctx context.Context, account string) ([]tool.Server, error) {
	items, err := t.read(ctx, kindsIn(accountKey(account), "SERVER#"), 0)
	if err != nil {
		return nil, err
	}
	var rows []serverRow
	if err := attributevalue.UnmarshalListOfMaps(items, &rows); err != nil {
		return nil, err
	}
	servers := make([]tool.Server, len(rows))
	for i, row := range rows {
		servers[i] = row.server()
	}
	return servers, nil
}

// CreateServer stores a server with its allowlist and key. The allowlist is
// written first, under a revision that nothing names yet.
func (t *Table) CreateServer(ctx context.Context, account string, s tool.Server, c tool.Catalogue, key *tool.Credential) error {
	if err := t.writeCatalogue(ctx, account, s.ID, c); err != nil {
		return err
	}
	if key != nil {
		s.Key = &key.Place
	}
	server, err := t.put(rowOfServer(account, s), "attribute_not_exists(PK)", errTaken)
	if err != nil {
		return err
	}
	writes := []write{server}
	if s.IsAgent() {
		w, err := t.put(agentRow{PK: accountKey(account), SK: agentKey(s.Name), ServerID: s.ID}, "attribute_not_exists(PK)", tool.ErrAgentTaken)
		if err != nil {
			return err
		}
		writes = append(writes, w)
	}
	if key != nil {
		w, err := t.putKey(account, s, *key)
		if err != nil {
			return err
		}
		writes = append(writes, w)
	}
	if err := t.commit(ctx, writes...); err != nil {
		return errors.Join(err, t.dropCatalogue(context.WithoutCancel(ctx), account, s.ID, c.Revision))
	}
	return nil
}

func (t *Table) putKey(account string, s tool.Server, key tool.Credential) (write, error) {
	return t.put(keyRow{
		PK: keysKey(account, s), SK: "SERVER#" + s.ID, In: key.Place.In, Name: key.Place.Name,
		TokenURL: key.Place.TokenURL, Scope: key.Place.Scope, Secret: key.Secret,
	}, "", nil)
}

// agentRow holds an agent's name for one server: names are what decisions call
// agents by.
type agentRow struct {
	PK       string `dynamodbav:"PK"`
	SK       string `dynamodbav:"SK"`
	ServerID string `dynamodbav:"mcp_id"`
}

// agentKey is the same for names that differ by case alone.
func agentKey(name string) string { return "AGENT#" + strings.ToLower(name) }

// ReplaceCatalogue moves the server's allowlist from revision seen to
// c.Revision at once, and removes the old one afterwards.
func (t *Table) ReplaceCatalogue(ctx context.Context, account string, s tool.Server, seen string, c tool.Catalogue) error {
	if err := t.writeCatalogue(ctx, account, s.ID, c); err != nil {
		return err
	}
	s.Catalogue = c.Revision
	if err := t.mark(ctx, account, s, seen); err != nil {
		return errors.Join(err, t.dropCatalogue(context.WithoutCancel(ctx), account, s.ID, c.Revision))
	}
	if seen == "" {
		return nil
	}
	return t.dropCatalogue(context.WithoutCancel(ctx), account, s.ID, seen)
}

// MarkServer records how a discovery that brought no allowlist ended. What is
// frozen stays so: nothing new was approved.
func (t *Table) MarkServer(ctx context.Context, account string, s tool.Server, seen string) error {
	w := t.update(accountKey(account), "SERVER#"+s.ID,
		"SET #state = :state, last_error = :error, updated_at = :now", "catalogue = :seen", item{
			":state": str(string(s.Status)), ":error": str(s.LastError), ":now": num(millis(s.UpdatedAt)), ":seen": str(seen),
		}, tool.ErrServerMoved)
	w.Update.ExpressionAttributeNames = map[string]string{"#state": "state"}
	return t.commit(ctx, w)
}

// FreezeTool notes that a tool is another than the approved one. A server whose
// allowlist was replaced meanwhile, or that is gone, stays as it is.
func (t *Table) FreezeTool(ctx context.Context, account, id, seen, name string, at time.Time) error {
	err := t.commit(ctx, t.update(accountKey(account), "SERVER#"+id,
		"SET last_error = :error, updated_at = :now ADD frozen :tool", "catalogue = :seen", item{
			":error": str(tool.ErrToolChanged.Code), ":now": num(millis(at)), ":seen": str(seen),
			":tool": &types.AttributeValueMemberSS{Value: []string{name}},
		}, tool.ErrServerMoved))
	if errors.Is(err, tool.ErrServerMoved) {
		return nil
	}
	return err
}

// mark writes what a discovery learnt, and nothing that others may change.
func (t *Table) mark(ctx context.Context, account string, s tool.Server, seen string) error {
	row := rowOfServer(account, s)
	warnings, err := attributevalue.Marshal(row.Warnings)
	if err != nil {
		return err
	}
	w := t.update(row.PK, row.SK,
		"SET catalogue = :rev, #state = :state, operations = :ops, warnings = :warnings, document_url = :doc, "+
			"base_url = :base, transport = :transport, last_error = :error, updated_at = :now, refreshed_at = :refreshed REMOVE frozen, looks, DuePK, DueSK",
		"catalogue = :seen", item{
			":rev": str(s.Catalogue), ":seen": str(seen), ":state": str(row.State), ":ops": num(int64(row.Operations)),
			":transport": str(row.Transport), ":warnings": warnings, ":doc": str(row.DocumentURL), ":base": str(row.BaseURL), ":error": str(row.LastError),
			":now": num(row.UpdatedAt), ":refreshed": num(row.RefreshedAt),
		}, tool.ErrServerMoved)
	w.Update.ExpressionAttributeNames = map[string]string{"#state": "state"}
	return t.commit(ctx, w)
}

// Absent lists servers that are due to be looked for. One that cannot be read is an error
// beside the others.
func (t *Table) Absent(ctx context.Context, at time.Time, limit int) ([]tool.Absent, error) {
	keys, err := t.dueKeys(ctx, dueAbsent, at, limit)
	problems := []error{err}
	var list []tool.Absent
	for _, k := range keys {
		var row serverRow
		err := t.get(ctx, k.PK, k.SK, &row, tool.ErrServerNotFound)
		if errors.Is(err, tool.ErrServerNotFound) || err == nil && row.DueSK != k.DueSK { // the index is behind
			continue
		}
		if err != nil {
			problems = append(problems, err)
			continue
		}
		list = append(list, tool.Absent{Account: strings.TrimPrefix(k.PK, "A#"), ID: row.ServerID, Looks: row.Looks, Seen: row.DueSK})
	}
	return list, errors.Join(problems...)
}

// PutOffServer notes that an absent server is looked for.
func (t *Table) PutOffServer(ctx context.Context, a tool.Absent, until time.Time) error {
	return t.commit(ctx, t.update(accountKey(a.Account), "SERVER#"+a.ID, "SET DueSK = :next ADD looks :one", "DueSK = :seen", item{
		":next": str(dueAt(until, a.ID)), ":seen": str(a.Seen), ":one": num(1),
	}, tool.ErrServerMoved))
}

// SetServerActive switches a server on or off. One that is off is not looked for.
func (t *Table) SetServerActive(ctx context.Context, account, id string, active bool, at time.Time) (tool.Server, error) {
	var err error = tool.ErrServerMoved
	for n := 0; n < mostMoves && errors.Is(err, tool.ErrServerMoved); n++ {
		err = t.setActive(ctx, account, id, active, at)
	}
	if err != nil {
		return tool.Server{}, err
	}
	return t.Server(ctx, account, id)
}

// mostMoves is how often a server that others refresh is switched again.
const mostMoves = 4

func (t *Table) setActive(ctx context.Context, account, id string, active bool, at time.Time) error {
	s, err := t.Server(ctx, account, id)
	if err != nil {
		return err
	}
	values := item{":active": &types.AttributeValueMemberBOOL{Value: active}, ":now": num(millis(at)), ":seen": str(s.Catalogue)}
	set := "SET active = :active, updated_at = :now"
	switch {
	case s.Catalogue != "":
	case active:
		set += ", DuePK = :absent, DueSK = :due"
		values[":absent"], values[":due"] = str(dueAbsent), str(dueAt(at, id))
	default:
		set += " REMOVE looks, DuePK, DueSK"
	}
	return t.commit(ctx, t.update(accountKey(account), "SERVER#"+id, set, "catalogue = :seen", values, tool.ErrServerMoved))
}

// SetServerPreview says whether a server's GETs may be done before a plan is
// confirmed.
func (t *Table) SetServerPreview(ctx context.Context, account, id string, on bool) (tool.Server, error) {
	w := t.update(accountKey(account), "SERVER#"+id, "SET preview = :on", "attribute_exists(PK)",
		item{":on": &types.AttributeValueMemberBOOL{Value: on}}, tool.ErrServerNotFound)
	if err := t.commit(ctx, w); err != nil {
		return tool.Server{}, err
	}
	return t.Server(ctx, account, id)
}

// SetCredential stores a server's key apart from the server, or removes it.
func (t *Table) SetCredential(ctx context.Context, account string, s tool.Server, key *tool.Credential, at time.Time) (tool.Server, error) {
	var writes []write
	if key == nil {
		writes = []write{
			t.update(accountKey(account), "SERVER#"+s.ID, "SET updated_at = :now REMOVE key_in, key_name, token_url, key_scope",
				"attribute_exists(PK)", item{":now": num(millis(at))}, tool.ErrServerNotFound),
			t.remove(keysKey(account, s), "SERVER#"+s.ID, "", nil),
		}
	} else {
		w, err := t.putKey(account, s, *key)
		if err != nil {
			return tool.Server{}, err
		}
		writes = []write{
			t.update(accountKey(account), "SERVER#"+s.ID,
				"SET updated_at = :now, key_in = :in, key_name = :name, token_url = :url, key_scope = :scope",
				"attribute_exists(PK)", item{
					":now": num(millis(at)), ":in": str(key.Place.In), ":name": str(key.Place.Name),
					":url": str(key.Place.TokenURL), ":scope": str(key.Place.Scope),
				}, tool.ErrServerNotFound),
			w,
		}
	}
	if err := t.commit(ctx, writes...); err != nil {
		return tool.Server{}, err
	}
	return t.Server(ctx, account, s.ID)
}

// Credential returns a server's key.
func (t *Table) Credential(ctx context.Context, account string, s tool.Server) (tool.Credential, error) {
	var row keyRow
	err := t.get(ctx, keysKey(account, s), "SERVER#"+s.ID, &row, tool.ErrServerNotFound)
	place := tool.KeyPlace{In: row.In, Name: row.Name, TokenURL: row.TokenURL, Scope: row.Scope}
	return tool.Credential{Place: place, Secret: row.Secret}, err
}

// DeleteServer removes a server, its key, its name and its allowlist.
func (t *Table) DeleteServer(ctx context.Context, account, id string) error {
	s, err := t.Server(ctx, account, id)
	if err != nil {
		return err
	}
	writes := []write{
		t.remove(accountKey(account), "SERVER#"+id, "attribute_exists(PK)", tool.ErrServerNotFound),
		t.remove(keysKey(account, s), "SERVER#"+id, "", nil),
	}
	if s.IsAgent() {
		writes = append(writes, t.remove(accountKey(account), agentKey(s.Name), "", nil))
	}
	if err := t.commit(ctx, writes...); err != nil || s.Catalogue == "" {
		return err
	}
	return t.dropCatalogue(context.WithoutCancel(ctx), account, id, s.Catalogue)
}

// Ping reads nothing, to learn whether the store answers, and whether it says that
// it cannot be written: fault.ErrStorage.
func (t *Table) Ping(ctx context.Context) error {
	out, err := t.client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &t.name, Key: key("TOKEN#", "PING")})
	if err != nil {
		return err
	}
	return unwritable(out.ResultMetadata)
}
