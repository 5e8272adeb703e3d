package wallet

import (
	"context"
	"errors"
	"slices"
	"time"

	"piloto/internal/ground/failpoint"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/retry"
	"piloto/internal/live/hook"
	"piloto/internal/models/credit"
	"piloto/internal/runs/plan"
	"piloto/internal/store/kv"
	"piloto/internal/store/runs"
)

// turnsKept is how long the records of turns stay.
const turnsKept = 400 * 24 * time.Hour

var turns = kv.Document[credit.Turn]{Name: "turn"}

// turnRow is the record of a turn.
type turnRow struct {
	kv.Key
	Data []byte `dynamodbav:"data"` // JSON
	TTL  int64  `dynamodbav:"ttl"`

	Outcome string `dynamodbav:"outcome"`
	// Hold is the nonce of the hold that this record ends. A hold that is there is charged by the record that
	// names it, and by no other: a turn may take several holds, one after another.
	Hold string `dynamodbav:"hold,omitempty"`
}

func turnKey(account ids.Account, id string) kv.Key {
	return kv.Key{PK: partition(account), SK: "U#" + id}
}

// recordOf returns the write of a turn's record.
func recordOf(account ids.Account, nonce string, turn credit.Turn) kv.Write {
	data, err := turns.Encode(turn)
	return kv.Put(turnRow{
		Key: turnKey(account, turn.ID), Data: data, TTL: turn.At.Add(turnsKept).Unix(), Outcome: turn.Outcome, Hold: nonce,
	}).Else(credit.ErrAlreadyWritten).Unless(err)
}

// record writes the record of a turn, once, and returns the one that is there then. The record that an earlier hold
// of the turn was released gives way.
func (s *Store) record(ctx context.Context, account ids.Account, nonce string, turn credit.Turn) (kept turnRow, mine bool, err error) {
	write, condition := recordOf(account, nonce, turn), kv.Missing("PK")
	for {
		it, done, err := s.tryRecord(ctx, account, write.If(condition), turn)
		if err != nil || done {
			return kept, true, err
		}
		kept = turnRow{}
		if err := kv.Decode(it, &kept); err != nil {
			return kept, false, err
		}
		if kept.Outcome != credit.OutcomeReleased || kept.Hold == nonce {
			return kept, false, nil
		}
		condition = isReleased(kept.Hold)
	}
}

// isOfRun reports whether a turn adds to the cost of a run.
func isOfRun(turn credit.Turn) bool { return turn.RunID != "" && turn.Micros != 0 }

// tryRecord writes a record when its condition holds, and adds its cost to the run that it is of, in one transaction.
// It returns the record that is there when it does not hold.
func (s *Store) tryRecord(ctx context.Context, account ids.Account, write kv.Write, turn credit.Turn) (kv.Item, bool, error) {
	if isOfRun(turn) {
		switch err := s.commitRecord(ctx, account, turn, write); {
		case err == nil:
			return nil, true, nil
		case !errors.Is(err, credit.ErrAlreadyWritten):
			return nil, false, err
		}
		it, err := s.table.Row(ctx, turnKey(account, turn.ID))
		return it, false, err
	}
	failpoint.Verb("", "(*Store)", "before")
	it, done, err := s.table.Try(ctx, write)
	failpoint.Verb("", "(*Store)", "after")
	return it, done, err
}

// spendTries is how often the cost of a turn is added to the run that it proposes, whose draft is stored at the same time.
const spendTries = 5

// commitRecord makes the writes of a record, and adds its cost to the run that it is of. A run that is gone gets none.
func (s *Store) commitRecord(ctx context.Context, account ids.Account, turn credit.Turn, writes ...kv.Write) error {
	if !isOfRun(turn) {
		return s.table.Commit(ctx, writes...)
	}
	for i := range spendTries {
		err := s.table.Commit(ctx, append(slices.Clone(writes), runs.Spend(account, turn.RunID, turn.Micros))...)
		if !errors.Is(err, plan.ErrRunNotFound) {
			return err
		}
		if err := retry.Wait(ctx, retry.Pause(i+2)); err != nil {
			return err
		}
	}
	return s.table.Commit(ctx, writes...)
}

// isReleased is the condition that a record says that a hold was released.
func isReleased(nonce string) kv.Condition {
	return kv.All(kv.Is("outcome", credit.OutcomeReleased), kv.Is("hold", nonce))
}

