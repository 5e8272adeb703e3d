package registry

import (
	"context"
	"errors"
	"time"

	"piloto/internal/ground/ids"
	"piloto/internal/store/kv"
	"piloto/internal/tools/tool"
)

// keysOf is the partition of the keys of services. The keys of agents are apart from the keys of
// tools, because other functions may read them.
func keysOf(account ids.Account, server tool.Server) string {
	if server.IsAgent() {
		return kv.Account(account) + "#AGENTKEYS"
	}
	return kv.Account(account) + "#KEYS"
}

func keysKey(account ids.Account, server tool.Server) kv.Key {
	return kv.Key{PK: keysOf(account, server), SK: serverKind + server.ID}
}

// keyRow holds the keys of a server: the first one, and the others. Rev counts its changes.
type keyRow struct {
	kv.Key
	In     string `dynamodbav:"in"`
	Name   string `dynamodbav:"name,omitempty"`
	Secret string `dynamodbav:"secret"`

	TokenURL string    `dynamodbav:"token_url,omitempty"`
	Scope    string    `dynamodbav:"scope,omitempty"`
	More     []keyItem `dynamodbav:"more,omitempty"`
	Rev      int64     `dynamodbav:"rev,omitempty"`
}

type keyItem struct {
	Place  placeItem `dynamodbav:"place"`
	Secret string    `dynamodbav:"secret"`
}

// placeItem is the stored position of a key in a request.
type placeItem struct {
	In       string `dynamodbav:"in"`
	Name     string `dynamodbav:"name,omitempty"`
	TokenURL string `dynamodbav:"token_url,omitempty"`
	Scope    string `dynamodbav:"scope,omitempty"`
}

func itemsOf(places []tool.KeyPlace) (list []placeItem) {
	for _, p := range places {
		list = append(list, placeItem(p))
	}
	return list
}

func placesOf(list []placeItem) (places []tool.KeyPlace) {
	for _, p := range list {
		places = append(places, tool.KeyPlace(p))
	}
	return places
}

// setKeys sets the positions of the keys of a server in its row.
func (row *serverRow) setKeys(places []tool.KeyPlace) {
	first := tool.KeyPlace{}
	row.MoreKeys = nil
	if len(places) > 0 {
		first, row.MoreKeys = places[0], itemsOf(places[1:])
	}
	row.KeyIn, row.KeyName, row.TokenURL, row.Scope = first.In, first.Name, first.TokenURL, first.Scope
}

func (row keyRow) keys() tool.Keys {
	if row.In == "" {
		return nil
	}
	list := tool.Keys{{Place: tool.KeyPlace{In: row.In, Name: row.Name, TokenURL: row.TokenURL, Scope: row.Scope}, Secret: row.Secret}}
	for _, k := range row.More {
		list = append(list, tool.Credential{Place: tool.KeyPlace(k.Place), Secret: k.Secret})
	}
	return list
}

// putKeys stores all keys of a server, at least one. rev is that of the row that they replace.
func putKeys(account ids.Account, server tool.Server, list tool.Keys, rev int64) kv.Write {
	first := list[0]
	row := keyRow{
		Key: keysKey(account, server), In: first.Place.In, Name: first.Place.Name,
		TokenURL: first.Place.TokenURL, Scope: first.Place.Scope, Secret: first.Secret, Rev: rev + 1,
	}
	for _, k := range list[1:] {
		row.More = append(row.More, keyItem{placeItem(k.Place), k.Secret})
	}
	return kv.Put(row)
}

// Keys returns the keys of a server, in the order in which they were set.
func (s *Store) Keys(ctx context.Context, account ids.Account, server tool.Server) (tool.Keys, error) {
	row, err := s.keyRow(ctx, account, server)
	return row.keys(), err
}

func (s *Store) keyRow(ctx context.Context, account ids.Account, server tool.Server) (row keyRow, err error) {
	err = s.table.Get(ctx, keysKey(account, server), &row, tool.ErrServerNotFound)
	if errors.Is(err, tool.ErrServerNotFound) {
		return keyRow{}, nil
	}
	return row, err
}

// ChangeKeys replaces the keys of a server, apart from the server, and their positions in its row.
func (s *Store) ChangeKeys(ctx context.Context, account ids.Account, server tool.Server, change func(tool.Keys) (tool.Keys, error), at time.Time) (tool.Server, error) {
	var err error = tool.ErrServerMoved
	for n := 0; n < mostMoves && errors.Is(err, tool.ErrServerMoved); n++ {
		err = s.changeKeys(ctx, account, server, change, at)
	}
	if err != nil {
		return tool.Server{}, err
	}
	return s.Server(ctx, account, server.ID)
}

func (s *Store) changeKeys(ctx context.Context, account ids.Account, server tool.Server, change func(tool.Keys) (tool.Keys, error), at time.Time) error {
	row, err := s.keyRow(ctx, account, server)
	if err != nil {
		return err
	}
	list, err := change(row.keys())
	if err != nil {
		return err
	}
	var next serverRow
	next.setKeys(list.Places())
	w := kv.Update(serverKey(account, server.ID)).Set("updated_at", at).If(kv.Exists("PK")).Else(tool.ErrServerNotFound)
	stored := kv.Delete(keysKey(account, server))
	if len(list) == 0 {
		w = w.Remove("key_in", "key_name", "token_url", "key_scope", "more_keys")
	} else {
		w = w.Set("key_in", next.KeyIn).Set("key_name", next.KeyName).Set("token_url", next.TokenURL).Set("key_scope", next.Scope).Set("more_keys", next.MoreKeys)
		stored = putKeys(account, server, list, row.Rev)
	}
	return s.change(ctx, account, w, stored.If(kv.Unchanged("rev", row.Rev)).Else(tool.ErrServerMoved))
}
