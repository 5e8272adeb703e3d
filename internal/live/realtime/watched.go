package realtime

import (
	"context"

	"piloto/internal/ground/ids"
)

// Watched reports whether a client is connected to an account, so that pushing a text while it
// is written has a reader. It returns false when the store fails.
func (h *Hub) Watched(ctx context.Context, account ids.Account) bool {
	if h.idle() {
		return false
	}
	list, err := h.connections(ctx, account, true)
	if err != nil {
		h.Log.WarnContext(ctx, "realtime.unread", "error", err)
		return false
	}
	for _, c := range list {
		if c.Live(h.Now()) {
			return true
		}
	}
	return false
}
