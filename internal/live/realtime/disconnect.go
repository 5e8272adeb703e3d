package realtime

import (
	"context"
	"errors"
	"time"

	"piloto/internal/ground/ids"
)

// Disconnect stops the pushes to an account's connections that were opened with a token or a
// session, identified by its hash, from a time on. Call it after the token is deleted: then no
// connection is opened with it later. The clients get the error at their next ping.
func Disconnect(ctx context.Context, c Connections, account ids.Account, parent string, at time.Time) error {
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
