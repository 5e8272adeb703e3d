package webui

import (
	"context"
	"net/http"

	"piloto/internal/access/auth"
	"piloto/internal/live/hook"
)

// webhooksView is the account's webhooks, by which messages come in, and its hooks, by which messages go out. It has
// no secrets: the API returns these once.
type webhooksView struct {
	Webhooks  []auth.Webhook
	Most      int
	Out       bool // hooks are shown
	Hooks     []hook.Hook
	MostHooks int
	Events    []hook.Event
	Facts     Facts
}

// full reports whether the account has the largest number of webhooks.
func (v webhooksView) full() bool { return len(v.Webhooks) >= v.Most }

// hooksFull reports whether the account has the largest number of hooks.
func (v webhooksView) hooksFull() bool { return len(v.Hooks) >= v.MostHooks }

func (s *site) webhooksFragment(w http.ResponseWriter, v visit) error {
	view, err := s.webhooks(v.Context(), v)
	if err != nil {
		return err
	}
	s.write(w, v, http.StatusOK, "webhooks", view)
	return nil
}

// webhooks reads the webhooks for a user who may manage them.
func (s *site) webhooks(ctx context.Context, v visit) (*webhooksView, error) {
	switch {
	case s.Webhooks == nil:
		return nil, errNotFound
	case !v.who.Allows(auth.ScopeAdmin):
		return nil, auth.ErrScope
	}
	list, err := s.Webhooks.Webhooks(ctx, v.who.Account)
	if err != nil {
		return nil, err
	}
	view := &webhooksView{Webhooks: list, Most: auth.MaxWebhooks, Out: s.Hooks != nil, MostHooks: hook.MaxHooks, Events: hook.Events}
	if s.Hooks != nil {
		if view.Hooks, err = s.Hooks.Hooks(ctx, v.who.Account); err != nil {
			return nil, err
		}
	}
	who, err := s.responder(ctx, v, "")
	view.Facts = who.Facts
	return view, err
}
