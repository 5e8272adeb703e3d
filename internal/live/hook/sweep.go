package hook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"piloto/internal/access/auth"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/meaning"
	"piloto/internal/ground/sweep"
)

// Sender sends one request, once, and follows no redirect. The error has a word in Args["reason"].
type Sender interface {
	// Post returns the status of the answer, its headers, and the beginning of its body; nil when the answer was cut.
	Post(ctx context.Context, url string, header map[string]string, body []byte) (status int, answered func(name string) string, said []byte, err error)
}

// Sweeper sends due deliveries. Several may run at once.
type Sweeper struct {
	Store Store
	Send  Sender
	NewID func(at time.Time) string
	Now   func() time.Time
	Log   *slog.Logger
}

// Swept counts the results of one sweep.
type Swept struct {
	Taken     int `json:"told"` // rows of the outbox that became deliveries
	Delivered int `json:"delivered"`
	Failed    int `json:"failed"` // attempts
	Disabled  int `json:"disabled"`
}

const (
	sweepMost = 1000             // rows in one sweep
	atOnce    = 16               // hooks that are called at the same time
	starting  = 35 * time.Second // after that no request is started, because the function has a minute
	leaseLife = time.Minute      // longer than a request (10 s) and its record
	putOff    = 5 * time.Minute  // the delay of other deliveries to a hook that did not answer
)

// pauses are the pauses before the second attempt and those after it. With jitter they take about 31 hours.
var pauses = []time.Duration{
	5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, 30 * time.Minute,
	time.Hour, 3 * time.Hour, 6 * time.Hour, 8 * time.Hour, 12 * time.Hour,
}

// pause returns the pause after a number of attempts, up to a quarter longer; false after the last one.
func pause(tries int) (time.Duration, bool) {
	if tries > len(pauses) {
		return 0, false
	}
	p := pauses[tries-1]
	return p + rand.N(p/4+1), true
}

// Sweep turns outbox rows into deliveries, and sends those that are due: the hooks side by side, the deliveries of one
// hook one after the other. Deliveries to a slow hook go behind those to others, because a sweep reads the oldest rows
// only.
func (s *Sweeper) Sweep(ctx context.Context) (Swept, error) {
	r := round{sweeper: s, until: s.Now().Add(starting), hooks: map[string]*called{}}
	var deliveries []sweep.Row[Due]
	outbox := sweep.List[Due]{
		Name: "outbox", Most: sweepMost, Now: s.Now, Log: s.Log,
		Due: func(ctx context.Context, at time.Time, limit int) (rows []sweep.Row[Due], err error) {
			due, err := s.Store.DueHooks(ctx, at, limit)
			for _, row := range due {
				if row.Err == nil && row.Key.Outbox == "" {
					deliveries = append(deliveries, row)
				} else {
					rows = append(rows, row)
				}
			}
			return rows, err
		},
		Do: func(ctx context.Context, d Due) error {
			made, err := s.spread(ctx, d)
			for _, m := range made {
				deliveries = append(deliveries, sweep.Row[Due]{Key: m, Name: m.Delivery})
			}
			return err
		},
	}
	count, err := outbox.Sweep(ctx)
	r.swept.Taken = count.Done
	sending := sweep.List[Due]{Name: "deliveries", AtOnce: atOnce, Group: Due.hook, Each: leaseLife, Within: leaseLife, Now: s.Now, Log: s.Log, Do: r.deliver}
	_, problem := sending.Over(ctx, deliveries)
	return r.swept, errors.Join(err, problem)
}

// hook identifies the hook of a delivery.
func (d Due) hook() string { return string(d.Account) + " " + d.HookID }

