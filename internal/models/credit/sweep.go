package credit

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Swept counts what one sweep did.
type Swept struct {
	Released int `json:"released"` // holds given back
	Audited  int `json:"audited"`  // ledgers added up
	Uneven   int `json:"uneven"`   // of them, those whose balance is not their sum
}

const sweepMost = 1000

// Sweep gives back what turns held that were cut off, and adds up the ledgers
// that moved. A ledger that does not add up is an error that names its account:
// nothing mends it but a person.
func (s *Service) Sweep(ctx context.Context) (Swept, error) {
	var swept Swept
	holds, err := s.Store.DueHolds(ctx, s.lookAhead(), sweepMost)
	problems := []error{err}
	for _, h := range holds {
		if ctx.Err() != nil {
			break
		}
		if !s.cutOff(h) {
			continue
		}
		if err := alone(func() error { return s.release(ctx, h, &swept) }); err != nil {
			problems = append(problems, fmt.Errorf("hold %s: %w", h.ID, err))
		}
	}
	accounts, err := s.Store.DueAudits(ctx, s.Now(), sweepMost)
	problems = append(problems, err)
	for _, account := range accounts {
		if ctx.Err() != nil {
			break
		}
		if err := alone(func() error { return s.addUp(ctx, account, &swept) }); err != nil {
			problems = append(problems, fmt.Errorf("ledger of %s: %w", account, err))
		}
	}
	return swept, errors.Join(problems...)
}

// lookAhead is up to when holds may be due that the sweep must look at. Where one process is
// alone, the holds of the one before it are among those that are due later.
func (s *Service) lookAhead() time.Time {
	if s.AloneSince.IsZero() {
		return s.Now()
	}
	return s.Now().Add(HoldLife)
}

// cutOff reports whether nobody will settle a hold any more.
func (s *Service) cutOff(h Hold) bool {
	return h.At.Before(s.AloneSince) || !s.Now().Before(h.Deadline)
}

// alone turns a panic of f into an error, so that it stops nothing else.
func alone(do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panicked: %v", p)
		}
	}()
	return do()
}

// release gives back the hold of a turn that was cut off.
func (s *Service) release(ctx context.Context, h Hold, swept *Swept) error {
	at := s.Now()
	if at.Before(h.Deadline) { // its process is dead: it is over before its time
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

// addUp compares a ledger with its balance.
func (s *Service) addUp(ctx context.Context, account string, swept *Swept) error {
	audit, err := s.Store.AddUp(ctx, account)
	if err == nil && !audit.Even() {
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
