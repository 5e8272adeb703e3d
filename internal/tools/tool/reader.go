package tool

import (
	"context"
	"time"

	"piloto/internal/ground/ids"
)

// ServerReader reads a server. A missing one, or one of another account, is ErrServerNotFound.
type ServerReader interface {
	Server(ctx context.Context, account ids.Account, id string) (Server, error)
}

// ServerLister lists the servers of an account.
type ServerLister interface {
	Servers(ctx context.Context, account ids.Account) ([]Server, error)
}

// EntryReader reads the entries of the server's allowlist in force, which callers only read.
type EntryReader interface {
	Entries(ctx context.Context, account ids.Account, s Server) ([]Entry, error)
}

// AllowlistReader reads the server's allowlist in force; nil when there is none.
type AllowlistReader interface {
	Allowlist(ctx context.Context, account ids.Account, s Server) (*Allowlist, error)
}

// OperationReader reads the operation of an entry.
type OperationReader interface {
	Operation(ctx context.Context, account ids.Account, s Server, e Entry) (Operation, error)
}

// KeyReader reads the keys of a server.
type KeyReader interface {
	Keys(ctx context.Context, account ids.Account, s Server) (Keys, error)
}

// Freezer records that a tool of a server differs from the approved one, while seen is the
// allowlist in force.
type Freezer interface {
	FreezeTool(ctx context.Context, account ids.Account, serverID, seen, tool string, at time.Time) error
}

// Caller calls a tool of a server that speaks the Model Context Protocol, once. It returns
// ErrNotSent when the request did not reach the server, ErrLost when it may have been applied,
// ErrRequest when it must not be sent, ErrToolChanged when the tool differs from the approved
// one, and ErrUnauthorized when the server rejects the key. With either of the last two, the tool
// was not called. The preparation of the call (a token, a session, the list of tools) takes at most PrepareTime.
type Caller interface {
	CallTool(ctx context.Context, c Call) (Answer, error)
}

// PrepareTime is the most that a Caller takes before it sends a call.
const PrepareTime = time.Minute
