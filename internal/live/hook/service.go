package hook

import (
	"context"
	"slices"
	"strconv"
	"time"

	"piloto/internal/access/auth"
	"piloto/internal/ground/ids"
)

// Service makes, changes and removes hooks, and has a delivery sent again.
type Service struct {
	Store Store
	// Address returns the address as it is called: https, or http where the deployment allows the host.
	Address func(raw string) (string, error)
	NewID   func(at time.Time) string // ULIDs
	Now     func() time.Time
}

// Wish is a requested change of a hook. Nil members change nothing.
type Wish struct {
	URL     *string
	Events  []Event
	Enabled *bool
	Secret  *string // "": a new one is made
}

// Create stores a hook, which is enabled. It returns it with its secret, which cannot be read again.
func (s *Service) Create(ctx context.Context, p auth.Principal, w Wish) (Hook, string, error) {
	at := s.Now()
	h := Hook{ID: hookPrefix + s.NewID(at), Account: p.Account, By: p.User, Enabled: true, CreatedAt: at}
	if w.Secret == nil {
		w.Secret = new(string)
	}
	h, secret, err := s.apply(h, w, at)
	if err != nil {
		return h, "", err
	}
	return h, secret, s.Store.ChangeHooks(ctx, p.Account, func(all []Hook) (Change, error) {
		if len(all) >= MaxHooks {
			return Change{}, ErrTooMany.With("limit", strconv.Itoa(MaxHooks))
		}
		return Change{Put: &h, Secret: secret}, nil
	})
}

// Update changes a hook. It returns the new secret, when the wish has one.
func (s *Service) Update(ctx context.Context, account ids.Account, id string, w Wish) (h Hook, secret string, err error) {
	err = s.Store.ChangeHooks(ctx, account, func(all []Hook) (Change, error) {
		was, err := find(all, id)
		if err != nil {
			return Change{}, err
		}
		if h, secret, err = s.apply(was, w, s.Now()); err != nil {
			return Change{}, err
		}
		return Change{Put: &h, Secret: secret}, nil
	})
	return h, secret, err
}

// apply returns a hook as a wish makes it, and its new secret, if it gets one.
func (s *Service) apply(h Hook, w Wish, at time.Time) (Hook, string, error) {
	h.UpdatedAt = at
	if w.URL != nil {
		address, err := s.Address(*w.URL)
		if err != nil {
			return h, "", err
		}
		h.URL, h.FailingSince = address, time.Time{}
	}
	if w.Events != nil {
		h.Events = slices.DeleteFunc(slices.Clone(Events), func(e Event) bool { return !slices.Contains(w.Events, e) })
	}
	if w.Enabled != nil && *w.Enabled != h.Enabled {
		h.Enabled, h.Off, h.FailingSince = *w.Enabled, "", time.Time{}
		if !h.Enabled {
			h.Off = OffByPerson
		}
	}
	secret := ""
	if w.Secret != nil {
		if secret = *w.Secret; secret == "" {
			secret = auth.NewWebhookSecret()
		} else if !auth.ValidSecret(secret) {
			return h, "", ErrSecret
		}
	}
	return h, secret, nil
}

// Delete removes a hook. Its pending deliveries are not sent any more.
func (s *Service) Delete(ctx context.Context, account ids.Account, id string) error {
	return s.Store.ChangeHooks(ctx, account, func(all []Hook) (Change, error) {
		_, err := find(all, id)
		return Change{Delete: id}, err
	})
}

// List returns an account's hooks, the oldest first.
func (s *Service) List(ctx context.Context, account ids.Account) ([]Hook, error) {
	return s.Store.Hooks(ctx, account)
}

// Hook returns one hook of an account.
func (s *Service) Hook(ctx context.Context, account ids.Account, id string) (Hook, error) {
	return s.Store.Hook(ctx, account, id)
}

// Deliveries lists the deliveries of a hook, the newest first.
func (s *Service) Deliveries(ctx context.Context, account ids.Account, id, cursor string, limit int) ([]Delivery, string, error) {
	if _, err := s.Store.Hook(ctx, account, id); err != nil {
		return nil, "", err
	}
	return s.Store.Deliveries(ctx, account, id, cursor, limit)
}

// Resend has the next sweep send a delivery again, in any state, with the same id.
func (s *Service) Resend(ctx context.Context, account ids.Account, id, delivery string) (Delivery, error) {
	h, err := s.Store.Hook(ctx, account, id)
	if err != nil {
		return Delivery{}, err
	}
	if !h.Enabled {
		return Delivery{}, ErrOff
	}
	d, err := s.Store.Delivery(ctx, account, id, delivery)
	if err != nil {
		return d, err
	}
	at := s.Now()
	if err := s.Store.Resend(ctx, d, at); err != nil {
		return d, err
	}
	d.State, d.Tries, d.NextAt = Pending, 0, at
	return d, nil
}

func find(all []Hook, id string) (Hook, error) {
	for _, h := range all {
		if h.ID == id {
			return h, nil
		}
	}
	return Hook{}, ErrNotFound
}
