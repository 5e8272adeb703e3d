package wallet

import (
	"context"
	"errors"
	"strings"
	"time"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
	"piloto/internal/live/hook"
	"piloto/internal/models/credit"
	"piloto/internal/store/hooks"
	"piloto/internal/store/kv"
)

// A budget is low when less than a fifth of it is left: of the credits that an account had after its last grant, of the
// limit of a day, and of that of a month. A limit is also low when less is left than a turn like the one that ended may
// cost, because the next one is refused. Hooks are notified once, by the write that makes it low. A limit counts the
// charges and the holds of running turns. The wallet keeps the limit of the last notification, so that only a higher limit
// has another one.

// lowShare: a balance below 1/lowShare of the budget is low.
const lowShare = 5

// mark names a period and its limit. Of two marks of one kind of period, the greater one is the later, or of the higher
// limit.
func mark(p period) string { return p.name + "#" + kv.Pad(p.most, 13) }

// wasNotified reports whether a low period had its notification, for this limit or for a higher one.
func (row walletRow) wasNotified(p period) bool {
	if p.isDay() {
		return row.LowDay >= mark(p)
	}
	return row.LowMonth >= mark(p)
}

// budgetOf returns the data of the message about a period. spent is micro-USD.
func (p period) budgetOf(spent int64) hook.BudgetData {
	d := hook.BudgetData{Budget: "month", Period: p.name[1:], Left: p.most - spent, Of: p.most, Path: hook.CreditsPath}
	if p.isDay() {
		d.Budget = "day"
	}
	return d
}

func (p period) isDay() bool { return strings.HasPrefix(p.name, "D") }

// note marks a period as low in a change, if it is not marked yet.
func (c *change) note(p period) {
	c.set(p.noted(), mark(p))
	c.need(kv.Any(kv.Missing(p.noted()), kv.Less(p.noted(), mark(p))))
}

// noted returns the attribute of the mark of a low period.
func (p period) noted() kv.Path {
	if p.isDay() {
		return "low_day"
	}
	return "low_month"
}

// watch finds the limits that become low when micros are added to the spending at the end of a hold. The change notes
// them, and watch returns the data of their messages. The change gets conditions: it fails when the wallet is no longer
// as it was read. A wallet that was not read (nil) is taken for one in which no limit becomes low.
func (c *change) watch(row *walletRow, at time.Time, h credit.Hold, micros int64) (low []hook.BudgetData) {
	for _, p := range limited(at, h.Limits) {
		spent, most := spentPath(p.name), p.most-max(p.most/lowShare, h.Worst) // that is not low
		if row == nil || row.wasNotified(p) || row.Spent[p.name]+micros <= most {
			c.need(kv.Any(noneIf(micros <= most, spent), kv.AtMost(spent, most-micros), kv.AtLeast(p.noted(), mark(p))))
			continue
		}
		c.need(kv.Any(noneIf(micros > most, spent), kv.Greater(spent, most-micros)))
		c.note(p)
		low = append(low, p.budgetOf(row.Spent[p.name]+micros))
	}
	return low
}

// noneIf is, on a condition, met by a wallet in which nothing was spent in a period.
func noneIf(on bool, spent kv.Path) kv.Condition {
	if on {
		return kv.Missing(spent)
	}
	return kv.Condition{}
}

// watchBalance returns the data of the message that the balance is low, when a movement of credits makes it low. The
// change gets conditions, as in watch.
func (c *change) watchBalance(row walletRow, e credit.Entry) []hook.BudgetData {
	switch {
	case e.Amount > 0 && e.Kind != credit.KindRefund:
		c.set("full", kv.Path("balance").Plus(e.Amount))
		return nil
	case e.Amount >= 0 || row.Full == 0:
		return nil
	}
	c.need(kv.Is("full", row.Full))
	least := (row.Full + lowShare - 1) / lowShare // that is not low
	switch after := row.Balance + e.Amount; {
	case after >= least:
		c.need(kv.AtLeast("balance", least-e.Amount))
		return nil
	case row.Balance < least:
		c.need(kv.Less("balance", least))
		return nil
	default:
		c.need(kv.Between("balance", least, least-e.Amount-1))
		return []hook.BudgetData{{Budget: "credits", Left: after, Of: row.Full, Path: hook.CreditsPath}}
	}
}

// messages returns the outbox row of low budgets.
func (s *Store) messages(ctx context.Context, account ids.Account, at time.Time, low []hook.BudgetData) ([]kv.Write, error) {
	key := "W"
	var list []hook.Message
	for _, d := range low {
		m, err := hook.NewMessage(hook.BudgetLow, at, d)
		if err != nil {
			return nil, err
		}
		list = append(list, m)
		key += "#" + d.Budget + "#" + d.Period + "#" + kv.Pad(d.Of, 13)
	}
	return hooks.Tell(ctx, s.table, account, key, at, list...)
}

// notify makes a change as try does, with its notifications.
func (s *Store) notify(ctx context.Context, account ids.Account, at time.Time, c *change, low []hook.BudgetData) (walletRow, bool, error) {
	outbox, err := s.messages(ctx, account, at, low)
	if err != nil {
		return walletRow{}, false, err
	}
	if len(outbox) == 0 {
		return s.try(ctx, account, c)
	}
	err = s.table.Commit(ctx, append(outbox, c.write.Else(fault.ErrMoved))...)
	if err == nil {
		return walletRow{}, true, nil
	}
	if !errors.Is(err, fault.ErrMoved) {
		return walletRow{}, false, err
	}
	row, err := s.opened(ctx, account)
	return row, false, err
}
