package dynamo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"piloto/internal/ground/ids"
	"piloto/internal/models/credit"
	"piloto/internal/runs/run"
)

// A period's row counts what was spent in it and what is held: one number, so
// that a condition can compare it with the limit.
func dayKey(at time.Time) string   { return "B#D#" + credit.Day(at) }
func monthKey(at time.Time) string { return "B#M#" + credit.Month(at) }

// turnsKept is how long the records of turns stay.
const turnsKept = 400 * 24 * time.Hour

var yes = &types.AttributeValueMemberBOOL{Value: true}

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
	data, err := json.Marshal(h.For)
	row := holdRow{
		PK: walletKey(h.Account), SK: "H#" + h.ID, DuePK: dueHolds, DueSK: dueAt(h.Deadline, h.ID), ID: h.ID,
		Micros: h.Micros, At: millis(h.At), Deadline: millis(h.Deadline), Parts: []partRow{}, For: data,
	}
	for _, p := range h.Parts {
		row.Parts = append(row.Parts, partRow{p.SessionID, millis(p.Until), p.Tokens})
	}
	return row, err
}

func (row holdRow) hold(account string) (credit.Hold, error) {
	h := credit.Hold{
		Asked: true, ID: row.ID, Account: account, Micros: row.Micros, At: fromMillis(row.At), Deadline: fromMillis(row.Deadline),
	}
	for _, p := range row.Parts {
		h.Parts = append(h.Parts, credit.Part{SessionID: p.SessionID, Until: fromMillis(p.Until), Tokens: p.Tokens})
	}
	return h, json.Unmarshal(row.For, &h.For)
}

func (t *Table) putHold(h credit.Hold, condition string, otherwise error) (write, error) {
	row, err := rowOfHold(h)
	if err != nil {
		return write{}, err
	}
	return t.put(row, condition, otherwise)
}

// Reserve takes a hold: of its sessions, whose expiry is compared here and not
// left to their time to live, and of the day and the month as far as limits go.
func (t *Table) Reserve(ctx context.Context, h credit.Hold, l credit.Limits) error {
	put, err := t.putHold(h, "attribute_not_exists(PK)", credit.ErrMoved)
	if err != nil {
		return err
	}
	writes := []write{put}
	for _, p := range h.Parts {
		writes = append(writes, t.takePart(h.Account, p, h.At))
	}
	return t.hold(ctx, h, h.Micros, l, writes)
}

// Hold returns a hold as the last write left it; credit.ErrSettled when it is gone.
func (t *Table) Hold(ctx context.Context, account, id string) (credit.Hold, error) {
	var row holdRow
	if err := t.get(ctx, walletKey(account), "H#"+id, &row, credit.ErrSettled); err != nil {
		return credit.Hold{}, err
	}
	return row.hold(account)
}

// Extend adds a part and money to a hold that is there as it was last written.
func (t *Table) Extend(ctx context.Context, h credit.Hold, more credit.Part, micros int64, l credit.Limits, at time.Time) (credit.Hold, error) {
	longer := h.With(more)
	longer.Micros += micros
	var writes []write
	if more.Tokens > 0 {
		writes = append(writes, t.takePart(h.Account, more, at))
	}
	put, err := t.putHold(longer, "attribute_exists(PK)", credit.ErrSettled)
	if err != nil {
		return h, err
	}
	if err := t.hold(ctx, h, micros, l, append(writes, put)); err != nil {
		return h, err
	}
	return longer, nil
}

// takePart takes tokens of a session that has them, and whose time is not over.
func (t *Table) takePart(account string, p credit.Part, at time.Time) write {
	return t.update(walletKey(account), sessionKey(p.Until, p.SessionID), "SET room = room - :n",
		"room >= :n AND expires_at > :now AND attribute_not_exists(closed)",
		item{":n": num(int64(p.Tokens)), ":now": num(millis(at))}, credit.ErrSession)
}

func (t *Table) hold(ctx context.Context, h credit.Hold, micros int64, l credit.Limits, writes []write) error {
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
		writes = append(writes, t.count(h.Account, period.key, h.At, micros, period.limit))
	}
	return run.Retry(ctx, func() error { return t.commit(ctx, writes...) })
}

// count adds money to a period, while it stays within limit when there is one.
func (t *Table) count(account, period string, at time.Time, micros, limit int64) write {
	values := item{":none": num(0), ":n": num(micros), ":ttl": num(at.Add(turnsKept).Unix())}
	condition := ""
	if limit > 0 {
		condition, values[":room"] = "attribute_not_exists(micros) OR micros <= :room", num(limit-micros)
	}
	w := t.update(walletKey(account), period, "SET micros = if_not_exists(micros, :none) + :n, #ttl = :ttl", condition, values, credit.ErrBudget)
	w.Update.ExpressionAttributeNames = map[string]string{"#ttl": "ttl"}
	return w
}

// periodRow is a day or a month.
type periodRow struct {
	Micros int64 `dynamodbav:"micros"`
}

// Settle ends a hold with what its turn used, and writes the turn's record.
func (t *Table) Settle(ctx context.Context, h credit.Hold, turn credit.Turn) error {
	record, err := t.turnRow(h.Account, turn)
	if err != nil {
		return err
	}
	writes := []write{record}
	at := turn.At
	if !h.At.IsZero() {
		at = h.At
		writes = append(writes, t.remove(walletKey(h.Account), "H#"+h.ID, "attribute_exists(PK)", credit.ErrSettled))
	}
	for i, used := range h.Spread(turn.Charged) {
		p := h.Parts[i]
		writes = append(writes, t.settlePart(h.Account, p, p.Tokens-used, used))
	}
	if change := turn.Micros - h.Micros; change != 0 {
		writes = append(writes, t.count(h.Account, dayKey(at), at, change, 0), t.count(h.Account, monthKey(at), at, change, 0))
	}
	return run.Retry(ctx, func() error { return t.commit(ctx, writes...) })
}

