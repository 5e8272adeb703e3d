package access

import (
	"context"
	"time"

	"piloto/internal/access/replay"
	"piloto/internal/ground/ids"
	"piloto/internal/store/kv"
)

func replayKey(account ids.Account, hash string) kv.Key {
	return kv.Key{PK: kv.Account(account) + "#Q#" + hash, SK: "REPLAY"}
}

type replayRow struct {
	kv.Key
	Fingerprint string `dynamodbav:"fingerprint"`
	Ticket      string `dynamodbav:"ticket"`
	At          int64  `dynamodbav:"at"`
	Holder      string `dynamodbav:"holder"`
	Until       int64  `dynamodbav:"held_until"` // 0: by nobody
	ExpiresAt   int64  `dynamodbav:"expires_at"`
	Done        bool   `dynamodbav:"done"`
	Answer      []byte `dynamodbav:"answer,omitempty"`
	Request     []byte `dynamodbav:"request,omitempty"`
	TTL         int64  `dynamodbav:"ttl"` // cleans up; the comparison is on expires_at
}

func replayRowOf(c replay.Claim) replayRow {
	return replayRow{
		Key: replayKey(c.Account, c.Key), Fingerprint: c.Fingerprint, Ticket: c.Ticket.ID, At: kv.Millis(c.Ticket.At),
		Holder: c.Holder, Until: kv.Millis(c.Until), ExpiresAt: kv.Millis(c.ExpiresAt), Done: c.Done, Answer: c.Answer, Request: c.Request,
		TTL: c.ExpiresAt.Add(time.Hour).Unix(),
	}
}

// claimIn reads a claim of an account and a key.
func claimIn(it kv.Item, account ids.Account, hash string) (replay.Claim, error) {
	var row replayRow
	err := kv.Decode(it, &row)
	return row.claim(account, hash), err
}

func (row replayRow) claim(account ids.Account, hash string) replay.Claim {
	return replay.Claim{
		Account: account, Key: hash, Fingerprint: row.Fingerprint, Ticket: replay.Ticket{ID: row.Ticket, At: kv.Time(row.At)},
		Holder: row.Holder, Until: kv.Time(row.Until), ExpiresAt: kv.Time(row.ExpiresAt), Done: row.Done, Answer: row.Answer,
		Request: row.Request,
	}
}

// ClaimReplay implements replay.Store.
func (s *Store) ClaimReplay(ctx context.Context, c replay.Claim, at time.Time) (replay.Claim, error) {
	there, put, err := s.putReplay(ctx, c, kv.Any(kv.Missing("PK"), kv.AtMost("expires_at", at)))
	if put {
		return c, nil
	}
	return there, err
}

// Replay implements replay.Store.
func (s *Store) Replay(ctx context.Context, account ids.Account, hash string) (replay.Claim, error) {
	var row replayRow
	err := s.table.Get(ctx, replayKey(account, hash), &row, replay.ErrUnknown)
	return row.claim(account, hash), err
}

// TakeReplay implements replay.Store.
func (s *Store) TakeReplay(ctx context.Context, c replay.Claim, holder string) (bool, error) {
	_, put, err := s.putReplay(ctx, c, kv.Is("holder", holder), kv.Is("done", false))
	return put, err
}

// FinishReplay implements replay.Store.
func (s *Store) FinishReplay(ctx context.Context, c replay.Claim) (replay.Claim, error) {
	c.Done = true
	there, put, err := s.putReplay(ctx, c, kv.Is("ticket", c.Ticket.ID), kv.Is("done", false))
	if put {
		return c, nil
	}
	return there, err
}

// FreeReplay implements replay.Store.
func (s *Store) FreeReplay(ctx context.Context, c replay.Claim) error {
	c.Until, c.Done, c.Answer = time.Time{}, false, nil
	_, err := s.TakeReplay(ctx, c, c.Holder)
	return err
}

// putReplay writes a claim, if the stored one meets conditions. If not, it returns the stored one.
func (s *Store) putReplay(ctx context.Context, c replay.Claim, conditions ...kv.Condition) (there replay.Claim, put bool, err error) {
	row, put, err := s.table.Try(ctx, kv.Put(replayRowOf(c)).If(conditions...))
	if err != nil || row == nil {
		return there, put, err
	}
	there, err = claimIn(row, c.Account, c.Key)
	return there, put, err
}
