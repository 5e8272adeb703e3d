// Package realtime owns what is pushed to whoever has the page, or a client of
// their own, open: the events, their form on the wire, who is connected, and
// what a client may say back.
//
// A push is a hint and the API is the truth. What must stay true:
//
//   - Nothing is pushed that was not stored first, and nothing that happened
//     waits for a push, or fails with it: Notify has no error, and a bound in time.
//   - Every push to a connection has the next number of that connection, taken
//     from its row before it is sent. A push that is lost, or comes late, or twice
//     shows as a number that is not the next one, at the next push or pong at the
//     latest, and the client asks the API.
//   - What is pushed to an account is pushed to its own connections only, shows
//     what the API shows, and holds no more than one frame of API Gateway.
//   - A connection is served only while it keeps asking: it ends with the token
//     it was opened with, at its next ping. After a sign-out nothing more is pushed
//     to it: see Part.
//
// A number is taken only once the event is stored: a process that ends between
// the two leaves no gap. So a client that is connected still asks the API now and
// then, as one does that is not.
//
// On the wire, each push is a text frame
//
//	{"type":"message","seq":7,"at":"2026-03-02T09:00:00.000Z","data":{"conversationId":…}}
//
// and each request {"action":"ping"}, which is answered with a pong whose seq is
// the number of the last push. The frames of text that is still being written
// (ai:text) have no seq: they are sent once, and what they come to is stored and
// pushed as a message.
package realtime

import (
	"context"
	"errors"
	"time"
)

// Event is something that happened. Data is what a client is shown, and marshals
// to a JSON object; the ids are put into it.
type Event struct {
	Type   string
	ChatID string // of the conversation, when there is one
	RunID  string // of the run, when there is one
	Data   any

	hint map[string]any // the ids in Data that its hint keeps
}

// Notifier tells an account's connections what happened. It never fails what
// happened, and takes a bounded time.
type Notifier interface {
	Notify(ctx context.Context, account string, events ...Event)
}

// Nobody is the notifier of a deployment without connections.
var Nobody nobody

type nobody struct{}

// Notify implements Notifier.
func (nobody) Notify(context.Context, string, ...Event) {}

// Watched reports that nobody listens.
func (nobody) Watched(context.Context, string) bool { return false }

// Connection is one client that is connected.
type Connection struct {
	Account     string
	ID          string // as API Gateway names it
	User        string
	Parent      string // the hash of the token or session that it ends with
	ConnectedAt time.Time
	PingedAt    time.Time // zero: not yet
	ExpiresAt   time.Time // it is not served from then on, unless it pings first
	Seq         int64     // of the last push
}

// Live reports whether the connection is served at a time.
func (c Connection) Live(at time.Time) bool { return at.Before(c.ExpiresAt) }

// What becomes of a connection or a post.
var (
	// ErrGone is a connection that is no more.
	ErrGone = errors.New("realtime: the connection is gone")
	// ErrRefused is a post that will not be accepted however often it is repeated.
	ErrRefused = errors.New("realtime: the post is refused")
)

// Connections keeps who is connected.
type Connections interface {
	// AddConnection stores a new connection.
	AddConnection(ctx context.Context, c Connection) error
	// Connections returns those of an account, expired ones among them.
	Connections(ctx context.Context, account string) ([]Connection, error)
	// Connection returns the one with an id; ErrGone when there is none.
	Connection(ctx context.Context, id string) (Connection, error)
	// Advance takes the next n numbers of a connection and returns the last of
	// them; ErrGone when there is none, or it expired by at.
	Advance(ctx context.Context, account, id string, n int, at time.Time) (int64, error)
	// Renew notes a ping and has the connection expire at until. It skips numbers,
	// so that the client sees a gap, and returns the last; ErrGone when there is none.
	Renew(ctx context.Context, account, id string, at, until time.Time, skip int) (int64, error)
	// RemoveConnection removes one; one that is not there is removed already.
	RemoveConnection(ctx context.Context, account, id string) error
}

// Poster reaches connected clients.
type Poster interface {
	// Post sends a text frame. It returns ErrGone when nobody is connected by that
	// id (any more, or yet), an error that is ErrRefused when it is no use to try
	// again, and any other when it may be.
	Post(ctx context.Context, id string, frame []byte) error
	// Close ends a connection; one that is gone is closed already.
	Close(ctx context.Context, id string) error
}
