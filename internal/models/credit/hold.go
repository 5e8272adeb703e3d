package credit

import (
	"cmp"
	"context"
	"errors"
	"time"

	"piloto/internal/ground/ids"
)

// Need is what a turn is about to use at most, beyond what it holds already.
type Need struct {
	Tokens int // 0 when the provider costs no credits
	Micros int64
	Policy Policy
	Limits Limits
	Actor  string
	Reason string // of the ledger entry, should a session be opened
}

// HoldLife is how long a hold may last before the sweep gives it back: longer
// than any function that takes one.
const HoldLife = 2 * time.Minute

// takeTime bounds one write of a hold.
const takeTime = 3 * time.Second

// Cover makes a hold cover a need: it takes the room of an open session, or opens
// one, and counts the money against the day and the month. A hold whose time is
// zero is a new one. Turns that need a session at once open one together, since
// what names a session is the one before it.
//
// What other turns hold is not spent: a turn that begins, or has no credits for another
// session, waits for it, and opens no other.
//
// It returns ErrInsufficient, ErrBudget or ErrBusy, holding no more than before, and
// ErrSettled when the hold was given back meanwhile.
func (s *Service) Cover(ctx context.Context, h Hold, n Need) (Hold, error) {
	h.Asked = true
	enough := time.After(s.patience(ctx))
	for ctx.Err() == nil {
		part := Part{}
		if n.Tokens > 0 {
			session, err := s.room(ctx, h, n, enough)
			if err != nil {
				return h, err
			}
			part = Part{SessionID: session.ID, Until: session.ExpiresAt, Tokens: n.Tokens}
		}
		held, err := s.take(ctx, h, part, n)
		if !errors.Is(err, ErrSession) {
			return held, err
		}
	}
	return h, ctx.Err()
}

func (s *Service) take(ctx context.Context, h Hold, part Part, n Need) (Hold, error) {
	if err := ctx.Err(); err != nil {
		return h, err
	}
	// Whoever says stop leaves no write behind of which nobody knows what came of it.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), takeTime)
	defer cancel()
	if !h.At.IsZero() {
		return s.Store.Extend(ctx, h, part, n.Micros, n.Limits, s.Now())
	}
	h.At, h.Micros = s.Now(), n.Micros
	h.Deadline = h.At.Add(HoldLife)
	if part.Tokens > 0 {
		h.Parts = []Part{part}
	}
	if err := s.Store.Reserve(ctx, h, n.Limits); err != nil {
		return Hold{ID: h.ID, Account: h.Account, For: h.For, Asked: true}, err
	}
	return h, nil
}

// How a turn waits for what others hold.
const (
	firstLook = 100 * time.Millisecond
	lastLook  = 500 * time.Millisecond
	mostWait  = 30 * time.Second
)

// patience is how long that may take: half of the time there is, because then comes the
// answer.
func (s *Service) patience(ctx context.Context) time.Duration {
	most := cmp.Or(s.Patience, mostWait)
	if deadline, ok := ctx.Deadline(); ok {
		most = min(most, deadline.Sub(s.Now())/2)
	}
	return most
}

// room is an open session with room for a hold: one there is, or will be once others give
// back what they hold, or one that is opened.
func (s *Service) room(ctx context.Context, h Hold, n Need, enough <-chan time.Time) (Session, error) {
	for pause := firstLook; ; pause = min(2*pause, lastLook) {
		at := s.Now()
		standing, err := s.Store.Standing(ctx, h.Account, at)
		if err != nil {
			return Session{}, err
		}
		if session, ok := Best(standing.Sessions, n.Tokens, at); ok {
			return session, nil
		}
		begun := !h.At.IsZero() && standing.Balance >= n.Policy.SessionCost*n.Policy.Units(n.Tokens)
		if _, awaited := Awaited(standing.Sessions, n.Tokens, h, at); begun || !awaited {
			return s.another(ctx, h.Account, standing, n)
		}
		select {
		case <-ctx.Done():
			return Session{}, ctx.Err()
		case <-enough:
			return Session{}, ErrBusy
		case <-time.After(pause):
		}
	}
}

// another opens a session after those there are.
func (s *Service) another(ctx context.Context, account string, standing Standing, n Need) (Session, error) {
	id := ids.Derive("session", account, standing.Last)
	session, err := s.Open(ctx, account, id, n.Actor, n.Reason, n.Policy, n.Policy.Units(n.Tokens))
	if errors.Is(err, ErrSession) { // it was opened and used up by others, or refunded
		return Session{ID: id, ExpiresAt: s.Now()}, nil
	}
	return session, err
}

// Settle ends a hold with what the turn used, and writes the turn's record. When
// the hold was given back meanwhile, what was used is charged all the same: it
// was used. A hold that was never taken has no time.
func (s *Service) Settle(ctx context.Context, h Hold, t Turn) error {
	if h.Asked { // what is kept decides: the answer to taking it, or to adding to it, may have been lost
		kept, err := s.Store.Hold(ctx, h.Account, h.ID)
		switch {
		case err == nil:
			h = kept
		case !errors.Is(err, ErrSettled):
			return err
		}
	}
	err := s.Store.Settle(ctx, h, t)
	if errors.Is(err, ErrSettled) {
		s.Log.WarnContext(ctx, "credit.settled_late", "turn_id", t.ID, "micros", t.Micros)
		err = s.Store.Settle(ctx, Hold{Account: h.Account, Parts: overrun(h.Parts)}, t)
	}
	if errors.Is(err, ErrMoved) { // it was settled before
		return nil
	}
	return err
}

// overrun are the sessions of a hold that is gone: they bear what was used
// without having held it.
func overrun(parts []Part) []Part {
	var list []Part
	for _, p := range parts {
		p.Tokens = 0
		list = append(list, p)
	}
	return list
}