// Settle writes the record of a turn, and then ends its hold. A crash between the two leaves a hold whose record has the
// charge: the sweep ends it so.
func (s *Store) Settle(ctx context.Context, h credit.Hold, turn credit.Turn) error {
	kept, mine, err := s.record(ctx, h.Account, h.Nonce, turn)
	if err != nil {
		return err
	}
	charge := &turn
	var before error
	if !mine {
		if kept.Outcome == credit.OutcomeReleased {
			return credit.ErrSettled
		}
		before = credit.ErrAlreadyWritten
		if charge, err = kept.charges(h.Nonce); err != nil {
			return err
		}
	}
	if h.At.IsZero() {
		return before
	}
	if err = s.end(ctx, h, charge); err != nil && !errors.Is(err, credit.ErrSettled) { // else the sweep ended it by the record
		return err
	}
	return before
}

// charges returns the turn for which a record has a hold charged; nil when the hold is to be given back.
func (row turnRow) charges(nonce string) (*credit.Turn, error) {
	if row.Hold != nonce || row.Outcome == credit.OutcomeReleased {
		return nil, nil
	}
	turn, err := turns.Decode(row.Data)
	return &turn, err
}

// SettleLate replaces the record that the hold of a turn was released, and charges the turn, in one transaction. The
// hold may be there still, when the sweep was cut off.
func (s *Store) SettleLate(ctx context.Context, h credit.Hold, turn credit.Turn) error {
	return retry.Do(ctx, func() error {
		row, err := s.opened(ctx, h.Account)
		if err != nil {
			return err
		}
		record := recordOf(h.Account, h.Nonce, turn).If(isReleased(h.Nonce))
		c := newChange(h.Account)
		var low []hook.BudgetData
		if stored, has := row.hold(h.Account, h.ID); has && stored.Nonce == h.Nonce {
			low = c.watch(&row, stored.At, stored, c.end(stored, &turn))
		} else {
			c.chargeLate(row, h, turn)
			low = c.watch(&row, turn.At, h, turn.Micros)
		}
		outbox, err := s.messages(ctx, h.Account, turn.At, low)
		if err != nil {
			return err
		}
		writes := append([]kv.Write{record}, outbox...)
		if !c.write.IsEmpty() {
			writes = append(writes, c.write.Else(fault.ErrMoved))
		}
		return s.commitRecord(ctx, h.Account, turn, writes...)
	})
}

// chargeLate charges a turn that holds nothing any more. A session that the wallet has no more is not charged.
func (c *change) chargeLate(row walletRow, h credit.Hold, turn credit.Turn) {
	c.need(kv.Any(kv.Missing(holdPath(h.ID)), kv.IsNot(holdPath(h.ID).Of("nonce"), h.Nonce)))
	for i, used := range h.WithoutTokens().Spread(turn.Charged) {
		id := h.Parts[i].SessionID
		if _, has := row.Sessions[id]; has && used > 0 {
			c.need(kv.Exists(sessionPath(id)))
			c.charge(id, -used, used)
		}
	}
	c.spend(turn.At, turn.Micros)
}

// Release ends the hold of a turn that was cut off, once. It first writes the record that it was released. When there
// is a record of the turn's usage, the turn was cut off after it, and is charged by it.
func (s *Store) Release(ctx context.Context, h credit.Hold) (charged bool, err error) {
	kept, mine, err := s.record(ctx, h.Account, h.Nonce, releasedTurn(h))
	if err != nil {
		return false, err
	}
	var charge *credit.Turn
	if !mine {
		if charge, err = kept.charges(h.Nonce); err != nil {
			return false, err
		}
	}
	return charge != nil, s.end(ctx, h, charge)
}

// releasedTurn returns the record of a turn that was cut off.
func releasedTurn(h credit.Hold) credit.Turn {
	turn := h.For
	turn.ID, turn.Outcome = h.ID, credit.OutcomeReleased
	return turn
}

// Recorded reports whether the usage of a turn was recorded.
func (s *Store) Recorded(ctx context.Context, account ids.Account, id string) (bool, error) {
	it, err := s.table.Row(ctx, turnKey(account, id))
	if err != nil || it == nil {
		return false, err
	}
	var row turnRow
	err = kv.Decode(it, &row)
	return row.Outcome != credit.OutcomeReleased, err
}

// turnsPage is how many records are read at once.
const turnsPage = 500

// Turns calls f for the turns from a time to before another, the newest first,
// until it returns false.
func (s *Store) Turns(ctx context.Context, account ids.Account, from, to time.Time, f func(credit.Turn) bool) error {
	span := kv.Rows(partition(account), "U#")
	span.Newest, span.From, span.To = true, "U#"+ids.First(from), "U#"+ids.First(to)
	return s.table.Each(ctx, span, turnsPage, func(it kv.Item) (bool, error) {
		var row turnRow
		if err := kv.Decode(it, &row); err != nil {
			return false, err
		}
		turn, err := turns.Decode(row.Data)
		if err != nil {
			return false, err
		}
		return f(turn), nil
	})
}
