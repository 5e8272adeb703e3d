package mcp

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"piloto/internal/ground/meaning"
	"piloto/internal/ground/retry"
)

// Limits for resuming a broken stream. A server may end its streams at any time, and name the pause before the next
// request. A server that cannot be reached is asked a few times.
const (
	lastEventHeader = "Last-Event-Id"
	maxEventID      = 1 << 10 // bytes
	maxResumed      = 60      // streams of one exchange
	maxLost         = 4       // failed requests in a row
	usualRetry      = time.Second
	leastRetry      = 100 * time.Millisecond
	mostRetry       = 10 * time.Second
)

// errEnded means that a stream cannot be resumed.
var errEnded = errors.New("the stream cannot be resumed")

// resume requests the rest of a stream whose last event had an id. The request has no effect: the posted message is
// not posted again.
func (w *wire) resume(ctx context.Context, of *http.Request, e *exchanges, x *exchange, s *events) (io.ReadCloser, error) {
	wait := min(max(s.retry, leastRetry), mostRetry)
	for range maxLost {
		if err := retry.Wait(ctx, wait); err != nil {
			return nil, err
		}
		rest, err := w.requestRest(ctx, of, e, x, s.id)
		if err == nil || errors.Is(err, errEnded) {
			return rest, err
		}
		wait = min(2*wait, mostRetry)
	}
	return nil, errEnded
}

// requestRest sends one such request. It returns errEnded when the server has no such stream.
func (w *wire) requestRest(ctx context.Context, of *http.Request, e *exchanges, x *exchange, after string) (io.ReadCloser, error) {
	req := of.Clone(ctx)
	req.Method = http.MethodGet
	for name := range req.Header {
		if strings.HasPrefix(name, "Mcp-") && name != "Mcp-Protocol-Version" && name != sessionHeader || strings.HasPrefix(name, "Content-") {
			delete(req.Header, name) // they belong to the posted message
		}
	}
	req.Header.Set("Accept", eventStream)
	req.Header.Set(lastEventHeader, after)
	out, err := w.outgoingRequest(watch(ctx, x), req, nil, e)
	if err != nil {
		return nil, errEnded
	}
	res, err := w.reads.RoundTrip(out)
	if err != nil {
		return nil, err
	}
	if res.StatusCode == http.StatusOK && mediaType(res.Header) == eventStream {
		return res.Body, nil
	}
	_ = res.Body.Close()
	if meaning.Passes(res.StatusCode, false) {
		return nil, errNoReply // for now: the caller retries
	}
	return nil, errEnded
}
