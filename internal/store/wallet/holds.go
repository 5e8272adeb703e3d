package wallet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"piloto/internal/ground/ids"
	"piloto/internal/models/credit"
	"piloto/internal/store/kv"
)

// The row of a period counts its spent and its held money in one number, so that a condition can
// compare it with the limit.
func dayKey(at time.Time) string   { return "B#D#" + credit.Day(at) }
func monthKey(at time.Time) string { return "B#M#" + credit.Month(at) }

// turnsKept is how long the records of turns stay.
const turnsKept = 400 * 24 * time.Hour

type partRow struct {
	SessionID string `dynamodbav:"session_id"`
	Until     int64  `dynamodbav:"until"`
	Tokens    int    `dynamodbav:"tokens"`
}

type holdRow struct {
	PK       string    `dynamodbav:"PK"`
	SK       string    `dynamodbav:"SK"`
	DuePK    string    `dynamodbav:"DuePK"`
	DueSK    string    `dynamodbav:"DueSK"`
	ID       string    `dynamodbav:"hold_id"`
	Parts    []partRow `dynamodbav:"parts"`
	For      []byte    `dynamodbav:"for"` // the turn, as far as it is known; JSON
	Micros   int64     `dynamodbav:"micros"`
	At       int64     `dynamodbav:"at"`
	Deadline int64     `dynamodbav:"deadline"`
}

func rowOfHold(h credit.Hold) (holdRow, error) {
	data, err := turns.Encode(h.For)
	row := holdRow{
		PK: walletKey(h.Account), SK: "H#" + h.ID, DuePK: kv.DueList(dueHolds, h.Account), DueSK: kv.At(h.Deadline, h.ID), ID: h.ID,
		Micros: h.Micros, At: kv.Millis(h.At), Deadline: kv.Millis(h.Deadline), Parts: []partRow{}, For: data,
	}
	for _, p := range h.Parts {
		row.Parts = append(row.Parts, partRow{p.SessionID, kv.Millis(p.Until), p.Tokens})
	}
	return row, err
}

func (row holdRow) hold(account string) (credit.Hold, error) {
	h := credit.Hold{
		Asked: true, ID: row.ID, Account: account, Micros: row.Micros, At: kv.Time(row.At), Deadline: kv.Time(row.Deadline),
	}
	for _, p := range row.Parts {
		h.Parts = append(h.Parts, credit.Part{SessionID: p.SessionID, Until: kv.Time(p.Until), Tokens: p.Tokens})
	}
	var err error
	h.For, err = turns.Decode(row.For)
	return h, err
}

func putHold(h credit.Hold, condition string, otherwise error) kv.Write {
	row, err := rowOfHold(h)
	return kv.Put(row, condition, otherwise).Unless(err)
}

// Reserve takes a hold: of its sessions, whose expiry is compared here and not
// left to their time to live, and of the day and the month as far as limits go.
func (s *Store) Reserve(ctx context.Context, h credit.Hold, l credit.Limits) error {
	writes := []kv.Write{putHold(h, "attribute_not_exists(PK)", credit.ErrAlreadyWritten)}
	for _, p := range h.Parts {
		writes = append(writes, takePart(h.Account, p, h.At))
	}
	return s.hold(ctx, h, h.Micros, l, writes)
}

// Hold returns a hold as the last write left it; credit.ErrSettled when it is gone.
func (s *Store) Hold(ctx context.Context, account, id string) (credit.Hold, error) {
	var row holdRow
	if err := s.table.Get(ctx, walletKey(account), "H#"+id, &row, credit.ErrSettled); err != nil {
		return credit.Hold{}, err
	}
	return row.hold(account)
}

// Extend adds a part and money to a hold that is there as it was last written.
func (s *Store) Extend(ctx context.Context, h credit.Hold, more credit.Part, micros int64, l credit.Limits, at time.Time) (credit.Hold, error) {
	longer := h.With(more)
	longer.Micros += micros
	var writes []kv.Write
	if more.Tokens > 0 {
		writes = append(writes, takePart(h.Account, more, at))
	}
	put := putHold(longer, "attribute_exists(PK)", credit.ErrSettled)
	if err := s.hold(ctx, h, micros, l, append(writes, put)); err != nil {
		return h, err
	}
	return longer, nil
}

// takePart takes tokens of a session that has them, and whose time is not over.
func takePart(account string, p credit.Part, at time.Time) kv.Write {
	return kv.Update(walletKey(account), sessionKey(p.Until, p.SessionID), "SET room = room - :n",
		"room >= :n AND expires_at > :now AND attribute_not_exists(closed)",
		kv.Item{":n": kv.N(int64(p.Tokens)), ":now": kv.N(kv.Millis(at))}, credit.ErrSession)
}

func (s *Store) hold(ctx context.Context, h credit.Hold, micros int64, l credit.Limits, writes []kv.Write) error {
	for _, period := range []struct {
		key   string
		limit int64
	}{{dayKey(h.At), l.Day}, {monthKey(h.At), l.Month}} {
		if period.limit > 0 && micros > period.limit {
			return credit.ErrBudget
		}
		if micros == 0 {
			continue
		}
		writes = append(writes, count(h.Account, period.key, h.At, micros, period.limit))
	}
	return s.table.Commit(ctx, writes...)
}

