package credit

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"
	"unicode/utf8"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/retry"
	"piloto/internal/ground/sweep"
)

// Store keeps wallets, sessions, ledgers, holds and turns. Every write is atomic.
type Store interface {
	StandingReader
	LedgerReader
	TurnReader
	// Entry returns a ledger entry (consistent read); ErrEntryNotFound.
	Entry(ctx context.Context, account ids.Account, id string) (Entry, error)
	// EntryOf returns the entry that was written with an idempotency key; ErrEntryNotFound.
	EntryOf(ctx context.Context, account ids.Account, key string) (Entry, error)
	// Move writes a ledger entry and adds its amount to the balance, once for each entry id and each key. It
	// returns ErrInsufficient when the balance would go below zero, and ErrAlreadyWritten when the entry exists.
	Move(ctx context.Context, account ids.Account, e Entry) error
	// BuySession writes a session and its ledger entry, and takes the price from the balance. It returns
	// fault.ErrMoved when another movement is being made: that may have opened the same session.
	BuySession(ctx context.Context, account ids.Account, s Session, e Entry) error
	// Refund writes the entry, returns the credit and closes the session.
	Refund(ctx context.Context, account ids.Account, e Entry) error

	// Reserve takes a hold from its sessions, and from the day and the month as far as limits are set. It returns
	// ErrSession or ErrBudget when one of them has no room, ErrBusy when there are too many holds, and
	// ErrAlreadyWritten when the turn has a hold already.
	Reserve(ctx context.Context, h Hold, l Limits) error
	// Extend adds a part and money to a hold that exists; ErrSettled.
	Extend(ctx context.Context, h Hold, more Part, micros int64, l Limits, at time.Time) (Hold, error)
	// Settle writes the record of a turn, and ends its hold, which has a zero time when there is none. It returns
	// ErrSettled when the hold was released, and ErrAlreadyWritten when the turn has another record.
	Settle(ctx context.Context, h Hold, t Turn) error
	// SettleLate writes the record of a turn whose hold was released, and charges what it used.
	SettleLate(ctx context.Context, h Hold, t Turn) error
	// Hold returns a hold (consistent read); ErrSettled when it is gone.
	Hold(ctx context.Context, account ids.Account, id string) (Hold, error)
	// Recorded reports whether the usage of a turn was recorded (consistent read).
	Recorded(ctx context.Context, account ids.Account, id string) (bool, error)
	// Release ends the hold of a turn that was cut off. A turn whose record was written is charged by it. It
	// returns ErrSettled when the hold is gone.
	Release(ctx context.Context, h Hold) (charged bool, err error)

	// DueWallets lists accounts whose wallet is due for the sweep, the most urgent first.
	DueWallets(ctx context.Context, at time.Time, limit int) ([]sweep.Row[ids.Account], error)
	// Visit reads a wallet for the sweep. It returns an error for the holds that cannot be read, and the others
	// with it.
	Visit(ctx context.Context, account ids.Account, at time.Time) (Visit, error)
	// AddUp sums the whole ledger. Balance and count are from the same moment as the sum.
	AddUp(ctx context.Context, account ids.Account) (Audit, error)
	// Leave ends a visit: it removes old sessions and periods, and sets when it is due again. The ledger was audited up
	// to a number of entries.
	Leave(ctx context.Context, account ids.Account, audited int64, at time.Time) error
}

// Visit is a wallet as the sweep sees it.
type Visit struct {
	Due     time.Time
	Holds   []Hold
	Entries int64 // of the ledger
	Audited int64 // of them
}

// ErrAlreadyWritten is returned by a write whose item exists already.
var ErrAlreadyWritten = errors.New("credit: it was written before")

// Audit is the sum of a ledger, and the balance that must be equal to it.
type Audit struct {
	Account ids.Account
	Balance int64
	Entries int64 // by the counter of the wallet
	Sum     int64
	Counted int64
}

// Balanced reports whether the balance is the sum of the ledger and is not negative.
func (a Audit) Balanced() bool { return a.Balance == a.Sum && a.Entries == a.Counted && a.Balance >= 0 }

// Service moves credit.
type Service struct {
	Store Store
	IDs   *ids.Source
	Now   func() time.Time
	Log   *slog.Logger

	// Life is the life of a hold, which must be longer than the turn that takes it; HoldLife when zero.
	Life      time.Duration
	Patience  time.Duration // longest wait for tokens that others hold; 30 s when zero
	WriteTime time.Duration // timeout of one write of a hold; 3 s when zero
	// AloneSince is the start of the only process that answers turns: a hold that was taken before belongs to a
	// dead process. Zero: there may be other processes.
	AloneSince time.Time
}

// Standing reads the credit and the spending of an account, consistently.
func (s *Service) Standing(ctx context.Context, account ids.Account, at time.Time) (Standing, error) {
	return s.Store.Standing(ctx, account, at)
}

// Movement is a request for a grant, an adjustment or a refund.
type Movement struct {
	Kind   Kind
	Amount int64 // of a grant or an adjustment
	Of     string
	Reason string
	Actor  string
	Key    string // Idempotency-Key: one key makes one movement
}

