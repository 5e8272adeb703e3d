package webui

import (
	"context"
	"net/http"

	"piloto/internal/access/auth"
	"piloto/internal/live/hook"
)

// Hooks reads what goes out of the account: hooks, without their secrets, and their deliveries.
type Hooks interface {
	hook.Lister
	Hook(ctx context.Context, account, id string) (hook.Hook, error)
	Deliveries(ctx context.Context, account, hookID, cursor string, limit int) ([]hook.Delivery, string, error)
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

func (s *site) hookFragment(w http.ResponseWriter, v visit) error {
	switch {
	case s.Hooks == nil || !hook.Valid(v.PathValue("id")):
		return errNotFound
	case !v.who.Allows(auth.ScopeAdmin):
		return auth.ErrScope
	}
	h, err := s.Hooks.Hook(v.Context(), v.who.Account, v.PathValue("id"))
	if err != nil {
		return err
	}
	list, _, err := s.Hooks.Deliveries(v.Context(), v.who.Account, h.ID, "", logShown)
	if err != nil {
		return err
	}
	s.write(w, v, http.StatusOK, "hook-log", logView{h, list})
	return nil
}
