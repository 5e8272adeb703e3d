package wallet

import (
	"context"
	"errors"
	"strings"
	"time"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/retry"
	"piloto/internal/models/credit"
	"piloto/internal/store/kv"
)

// Formats 1 and 2 had a row for each session (S#), each hold (H#), each day and each month (B#). Such a wallet
// becomes one row when it is first written, or visited by the sweep.

type sessionRow struct {
	PK        string `dynamodbav:"PK"`
	SK        string `dynamodbav:"SK"`
	ID        string `dynamodbav:"session_id"`
	Cost      int64  `dynamodbav:"cost"`
	Tokens    int    `dynamodbav:"tokens"`
	Free      int    `dynamodbav:"room"`
	Used      int    `dynamodbav:"used"`
	Closed    bool   `dynamodbav:"closed,omitempty"`
	OpenedAt  int64  `dynamodbav:"opened_at"`
	ExpiresAt int64  `dynamodbav:"expires_at"`
	TTL       int64  `dynamodbav:"ttl"`
}

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

// periodRow is a day or a month.
type periodRow struct {
	Micros int64 `dynamodbav:"micros"`
}

// earlierNonce is the nonce of a hold of an earlier format. No record of a turn names it before the hold is ended.
const earlierNonce = "-"

// move is a row of an earlier format that becomes a part of the row of its wallet.
type move struct {
	into func(*walletRow)
	away kv.Write // its removal, when it is as it was read
}

// earlier returns the row of a wallet of an earlier format, and what must move into it. Sessions that ended long ago,
// and periods that are over, stay where they are until their time to live.
func (s *Store) earlier(ctx context.Context, account string, it kv.Item, at time.Time) (walletRow, []move, error) {
	row, _, err := readRow(it)
	if err != nil {
		return row, nil, err
	}
	if row.Sessions == nil {
		row.Sessions = map[string]session{}
	}
	if row.Spent == nil {
		row.Spent = map[string]int64{}
	}
	pk := walletKey(account)
	var moves []move
	if it != nil { // an account without a movement has no session
		open := kv.Rows(pk, "S#")
		if since := at.Add(-sessionsKept); !at.IsZero() {
			open.From = "S#" + kv.Pad(kv.Millis(since), 13)
		}
		items, err := s.table.Read(ctx, open, 0)
		if err != nil {
			return row, nil, err
		}
		for _, it := range items {
			m, err := moveSession(pk, it)
			if err != nil {
				return row, nil, err
			}
			moves = append(moves, m)
		}
	}
	items, err := s.table.Read(ctx, kv.Rows(pk, "B#", "H#"), 0)
	if err != nil {
		return row, nil, err
	}
	for _, it := range items {
		m, err := moveOther(pk, it)
		if err != nil {
			return row, nil, err
		}
		moves = append(moves, m)
	}
	return row, moves, nil
}

func moveSession(pk string, it kv.Item) (move, error) {
	var was sessionRow
	err := kv.Decode(it, &was)
	closed := "attribute_not_exists(closed)"
	if was.Closed {
		closed = "attribute_exists(closed)"
	}
	return move{
		into: func(row *walletRow) {
			row.Sessions[was.ID] = session{
				Cost: was.Cost, Tokens: was.Tokens, Free: was.Free, Used: was.Used, Closed: was.Closed, OpenedAt: was.OpenedAt, ExpiresAt: was.ExpiresAt,
			}
		},
		away: kv.Delete(pk, was.SK, "room = :room AND used = :used AND "+closed, fault.ErrMoved).
			With(kv.Item{":room": it["room"], ":used": it["used"]}),
	}, err
}

// moveOther moves a period or a hold.
func moveOther(pk string, it kv.Item) (move, error) {
	sk := kv.Text(it, "SK")
	if period, ok := strings.CutPrefix(sk, "B#"); ok {
		var was periodRow
		err := kv.Decode(it, &was)
		name := strings.Replace(period, "#", "", 1) // D#2026-03-02 is D2026-03-02 now
		return move{
			into: func(row *walletRow) { row.Spent[name] = was.Micros },
			away: kv.Delete(pk, sk, "micros = :micros", fault.ErrMoved).With(kv.Item{":micros": it["micros"]}),
		}, err
	}
	var was holdRow
	err := kv.Decode(it, &was)
	turn, torn := turns.Decode(was.For)
	if torn != nil { // what is known of the turn is for its record only
		turn = credit.Turn{At: kv.Time(was.At)}
	}
	return move{
		into: func(row *walletRow) {
			h := credit.Hold{Nonce: earlierNonce, Version: 1, Micros: was.Micros, At: kv.Time(was.At), Deadline: kv.Time(was.Deadline), For: turn}
			for _, p := range was.Parts {
				if _, has := row.Sessions[p.SessionID]; has {
					h.Parts = append(h.Parts, credit.Part{SessionID: p.SessionID, Tokens: p.Tokens})
				}
			}
			row.Holds[was.ID] = holdOf(h)
		},
		away: kv.Delete(pk, sk, "micros = :micros AND parts = :parts", fault.ErrMoved).With(kv.Item{":micros": it["micros"], ":parts": it["parts"]}),
	}, err
}

