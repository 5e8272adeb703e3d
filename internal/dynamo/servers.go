package dynamo

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"piloto/internal/tool"
)

type serverRow struct {
	PK          string   `dynamodbav:"PK"`
	SK          string   `dynamodbav:"SK"`
	ServerID    string   `dynamodbav:"mcp_id"`
	Name        string   `dynamodbav:"name"`
	Kind        string   `dynamodbav:"kind"`
	BaseURL     string   `dynamodbav:"base_url"`
	DocumentURL string   `dynamodbav:"document_url,omitempty"`
	Active      bool     `dynamodbav:"active"`
	State       string   `dynamodbav:"state"`
	Catalogue   string   `dynamodbav:"catalogue"` // empty: none yet
	Operations  int      `dynamodbav:"operations"`
	Warnings    []string `dynamodbav:"warnings,omitempty"`
	KeyIn       string   `dynamodbav:"key_in,omitempty"`
	KeyName     string   `dynamodbav:"key_name,omitempty"`
	LastError   string   `dynamodbav:"last_error,omitempty"`
	CreatedAt   int64    `dynamodbav:"created_at"`
	UpdatedAt   int64    `dynamodbav:"updated_at"`
	RefreshedAt int64    `dynamodbav:"refreshed_at,omitempty"`
}

func rowOfServer(account string, s tool.Server) serverRow {
	row := serverRow{
		PK: accountKey(account), SK: "SERVER#" + s.ID, ServerID: s.ID, Name: s.Name, Kind: string(s.Kind),
		BaseURL: s.BaseURL, DocumentURL: s.DocumentURL, Active: s.Active, State: string(s.Status), Catalogue: s.Catalogue,
		Operations: s.Operations, Warnings: s.Warnings, LastError: s.LastError,
		CreatedAt: millis(s.CreatedAt), UpdatedAt: millis(s.UpdatedAt), RefreshedAt: millis(s.RefreshedAt),
	}
	if s.Key != nil {
		row.KeyIn, row.KeyName = s.Key.In, s.Key.Name
	}
	return row
}

func (row serverRow) server() tool.Server {
	s := tool.Server{
		ID: row.ServerID, Name: row.Name, Kind: tool.Kind(row.Kind), BaseURL: row.BaseURL, DocumentURL: row.DocumentURL,
		Active: row.Active, Status: tool.Status(row.State), Catalogue: row.Catalogue, Operations: row.Operations,
		Warnings: row.Warnings, LastError: row.LastError,
		CreatedAt: fromMillis(row.CreatedAt), UpdatedAt: fromMillis(row.UpdatedAt), RefreshedAt: fromMillis(row.RefreshedAt),
	}
	if row.KeyIn != "" {
		s.Key = &tool.KeyPlace{In: row.KeyIn, Name: row.KeyName}
	}
	return s
}

type keyRow struct {
	PK     string `dynamodbav:"PK"`
	SK     string `dynamodbav:"SK"`
	In     string `dynamodbav:"in"`
	Name   string `dynamodbav:"name,omitempty"`
	Secret string `dynamodbav:"secret"`
}

// Server returns a server, as the last write left it.
func (t *Table) Server(ctx context.Context, account, id string) (tool.Server, error) {
	var row serverRow
	err := t.get(ctx, accountKey(account), "SERVER#"+id, &row, tool.ErrServerNotFound)
	return row.server(), err
}

