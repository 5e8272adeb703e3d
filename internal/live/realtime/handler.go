package realtime

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"time"

	"piloto/internal/access/auth"
	"piloto/internal/access/rate"
	"piloto/internal/conversation"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/order"
)

// Durations of a connection.
const (
	// PingEvery is the interval of a client's pings. A page in a hidden tab pings once in nine minutes.
	PingEvery = 2 * time.Minute
	leaseTime = 10 * time.Minute // from connecting, and from each ping; API Gateway closes a connection that is silent as long
	maxLife   = 2 * time.Hour    // API Gateway's own limit
	// Forgotten is the time after connecting at which a connection's row expires.
	Forgotten = maxLife + 10*time.Minute
)

// Bounds of the number of connections. The oldest excess ones are closed.
const (
	maxPerUser    = 20
	maxPerAccount = 100
)

// maxAction bounds a client's request, in bytes.
const maxAction = 1 << 10

// Remember is how long the functions that push remember the connections of an account.
const Remember = 2 * time.Second

// Handler handles the requests of WebSocket clients: connect, message, disconnect.
type Handler struct {
	Connections Connections
	Tokens      auth.Store
	Poster      Poster
	Origins     []string // of other pages that may connect, besides those of the host
	Meter       *rate.Meter
	Now         func() time.Time
	Log         *slog.Logger

	Remember time.Duration // of the hubs
}

// ConnectRequest is a client's request to connect. It has a ticket or a token; when it has both,
// the token decides.
type ConnectRequest struct {
	ID      string
	Ticket  string
	Token   string
	Origins []string // Origin headers of a browser
	Host    string   // Host header
	Address string   // of the client
}

// Connect accepts a client, or returns an error: auth.ErrCrossOrigin for a page of another
// origin, auth.ErrScope for a token that may not read chats, rate.ErrTooMany, and
// auth.ErrRequired for every other refusal. Connecting counts as a write of the user.
func (d *Handler) Connect(ctx context.Context, v ConnectRequest) error {
	at := d.Now()
	if !d.isAllowedOrigin(v) {
		return auth.ErrCrossOrigin
	}
	p, until, err := d.authenticate(ctx, v, at)
	if err != nil {
		return err
	}
	if !p.Allows(auth.ScopeChat) {
		return auth.ErrScope.With("scope", string(auth.ScopeChat))
	}
	if _, err := d.Meter.Take(ctx, rate.Writes, rate.User(p.Account, p.User), at); err != nil {
		return err
	}
	c := Connection{
		Account: p.Account, ID: v.ID, User: p.User, Parent: p.TokenID,
		ConnectedAt: at, ExpiresAt: expiry(at, at, until),
	}
	if err := d.Connections.AddConnection(ctx, c); err != nil {
		return err
	}
	// Check again, because Disconnect may have read the connections before this one was stored.
	if _, err := auth.ValidUntil(ctx, d.Tokens, c.Parent, at); err != nil {
		return errors.Join(err, d.Connections.RemoveConnection(ctx, c.Account, c.ID))
	}
	d.Log.InfoContext(ctx, "realtime.connected", "account", p.Account)
	d.closeExcess(ctx, c, at)
	return nil
}

// authenticate returns the principal of a client, and the expiry of its token (zero: never).
func (d *Handler) authenticate(ctx context.Context, v ConnectRequest, at time.Time) (auth.Principal, time.Time, error) {
	from := rate.Address(v.Address)
	var p auth.Principal
	var err error
	if v.Token != "" {
		p, err = auth.Authenticate(ctx, d.Tokens, v.Token, at, auth.KindToken)
	} else {
		p, err = auth.TakeTicket(ctx, d.Tokens, v.Ticket, at)
	}
	if errors.Is(err, auth.ErrRequired) {
		if many := d.Meter.Bad(ctx, from, at); many != nil {
			err = many
		}
	}
	if err != nil {
		return p, time.Time{}, err
	}
	until, err := auth.ValidUntil(ctx, d.Tokens, p.TokenID, at)
	return p, until, err
}

// isAllowedOrigin reports whether the client is a page that may connect: one of the requested
// host, or of a known origin. A client without an Origin header is no browser, and may connect.
func (d *Handler) isAllowedOrigin(v ConnectRequest) bool {
	switch len(v.Origins) {
	case 0:
		return true
	case 1:
	default:
		return false
	}
	if slices.Contains(d.Origins, v.Origins[0]) {
		return true
	}
	u, err := url.Parse(v.Origins[0])
	plain := err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.User == nil && u.Path == "" && u.RawQuery == "" && u.Fragment == ""
	return plain && v.Host != "" && strings.EqualFold(u.Host, v.Host)
}

// expiry returns when a connection that pinged at a time expires.
func expiry(connected, asked, until time.Time) time.Time {
	end := asked.Add(leaseTime)
	if last := connected.Add(Forgotten); last.Before(end) {
		end = last
	}
	if !until.IsZero() && until.Before(end) {
		end = until
	}
	return end
}

// closeExcess closes the oldest excess connections. A failure does not prevent the new
// connection.
func (d *Handler) closeExcess(ctx context.Context, newest Connection, at time.Time) {
	list, err := d.Connections.Connections(ctx, newest.Account)
	if err != nil {
		d.Log.WarnContext(ctx, "realtime.failed", "doing", "count", "error", err)
		return
	}
	for _, c := range excess(list, newest.User, at) {
		if c.ID == newest.ID {
			continue
		}
		if err := d.end(ctx, c.Account, c.ID, CodeReplaced); err != nil {
			d.Log.WarnContext(ctx, "realtime.failed", "doing", "replace", "error", err)
		}
	}
}

