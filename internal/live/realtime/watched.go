package realtime

import "context"

// Watched reports whether anybody is connected to an account: whether telling it
// what is being written is worth the effort. Who cannot be asked for is nobody.
func (h *Hub) Watched(ctx context.Context, account string) bool {
	list, err := h.Connections.Connections(ctx, account)
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
