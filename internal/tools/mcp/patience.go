package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"piloto/internal/tools/tool"
)

// longestCall bounds a call that goes on to report progress, where its caller sets no earlier end.
const longestCall = 15 * time.Minute

// patience is the context of a call: it ends when nothing was heard of the call for a time.
type patience struct {
	context.Context
	token string // names the call in its server's notifications of progress
	limit time.Duration
	timer *time.Timer

	now     func() time.Time
	until   time.Time    // the call may not go on longer; zero: only its context bounds it
	prolong tool.Prolong // of until; nil: there is no more time
}

// newPatience returns the context of one sending of a call that began at a time. stop releases it.
func (c *Client) newPatience(ctx context.Context, call tool.Call, began time.Time) (p *patience, stop func()) {
	longest, end := context.WithTimeout(ctx, longestCall)
	within, cancel := context.WithCancelCause(longest)
	p = &patience{
		Context: within, token: "call-" + strconv.FormatInt(c.calls.Add(1), 10), limit: c.patience, now: c.now, prolong: call.Prolong,
	}
	if call.Within > 0 {
		p.until = began.Add(call.Within)
	}
	p.timer = time.AfterFunc(p.next(), func() { cancel(context.DeadlineExceeded) })
	return p, func() { p.timer.Stop(); cancel(nil); end() }
}

// Err implements context.Context: an end of the patience is a timeout.
func (p *patience) Err() error {
	if err := p.Context.Err(); err == nil || !errors.Is(context.Cause(p.Context), context.DeadlineExceeded) {
		return err
	}
	return context.DeadlineExceeded
}

// next returns how long the call may now go on without news: its limit, as far as it is granted so much time.
func (p *patience) next() time.Duration {
	if p.until.IsZero() {
		return p.limit
	}
	if p.until.Sub(p.now()) < p.limit && p.prolong != nil {
		if granted := p.prolong(p, p.limit); granted > 0 {
			p.until = p.now().Add(granted)
		}
	}
	return min(p.limit, p.until.Sub(p.now()))
}

// hear begins the time anew when a notification reports progress of this call. Progress of another call is none.
func (p *patience) hear(m message) {
	var params struct {
		Token any `json:"progressToken"`
	}
	if p == nil || m.Method != methodProgress || json.Unmarshal(m.Params, &params) != nil || params.Token != p.token {
		return
	}
	if p.timer.Stop() { // else it is over
		p.timer.Reset(p.next())
	}
}