// Servers returns the account's servers, the oldest first.
func (t *Table) Servers(ctx context.Context, account string) ([]tool.Server, error) {
	items, err := t.prefix(ctx, accountKey(account), "SERVER#")
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
	if key != nil {
		w, err := t.putKey(account, s.ID, *key)
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

func (t *Table) putKey(account, id string, key tool.Credential) (write, error) {
	return t.put(keyRow{
		PK: keysKey(account), SK: "SERVER#" + id, In: key.Place.In, Name: key.Place.Name, Secret: key.Secret,
	}, "", nil)
}

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

// MarkServer records how a discovery that brought no allowlist ended.
func (t *Table) MarkServer(ctx context.Context, account string, s tool.Server, seen string) error {
	s.Catalogue = seen
	return t.mark(ctx, account, s, seen)
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
			"base_url = :base, last_error = :error, updated_at = :now, refreshed_at = :refreshed",
		"catalogue = :seen", item{
			":rev": str(s.Catalogue), ":seen": str(seen), ":state": str(row.State), ":ops": num(int64(row.Operations)),
			":warnings": warnings, ":doc": str(row.DocumentURL), ":base": str(row.BaseURL), ":error": str(row.LastError),
			":now": num(row.UpdatedAt), ":refreshed": num(row.RefreshedAt),
		}, tool.ErrServerMoved)
	w.Update.ExpressionAttributeNames = map[string]string{"#state": "state"}
	return t.commit(ctx, w)
}

// SetServerActive switches a server on or off.
func (t *Table) SetServerActive(ctx context.Context, account, id string, active bool, at time.Time) (tool.Server, error) {
	w := t.update(accountKey(account), "SERVER#"+id, "SET active = :active, updated_at = :now", "attribute_exists(PK)",
		item{":active": &types.AttributeValueMemberBOOL{Value: active}, ":now": num(millis(at))}, tool.ErrServerNotFound)
	if err := t.commit(ctx, w); err != nil {
		return tool.Server{}, err
	}
	return t.Server(ctx, account, id)
}

// SetCredential stores a server's key apart from the server, or removes it.
func (t *Table) SetCredential(ctx context.Context, account, id string, key *tool.Credential, at time.Time) (tool.Server, error) {
	var writes []write
	if key == nil {
		writes = []write{
			t.update(accountKey(account), "SERVER#"+id, "SET updated_at = :now REMOVE key_in, key_name",
				"attribute_exists(PK)", item{":now": num(millis(at))}, tool.ErrServerNotFound),
			t.remove(keysKey(account), "SERVER#"+id, "", nil),
		}
	} else {
		w, err := t.putKey(account, id, *key)
		if err != nil {
			return tool.Server{}, err
		}
		writes = []write{
			t.update(accountKey(account), "SERVER#"+id, "SET updated_at = :now, key_in = :in, key_name = :name",
				"attribute_exists(PK)", item{
					":now": num(millis(at)), ":in": str(key.Place.In), ":name": str(key.Place.Name),
				}, tool.ErrServerNotFound),
			w,
		}
	}
	if err := t.commit(ctx, writes...); err != nil {
		return tool.Server{}, err
	}
	return t.Server(ctx, account, id)
}

// Credential returns a server's key.
func (t *Table) Credential(ctx context.Context, account, id string) (tool.Credential, error) {
	var row keyRow
	err := t.get(ctx, keysKey(account), "SERVER#"+id, &row, tool.ErrServerNotFound)
	return tool.Credential{Place: tool.KeyPlace{In: row.In, Name: row.Name}, Secret: row.Secret}, err
}

// DeleteServer removes a server, its key and its allowlist.
func (t *Table) DeleteServer(ctx context.Context, account, id string) error {
	s, err := t.Server(ctx, account, id)
	if err != nil {
		return err
	}
	err = t.commit(ctx,
		t.remove(accountKey(account), "SERVER#"+id, "attribute_exists(PK)", tool.ErrServerNotFound),
		t.remove(keysKey(account), "SERVER#"+id, "", nil))
	if err != nil || s.Catalogue == "" {
		return err
	}
	return t.dropCatalogue(context.WithoutCancel(ctx), account, id, s.Catalogue)
}

// Ping reads nothing, to learn whether the store answers.
func (t *Table) Ping(ctx context.Context) error {
	_, err := t.client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &t.name, Key: key("TOKEN#", "PING")})
	return err
}
