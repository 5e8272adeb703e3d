package credit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"piloto/internal/ground/ids"
	"piloto/internal/ground/sweep"
)

// Swept counts the results of one sweep.
type Swept struct {
	Released int `json:"released"` // holds released
	Settled  int `json:"settled"`  // holds of turns that were cut off after their record: charged
	Audited  int `json:"audited"`  // ledgers audited
	Uneven   int `json:"uneven"`   // ledgers whose balance is not their sum
}

const sweepMost = 1000

// longestDelay is the longest delay of a wallet that cannot be put in order, because its other holds wait with it.
const longestDelay = 10 * time.Minute

// Sweep releases the holds of turns that were cut off, and audits the ledgers that changed. It returns an error
// with the account for a ledger that is not balanced: only a person can correct it.
func (s *Service) Sweep(ctx context.Context) (Swept, error) {
	var swept Swept
	wallets := sweep.List[ids.Account]{
		Name: "wallets", Most: sweepMost, Longest: longestDelay, Now: s.Now, Log: s.Log,
		Due: func(ctx context.Context, _ time.Time, limit int) ([]sweep.Row[ids.Account], error) {
			return s.Store.DueWallets(ctx, s.horizon(), limit)
		},
		Do: func(ctx context.Context, account ids.Account) error { return s.visit(ctx, account, &swept) },
	}
	_, err := wallets.Sweep(ctx)
	return swept, err
}

// visit sweeps one wallet. A hold that cannot be released does not prevent the others.
func (s *Service) visit(ctx context.Context, account ids.Account, swept *Swept) error {
	wallet, err := s.Store.Visit(ctx, account, s.Now())
	var left []sweep.Row[Hold]
	for _, h := range wallet.Holds {
		if s.isCutOff(h) {
			left = append(left, sweep.Row[Hold]{Key: h, Name: h.ID})
		}
	}
	holds := sweep.List[Hold]{Name: "holds", Now: s.Now, Log: s.Log, Do: func(ctx context.Context, h Hold) error { return s.release(ctx, h, swept) }}
	_, problem := holds.Over(ctx, left)
	err = errors.Join(err, problem)
	if s.Now().Before(wallet.Due) || wallet.Due.IsZero() {
		return err
	}
	return errors.Join(err, s.leave(ctx, account, wallet, swept))
}

// leave ends a visit, after an audit of a ledger that moved.
func (s *Service) leave(ctx context.Context, account ids.Account, wallet Visit, swept *Swept) error {
	if wallet.Audited != wallet.Entries {
		audit, err := s.addUp(ctx, account, swept)
		if err != nil {
			return fmt.Errorf("ledger: %w", err)
		}
		wallet.Audited = audit.Entries
	}
	return s.Store.Leave(ctx, account, wallet.Audited, s.Now())
}

// horizon returns the latest deadline that the sweep reads. Where one process is alone, the holds of the process
// before it have later deadlines.
func (s *Service) horizon() time.Time {
	if s.AloneSince.IsZero() {
		return s.Now()
	}
	return s.Now().Add(mostLife)
}

// mostLife is longer than any turn, however long the settings allow one to be.
const mostLife = 365 * 24 * time.Hour

// isCutOff reports whether no process will settle the hold any more.
func (s *Service) isCutOff(h Hold) bool {
	return h.At.Before(s.AloneSince) || !s.Now().Before(h.Deadline)
}

// release ends the hold of a turn that was cut off.
func (s *Service) release(ctx context.Context, h Hold, swept *Swept) error {
	charged, err := s.Store.Release(ctx, h)
	switch {
	case errors.Is(err, ErrSettled): // it was settled meanwhile
		return nil
	case err != nil:
		return err
	case charged:
		swept.Settled++
		s.Log.WarnContext(ctx, "credit.hold_settled", "account", h.Account, "turn_id", h.ID)
	default:
		swept.Released++
		s.Log.WarnContext(ctx, "credit.hold_released", "account", h.Account, "turn_id", h.ID, "tokens", h.Tokens(), "micros", h.Micros)
	}
	return nil
}

// addUp compares the sum of a ledger with its balance.
func (s *Service) addUp(ctx context.Context, account ids.Account, swept *Swept) (Audit, error) {
	audit, err := s.Store.AddUp(ctx, account)
	if err == nil && !audit.Balanced() {
		swept.Uneven++
		s.Log.ErrorContext(ctx, "credit.ledger_uneven", "account", account, "balance", audit.Balance, "sum", audit.Sum,
			"entries", audit.Entries, "counted", audit.Counted)
		err = fmt.Errorf("the balance %d is not the ledger's sum %d", audit.Balance, audit.Sum)
	}
	if err == nil {
		swept.Audited++
	}
	return audit, err
}
