package credit

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Swept counts the results of one sweep.
type Swept struct {
	Released int `json:"released"` // holds released
	Audited  int `json:"audited"`  // ledgers audited
	Uneven   int `json:"uneven"`   // ledgers whose balance is not their sum
}

const sweepMost = 1000

// Sweep releases the holds of turns that were cut off, and audits the ledgers that changed. It returns an error
// with the account for a ledger that is not balanced: only a person can correct it.
func (s *Service) Sweep(ctx context.Context) (Swept, error) {
	var swept Swept
	holds, err := s.Store.DueHolds(ctx, s.lookAhead(), sweepMost)
	problems := []error{err}
	for _, h := range holds {
		if ctx.Err() != nil {
			break
		}
		if !s.isCutOff(h) {
			continue
		}
		if err := catchPanic(func() error { return s.release(ctx, h, &swept) }); err != nil {
			problems = append(problems, fmt.Errorf("hold %s: %w", h.ID, err))
		}
	}
	accounts, err := s.Store.DueAudits(ctx, s.Now(), sweepMost)
	problems = append(problems, err)
	for _, account := range accounts {
		if ctx.Err() != nil {
			break
		}
		if err := catchPanic(func() error { return s.addUp(ctx, account, &swept) }); err != nil {
			problems = append(problems, fmt.Errorf("ledger of %s: %w", account, err))
		}
	}
	return swept, errors.Join(problems...)
}

// lookAhead returns the latest deadline that the sweep must look at. Where one process is alone, the holds of the
// process before it have later deadlines.
func (s *Service) lookAhead() time.Time {
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

// catchPanic calls do and returns its panic as an error, so that one item does not stop the others.
func catchPanic(do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panicked: %v", p)
		}
	}()
	return do()
}

// release releases the hold of a turn that was cut off.
func (s *Service) release(ctx context.Context, h Hold, swept *Swept) error {
	at := s.Now()
	if at.Before(h.Deadline) { // its process is dead, so the hold ends before its deadline
		at = h.Deadline
	}
	err := s.Store.Release(ctx, h, at)
	if errors.Is(err, ErrSettled) { // it was settled meanwhile
		return nil
	}
	if err == nil {
		swept.Released++
		s.Log.WarnContext(ctx, "credit.hold_released", "account", h.Account, "turn_id", h.ID, "tokens", h.Tokens(), "micros", h.Micros)
	}
	return err
}

// addUp compares the sum of a ledger with its balance.
func (s *Service) addUp(ctx context.Context, account string, swept *Swept) error {
	audit, err := s.Store.AddUp(ctx, account)
	if err == nil && !audit.Balanced() {
		swept.Uneven++
		s.Log.ErrorContext(ctx, "credit.ledger_uneven", "account", account, "balance", audit.Balance, "sum", audit.Sum,
			"entries", audit.Entries, "counted", audit.Counted)
		err = fmt.Errorf("the balance %d is not the ledger's sum %d", audit.Balance, audit.Sum)
	}
	if err != nil {
		return err
	}
	swept.Audited++
	return s.Store.Audited(ctx, audit)
}
