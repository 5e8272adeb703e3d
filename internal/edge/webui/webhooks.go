package webui

import (
	"context"

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

// all reads both for a user who may manage them.
func (r hookReader) all(ctx context.Context, v visit) (*webhooksView, error) {
	switch {
	case r.webhooks == nil:
		return nil, errNotFound
	case !v.who.Allows(auth.ScopeAdmin):
		return nil, auth.ErrScope
	}
	list, err := r.webhooks.Webhooks(ctx, v.who.Account)
	if err != nil {
		return nil, err
	}
	view := &webhooksView{Webhooks: list, Most: auth.MaxWebhooks, Out: r.hooks != nil, MostHooks: hook.MaxHooks, Events: hook.Events}
	if r.hooks != nil {
		if view.Hooks, err = r.hooks.Hooks(ctx, v.who.Account); err != nil {
			return nil, err
		}
	}
	who, err := r.answers.of(ctx, v, "")
	view.Facts = who.Facts
	return view, err
}
