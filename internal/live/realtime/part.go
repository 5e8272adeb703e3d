package realtime

import (
	"context"
	"errors"
	"time"
)

// Part has nothing more pushed to the connections of an account that were opened with a
// token or a session, by its hash, from a time on. Call it once the token is deleted: then
// none is opened with it later. The clients hear of it at their next ping.
func Part(ctx context.Context, c Connections, account, parent string, at time.Time) error {
	list, err := c.Connections(ctx, account)
	if err != nil {
		return err
	}
	for _, open := range list {
		if open.Parent != parent || !open.Live(at) {
			continue
		}
		if _, err := c.Renew(ctx, account, open.ID, at, at, 0); err != nil && !errors.Is(err, ErrGone) {
			return err
		}
	}
	return nil
}
