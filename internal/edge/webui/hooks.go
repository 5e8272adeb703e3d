package webui

import (
	"context"

	"piloto/internal/access/auth"
	"piloto/internal/ground/ids"
	"piloto/internal/live/hook"
)

// Hooks reads the hooks of an account, without their secrets, and their deliveries.
type Hooks interface {
	hook.Lister
	Hook(ctx context.Context, account ids.Account, id string) (hook.Hook, error)
	Deliveries(ctx context.Context, account ids.Account, hookID, cursor string, limit int) ([]hook.Delivery, string, error)
}

// logView is the newest deliveries of a hook.
type logView struct {
	Hook       hook.Hook
	Deliveries []hook.Delivery
}

// logShown is how many deliveries the page shows; the API has all of seven days.
const logShown = 20

// lastAttempt returns the last attempt of a delivery; nil when there is none yet.
func lastAttempt(d hook.Delivery) *hook.Attempt {
	if len(d.Attempts) == 0 {
		return nil
	}
	return &d.Attempts[len(d.Attempts)-1]
}

// hookReader reads the views of webhooks and hooks.
type hookReader struct {
	webhooks auth.WebhookLister
	hooks    Hooks
	answers  responders
}

// log reads the newest deliveries of a hook.
func (r hookReader) log(ctx context.Context, v visit, id string) (*logView, error) {
	switch {
	case r.hooks == nil || !hook.Valid(id):
		return nil, errNotFound
	case !v.who.Allows(auth.ScopeAdmin):
		return nil, auth.ErrScope
	}
	h, err := r.hooks.Hook(ctx, v.who.Account, id)
	if err != nil {
		return nil, err
	}
	list, _, err := r.hooks.Deliveries(ctx, v.who.Account, h.ID, "", logShown)
	return &logView{h, list}, err
}
