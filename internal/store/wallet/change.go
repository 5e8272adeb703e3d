package wallet

import (
	"context"
	"time"

	"piloto/internal/ground/failpoint"
	"piloto/internal/ground/ids"
	"piloto/internal/models/credit"
	"piloto/internal/store/kv"
)

// change is one update of the row of a wallet, with its conditions.
type change struct{ write kv.Write }

// newChange returns a change of a wallet that is there, of the present format.
func newChange(account ids.Account) *change {
	return &change{kv.Update(walletKey(account)).If(kv.Is("v", kv.Format))}
}

func (c *change) set(p kv.Path, v any)       { c.write = c.write.Set(p, v) }
func (c *change) remove(list ...kv.Path)     { c.write = c.write.Remove(list...) }
func (c *change) need(rules ...kv.Condition) { c.write = c.write.If(rules...) }

// The paths of parts of a wallet.
func holdPath(id string) kv.Path      { return kv.Path("holds").Of(id) }
func sessionPath(id string) kv.Path   { return kv.Path("sessions").Of(id) }
func spentPath(period string) kv.Path { return kv.Path("spent").Of(period) }

// add adds to a number.
func (c *change) add(p kv.Path, n int64) {
	if n != 0 {
		c.write = c.write.Add(p, n)
	}
}

// spend counts money in the day and the month of a time.
func (c *change) spend(at time.Time, micros int64) {
	c.add(spentPath(dayOf(at)), micros)
	c.add(spentPath(monthOf(at)), micros)
}

// limit needs room for money in the day and the month of a time.
func (c *change) limit(at time.Time, micros int64, l credit.Limits) {
	if micros == 0 {
		return
	}
	for _, p := range limited(at, l) {
		c.need(kv.Any(kv.Missing(spentPath(p.name)), kv.AtMost(spentPath(p.name), p.most-micros)))
	}
}

// period is a period with a limit.
type period struct {
	name string
	most int64
}

// limited returns the periods of a time that have a limit.
func limited(at time.Time, l credit.Limits) []period {
	var list []period
	for _, p := range []period{{dayOf(at), l.Day}, {monthOf(at), l.Month}} {
		if p.most > 0 {
			list = append(list, p)
		}
	}
	return list
}

// take takes tokens of a session that has them, and whose time is not over.
func (c *change) take(p credit.Part, at time.Time) {
	if p.Tokens == 0 {
		return
	}
	of := sessionPath(p.SessionID)
	c.add(of.Of("room"), -int64(p.Tokens))
	c.need(kv.AtLeast(of.Of("room"), p.Tokens), kv.Greater(of.Of("expires_at"), at), kv.Missing(of.Of("closed")))
}

// charge gives tokens of a session back and counts those that were used.
func (c *change) charge(id string, back, used int) {
	c.add(sessionPath(id).Of("room"), int64(back))
	c.add(sessionPath(id).Of("used"), int64(used))
}

// due makes the wallet due for the sweep at a time, or before.
func (c *change) due(account ids.Account, at time.Time) {
	c.set("DuePK", kv.DueList(dueWallets, account))
	c.set("DueSK", kv.Path("DueSK").IfMissing(kv.At(at, string(account))))
}

// try makes a change when its rules hold, and says whether it did. It returns the wallet after the change, or the
// one whose rules did not hold. An account without a wallet gets one first.
func (s *Store) try(ctx context.Context, account ids.Account, c *change) (row walletRow, done bool, err error) {
	for {
		failpoint.Verb("", "(*Store)", "before")
		it, done, err := s.table.Try(ctx, c.write)
		failpoint.Verb("", "(*Store)", "after")
		if err != nil {
			return row, false, err
		}
		if it != nil {
			row, _, err = readRow(it)
			return row, done, err
		}
		if err := s.open(ctx, account); err != nil {
			return row, false, err
		}
	}
}