// movesAtOnce is how many rows one transaction moves.
const movesAtOnce = 90

var errUpgrade = errors.New("store: the wallet is of an earlier format still")

// upgrade makes a wallet one of the present format, and makes one for an account that has none. It moves rows in
// transactions that can be repeated: each removes the rows that it moves, as they were read.
func (s *Store) upgrade(ctx context.Context, account string, at time.Time) error {
	for attempt := range 64 {
		done, err := s.upgradeSome(ctx, account, at)
		switch {
		case done:
			return nil
		case err == nil:
			continue
		case !errors.Is(err, fault.ErrMoved):
			return err
		}
		if err := retry.Wait(ctx, retry.Pause(attempt)); err != nil {
			return err
		}
	}
	return errUpgrade
}

// upgradeSome makes one of those transactions. It says whether the wallet is of the present format.
func (s *Store) upgradeSome(ctx context.Context, account string, at time.Time) (bool, error) {
	it, err := s.table.Row(ctx, walletKey(account), walletSK)
	if err != nil || isCurrent(it) {
		return err == nil, err
	}
	row, moves, err := s.earlier(ctx, account, it, at)
	if err != nil {
		return false, err
	}
	last := len(moves) <= movesAtOnce
	if !last {
		moves = moves[:movesAtOnce]
	}
	var writes []kv.Write
	for _, m := range moves {
		m.into(&row)
		writes = append(writes, m.away)
	}
	row.foldAll(at)
	c, err := row.upgrading(it, account, last, at)
	if err != nil {
		return false, err
	}
	write := c.write(account, fault.ErrMoved)
	if len(writes) == 0 {
		err = s.table.Do(ctx, write)
	} else {
		err = s.table.Commit(ctx, append(writes, write)...)
	}
	return err == nil && last, err
}

// foldAll keeps the row of a wallet small that had many sessions.
func (row *walletRow) foldAll(at time.Time) {
	for {
		f := foldOf(*row, credit.MaxSessions, at)
		if len(f.gone) == 0 {
			return
		}
		for _, id := range f.gone {
			delete(row.Sessions, id)
		}
		if heir, has := row.Sessions[f.heir]; has {
			heir.Free, heir.Tokens = heir.Free+f.carried, heir.Tokens+f.carried
			row.Sessions[f.heir] = heir
		}
	}
}

// upgrading returns the change of the row of a wallet that gets the rows which were moved into it. It needs the row as
// it was read.
func (row walletRow) upgrading(it kv.Item, account string, last bool, at time.Time) (*change, error) {
	c := &change{names: map[string]string{}, values: kv.Item{}}
	c.need("attribute_not_exists(" + c.at("v") + ")")
	for _, name := range []string{"entries", "batches"} {
		if was, has := it[name]; has {
			c.need(c.at(name) + " = " + c.value(was))
		} else {
			c.need("attribute_not_exists(" + c.at(name) + ")")
		}
	}
	maps, err := kv.Encode(walletRow{Sessions: row.Sessions, Holds: row.Holds, Spent: row.Spent})
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"sessions", "holds", "spent"} {
		c.set(c.at(name), c.value(maps[name]))
	}
	if !last {
		n, _, err := kv.Int(it, "batches")
		c.set(c.at("batches"), c.number(n+1))
		return c, err
	}
	c.remove(c.at("batches"))
	c.set(c.at("v"), c.number(walletFormat))
	c.set(c.at("balance"), c.ifNone(c.at("balance")))
	c.set(c.at("entries"), c.ifNone(c.at("entries")))
	audited := row.Entries
	if row.DuePK != "" {
		audited = 0
	}
	c.set(c.at("audited"), c.number(audited))
	if row.DuePK != "" || len(row.Holds) > 0 {
		c.set("DuePK", c.value(kv.S(kv.DueList(dueWallets, account))))
		c.set("DueSK", c.value(kv.S(kv.At(at, account))))
	}
	return c, nil
}
