package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"
)

// longestCall bounds a call that goes on to report progress, where its caller sets no earlier end.
const longestCall = 10 * time.Minute

// patience is the context of a call: it ends when nothing was heard of the call for a time.
type patience struct {
	context.Context
	token string // names the call in its server's notifications of progress
	limit time.Duration
	timer *time.Timer
}

// newPatience returns the context of call n of a client. stop releases it.
func newPatience(ctx context.Context, n int64, limit time.Duration) (p *patience, stop func()) {
	longest, end := context.WithTimeout(ctx, longestCall)
	within, cancel := context.WithCancelCause(longest)
	p = &patience{Context: within, token: "call-" + strconv.FormatInt(n, 10), limit: limit}
	p.timer = time.AfterFunc(limit, func() { cancel(context.DeadlineExceeded) })
	return p, func() { p.timer.Stop(); cancel(nil); end() }
}

// Err implements context.Context: an end of the patience is a timeout.
func (p *patience) Err() error {
	if err := p.Context.Err(); err == nil || !errors.Is(context.Cause(p.Context), context.DeadlineExceeded) {
		return err
	}
	return context.DeadlineExceeded
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
		p.timer.Reset(p.limit)
	}
}
