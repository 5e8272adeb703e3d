package mcp

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"piloto/internal/ground/fault"
	"piloto/internal/tools/tool"
)

// Limits of a discovery.
const (
	totalTime   = 60 * time.Second
	requestTime = 10 * time.Second
	maxTimeouts = 2 // after this number the server counts as unreachable
)

// Discoverer lists the tools of a server. Client must be guarded; redirects are not followed. It implements
// tool.Discoverer.
type Discoverer struct {
	Client *http.Client
	Bearer Exchanger
	Each   time.Duration // of one exchange; default 10 s
	Total  time.Duration // of a discovery; default 60 s
}

// Discover connects to the server at a target, lists its tools, and returns the address and transport that worked.
// It tries the address itself and, when that is only a host, the usual paths of MCP servers.
func (d Discoverer) Discover(ctx context.Context, t tool.Target) (tool.Found, error) {
	within, cancel := context.WithTimeout(ctx, cmp.Or(d.Total, totalTime))
	defer cancel()
	found, err := d.search(within, t)
	switch {
	case err == nil:
		return found, nil
	case ctx.Err() != nil: // the caller left: it proves nothing about the server
		return tool.Found{}, ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		return tool.Found{}, tool.ErrUnreachable.With("reason", "timeout")
	}
	return tool.Found{}, err
}

func (d Discoverer) search(ctx context.Context, t tool.Target) (tool.Found, error) {
	candidates, err := candidateURLs(t.Base)
	if err != nil {
		return tool.Found{}, err
	}
	w := newWire(d.Client, cmp.Or(d.Each, requestTime))
	var why error
	timeouts := 0
	for _, at := range candidates {
		found, err := d.visit(ctx, w, at, t.Keys)
		if err == nil {
			return found, nil
		}
		if why == nil || weight(err) > weight(why) {
			why = err
		}
		if causeOf(err) == "timeout" {
			timeouts++
		}
		if ctx.Err() != nil || hostFailed(err) || timeouts >= maxTimeouts {
			break
		}
	}
	return tool.Found{}, why
}

// hostFailed reports whether no other address is to be tried: none can be reached, because they are all on one host, or the
// server was found.
func hostFailed(err error) bool {
	switch causeOf(err) {
	case "target", "dns", "refused", "tls", "token":
		return true
	}
	return fault.Of(err).Args["page"] != "" || errors.Is(err, tool.ErrRequest) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// weight ranks failures by how much they explain. A failure of a server that understood the request ranks highest.
func weight(err error) int {
	switch {
	case isUnauthorized(err), errors.Is(err, tool.ErrRequest), errors.Is(err, tool.ErrTarget):
		return 4
	case errors.Is(err, tool.ErrProtocol) && speaksProtocol(err):
		return 3
	case errors.Is(err, tool.ErrUnreachable):
		return 2
	}
	return 1
}

// candidateURLs returns the addresses where a server may be, in the order in which they are tried. They include one
// with a slash at the end, because some frameworks redirect to it, and redirects are not followed.
func candidateURLs(base string) ([]string, error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" {
		return nil, tool.ErrURL.With("reason", "form")
	}
	base = strings.TrimSuffix(base, "/")
	list := []string{base, base + "/"}
	if strings.Trim(u.Path, "/") == "" {
		list = []string{base, base + "/mcp", base + "/sse", base + "/mcp/", base + "/sse/"}
	} else if strings.HasSuffix(u.Path, "/") { // the server was found there before
		slices.Reverse(list)
	}
	return list, nil
}

// visit lists the tools of the server at one address: over Streamable HTTP, or over the transport of 2024-11-05
// when the server does not accept that.
func (d Discoverer) visit(ctx context.Context, w *wire, at string, keys tool.Keys) (tool.Found, error) {
	for attempt := 0; ; attempt++ {
		sent, err := exchangeKeys(ctx, d.Bearer, keys)
		if errors.Is(err, tool.ErrNotSent) {
			err = tool.ErrUnreachable.With("reason", "token").Because(err)
		}
		if err != nil {
			return tool.Found{}, err
		}
		over := func(via tool.Transport) (tool.Found, error) {
			e := newExchanges(at, sent)
			e.exchanged = keys.Exchanged()
			return list(ctx, w, via, e)
		}
		found, err := over(tool.TransportStreamable)
		if noStreamable(err) {
			if old, errOld := over(tool.TransportSSE); errOld == nil || weight(errOld) > weight(err) {
				found, err = old, errOld
			}
		}
		if errors.Is(err, tool.ErrUnauthorized) && attempt == 0 && forget(d.Bearer, keys, sent) {
			continue
		}
		return found, err
	}
}

// ofPage says of the failure of a later page that it is one: the server speaks the protocol, and is found.
func ofPage(page int, err error) error {
	f := fault.Of(err)
	if page < 2 || !errors.Is(err, tool.ErrUnreachable) && !errors.Is(err, tool.ErrProtocol) {
		return err
	}
	return f.With("reason", "page_of_list").With("page", strconv.Itoa(page))
}

// list lists the tools of a server over one transport.
func list(ctx context.Context, w *wire, via tool.Transport, e *exchanges) (tool.Found, error) {
	within := ctx
	if via == tool.TransportSSE { // on a stream no timeout of a single exchange limits the wait for an answer
		var cancel context.CancelFunc
		within, cancel = context.WithTimeout(ctx, w.timeout)
		defer cancel()
	}
	s, err := open(within, w, via, e)
	if err != nil {
		return tool.Found{}, unavailable(ctx, e, err)
	}
	defer s.close()
	e = s.exchanges(e.keys)
	l, err := s.list(within, e)
	if err != nil {
		return tool.Found{}, ofPage(l.page, unavailable(ctx, e, err))
	}
	ops, warnings := operations(l, true)
	return tool.Found{BaseURL: e.base, Transport: via, Title: plainText(s.title(), false), Operations: ops, Warnings: warnings}, nil
}
