package runs

import (
	"context"
	"errors"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
	"piloto/internal/runs/rule"
	"piloto/internal/store/kv"
	"piloto/internal/store/setups"
)

type rulesRow struct {
	kv.Key
	Rules     []byte `dynamodbav:"rules"`
	Version   int    `dynamodbav:"version"`
	By        string `dynamodbav:"by"`
	UpdatedAt int64  `dynamodbav:"updated_at"`
}

// Rules returns the account's rules; none when it never set any.
func (s *Store) Rules(ctx context.Context, account ids.Account) (rule.Set, error) {
	var row rulesRow
	missing := fault.New(fault.NotFound, "rules.none")
	err := s.table.Get(ctx, kv.Key{PK: kv.Account(account), SK: "RULES"}, &row, missing)
	if errors.Is(err, missing) {
		return rule.Set{}, nil
	}
	if err != nil {
		return rule.Set{}, err
	}
	set := rule.Set{Version: row.Version, By: row.By, UpdatedAt: kv.Time(row.UpdatedAt)}
	set.Rules, err = ruleLists.Decode(row.Rules)
	return set, err
}

// SetRules replaces the account's rules, while seen is their version; rule.ErrMoved.
func (s *Store) SetRules(ctx context.Context, account ids.Account, seen int, set rule.Set) error {
	raw, err := ruleLists.Encode(set.Rules)
	w := kv.Put(rulesRow{
		Key: kv.Key{PK: kv.Account(account), SK: "RULES"}, Rules: raw, Version: seen + 1, By: set.By, UpdatedAt: kv.Millis(set.UpdatedAt),
	}).If(kv.Unchanged("version", seen)).Else(rule.ErrMoved).Unless(err)
	return s.table.Commit(ctx, w, setups.Raise(account))
}
