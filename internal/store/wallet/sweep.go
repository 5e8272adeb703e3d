package wallet

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"piloto/internal/ground/ids"
	"piloto/internal/ground/order"
	"piloto/internal/ground/sweep"
	"piloto/internal/models/credit"
	"piloto/internal/store/kv"
)

// dueWallets is the queue of the wallets for the sweep.
const dueWallets = "WALLET"

// sessionsKept is how long a session stays after its end, so that a turn which is settled late is charged to it.
const sessionsKept = 24 * time.Hour

// DueWallets lists accounts whose wallet is due for the sweep, the most urgent first.
func (s *Store) DueWallets(ctx context.Context, at time.Time, limit int) ([]sweep.Row[ids.Account], error) {
	return kv.DueRows(ctx, s.table, dueWallets, at, limit, func(k kv.DueKey) (ids.Account, error) { return kv.AccountOf(k.PK, "#W"), nil })
}

// Visit reads a wallet for the sweep. A hold that cannot be read is an error beside the others.
func (s *Store) Visit(ctx context.Context, account ids.Account, at time.Time) (credit.Visit, error) {
	row, broken, err := s.read(ctx, account)
	if err != nil {
		return credit.Visit{}, err
	}
	v := credit.Visit{Due: dueAt(row.DueSK), Entries: row.Entries, Audited: row.Audited}
	for id := range row.Holds {
		h, _ := row.hold(account, id)
		v.Holds = append(v.Holds, h)
	}
	order.By(v.Holds, func(a, b credit.Hold) int { return a.Deadline.Compare(b.Deadline) })
	var problems []error
	for id, err := range broken {
		problems = append(problems, fmt.Errorf("store: the hold of %s: %w", id, err))
	}
	return v, errors.Join(problems...)
}

// dueAt returns the time in a queue key; the zero time for none.
func dueAt(sk string) time.Time {
	digits, _, _ := strings.Cut(sk, "#")
	ms, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return kv.Time(ms)
}

// AddUp adds the whole ledger up, with the balance of the same moment: when the
// wallet moved while it was read, it is read again.
func (s *Store) AddUp(ctx context.Context, account ids.Account) (credit.Audit, error) {
	for range 8 {
		before, _, err := s.read(ctx, account)
		if err != nil {
			return credit.Audit{}, err
		}
		items, err := s.table.Read(ctx, kv.Rows(partition(account), "L#"), 0)
		if err != nil {
			return credit.Audit{}, err
		}
		after, _, err := s.read(ctx, account)
		if err != nil {
			return credit.Audit{}, err
		}
		audit := credit.Audit{Account: account, Balance: after.Balance, Entries: after.Entries, Counted: int64(len(items))}
		rows, err := kv.DecodeAll[entryRow](items)
		for _, row := range rows {
			audit.Sum += row.Amount
		}
		if err != nil || before.Balance == after.Balance && before.Entries == after.Entries {
			return audit, err
		}
	}
	return credit.Audit{}, errors.New("store: the ledger moves faster than it can be added up")
}

// Leave ends a visit, unless the wallet moved meanwhile: then it stays due.
func (s *Store) Leave(ctx context.Context, account ids.Account, audited int64, at time.Time) error {
	row, broken, err := s.read(ctx, account)
	if err != nil {
		return err
	}
	c := newChange(account)
	c.need(kv.Is("entries", audited), kv.Is("DueSK", row.DueSK))
	if row.Audited != audited {
		c.set("audited", audited)
	}
	c.clean(row, at)
	c.next(row, account, len(broken) > 0, at)
	if c.write.IsEmpty() {
		return nil
	}
	_, _, err = s.try(ctx, account, c)
	return err
}

// next sets when the sweep checks the wallet again: at the earliest deadline of its holds. A hold that should have ended
// keeps the wallet due.
func (c *change) next(row walletRow, account ids.Account, broken bool, at time.Time) {
	if len(row.Holds) == 0 && !broken {
		c.remove("DuePK", "DueSK")
		c.need(kv.Shorter("holds", 1))
		return
	}
	var first int64
	for _, h := range row.Holds {
		if first == 0 || h.Deadline < first {
			first = h.Deadline
		}
	}
	if !broken && first > kv.Millis(at) {
		c.set("DueSK", kv.At(kv.Time(first), string(account)))
	}
}

// clean removes sessions that ended long ago, and periods before yesterday, unless a hold names them.
func (c *change) clean(row walletRow, at time.Time) {
	n := 0
	for id, s := range row.Sessions {
		if s.ExpiresAt <= kv.Millis(at.Add(-sessionsKept)) && !row.isNamed(id) && n < foldMost {
			c.remove(sessionPath(id))
			n++
		}
	}
	for _, period := range row.pastPeriods(at) {
		c.remove(spentPath(period))
	}
}

// pastPeriods returns the periods of spending that nothing compares any more.
func (row walletRow) pastPeriods(at time.Time) []string {
	needed := map[string]bool{}
	need := func(at time.Time) { needed[dayOf(at)], needed[monthOf(at)] = true, true }
	need(at)
	need(at.AddDate(0, 0, -1))
	need(at.AddDate(0, 0, 1)) // of a process whose clock is ahead
	for _, h := range row.Holds {
		need(kv.Time(h.At))
	}
	var past []string
	for period := range row.Spent {
		if !needed[period] {
			past = append(past, period)
		}
	}
	return past
}
