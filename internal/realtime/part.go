package realtime

import "context"

// Part has nothing more pushed to the connections of an account that were opened with a
// token or a session, by its hash. Call it once the token is deleted: then none is opened
// with it later. The clients hear that they are unknown at their next ping.
func Part(ctx context.Context, c Connections, account, parent string) error {
	list, err := c.Connections(ctx, account)
	if err != nil {
		return err
	}
	for _, open := range list {
		if open.Parent != parent {
			continue
		}
		if err := c.RemoveConnection(ctx, account, open.ID); err != nil {
			return err
		}
	}
	return nil
}
