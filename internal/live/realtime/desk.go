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
)

// How long a connection lasts.
const (
	// PingEvery is how often a client pings: API Gateway closes a connection that
	// is silent for ten minutes, and the lease below ends before that.
	PingEvery = 2 * time.Minute
	lease     = 5 * time.Minute // from connecting, and from each ping
	mostLife  = 2 * time.Hour   // API Gateway's own
	// Forgotten is how long after connecting nothing of a connection is kept.
	Forgotten = mostLife + 10*time.Minute
)

// How many connections are served; the oldest beyond that are closed.
const (
	mostOfUser    = 20
	mostOfAccount = 100
)

// maxAction bounds what a client may say, in bytes.
const maxAction = 1 << 10

// Desk answers what clients do: connect, ask, leave.
type Desk struct {
	Connections Connections
	Tokens      auth.Store
	Poster      Poster
	Origins     []string // of pages that may connect, besides those of the host itself
	Meter       *rate.Meter
	Now         func() time.Time
	Log         *slog.Logger
}

// Visit is a client that wants to connect. It has a ticket, or a token; when it
// has both, the token decides.
type Visit struct {
	ID      string
	Ticket  string
	Token   string
	Origins []string // what a browser says of the page it has open
	Host    string   // that the client went to
	Address string   // that it came from
}

// Connect lets a client in, or returns why not: auth.ErrCrossOrigin for a page of
// elsewhere, auth.ErrScope for a token that may not read chats, rate.ErrTooMany, and
// auth.ErrRequired for all else. Connecting is a write of the user's.
func (d *Desk) Connect(ctx context.Context, v Visit) error {
	at := d.Now()
	if !d.from(v) {
		return auth.ErrCrossOrigin
	}
	p, until, err := d.admit(ctx, v, at)
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
	// Again, because Part may have looked before the connection stood there.
	if _, err := auth.Lives(ctx, d.Tokens, c.Parent, at); err != nil {
		return errors.Join(err, d.Connections.RemoveConnection(ctx, c.Account, c.ID))
	}
	d.Log.InfoContext(ctx, "realtime.connected", "account", p.Account)
	d.close(ctx, c, at)
	return nil
}

// admit returns who connects, and when what they showed ends (zero: never).
func (d *Desk) admit(ctx context.Context, v Visit, at time.Time) (auth.Principal, time.Time, error) {
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
	until, err := auth.Lives(ctx, d.Tokens, p.TokenID, at)
	return p, until, err
}

// from reports whether a page that may connect sent the client: one of the host
// that it went to, or of a known origin. What is no browser says nothing of a page.
func (d *Desk) from(v Visit) bool {
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

// expiry is when a connection is no longer served that asked at a time.
func expiry(connected, asked, until time.Time) time.Time {
	end := asked.Add(lease)
	if last := connected.Add(Forgotten); last.Before(end) {
		end = last
	}
	if !until.IsZero() && until.Before(end) {
		end = until
	}
	return end
}

// close closes the oldest connections beyond what is served. It does not keep
// anybody from connecting.
func (d *Desk) close(ctx context.Context, newest Connection, at time.Time) {
	list, err := d.Connections.Connections(ctx, newest.Account)
	if err != nil {
		d.Log.WarnContext(ctx, "realtime.failed", "doing", "count", "error", err)
		return
	}
	for _, c := range beyond(list, newest.User, at) {
		if c.ID == newest.ID {
			continue
		}
		if err := d.end(ctx, c.Account, c.ID, CodeReplaced); err != nil {
			d.Log.WarnContext(ctx, "realtime.failed", "doing", "replace", "error", err)
		}
	}
}

// beyond are the oldest connections that are too many: of a user, or of all.
func beyond(list []Connection, user string, at time.Time) []Connection {
	list = slices.DeleteFunc(slices.Clone(list), func(c Connection) bool { return !c.Live(at) })
	slices.SortFunc(list, func(a, b Connection) int { // the newest first
		return cmp.Or(b.ConnectedAt.Compare(a.ConnectedAt), cmp.Compare(a.ID, b.ID))
	})
	var over []Connection
	own, kept := 0, 0
	for _, c := range list {
		if c.User == user {
			own++
		}
		if c.User == user && own > mostOfUser || kept == mostOfAccount {
			over = append(over, c)
			continue
		}
		kept++
	}
	return over
}

// Receive answers what a client says. An error is of the store: the client is
// told nothing, and asks again. A client that says too much is told so, and is parted
// from: before anything of it is looked up.
func (d *Desk) Receive(ctx context.Context, id, text string) error {
	at := d.Now()
	if _, err := d.Meter.Take(ctx, rate.Messages, rate.Socket(id), at); err != nil {
		return d.say(ctx, id, CodeTooMany, d.Poster.Close)
	}
	c, err := d.Connections.Connection(ctx, id)
	if errors.Is(err, ErrGone) {
		return d.say(ctx, id, CodeUnknown, d.Poster.Close)
	}
	if err != nil {
		return err
	}
	until, err := auth.Lives(ctx, d.Tokens, c.Parent, at)
	if errors.Is(err, auth.ErrRequired) {
		return d.end(ctx, c.Account, c.ID, CodeEnded)
	}
	if err != nil {
		return err
	}
	if !isPing(text) {
		return d.say(ctx, id, CodeAction, nil)
	}
	return d.pong(ctx, c, at, until)
}

func isPing(text string) bool {
	var asked struct {
		Action string `json:"action"`
	}
	return len(text) <= maxAction && json.Unmarshal([]byte(text), &asked) == nil && asked.Action == "ping"
}

// pong answers a ping, the first one with a greeting as well. A connection that
// let its lease pass was not told what happened since: it sees a gap.
func (d *Desk) pong(ctx context.Context, c Connection, at, until time.Time) error {
	skip := 0
	if !c.Live(at) {
		skip = 1
	}
	seq, err := d.Connections.Renew(ctx, c.Account, c.ID, at, expiry(c.ConnectedAt, at, until), skip)
	if errors.Is(err, ErrGone) {
		return d.say(ctx, c.ID, CodeUnknown, d.Poster.Close)
	}
	if err != nil {
		return err
	}
	if c.PingedAt.IsZero() {
		hello, err := reply(TypeHello, nil, at, fields{
			"ping_seconds": int(PingEvery.Seconds()), "ends_at": stamp(c.ConnectedAt.Add(mostLife)),
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

// Leave forgets a connection that has ended.
func (d *Desk) Leave(ctx context.Context, id string) error {
	c, err := d.Connections.Connection(ctx, id)
	if errors.Is(err, ErrGone) {
		return nil
	}
	if err != nil {
		return err
	}
	return d.Connections.RemoveConnection(ctx, c.Account, id)
}

// end removes a connection, says why, and closes it.
func (d *Desk) end(ctx context.Context, account, id, code string) error {
	if err := d.Connections.RemoveConnection(ctx, account, id); err != nil {
		return err
	}
	return d.say(ctx, id, code, d.Poster.Close)
}

// say sends an error frame, and then does what follows from it.
func (d *Desk) say(ctx context.Context, id, code string, then func(context.Context, string) error) error {
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

// post sends a frame to a client that is there, or is not any more.
func (d *Desk) post(ctx context.Context, id string, text []byte) error {
	ctx, cancel := context.WithTimeout(ctx, notifyLimit)
	defer cancel()
	err := again(ctx, func() error { return d.Poster.Post(ctx, id, text) })
	if errors.Is(err, ErrGone) {
		return nil
	}
	return err
}