// excess returns the oldest excess connections: of a user, or of the account.
func excess(list []Connection, user string, at time.Time) []Connection {
	list = slices.DeleteFunc(slices.Clone(list), func(c Connection) bool { return !c.Live(at) })
	order.By(list, func(a, b Connection) int { // the newest first
		return cmp.Or(b.ConnectedAt.Compare(a.ConnectedAt), cmp.Compare(a.ID, b.ID))
	})
	var over []Connection
	own, kept := 0, 0
	for _, c := range list {
		if c.User == user {
			own++
		}
		if c.User == user && own > maxPerUser || kept == maxPerAccount {
			over = append(over, c)
			continue
		}
		kept++
	}
	return over
}

// Receive answers a client's message. An error is one of the store: the client gets no response,
// and retries. A client that sends too many messages gets an error frame and is closed, before
// anything is read for it.
func (d *Handler) Receive(ctx context.Context, id, text string) error {
	at := d.Now()
	if _, err := d.Meter.Take(ctx, rate.Messages, rate.Socket(id), at); err != nil {
		return d.sendError(ctx, id, CodeTooMany, d.Poster.Close)
	}
	c, err := d.Connections.Connection(ctx, id)
	if errors.Is(err, ErrGone) {
		return d.sendError(ctx, id, CodeUnknown, d.Poster.Close)
	}
	if err != nil {
		return err
	}
	until, err := auth.ValidUntil(ctx, d.Tokens, c.Parent, at)
	if errors.Is(err, auth.ErrRequired) {
		return d.end(ctx, c.Account, c.ID, CodeEnded)
	}
	if err != nil {
		return err
	}
	chat, ok := readPing(text)
	if !ok {
		return d.sendError(ctx, id, CodeAction, nil)
	}
	if chat != nil && (!c.Says || c.ChatID != *chat) {
		if err := d.Connections.SetOpen(ctx, c.ID, conversation.Key{Account: c.Account, ChatID: *chat}); err != nil && !errors.Is(err, ErrGone) {
			return err
		}
	}
	return d.pong(ctx, c, at, until)
}

// readPing reads a ping, and which chat its client has open: nil when it does not say.
func readPing(text string) (chat *string, ok bool) {
	var asked struct {
		Action string  `json:"action"`
		Chat   *string `json:"conversationId"`
	}
	if len(text) > maxAction || json.Unmarshal([]byte(strings.TrimPrefix(text, "\ufeff")), &asked) != nil {
		return nil, false
	}
	return asked.Chat, asked.Action == "ping"
}

// pong answers a ping, the first one also with a greeting. A connection whose lease ended missed
// pushes, so it gets a gap.
func (d *Handler) pong(ctx context.Context, c Connection, at, until time.Time) error {
	skip := 0
	if !c.Live(at) || d.wasUnknown(c, at) {
		skip = 1
	}
	seq, err := d.Connections.Renew(ctx, c.Account, c.ID, at, expiry(c.ConnectedAt, at, until), skip)
	if errors.Is(err, ErrGone) {
		return d.sendError(ctx, c.ID, CodeUnknown, d.Poster.Close)
	}
	if err != nil {
		return err
	}
	if c.PingedAt.IsZero() {
		hello, err := reply(TypeHello, nil, at, fields{
			"ping_seconds": int(PingEvery.Seconds()), "ends_at": stamp(c.ConnectedAt.Add(maxLife)),
		})
		if err != nil {
			return err
		}
		if err := d.post(ctx, c.ID, hello); err != nil {
			return err
		}
	}
	pong, err := reply(TypePong, &seq, at, fields{})
	if err != nil {
		return err
	}
	return d.post(ctx, c.ID, pong)
}

// wasUnknown reports whether this is the first ping after the time in which a process could remember the connections
// from before this one. The client then reads once, because it may have missed pushes.
func (d *Handler) wasUnknown(c Connection, at time.Time) bool {
	known := c.ConnectedAt.Add(d.Remember)
	return d.Remember > 0 && !at.Before(known) && c.PingedAt.Before(known)
}

// Leave removes a connection that has ended.
func (d *Handler) Leave(ctx context.Context, id string) error {
	c, err := d.Connections.Connection(ctx, id)
	if errors.Is(err, ErrGone) {
		return nil
	}
	if err != nil {
		return err
	}
	return d.Connections.RemoveConnection(ctx, c.Account, id)
}

// end removes a connection, sends the reason and closes it.
func (d *Handler) end(ctx context.Context, account ids.Account, id, code string) error {
	if err := d.Connections.RemoveConnection(ctx, account, id); err != nil {
		return err
	}
	return d.sendError(ctx, id, code, d.Poster.Close)
}

// sendError sends an error frame, and then calls then.
func (d *Handler) sendError(ctx context.Context, id, code string, then func(context.Context, string) error) error {
	text, err := reply(TypeError, nil, d.Now(), fields{"code": code})
	if err != nil {
		return err
	}
	err = d.post(ctx, id, text)
	if then != nil {
		err = errors.Join(err, then(ctx, id))
	}
	return err
}

// post sends a frame to a client. A missing connection is no error.
func (d *Handler) post(ctx context.Context, id string, text []byte) error {
	ctx, cancel := context.WithTimeout(ctx, notifyLimit)
	defer cancel()
	err := insistently(ctx, func() error { return d.Poster.Post(ctx, id, text) })
	if errors.Is(err, ErrGone) {
		return nil
	}
	return err
}