// settlePart gives tokens of a session back and counts those that were used. A
// session that was cleaned up meanwhile needs neither.
func (t *Table) settlePart(account string, p credit.Part, back, used int) write {
	return t.update(walletKey(account), sessionKey(p.Until, p.SessionID), "SET room = room + :back, used = used + :used",
		"attribute_exists(PK)", item{":back": num(int64(back)), ":used": num(int64(used))}, errNoSession)
}

var errNoSession = errors.New("dynamo: the session of a hold is gone")

// Release ends a hold whose turn was cut off, once.
func (t *Table) Release(ctx context.Context, h credit.Hold, at time.Time) error {
	writes := []write{t.remove(walletKey(h.Account), "H#"+h.ID, "attribute_exists(PK) AND deadline <= :now", credit.ErrSettled)}
	writes[0].Delete.ExpressionAttributeValues = item{":now": num(millis(at))}
	for _, p := range h.Parts {
		writes = append(writes, t.settlePart(h.Account, p, p.Tokens, 0))
	}
	if h.Micros != 0 {
		writes = append(writes, t.count(h.Account, dayKey(h.At), h.At, -h.Micros, 0), t.count(h.Account, monthKey(h.At), h.At, -h.Micros, 0))
	}
	record, err := t.turnRow(h.Account, released(h))
	if err != nil {
		return err
	}
	err = run.Retry(ctx, func() error { return t.commit(ctx, append(slices.Clone(writes), record)...) })
	if errors.Is(err, credit.ErrMoved) { // its turn was settled before it arrived: the record stays
		err = run.Retry(ctx, func() error { return t.commit(ctx, writes...) })
	}
	return err
}

// released is the record of a turn that was cut off.
func released(h credit.Hold) credit.Turn {
	turn := h.For
	turn.ID, turn.Outcome = h.ID, credit.OutcomeReleased
	return turn
}

// DueHolds lists holds whose deadline has passed, the oldest first. One that cannot be
// read is an error beside the others.
func (t *Table) DueHolds(ctx context.Context, at time.Time, limit int) ([]credit.Hold, error) {
	keys, err := t.dueKeys(ctx, dueHolds, at, limit)
	problems := []error{err}
	var holds []credit.Hold
	for _, k := range keys {
		var row holdRow
		err := t.get(ctx, k.PK, k.SK, &row, credit.ErrSettled)
		if errors.Is(err, credit.ErrSettled) {
			continue
		}
		var h credit.Hold
		if err == nil {
			h, err = row.hold(strings.TrimSuffix(strings.TrimPrefix(k.PK, "A#"), "#W"))
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("dynamo: %s %s: %w", k.PK, k.SK, err))
			continue
		}
		holds = append(holds, h)
	}
	return holds, errors.Join(problems...)
}

type dueKeyRow struct {
	PK    string `dynamodbav:"PK"`
	SK    string `dynamodbav:"SK"`
	DueSK string `dynamodbav:"DueSK"`
}

// dueKeys lists the keys of what is due of a kind, the oldest first.
func (t *Table) dueKeys(ctx context.Context, kind string, at time.Time, limit int) ([]dueKeyRow, error) {
	s := listIn(due, kind)
	s.to = dueAt(at, "~")
	items, err := t.read(ctx, s, limit)
	if err != nil {
		return nil, err
	}
	var keys []dueKeyRow
	return keys, attributevalue.UnmarshalListOfMaps(items, &keys)
}

type turnItem struct {
	PK   string `dynamodbav:"PK"`
	SK   string `dynamodbav:"SK"`
	Data []byte `dynamodbav:"data"` // JSON
	TTL  int64  `dynamodbav:"ttl"`

	Outcome string `dynamodbav:"outcome"`
}

// turnRow is the write of a turn's record, once; that it was cut off is replaced
// by what became of it after all.
func (t *Table) turnRow(account string, turn credit.Turn) (write, error) {
	data, err := json.Marshal(turn)
	if err != nil {
		return write{}, err
	}
	w, err := t.put(turnItem{
		PK: walletKey(account), SK: "U#" + turn.ID, Data: data, TTL: turn.At.Add(turnsKept).Unix(), Outcome: turn.Outcome,
	}, "attribute_not_exists(PK) OR outcome = :released", credit.ErrMoved)
	if err == nil {
		w.Put.ExpressionAttributeValues = item{":released": str(credit.OutcomeReleased)}
	}
	return w, err
}

// turnsPage is how many records are read at once.
const turnsPage = 500

// Turns calls f for the turns from a time to before another, the newest first,
// until it returns false.
func (t *Table) Turns(ctx context.Context, account string, from, to time.Time, f func(credit.Turn) bool) error {
	s := kindsIn(walletKey(account), "U#")
	s.newest, s.from, s.to = true, "U#"+ids.First(from), "U#"+ids.First(to)
	return t.each(ctx, s, turnsPage, func(it item) (bool, error) {
		var row turnItem
		if err := attributevalue.UnmarshalMap(it, &row); err != nil {
			return false, err
		}
		var turn credit.Turn
		if err := json.Unmarshal(row.Data, &turn); err != nil {
			return false, err
		}
		return f(turn), nil
	})
}
