package mcp

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"piloto/internal/tools/tool"
)

// Limits of a discovery.
const (
	totalTime   = 60 * time.Second
	requestTime = 10 * time.Second
	maxTimeouts = 2 // after which the server is taken to be away
)

// Discoverer lists what a server offers. Client must be one that is guarded; it is
// never redirected. It implements tool.Discoverer.
type Discoverer struct {
	Client *http.Client
	Bearer Exchanger
	Each   time.Duration // of one exchange; default 10 s
	Total  time.Duration // of a discovery; default 60 s
}

// Discover connects to the server at a target, lists its tools, and says where and
// how it was reached: at the address itself or, when that is only a host, at the
// places where servers usually are.
func (d Discoverer) Discover(ctx context.Context, t tool.Target) (tool.Found, error) {
	within, cancel := context.WithTimeout(ctx, cmp.Or(d.Total, totalTime))
	defer cancel()
	found, err := d.search(within, t)
	switch {
	case err == nil:
		return found, nil
	case ctx.Err() != nil: // the caller went away: that says nothing about the server
		return tool.Found{}, ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		return tool.Found{}, tool.ErrUnreachable.With("reason", "timeout")
	}
	return tool.Found{}, err
}

func (d Discoverer) search(ctx context.Context, t tool.Target) (tool.Found, error) {
	places, err := places(t.Base)
	if err != nil {
		return tool.Found{}, err
	}
	w := newWire(d.Client, cmp.Or(d.Each, requestTime))
	var why error
	timeouts := 0
	for _, at := range places {
		found, err := d.visit(ctx, w, at, t.Key)
		if err == nil {
			return found, nil
		}
		if why == nil || weight(err) > weight(why) {
			why = err
		}
		if causeOf(err) == "timeout" {
			timeouts++
		}
		if ctx.Err() != nil || over(err) || timeouts >= maxTimeouts {
			break
		}
	}
	return tool.Found{}, why
}

// over reports whether the other places cannot be reached either: they are all on
// one host.
func over(err error) bool {
	switch causeOf(err) {
	case "target", "dns", "refused", "tls", "token":
		return true
	}
	return errors.Is(err, tool.ErrRequest) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// weight says which of two failures tells more: that of a server that understood.
func weight(err error) int {
	switch {
	case errors.Is(err, tool.ErrRefusedUs), errors.Is(err, tool.ErrRequest), errors.Is(err, tool.ErrTarget):
		return 4
	case errors.Is(err, tool.ErrSpeech) && speaks(err):
		return 3
	case errors.Is(err, tool.ErrUnreachable):
		return 2
	}
	return 1
}

// places are where a server may be, in the order in which they are tried. A
// framework that wants a slash at the end redirects, and that is not followed.
func places(base string) ([]string, error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" {
		return nil, tool.ErrURL.With("reason", "form")
	}
	base = strings.TrimSuffix(base, "/")
	list := []string{base, base + "/"}
	if strings.Trim(u.Path, "/") == "" {
		list = []string{base, base + "/mcp", base + "/sse", base + "/mcp/", base + "/sse/"}
	} else if strings.HasSuffix(u.Path, "/") { // it is known to be there
		slices.Reverse(list)
	}
	return list, nil
}

// visit lists the tools of the server at one place: over Streamable HTTP, or as in
// 2024-11-05 when it does not take that.
func (d Discoverer) visit(ctx context.Context, w *wire, at string, key *tool.Credential) (tool.Found, error) {
	for attempt := 0; ; attempt++ {
		sent, err := exchanged(ctx, d.Bearer, key)
		if errors.Is(err, tool.ErrNotSent) {
			err = tool.ErrUnreachable.With("reason", "token").Because(err)
		}
		if err != nil {
			return tool.Found{}, err
		}
		found, err := listAt(ctx, w, at, tool.TransportStreamable, sent)
		if noStreamable(err) {
			if old, errOld := listAt(ctx, w, at, tool.TransportSSE, sent); errOld == nil || weight(errOld) > weight(err) {
				found, err = old, errOld
			}
		}
		if errors.Is(err, tool.ErrRefusedUs) && attempt == 0 && forget(d.Bearer, key, sent) {
			continue
		}
		return found, err
	}
}

// listAt lists the tools of a server at an address, over one transport.
func listAt(ctx context.Context, w *wire, at string, via tool.Transport, key *tool.Credential) (tool.Found, error) {
	e := newErrand(at, key)
	within := ctx
	if via == tool.TransportSSE { // no exchange of its own bounds the wait for an answer on the stream
		var cancel context.CancelFunc
		within, cancel = context.WithTimeout(ctx, w.timeout)
		defer cancel()
	}
	s, err := open(within, w, via, e)
	if err != nil {
		return tool.Found{}, unavailable(ctx, e, err)
	}
	defer s.close()
	e = s.errand(key)
	l, err := s.list(within, e)
	if err != nil {
		return tool.Found{}, unavailable(ctx, e, err)
	}
	ops, warnings := operations(l, true)
	return tool.Found{BaseURL: at, Transport: via, Title: plain(s.title(), false), Operations: ops, Warnings: warnings}, nil
}
