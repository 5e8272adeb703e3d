package credit

import (
	"cmp"
	"context"
	"errors"
	"time"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/retry"
)

// Need is the most that a turn is about to use, in addition to its present hold.
type Need struct {
	Tokens int // 0 when the provider costs no credits
	Micros int64
	Policy Policy
	Limits Limits
	Worst  int64 // the most that a turn of its kind may cost, micro-USD
	Actor  string
	Reason string // reason of the ledger entry, if a session is opened
	// Session is an open session that had room when the turn read it. It is tried first. "": none is known.
	Session string
}

// HoldLife is the usual life of a hold: longer than a turn that a route waits for. Afterwards the sweep releases the
// hold. Service.Life is for longer turns.
const HoldLife = 2 * time.Minute

// defaultWriteTime is the timeout of one write of a hold.
const defaultWriteTime = 3 * time.Second

// Cover extends a hold until it covers a need. It takes room of an open session, or
// opens one, and counts the money against the limits of the day and the month. A
// hold with a zero time is new. Concurrent turns that need a session open the same
// one, because its id is derived from the id of the session before it.
//
// Tokens that other turns hold are not spent. So a turn that begins, or that cannot
// pay for another session, waits for them and opens none.
//
// Cover returns ErrInsufficient, ErrBudget or ErrBusy and leaves the hold as it
// was, or ErrSettled when the hold was released meanwhile.
func (s *Service) Cover(ctx context.Context, h Hold, n Need) (Hold, error) {
	h.Asked = true
	waiting, cancel := context.WithTimeout(ctx, s.patience(ctx))
	defer cancel()
	for ctx.Err() == nil {
		part := Part{}
		if n.Tokens > 0 {
			session := n.Session
			if n.Session = ""; session == "" {
				open, err := s.sessionWithRoom(ctx, waiting, h, n)
				if err != nil {
					return h, err
				}
				session = open.ID
			}
			part = Part{SessionID: session, Tokens: n.Tokens}
		}
		held, err := s.take(ctx, h, part, n)
		switch {
		case errors.Is(err, ErrBusy):
			if retry.Wait(waiting, firstPoll) != nil {
				return h, cmp.Or(ctx.Err(), err)
			}
		case !errors.Is(err, ErrSession):
			return held, err
		}
	}
	return h, ctx.Err()
}

func (s *Service) take(ctx context.Context, h Hold, part Part, n Need) (Hold, error) {
	if err := ctx.Err(); err != nil {
		return h, err
	}
	// The write is not cancelled with ctx, because a cancelled write has an unknown result.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cmp.Or(s.WriteTime, defaultWriteTime))
	defer cancel()
	h.Limits, h.Worst = n.Limits, n.Worst
	if !h.At.IsZero() {
		return s.Store.Extend(ctx, h, part, n.Micros, n.Limits, s.Now())
	}
	h.At, h.Micros = s.Now(), n.Micros
	h.Nonce, h.Version, h.Deadline = s.IDs.New(h.At), 1, h.At.Add(cmp.Or(s.Life, HoldLife))
	if part.Tokens > 0 {
		h.Parts = []Part{part}
	}
	if err := s.Store.Reserve(ctx, h, n.Limits); err != nil {
		return Hold{ID: h.ID, Account: h.Account, For: h.For, Asked: true}, err
	}
	return h, nil
}

// Pauses of a turn that waits for tokens that others hold.
const (
	firstPoll = 100 * time.Millisecond
	lastPoll  = 500 * time.Millisecond
	mostWait  = 30 * time.Second
)

// patience returns the longest time to wait for them: half of the time that is left, because the other half is for
// the answer.
func (s *Service) patience(ctx context.Context) time.Duration {
	most := cmp.Or(s.Patience, mostWait)
	if deadline, ok := ctx.Deadline(); ok {
		most = min(most, deadline.Sub(s.Now())/2)
	}
	return most
}

