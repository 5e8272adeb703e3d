package wallet

import (
	"context"
	"errors"
	"strings"
	"time"

	"piloto/internal/ground/fault"
	"piloto/internal/live/hook"
	"piloto/internal/models/credit"
	"piloto/internal/store/hooks"
	"piloto/internal/store/kv"
)

// A budget is low when less than a fifth of it is left: of the credits that an account had after its last grant, of the
// limit of a day, and of that of a month. A limit is also low when less is left than a turn like the one that ended may
// cost, because the next one is refused. Hooks are told once, in the write that makes it low. A limit counts what is
// spent and what running turns hold. What was told of it stands in the wallet, so that it is told again for a higher
// limit only.

// lowShare is the part of a budget of which less is low: one of so many.
const lowShare = 5

// mark names a period and its limit. Of two marks of one kind of period, the greater one is the later, or of the higher
// limit.
func mark(p period) string { return p.name + "#" + kv.Pad(p.most, 13) }

// isToldOf reports whether it was told that a period is low, of this limit or of a higher one.
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

// note has a change say that a period is low, unless it was said before.
func (c *change) note(p period) {
	c.set(p.noted(), mark(p))
	c.need(kv.Any(kv.Missing(p.noted()), kv.Less(p.noted(), mark(p))))
}

// noted returns the attribute in which it is said that a period is low.
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

// messages returns the writes that have hooks told of low budgets.
func (s *Store) messages(ctx context.Context, account string, at time.Time, low []hook.BudgetData) ([]kv.Write, error) {
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

// tell makes a change as try does, with what hooks are told of it.
func (s *Store) tell(ctx context.Context, account string, at time.Time, c *change, low []hook.BudgetData) (walletRow, bool, error) {
	told, err := s.messages(ctx, account, at, low)
	if err != nil {
		return walletRow{}, false, err
	}
	if len(told) == 0 {
		return s.try(ctx, account, c)
	}
	err = s.table.Commit(ctx, append(told, c.write.Else(fault.ErrMoved))...)
	if err == nil {
		return walletRow{}, true, nil
	}
	if !errors.Is(err, fault.ErrMoved) {
		return walletRow{}, false, err
	}
	row, err := s.opened(ctx, account)
	return row, false, err
}