// spread turns a row of the outbox into deliveries.
func (s *Sweeper) spread(ctx context.Context, d Due) ([]Due, error) {
	row, err := s.Store.OutboxRow(ctx, d.Account, d.Outbox)
	if err != nil || row == nil {
		return nil, err
	}
	hooks, err := s.Store.Hooks(ctx, d.Account)
	if err != nil {
		return nil, err
	}
	at := s.Now()
	var list []Delivery
	for _, m := range row.Messages {
		body, err := json.Marshal(m)
		if err != nil {
			return nil, err
		}
		for _, h := range hooks {
			if h.Wants(m.Type) {
				list = append(list, Delivery{
					ID: idPrefix + s.NewID(at), HookID: h.ID, Account: d.Account, Type: m.Type, Body: body, State: Pending, CreatedAt: at, NextAt: at,
				})
			}
		}
	}
	done, err := s.Store.Spread(ctx, *row, list)
	if err != nil || !done {
		return nil, err
	}
	made := make([]Due, len(list))
	for i, m := range list {
		made[i] = m.due()
	}
	return made, nil
}

// due returns the queue key of a pending, unleased delivery.
func (d Delivery) due() Due {
	return Due{Account: d.Account, HookID: d.HookID, Delivery: d.ID, Seen: Place(d.NextAt, d.ID, "")}
}

// round is one sweep of deliveries.
type round struct {
	sweeper *Sweeper
	until   time.Time // when no further request is started

	mu    sync.Mutex
	hooks map[string]*called
	swept Swept
}

// called is a hook in a round. Its deliveries are sent one after the other.
type called struct {
	hook    Hook
	secret  string
	known   bool // it was read
	missing bool
	begun   bool          // a delivery of it was begun
	rests   time.Duration // how long it is left alone: it did not answer, or asked for it
}

// of returns the hook of a delivery, as the round knows it.
func (r *round) of(d Due) *called {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.hooks[d.hook()] == nil {
		r.hooks[d.hook()] = &called{}
	}
	return r.hooks[d.hook()]
}

// read reads a hook once.
func (r *round) read(ctx context.Context, c *called, d Due) (err error) {
	if c.known {
		return nil
	}
	c.hook, err = r.sweeper.Store.Hook(ctx, d.Account, d.HookID)
	c.missing = errors.Is(err, ErrNotFound)
	if err != nil && !c.missing {
		return err
	}
	if c.hook.Enabled {
		if c.secret, err = r.sweeper.Store.Secret(ctx, c.hook.Account, c.hook.ID); err != nil {
			return err
		}
	}
	c.known = true
	return nil
}

// deliver sends one delivery. It delays those behind one that got no answer or was asked to wait, and those for which
// no time is left, behind the deliveries to other hooks.
func (r *round) deliver(ctx context.Context, one Due) error {
	c, at := r.of(one), r.sweeper.Now()
	late := at.After(r.until)
	switch {
	case late && !c.begun:
		return sweep.ErrLater
	case late:
		return r.sweeper.Store.DelayHook(ctx, one, at)
	case c.rests > 0:
		return r.sweeper.Store.DelayHook(ctx, one, at.Add(c.rests))
	}
	c.begun = true
	if err := r.read(ctx, c, one); err != nil {
		return err
	}
	d, err := r.sweeper.Store.Lease(ctx, one, r.sweeper.NewID(at), at.Add(leaseLife))
	if err != nil || d == nil {
		return err
	}
	if c.missing || !c.hook.Enabled {
		return r.sweeper.Store.Record(ctx, d.after(Attempt{At: at, Error: "off"}, true))
	}
	a := r.sweeper.attempt(ctx, c.hook, c.secret, *d)
	switch {
	case a.Status == 0:
		c.rests = putOff
	case a.later():
		c.rests = a.wait
	}
	if err := r.sweeper.Store.Record(ctx, d.after(a, a.gone)); err != nil {
		return err
	}
	was := c.hook.Enabled
	c.hook, err = r.sweeper.judge(ctx, c.hook, a)
	r.count(a, was && !c.hook.Enabled)
	return err
}

// count counts an attempt.
func (r *round) count(a Attempt, disabled bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if a.ok() {
		r.swept.Delivered++
	} else {
		r.swept.Failed++
	}
	if disabled {
		r.swept.Disabled++
	}
}

func (a Attempt) ok() bool { return meaning.Of(a.Status, false) == meaning.Done }

// later reports whether the address asks to be left alone for a while.
func (a Attempt) later() bool { return a.wait > 0 && meaning.Of(a.Status, true) == meaning.Later }