// sessionWithRoom returns an open session with room for the need. It waits for one while other turns may release
// their tokens, at most until waiting ends, or opens a new one. When another turn opens one first, it reads again,
// because that session may have room.
func (s *Service) sessionWithRoom(ctx, waiting context.Context, h Hold, n Need) (Session, error) {
	pause, met := firstPoll, 0
	for {
		at := s.Now()
		standing, err := s.Store.Standing(ctx, h.Account, at)
		if err != nil {
			return Session{}, err
		}
		if session, ok := Best(standing.Sessions, n.Tokens, at); ok {
			return session, nil
		}
		begun := !h.At.IsZero() && standing.Balance >= n.Policy.SessionCost*n.Policy.Units(n.Tokens)
		if _, awaited := Awaited(standing.Sessions, n.Tokens, h, at); awaited && !begun {
			if retry.Wait(waiting, pause) != nil {
				return Session{}, cmp.Or(ctx.Err(), error(ErrBusy))
			}
			pause = min(2*pause, lastPoll)
			continue
		}
		session, err := s.openNext(ctx, h.Account, standing, n)
		if !errors.Is(err, fault.ErrMoved) {
			return session, err
		}
		if retry.Wait(waiting, retry.Pause(met)) != nil {
			return Session{}, cmp.Or(ctx.Err(), error(ErrBusy))
		}
		met++
	}
}

// openNext opens the session that follows the newest one; fault.ErrMoved.
func (s *Service) openNext(ctx context.Context, account ids.Account, standing Standing, n Need) (Session, error) {
	id := ids.Derive("session", string(account), standing.Last)
	session, err := s.open(ctx, account, Purchase{ID: id, Actor: n.Actor, Reason: n.Reason, Units: n.Policy.Units(n.Tokens)}, n.Policy)
	if errors.Is(err, ErrSession) { // other turns opened it and used it up, or it was refunded
		return Session{ID: id, ExpiresAt: s.Now()}, nil
	}
	return session, err
}

// Kept returns the stored hold; ErrSettled when it is gone.
func (s *Service) Kept(ctx context.Context, h Hold) (Hold, error) {
	return s.Store.Hold(ctx, h.Account, h.ID)
}

// Drop releases a hold of which nothing was used. A hold that is gone is no error.
func (s *Service) Drop(ctx context.Context, h Hold) error {
	kept, err := s.Kept(ctx, h)
	if err == nil {
		_, err = s.Store.Release(ctx, kept)
	}
	if errors.Is(err, ErrSettled) {
		return nil
	}
	return err
}

// Settle ends a hold with the usage of the turn, and writes the record of the turn. If the hold was released
// meanwhile, the usage is charged all the same. A hold that was never taken has a zero time.
func (s *Service) Settle(ctx context.Context, h Hold, t Turn) error {
	h, err := s.present(ctx, h, t)
	if err == nil {
		err = s.Store.Settle(ctx, h, t)
	}
	if errors.Is(err, ErrSettled) {
		s.Log.WarnContext(ctx, "credit.settled_late", "turn_id", t.ID, "micros", t.Micros)
		err = s.Store.SettleLate(ctx, h, t)
	}
	if errors.Is(err, ErrAlreadyWritten) { // it was settled before
		return nil
	}
	return err
}

// present returns the hold that a turn settles. The stored one decides when the response to Reserve was lost. A turn
// that held nothing and cost money takes a hold of that money, so that a retry counts it once.
func (s *Service) present(ctx context.Context, h Hold, t Turn) (Hold, error) {
	if h.Asked && h.At.IsZero() {
		kept, err := s.Kept(ctx, h)
		if err == nil || !errors.Is(err, ErrSettled) {
			return kept, err
		}
		if done, err := s.Store.Recorded(ctx, h.Account, t.ID); err != nil || done {
			return h, cmp.Or(err, ErrAlreadyWritten)
		}
	}
	if !h.At.IsZero() || t.Micros == 0 {
		return h, nil
	}
	now := s.Now()
	spent := Hold{
		ID: t.ID, Account: h.Account, Micros: t.Micros, At: t.At, Deadline: now.Add(HoldLife), For: t, Nonce: s.IDs.New(now), Version: 1, Spent: true,
	}
	err := s.Store.Reserve(ctx, spent, Limits{})
	if errors.Is(err, ErrAlreadyWritten) { // the write whose response was lost arrived after all
		return s.Kept(ctx, spent)
	}
	return spent, err
}
