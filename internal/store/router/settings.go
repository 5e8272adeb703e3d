// Package router owns the rows of the router of agents: its settings, business contexts,
// memories and breakers.
package router

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"piloto/internal/chats/agent"
	"piloto/internal/ground/ids"
	"piloto/internal/store/kv"
	"piloto/internal/store/setups"
)

// Store is the router of a table.
type Store struct{ table *kv.Table }

// New returns the router of a table.
func New(table *kv.Table) *Store { return &Store{table} }

func routerKey(account ids.Account) string { return kv.Account(account) + "#ROUTER" }

var (
	settingsOf = kv.Document[agent.Settings]{Name: "router settings"}
	businesses = kv.Document[agent.Business]{Name: "business"}
)

// settingsPrefix begins the sort keys of settings; that of company 0 is the
// account's own.
const settingsPrefix = "SET#"

func routerSettingsKey(company int64) string { return settingsPrefix + kv.Pad(company, 19) }

func businessKey(company int64, url string) string {
	return "BUSINESS#" + kv.Pad(company, 19) + "#" + ids.Hash(url)[:32]
}

// businessKept is the life of a context after its source was tried.
const businessKept = 7 * 24 * time.Hour

// routerRow is a row of settings, or the context of a company. Only the second has TriedAt and TTL.
type routerRow struct {
	kv.Key
	Data    []byte `dynamodbav:"data"` // JSON
	TriedAt int64  `dynamodbav:"tried_at,omitempty"`
	TTL     int64  `dynamodbav:"ttl,omitempty"`
}

var errNoRow = errors.New("store: no such row")

// read reads a document of the router's; the zero T when there is none.
func read[T any](ctx context.Context, s *Store, account ids.Account, sk string, kind kv.Document[T]) (T, error) {
	var row routerRow
	var none T
	switch err := s.table.Get(ctx, kv.Key{PK: routerKey(account), SK: sk}, &row, errNoRow); {
	case errors.Is(err, errNoRow):
		return none, nil
	case err != nil:
		return none, err
	}
	return kind.Decode(row.Data)
}

// RouterSettings returns the settings in force for a company: its own, over the account's.
func (s *Store) RouterSettings(ctx context.Context, account ids.Account, company int64) (agent.Settings, error) {
	wide, own, err := s.RouterLayers(ctx, account, company)
	return agent.Merge(wide, own), err
}

// RouterLayers returns the account's settings, and the company's own. Company 0 has none of its own.
func (s *Store) RouterLayers(ctx context.Context, account ids.Account, company int64) (wide, own agent.Settings, err error) {
	var reads errgroup.Group
	reads.Go(func() (err error) { wide, err = read(ctx, s, account, routerSettingsKey(0), settingsOf); return })
	if company != 0 {
		reads.Go(func() (err error) { own, err = read(ctx, s, account, routerSettingsKey(company), settingsOf); return })
	}
	err = reads.Wait()
	return wide, own, err
}

// PutRouterSettings replaces the settings of a company, or of the account when company is 0.
func (s *Store) PutRouterSettings(ctx context.Context, account ids.Account, company int64, settings agent.Settings) error {
	data, err := settingsOf.Encode(settings)
	w := kv.Put(routerRow{Key: kv.Key{PK: routerKey(account), SK: routerSettingsKey(company)}, Data: data}).Unless(err)
	return s.table.Commit(ctx, w, setups.Raise(account))
}

// DeleteRouterSettings deletes these settings; missing ones are deleted already.
func (s *Store) DeleteRouterSettings(ctx context.Context, account ids.Account, company int64) error {
	return s.table.Commit(ctx, kv.Delete(kv.Key{PK: routerKey(account), SK: routerSettingsKey(company)}), setups.Raise(account))
}

// RouterCompanies lists the companies that have settings of their own, by number, and a cursor when
// there are more.
func (s *Store) RouterCompanies(ctx context.Context, account ids.Account, cursor string, limit int) ([]int64, string, error) {
	scope := "router\x00" + string(account)
	from, err := kv.ReadCursor(scope, cursor)
	if err != nil {
		return nil, "", err
	}
	if from == "" {
		from = routerSettingsKey(0)
	}
	span := kv.Rows(routerKey(account), settingsPrefix)
	span.From, span.Fields = from+" ", []kv.Path{"SK"}
	items, err := s.table.Read(ctx, span, limit+1)
	if err != nil {
		return nil, "", err
	}
	next := ""
	companies := make([]int64, 0, len(items))
	for i, it := range items {
		var row routerRow
		if err := kv.Decode(it, &row); err != nil {
			return nil, "", err
		}
		if i == limit {
			next = kv.WriteCursor(scope, routerSettingsKey(companies[limit-1]))
			break
		}
		company, err := strconv.ParseInt(strings.TrimPrefix(row.SK, settingsPrefix), 10, 64)
		if err != nil {
			return nil, "", err
		}
		companies = append(companies, company)
	}
	return companies, next, nil
}

// Business returns the stored context of a company; the zero Business when there is none.
func (s *Store) Business(ctx context.Context, account ids.Account, company int64, url string) (agent.Business, error) {
	return read(ctx, s, account, businessKey(company, url), businesses)
}

// PutBusiness replaces the context that the caller read. It returns agent.ErrBusinessMoved when its
// source was tried again since.
func (s *Store) PutBusiness(ctx context.Context, account ids.Account, company int64, url string, seen, next agent.Business) error {
	data, err := businesses.Encode(next)
	w := kv.Put(routerRow{
		Key: kv.Key{PK: routerKey(account), SK: businessKey(company, url)}, Data: data,
		TriedAt: kv.Millis(next.TriedAt), TTL: next.TriedAt.Add(businessKept).Unix(),
	}).If(kv.Unchanged("tried_at", kv.Millis(seen.TriedAt)))
	return s.table.Do(ctx, w.Else(agent.ErrBusinessMoved).Unless(err))
}
