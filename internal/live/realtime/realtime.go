// Package realtime pushes events to connected clients, such as the page. It defines the events,
// their wire format, the connections, and the requests of a client.
//
// A push is a hint, and the API has the authoritative state. Invariants:
//
//   - Every event is stored before it is pushed. A push neither delays nor fails the caller: Queue
//     sends collected events in the background. Only an invocation that is about to end waits.
//   - A client says with its pings which chat it has open, and gets the events of that chat. Of any
//     other chat it gets one "changed" event. A client that says nothing gets every event.
//   - Every push to a connection has the next number of that connection, taken from its row before
//     the push is sent. A push that is lost, late or repeated shows as an unexpected number, at
//     the latest with the next push or pong, and the client reads the API.
//   - An account's events are pushed only to its own connections. They have the same content as in
//     the API, and fit into one frame of API Gateway.
//   - A connection is served only while it pings. It ends with its token, at its next ping. After
//     a sign-out nothing more is pushed to it: see Disconnect.
//
// A number is taken only after the event is stored, so a process that ends between the two
// leaves no gap. Its client learns of it with the next event, or reads when its page is shown
// again: a connected client does not poll.
//
// On the wire, each push is a text frame
//
//	{"type":"message","seq":7,"at":"2026-03-02T09:00:00.000Z","data":{"conversationId":…}}
//
// and each request {"action":"ping","conversationId":"…"}, which is answered with a pong whose seq is the
// number of the last push. The frames of a text that is being written (ai:text) have no seq: they are sent
// once, and the finished text is stored and pushed as a message.
package realtime

import (
	"context"
	"errors"
	"time"

	"piloto/internal/conversation"
	"piloto/internal/ground/ids"
)

// Event is one event of an account. Data is the client's view, and marshals to a JSON object;
// the IDs are added to it.
type Event struct {
	Type   string
	ChatID string // of the conversation, when there is one
	RunID  string // of the run, when there is one
	Data   any

	hint map[string]any // the ids in Data that its hint keeps
}

// Notifier pushes events to an account's connections. It returns no error, and takes a limited
// time.
type Notifier interface {
	Notify(ctx context.Context, account ids.Account, events ...Event)
}

// Nobody is the Notifier of a deployment without connections.
var Nobody noNotifier

type noNotifier struct{}

// Notify implements Notifier.
func (noNotifier) Notify(context.Context, ids.Account, ...Event) {}

// Watched returns false.
func (noNotifier) Watched(context.Context, ids.Account) bool { return false }

// Connection is one connected client.
type Connection struct {
	Account     ids.Account
	ID          string // of API Gateway
	User        string
	Parent      string // hash of the token or session with which it ends
	ConnectedAt time.Time
	PingedAt    time.Time // zero: not yet
	ExpiresAt   time.Time // no push from then on, unless it pings before
	Seq         int64     // of the last push
	Says        bool      // it said which chat it has open; one that did not gets every event of the account
	ChatID      string    // that it has open; empty: none
}

// Live reports whether the connection is served at a time.
func (c Connection) Live(at time.Time) bool { return at.Before(c.ExpiresAt) }

// Errors of a connection or a post.
var (
	// ErrGone is the error for a connection that does not exist.
	ErrGone = errors.New("realtime: the connection is gone")
	// ErrRefused is the error for a post that a retry cannot make succeed.
	ErrRefused = errors.New("realtime: the post is refused")
)

// Connections stores the connections.
type Connections interface {
	// AddConnection stores a new connection.
	AddConnection(ctx context.Context, c Connection) error
	// Connections returns an account's connections, also expired ones.
	Connections(ctx context.Context, account ids.Account) ([]Connection, error)
	// Connection returns a connection by its ID; ErrGone when there is none.
	Connection(ctx context.Context, id string) (Connection, error)
	// Advance takes the next n numbers of a connection and returns the last of them. It returns
	// ErrGone when the connection does not exist, or expired by at.
	Advance(ctx context.Context, account ids.Account, id string, n int, at time.Time) (int64, error)
	// Renew records a ping and sets the expiry to until. It skips numbers, so that the client
	// sees a gap, and returns the last number; ErrGone when the connection does not exist.
	Renew(ctx context.Context, account ids.Account, id string, at, until time.Time, skip int) (int64, error)
	// SetOpen records which chat of its account a connection has open, without ID for none; ErrGone when the connection
	// does not exist.
	SetOpen(ctx context.Context, id string, chat conversation.Key) error
	// RemoveConnection removes a connection. A missing one is no error.
	RemoveConnection(ctx context.Context, account ids.Account, id string) error
}

// Poster sends frames to connected clients.
type Poster interface {
	// Post sends a text frame. It returns ErrGone when the connection does not exist (any more,
	// or yet), an error that is ErrRefused when a retry cannot succeed, and any other error when
	// it may.
	Post(ctx context.Context, id string, frame []byte) error
	// Close ends a connection. A missing one is no error.
	Close(ctx context.Context, id string) error
}
