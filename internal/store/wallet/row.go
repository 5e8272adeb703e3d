package wallet

import (
	"cmp"
	"slices"
	"time"

	"piloto/internal/ground/ids"
	"piloto/internal/ground/order"
	"piloto/internal/models/credit"
	"piloto/internal/store/kv"
)

// walletRow is a wallet: everything that the rules of a hold compare is in this one row, so that taking a hold is
// one conditional write.
type walletRow struct {
	Format int `dynamodbav:"v"` // kv.Format
	kv.Key
	Balance int64  `dynamodbav:"balance"`
	Entries int64  `dynamodbav:"entries"`
	Audited int64  `dynamodbav:"audited"` // entries, when the ledger was last added up
	Last    string `dynamodbav:"last_session"`

	Sessions map[string]session `dynamodbav:"sessions"` // by id
	Holds    map[string]hold    `dynamodbav:"holds"`    // by the id of the turn
	Spent    map[string]int64   `dynamodbav:"spent"`    // micro-USD that were spent and are held, by period

	// They record the notifications of low budgets.
	Full     int64  `dynamodbav:"full,omitempty"`      // the balance after the last grant or correction upwards
	LowDay   string `dynamodbav:"low_day,omitempty"`   // the period and its limit, as mark writes them
	LowMonth string `dynamodbav:"low_month,omitempty"` // as LowDay

	DuePK string `dynamodbav:"DuePK,omitempty"`
	DueSK string `dynamodbav:"DueSK,omitempty"`
}

type session struct {
	Cost      int64 `dynamodbav:"cost"`
	Tokens    int   `dynamodbav:"tokens"`
	Free      int   `dynamodbav:"room"` // below zero when a turn used more than it held
	Used      int   `dynamodbav:"used"`
	Closed    bool  `dynamodbav:"closed,omitempty"`
	OpenedAt  int64 `dynamodbav:"opened_at"`
	ExpiresAt int64 `dynamodbav:"expires_at"`
}

type hold struct {
	Nonce    string `dynamodbav:"nonce"`
	Version  int    `dynamodbav:"n"`
	Parts    []part `dynamodbav:"parts,omitempty"`
	Micros   int64  `dynamodbav:"micros"`
	At       int64  `dynamodbav:"at"`
	Deadline int64  `dynamodbav:"deadline"`
	TurnAt   int64  `dynamodbav:"turn_at"`
	User     string `dynamodbav:"user,omitempty"`
	Chat     string `dynamodbav:"chat_id,omitempty"`
	Project  string `dynamodbav:"project_id,omitempty"`
	Run      string `dynamodbav:"run_id,omitempty"`
	Day      int64  `dynamodbav:"day_limit,omitempty"` // micro-USD, as Month and Worst
	Month    int64  `dynamodbav:"month_limit,omitempty"`
	Worst    int64  `dynamodbav:"worst,omitempty"`
}

type part struct {
	SessionID string `dynamodbav:"session_id"`
	Tokens    int    `dynamodbav:"tokens"`
}

// partition is that of the rows of a wallet.
func partition(account ids.Account) string { return kv.Account(account) + "#W" }

func walletKey(account ids.Account) kv.Key { return kv.Key{PK: partition(account), SK: "WALLET"} }

// readRow decodes a wallet. A hold that cannot be read is left out; its error is in broken, by the id of its turn.
func readRow(it kv.Item) (row walletRow, broken map[string]error, err error) {
	rest := kv.Item{}
	for name, v := range it {
		if name != "holds" {
			rest[name] = v
		}
	}
	err = kv.DecodeOfFormat(rest, &row)
	row.Holds, broken = map[string]hold{}, map[string]error{}
	held := kv.Map(it, "holds")
	for id := range held {
		var h hold
		if err := kv.Decode(kv.Map(held, id), &h); err != nil {
			broken[id] = err
			continue
		}
		row.Holds[id] = h
	}
	return row, broken, err
}

func sessionOf(s credit.Session) session {
	return session{
		Cost: s.Cost, Tokens: s.Tokens, Free: s.Free, Used: s.Used, Closed: s.Closed,
		OpenedAt: kv.Millis(s.OpenedAt), ExpiresAt: kv.Millis(s.ExpiresAt),
	}
}

func (s session) session(id string) credit.Session {
	return credit.Session{
		ID: id, Cost: s.Cost, Tokens: s.Tokens, Used: s.Used, Closed: s.Closed, Free: max(0, s.Free),
		OpenedAt: kv.Time(s.OpenedAt), ExpiresAt: kv.Time(s.ExpiresAt),
	}
}

// isHeld reports whether running turns hold tokens of the session.
func (s session) isHeld() bool { return s.Tokens-s.Used-s.Free > 0 }

// isOver reports whether the session gives tokens no more.
func (s session) isOver(at time.Time) bool { return s.Closed || s.ExpiresAt <= kv.Millis(at) }

func holdOf(h credit.Hold) hold {
	stored := hold{
		Nonce: h.Nonce, Version: h.Version, Micros: h.Micros, At: kv.Millis(h.At), Deadline: kv.Millis(h.Deadline),
		TurnAt: kv.Millis(h.For.At), User: h.For.User, Chat: h.For.ChatID, Project: h.For.ProjectID, Run: h.For.RunID,
		Day: h.Limits.Day, Month: h.Limits.Month, Worst: h.Worst,
	}
	for _, p := range h.Parts {
		stored.Parts = append(stored.Parts, part{p.SessionID, p.Tokens})
	}
	return stored
}

func (h hold) hold(account ids.Account, id string) credit.Hold {
	held := credit.Hold{
		ID: id, Account: account, Nonce: h.Nonce, Version: h.Version, Micros: h.Micros, At: kv.Time(h.At), Deadline: kv.Time(h.Deadline), Asked: true,
		For:    credit.Turn{ID: id, At: kv.Time(h.TurnAt), User: h.User, ChatID: h.Chat, ProjectID: h.Project, RunID: h.Run},
		Limits: credit.Limits{Day: h.Day, Month: h.Month}, Worst: h.Worst,
	}
	for _, p := range h.Parts {
		held.Parts = append(held.Parts, credit.Part{SessionID: p.SessionID, Tokens: p.Tokens})
	}
	return held
}

// hold returns the hold of a turn.
func (row walletRow) hold(account ids.Account, id string) (credit.Hold, bool) {
	h, ok := row.Holds[id]
	return h.hold(account, id), ok
}

// isNamed reports whether a hold names a session.
func (row walletRow) isNamed(id string) bool {
	for _, h := range row.Holds {
		if slices.ContainsFunc(h.Parts, func(p part) bool { return p.SessionID == id }) {
			return true
		}
	}
	return false
}

// standing returns the balance, spending and sessions of an account at a time.
func (row walletRow) standing(at time.Time) credit.Standing {
	s := credit.Standing{
		Balance: row.Balance, Entries: row.Entries, Last: row.Last, Day: row.Spent[dayOf(at)], Month: row.Spent[monthOf(at)],
	}
	for id, open := range row.Sessions {
		if open.ExpiresAt > kv.Millis(at) {
			s.Sessions = append(s.Sessions, open.session(id))
		}
	}
	order.By(s.Sessions, func(a, b credit.Session) int {
		return cmp.Or(a.ExpiresAt.Compare(b.ExpiresAt), cmp.Compare(a.ID, b.ID))
	})
	return s
}

// The periods of spending, as they are named in a wallet.
func dayOf(at time.Time) string   { return "D" + credit.Day(at) }
func monthOf(at time.Time) string { return "M" + credit.Month(at) }