// attempt sends a delivery once.
func (s *Sweeper) attempt(ctx context.Context, h Hook, secret string, d Delivery) Attempt {
	at := s.Now()
	a := Attempt{At: at}
	signature, err := auth.Delivery{ID: d.ID, Body: d.Body}.Sign(secret, at)
	if err == nil {
		var answered func(string) string
		var said []byte
		a.Status, answered, said, err = s.Send.Post(ctx, h.URL, map[string]string{
			"Content-Type": "application/json", "webhook-id": d.ID,
			"webhook-timestamp": fmt.Sprint(at.Unix()), "webhook-signature": signature,
		}, d.Body)
		if err == nil {
			a.wait, _ = meaning.Wait(answered, s.Now())
			a.wait = min(a.wait, pauses[len(pauses)-1])
			a.gone = said != nil && meaning.Leaves(a.Status, answered("Content-Type"), said)
		}
	}
	a.Millis = s.Now().Sub(at).Milliseconds()
	switch {
	case err != nil:
		a.Error = fault.Of(err).Args["reason"]
		if a.Error == "" {
			a.Error = "protocol"
		}
		s.Log.WarnContext(ctx, "hook.unsent", "account", d.Account, "hook_id", d.HookID, "delivery_id", d.ID, "reason", a.Error)
	case !a.ok():
		a.Error = "status"
	}
	return a
}

// after returns a delivery as an attempt leaves it. The last attempt is not followed by another.
func (d Delivery) after(a Attempt, last bool) Delivery {
	d.Attempts = append(slices.Clone(d.Attempts), a)
	if n := len(d.Attempts) - mostLog; n > 0 {
		d.Attempts = d.Attempts[n:]
	}
	d.Tries++
	wait, again := pause(d.Tries)
	d.NextAt = time.Time{}
	switch {
	case a.ok():
		d.State = Delivered
	case last || !again:
		d.State = Failed
	default:
		d.State, d.NextAt = Pending, a.At.Add(max(wait, a.wait))
	}
	return d
}

// Ends returns when the row of a delivery that ended goes, by its last attempt.
func (d Delivery) Ends() time.Time {
	if len(d.Attempts) == 0 {
		return d.CreatedAt.Add(kept)
	}
	return d.Attempts[len(d.Attempts)-1].At.Add(kept)
}

// judge records the consequence of an attempt for its hook: the time since which it fails, or that it is switched off.
func (s *Sweeper) judge(ctx context.Context, h Hook, a Attempt) (Hook, error) {
	switch {
	case a.ok() && h.FailingSince.IsZero():
		return h, nil
	case a.ok():
		h.FailingSince = time.Time{}
		return h, s.Store.NoteHook(ctx, h, time.Time{})
	case a.gone:
		return s.disable(ctx, h, OffGone)
	case h.FailingSince.IsZero():
		h.FailingSince = a.At
		return h, s.Store.NoteHook(ctx, h, a.At)
	case a.At.Sub(h.FailingSince) >= mostFailing:
		return s.disable(ctx, h, OffFailing)
	}
	return h, nil
}

// disable switches a hook off, unless somebody changed it meanwhile.
func (s *Sweeper) disable(ctx context.Context, h Hook, why string) (Hook, error) {
	s.Log.WarnContext(ctx, "hook.disabled", "account", h.Account, "hook_id", h.ID, "why", why)
	off := h
	err := s.Store.ChangeHooks(ctx, h.Account, func(all []Hook) (Change, error) {
		now, err := find(all, h.ID)
		if err != nil || !now.Enabled || !now.UpdatedAt.Equal(h.UpdatedAt) {
			return Change{}, err
		}
		off = now
		off.Enabled, off.Off, off.UpdatedAt = false, why, s.Now()
		return Change{Put: &off}, nil
	})
	if errors.Is(err, ErrNotFound) {
		err = nil
	}
	return off, err
}

// Place returns the queue key of a delivery: its time, its id, and the owner of its lease.
func Place(at time.Time, id, owner string) string {
	key := fmt.Sprintf("%013d#%s", at.UnixMilli(), id)
	if owner != "" {
		key += "#" + owner
	}
	return key
}
