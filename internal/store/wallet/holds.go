package wallet

import (
	"context"
	"errors"
	"time"

	"piloto/internal/ground/ids"
	"piloto/internal/models/credit"
	"piloto/internal/store/kv"
)

// spentHolds is the most holds of money that is spent already. They are small, and end at once.
const spentHolds = 10 * credit.MaxHolds

// errRules is a change whose rules did not hold, though the wallet that it met meets them.
var errRules = errors.New("store: no rule explains why the wallet was not changed")

// Reserve takes a hold: of its sessions, whose expiry is compared here, and of the day and the month as far as
// limits go.
func (s *Store) Reserve(ctx context.Context, h credit.Hold, l credit.Limits) error {
	most := credit.MaxHolds
	if h.Spent {
		most = spentHolds
	}
	c := newChange(h.Account)
	c.need(kv.Missing(holdPath(h.ID)), kv.Shorter("holds", int64(most)))
	c.due(h.Account, h.Deadline)
	for _, p := range h.Parts {
		c.take(p, h.At)
	}
	if err := c.keep(h, h.Micros, l); err != nil {
		return err
	}
	row, done, err := s.try(ctx, h.Account, c)
	if err != nil || done {
		return err
	}
	stored, has := row.hold(h.Account, h.ID)
	switch {
	case has && stored.Nonce == h.Nonce: // it was this very write, whose response was lost
		return nil
	case has:
		return credit.ErrAlreadyWritten
	}
	if err := row.refusal(h, h.Parts, h.Micros, l, h.At); err != nil {
		return err
	}
	return credit.ErrBusy
}

// Extend adds a part and money to a hold that is there as it was last written.
func (s *Store) Extend(ctx context.Context, h credit.Hold, more credit.Part, micros int64, l credit.Limits, at time.Time) (credit.Hold, error) {
	for {
		longer := h.With(more)
		longer.Micros += micros
		longer.Version++
		c := newChange(h.Account)
		c.needHold(h)
		c.take(more, at)
		if err := c.keep(longer, micros, l); err != nil {
			return h, err
		}
		row, done, err := s.try(ctx, h.Account, c)
		if err != nil {
			return h, err
		}
		stored, has := row.hold(h.Account, h.ID)
		switch {
		case done, has && stored.Same(longer): // the second: this very write, whose response was lost
			return longer, nil
		case !has || stored.Nonce != h.Nonce:
			return h, credit.ErrSettled
		case stored.Version != h.Version: // an extension whose response was lost
			h = stored
			continue
		}
		if err := row.refusal(h, []credit.Part{more}, micros, l, at); err != nil {
			return h, err
		}
		return h, errRules
	}
}

// needHold needs a hold as it was last written.
func (c *change) needHold(h credit.Hold) {
	c.need(kv.Is(holdPath(h.ID).Of("nonce"), h.Nonce), kv.Is(holdPath(h.ID).Of("n"), h.Version))
}

// keep stores a hold and counts its new money, within the limits.
func (c *change) keep(h credit.Hold, micros int64, l credit.Limits) error {
	for _, p := range limited(h.At, l) {
		if micros > p.most {
			return credit.ErrBudget
		}
	}
	c.set(holdPath(h.ID), holdOf(h))
	c.spend(h.At, micros)
	c.limit(h.At, micros, l)
	return nil
}

// refusal returns the rule of a hold that the wallet does not meet; nil when it meets them.
func (row walletRow) refusal(h credit.Hold, parts []credit.Part, micros int64, l credit.Limits, at time.Time) error {
	for _, p := range parts {
		if from := row.Sessions[p.SessionID]; p.Tokens > 0 && (from.isOver(at) || from.Free < p.Tokens) {
			return credit.ErrSession
		}
	}
	for _, p := range limited(h.At, l) {
		if micros != 0 && row.Spent[p.name]+micros > p.most {
			return credit.ErrBudget
		}
	}
	return nil
}

// Hold returns a hold as the last write left it; credit.ErrSettled when it is gone.
func (s *Store) Hold(ctx context.Context, account ids.Account, id string) (credit.Hold, error) {
	row, broken, err := s.read(ctx, account)
	if err != nil || broken[id] != nil {
		return credit.Hold{}, errors.Join(err, broken[id])
	}
	h, has := row.hold(account, id)
	if !has {
		return credit.Hold{}, credit.ErrSettled
	}
	return h, nil
}

// end removes a hold that is there as it was last written. It charges its turn and gives the rest back; charge is nil
// when nothing is charged. It returns by how much the spending changes.
func (c *change) end(h credit.Hold, charge *credit.Turn) (micros int64) {
	used := 0
	if charge != nil {
		used, micros = charge.Charged, charge.Micros
	}
	c.needHold(h)
	c.remove(holdPath(h.ID))
	for i, share := range h.Spread(used) {
		p := h.Parts[i]
		c.charge(p.SessionID, p.Tokens-share, share)
	}
	c.spend(h.At, micros-h.Micros)
	return micros - h.Micros
}

// mostEnds is how often the end of a hold is tried. It is tried again when the hold was extended, or when the spending
// of others changed whether a budget is low.
const mostEnds = 64

// end ends a hold, also one that was extended meanwhile. It returns credit.ErrSettled when the hold is gone. When a limit
// of the turn is low after that, the same transaction has its notification, once.
func (s *Store) end(ctx context.Context, h credit.Hold, charge *credit.Turn) error {
	var seen *walletRow
	for range mostEnds {
		c := newChange(h.Account)
		low := c.watch(seen, h.At, h, c.end(h, charge))
		row, done, err := s.notify(ctx, h.Account, h.At, c, low)
		if err != nil || done {
			return err
		}
		stored, has := row.hold(h.Account, h.ID)
		if !has || stored.Nonce != h.Nonce {
			return credit.ErrSettled
		}
		if stored.Version == h.Version && h.Limits == (credit.Limits{Run: h.Limits.Run}) {
			break
		}
		h, seen = stored, &row
	}
	return errRules
}