// Move makes a movement, once for each key. It returns ErrMovement with the faults; ErrInsufficient;
// ErrEntryNotFound or ErrNotRefundable for a refund; and ErrOther when the key was used for another movement.
func (s *Service) Move(ctx context.Context, account ids.Account, m Movement) (Entry, error) {
	m.Reason = strings.TrimSpace(m.Reason)
	if wrong := m.valid(); len(wrong) > 0 {
		return Entry{}, ErrMovement.At(wrong...)
	}
	e := Entry{
		ID: s.IDs.New(s.Now()), Kind: m.Kind, Amount: m.Amount, Actor: m.Actor, Reason: m.Reason, Of: m.Of, At: s.Now(), Key: m.Key,
	}
	write := s.Store.Move
	if m.Kind == KindRefund {
		paid, err := s.Store.Entry(ctx, account, m.Of)
		if err != nil {
			return Entry{}, err
		}
		if paid.Kind != KindSession {
			return Entry{}, ErrNotRefundable
		}
		// The id is derived, so that an entry is refunded once under any key.
		e.ID, e.Amount, e.SessionID, e.Until = ids.Derive("refund", string(account), paid.ID), -paid.Amount, paid.SessionID, paid.Until
		write = s.Store.Refund
	}
	err := s.checkWrite(ctx, account, e, write(ctx, account, e))
	if !errors.Is(err, ErrAlreadyWritten) {
		return e, err
	}
	return s.existingEntry(ctx, account, e)
}

// existingEntry returns the entry that the write of e met. It returns ErrOther when that is another movement.
func (s *Service) existingEntry(ctx context.Context, account ids.Account, e Entry) (Entry, error) {
	if e.Key != "" {
		before, err := s.Store.EntryOf(ctx, account, e.Key)
		switch {
		case err == nil && before.Same(e):
			return before, nil
		case err == nil:
			return Entry{}, ErrOther
		case !errors.Is(err, ErrEntryNotFound):
			return Entry{}, err
		}
	}
	if e.Kind == KindRefund {
		return Entry{}, ErrNotRefundable
	}
	return s.Store.Entry(ctx, account, e.ID) // the write whose response was lost
}

func (m Movement) valid() []fault.Field {
	var wrong []fault.Field
	bad := func(name, msg, typ string) {
		wrong = append(wrong, fault.Field{Loc: []any{"body", name}, Msg: msg, Type: typ})
	}
	switch m.Kind {
	case KindGrant:
		if m.Amount < 1 || m.Amount > MaxCredits {
			bad("amount", "a grant is from 1 to "+itoa(MaxCredits)+" credits", "out_of_range")
		}
	case KindAdjustment:
		if m.Amount == 0 || m.Amount < -MaxCredits || m.Amount > MaxCredits {
			bad("amount", "an adjustment is up to "+itoa(MaxCredits)+" credits up or down, and not 0", "out_of_range")
		}
	case KindRefund:
		if m.Amount != 0 {
			bad("amount", "a refund gives back what its entry took", "extra_forbidden")
		}
		if m.Of == "" {
			bad("of", "names the entry to give back", "missing")
		}
	default:
		bad("kind", "must be one of grant, adjustment, refund", "enum")
	}
	if m.Kind != KindRefund && m.Of != "" {
		bad("of", "only a refund is of an entry", "extra_forbidden")
	}
	if m.Reason == "" || utf8.RuneCountInString(m.Reason) > MaxReason {
		bad("reason", "is required, and has at most 300 characters", "string_too_short")
	}
	return wrong
}

// Purchase is of a session, for cost × units credits and with that much room. Its ID is the idempotency key.
type Purchase struct {
	ID, Actor, Reason string
	Units             int64
}

// Open opens a session: concurrent and repeated calls of one purchase open one.
//
// It returns ErrInsufficient and then changes nothing.
func (s *Service) Open(ctx context.Context, account ids.Account, b Purchase, p Policy) (session Session, err error) {
	err = retry.Do(ctx, func() error {
		session, err = s.open(ctx, account, b, p)
		return err
	})
	return session, err
}

// open is one attempt of Open; fault.ErrMoved.
func (s *Service) open(ctx context.Context, account ids.Account, b Purchase, p Policy) (Session, error) {
	at := s.Now()
	session := Session{
		ID: b.ID, Cost: p.SessionCost * b.Units, Tokens: p.SessionTokens * int(b.Units), OpenedAt: at,
		ExpiresAt: at.Add(time.Duration(p.SessionMinutes) * time.Minute).UTC().Truncate(time.Millisecond),
	}
	session.Free = session.Tokens
	e := Entry{
		ID: b.ID, Kind: KindSession, Amount: -session.Cost, Actor: b.Actor, Reason: b.Reason, SessionID: b.ID, At: at, Until: session.ExpiresAt,
	}
	err := s.checkWrite(ctx, account, e, s.Store.BuySession(ctx, account, session, e))
	if !errors.Is(err, ErrAlreadyWritten) {
		return session, err
	}
	standing, err := s.Store.Standing(ctx, account, at)
	if err != nil {
		return session, err
	}
	for _, open := range standing.Sessions {
		if open.ID == b.ID && !open.Closed {
			return open, nil
		}
	}
	return session, ErrSession // it was opened before, and is over
}

// checkWrite resolves a write whose response was lost. It reads the ledger: an entry that is there was written.
func (s *Service) checkWrite(ctx context.Context, account ids.Account, e Entry, err error) error {
	var f *fault.Error
	if err == nil || errors.Is(err, ErrAlreadyWritten) || errors.As(err, &f) {
		return err
	}
	s.Log.WarnContext(ctx, "credit.unknown_result", "entry_id", e.ID, "error", err)
	kept, lookErr := s.Store.Entry(context.WithoutCancel(ctx), account, e.ID)
	switch {
	case lookErr != nil:
		return err
	case kept.At.Equal(e.At) && kept.Actor == e.Actor:
		return nil // this very write
	}
	return ErrAlreadyWritten
}