// count adds money to a period, while it stays within limit when there is one.
func count(account, period string, at time.Time, micros, limit int64) kv.Write {
	values := kv.Item{":none": kv.N(0), ":n": kv.N(micros), ":ttl": kv.N(at.Add(turnsKept).Unix())}
	condition := ""
	if limit > 0 {
		condition, values[":room"] = "attribute_not_exists(micros) OR micros <= :room", kv.N(limit-micros)
	}
	return kv.Update(walletKey(account), period, "SET micros = if_not_exists(micros, :none) + :n, #ttl = :ttl", condition, values, credit.ErrBudget).Named("#ttl", "ttl")
}

// periodRow is a day or a month.
type periodRow struct {
	Micros int64 `dynamodbav:"micros"`
}

// Settle ends a hold with the usage of its turn, and writes the turn's record.
func (s *Store) Settle(ctx context.Context, h credit.Hold, turn credit.Turn) error {
	writes := []kv.Write{turnRecord(h.Account, turn)}
	at := turn.At
	if !h.At.IsZero() {
		at = h.At
		writes = append(writes, kv.Delete(walletKey(h.Account), "H#"+h.ID, "attribute_exists(PK)", credit.ErrSettled))
	}
	for i, used := range h.Spread(turn.Charged) {
		p := h.Parts[i]
		writes = append(writes, settlePart(h.Account, p, p.Tokens-used, used))
	}
	if change := turn.Micros - h.Micros; change != 0 {
		writes = append(writes, count(h.Account, dayKey(at), at, change, 0), count(h.Account, monthKey(at), at, change, 0))
	}
	return s.table.Commit(ctx, writes...)
}

// settlePart gives tokens of a session back and counts those that were used. A
// session that was cleaned up meanwhile needs neither.
func settlePart(account string, p credit.Part, back, used int) kv.Write {
	return kv.Update(walletKey(account), sessionKey(p.Until, p.SessionID), "SET room = room + :back, used = used + :used",
		"attribute_exists(PK)", kv.Item{":back": kv.N(int64(back)), ":used": kv.N(int64(used))}, errNoSession)
}

var errNoSession = errors.New("store: the session of a hold is gone")

// Release ends a hold whose turn was cut off, once.
func (s *Store) Release(ctx context.Context, h credit.Hold, at time.Time) error {
	writes := []kv.Write{kv.Delete(walletKey(h.Account), "H#"+h.ID, "attribute_exists(PK) AND deadline <= :now", credit.ErrSettled).
		With(kv.Item{":now": kv.N(kv.Millis(at))})}
	for _, p := range h.Parts {
		writes = append(writes, settlePart(h.Account, p, p.Tokens, 0))
	}
	if h.Micros != 0 {
		writes = append(writes, count(h.Account, dayKey(h.At), h.At, -h.Micros, 0), count(h.Account, monthKey(h.At), h.At, -h.Micros, 0))
	}
	err := s.table.Commit(ctx, append(slices.Clone(writes), turnRecord(h.Account, releasedTurn(h)))...)
	if errors.Is(err, credit.ErrAlreadyWritten) { // its turn was settled before it arrived: the record stays
		err = s.table.Commit(ctx, writes...)
	}
	return err
}

// releasedTurn returns the record of a turn that was cut off.
func releasedTurn(h credit.Hold) credit.Turn {
	turn := h.For
	turn.ID, turn.Outcome = h.ID, credit.OutcomeReleased
	return turn
}

// DueHolds lists holds whose deadline has passed, the oldest first. One that cannot be
// read is an error beside the others.
func (s *Store) DueHolds(ctx context.Context, at time.Time, limit int) ([]credit.Hold, error) {
	keys, err := s.table.Due(ctx, dueHolds, at, limit)
	problems := []error{err}
	var holds []credit.Hold
	for _, k := range keys {
		var row holdRow
		err := s.table.Get(ctx, k.PK, k.SK, &row, credit.ErrSettled)
		if errors.Is(err, credit.ErrSettled) {
			continue
		}
		var h credit.Hold
		if err == nil {
			h, err = row.hold(kv.AccountOf(k.PK, "#W"))
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("store: %s %s: %w", k.PK, k.SK, err))
			continue
		}
		holds = append(holds, h)
	}
	return holds, errors.Join(problems...)
}

var turns = kv.Document[credit.Turn]{Name: "turn"}

type turnRow struct {
	PK   string `dynamodbav:"PK"`
	SK   string `dynamodbav:"SK"`
	Data []byte `dynamodbav:"data"` // JSON
	TTL  int64  `dynamodbav:"ttl"`

	Outcome string `dynamodbav:"outcome"`
}

// turnRecord writes the record of a turn, once. It replaces the record that the turn was cut
// off, because that turn ended after all.
func turnRecord(account string, turn credit.Turn) kv.Write {
	data, err := turns.Encode(turn)
	return kv.Put(turnRow{
		PK: walletKey(account), SK: "U#" + turn.ID, Data: data, TTL: turn.At.Add(turnsKept).Unix(), Outcome: turn.Outcome,
	}, "attribute_not_exists(PK) OR outcome = :released", credit.ErrAlreadyWritten).
		With(kv.Item{":released": kv.S(credit.OutcomeReleased)}).Unless(err)
}

// turnsPage is how many records are read at once.
const turnsPage = 500

// Turns calls f for the turns from a time to before another, the newest first,
// until it returns false.
func (s *Store) Turns(ctx context.Context, account string, from, to time.Time, f func(credit.Turn) bool) error {
	span := kv.Rows(walletKey(account), "U#")
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
