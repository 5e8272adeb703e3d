package wallet

import (
	"cmp"
	"context"
	"slices"
	"time"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/retry"
	"piloto/internal/models/credit"
	"piloto/internal/store/kv"
)

// auditWait is how long after the first movement since the last audit the next one is due.
const auditWait = time.Minute

// commit is how a movement is written.
type commit func(ctx context.Context, writes ...kv.Write) error

// Move writes a ledger entry and moves the balance by its amount.
func (s *Store) Move(ctx context.Context, account ids.Account, e credit.Entry) error {
	return retry.Do(ctx, func() error { return s.movement(ctx, account, e, s.table.Commit, nothing) })
}

func nothing(*change, walletRow) {}

// Refund writes the entry, returns the credit and closes the session: its remaining tokens cannot be
// held any more. A session that the wallet has no more has none.
func (s *Store) Refund(ctx context.Context, account ids.Account, e credit.Entry) error {
	return retry.Do(ctx, func() error {
		return s.movement(ctx, account, e, s.table.Commit, func(c *change, row walletRow) {
			if _, has := row.Sessions[e.SessionID]; !has {
				c.need(kv.Missing(sessionPath(e.SessionID)))
				return
			}
			c.set(sessionPath(e.SessionID).Of("closed"), true)
			c.need(kv.Exists(sessionPath(e.SessionID)))
		})
	})
}

// BuySession writes a session, its ledger entry, and the new balance.
func (s *Store) BuySession(ctx context.Context, account ids.Account, bought credit.Session, e credit.Entry) error {
	return s.movement(ctx, account, e, s.table.CommitOnce, func(c *change, row walletRow) {
		row.Sessions[bought.ID], row.Last = sessionOf(bought), bought.ID
		f := foldOf(row, e.At)
		for _, id := range f.gone { // each is as it was read, so nothing holds it
			was, of := row.Sessions[id], sessionPath(id)
			c.remove(of)
			c.need(kv.Is(of.Of("room"), was.Free), kv.Is(of.Of("used"), was.Used))
		}
		stored := row.Sessions[bought.ID]
		switch {
		case f.heir == bought.ID:
			stored.Free, stored.Tokens = stored.Free+f.carried, stored.Tokens+f.carried
		case f.carried > 0:
			heir := sessionPath(f.heir)
			c.add(heir.Of("room"), int64(f.carried))
			c.add(heir.Of("tokens"), int64(f.carried))
			c.need(kv.Missing(heir.Of("closed")))
		}
		c.set(sessionPath(bought.ID), stored)
		c.need(kv.Missing(sessionPath(bought.ID)))
	})
}

// movement commits a ledger entry, the balance, and the changes of more in the wallet. The entry's condition makes it
// happen once, and is checked first. It returns fault.ErrMoved when the wallet changed after it was read. A movement
// that the wallet does not meet as it was read is no transaction, so that a thousand of them hold up nobody.
func (s *Store) movement(ctx context.Context, account ids.Account, e credit.Entry, commit commit, more func(*change, walletRow)) error {
	row, err := s.opened(ctx, account)
	if err != nil {
		return err
	}
	if e.Amount < 0 && row.Balance < -e.Amount {
		return s.short(ctx, account, e)
	}
	if _, has := row.Sessions[e.SessionID]; has && e.Kind == credit.KindSession {
		return credit.ErrAlreadyWritten
	}
	c := newChange(account)
	c.add("balance", e.Amount)
	c.add("entries", 1)
	if e.Amount < 0 {
		c.need(kv.AtLeast("balance", -e.Amount))
	}
	if e.Kind == credit.KindSession {
		c.set("last_session", e.SessionID)
	}
	c.dueSoon(account, row, e.At.Add(auditWait))
	low := c.watchBalance(row, e)
	more(c, row)
	writes := []kv.Write{kv.Insert(rowOfEntry(account, e)).Else(credit.ErrAlreadyWritten), c.write.Else(fault.ErrMoved)}
	if e.Key != "" {
		guard := kv.Insert(onceRow{Key: kv.Key{PK: partition(account), SK: onceSK(e.Key)}, Entry: e.ID})
		writes = append([]kv.Write{guard.Else(credit.ErrAlreadyWritten)}, writes...)
	}
	outbox, err := s.messages(ctx, account, e.At, low)
	if err != nil {
		return err
	}
	return commit(ctx, append(writes, outbox...)...)
}

// short returns the error of a movement for which the balance is too low: one that was made before is no fault.
func (s *Store) short(ctx context.Context, account ids.Account, e credit.Entry) error {
	keys := []string{"L#" + e.ID}
	if e.Key != "" {
		keys = append(keys, onceSK(e.Key))
	}
	for _, sk := range keys {
		if it, err := s.table.Row(ctx, kv.Key{PK: partition(account), SK: sk}); err != nil || it != nil {
			return cmp.Or(err, credit.ErrAlreadyWritten)
		}
	}
	return credit.ErrInsufficient
}

// dueSoon makes a wallet due for the sweep at a time, though it was due later.
func (c *change) dueSoon(account ids.Account, row walletRow, at time.Time) {
	if row.DueSK <= kv.At(at, string(account)) {
		c.due(account, at)
		return
	}
	c.set("DuePK", kv.DueList(dueWallets, account))
	c.set("DueSK", kv.At(at, string(account)))
}

// fold is how a wallet with too many sessions gets fewer of them.
type fold struct {
	gone    []string // are removed
	heir    string   // gets their tokens
	carried int
}

// foldMost bounds the sessions that one purchase removes, because an expression may have 4 KB.
const foldMost = 20

// foldOf chooses sessions to remove until a wallet has at most credit.MaxSessions: of those that no turn holds, first those
// that are over, then the fullest, and never the newest. The tokens of one that is not over go on in the session that ends last.
func foldOf(row walletRow, at time.Time) fold {
	var f fold
	var free []string
	for id, s := range row.Sessions {
		if !s.isHeld() && !row.isNamed(id) {
			free = append(free, id)
		}
		if heir := row.Sessions[f.heir]; !s.isOver(at) && (s.ExpiresAt > heir.ExpiresAt || s.ExpiresAt == heir.ExpiresAt && id > f.heir) {
			f.heir = id
		}
	}
	slices.SortFunc(free, func(a, b string) int {
		x, y := row.Sessions[a], row.Sessions[b]
		if x.isOver(at) != y.isOver(at) {
			return map[bool]int{true: -1, false: 1}[x.isOver(at)]
		}
		return cmp.Or(cmp.Compare(x.Free, y.Free), cmp.Compare(a, b))
	})
	for _, id := range free {
		if len(row.Sessions)-len(f.gone) <= credit.MaxSessions || len(f.gone) == foldMost {
			break
		}
		if s := row.Sessions[id]; id != f.heir && id != row.Last {
			f.gone = append(f.gone, id)
			if !s.isOver(at) {
				f.carried += max(0, s.Free)
			}
		}
	}
	return f
}
