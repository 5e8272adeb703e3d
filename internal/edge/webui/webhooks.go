package webui

import (
	"context"
	"net/http"

	"piloto/internal/access/auth"
)

// hooksView is the account's webhooks, without their secrets, which the API returns once.
type hooksView struct {
	Webhooks []auth.Webhook
	Most     int
	Facts    Facts
}

// full reports whether the account has the largest number of webhooks.
func (v hooksView) full() bool { return len(v.Webhooks) >= v.Most }

func (s *site) webhooksFragment(w http.ResponseWriter, v visit) error {
	view, err := s.webhooks(v.Context(), v)
	if err != nil {
		return err
	}
	s.write(w, v, http.StatusOK, "webhooks", view)
	return nil
}

// webhooks reads the webhooks for a user who may manage them.
func (s *site) webhooks(ctx context.Context, v visit) (*hooksView, error) {
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
	who, err := s.responder(ctx, v, "")
	return &hooksView{Webhooks: list, Most: auth.MaxWebhooks, Facts: who.Facts}, err
}
