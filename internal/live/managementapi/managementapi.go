// Package managementapi sends frames to connected clients through API Gateway's management API.
//
// Invariants: one call is one attempt, so that the caller decides about retries and timeouts. An
// error is realtime.ErrGone, realtime.ErrRefused, or another error that a retry may resolve.
package managementapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"piloto/internal/ground/meaning"
	"piloto/internal/live/realtime"
)

// maxAnswer is how much of an answer is read: it says nothing that is needed.
const maxAnswer = 1 << 10

// API sends a request to the management API of one stage of a WebSocket API, at
// https://{api}.execute-api.{region}.amazonaws.com/{stage}. It returns the status, the headers and at most most+1 bytes of
// the answer (package signed).
type API interface {
	Do(ctx context.Context, method, path string, body []byte, most int64) (int, http.Header, []byte, error)
}

// Poster implements realtime.Poster.
type Poster struct{ API API }

// Post sends a text frame to a client.
func (p *Poster) Post(ctx context.Context, id string, frame []byte) error {
	return p.send(ctx, http.MethodPost, id, frame)
}

// Close ends a connection. A missing one is no error.
func (p *Poster) Close(ctx context.Context, id string) error {
	err := p.send(ctx, http.MethodDelete, id, nil)
	if errors.Is(err, realtime.ErrGone) {
		return nil
	}
	return err
}

// send makes a request about a connection, and maps its answer to the errors of package realtime.
func (p *Poster) send(ctx context.Context, method, id string, frame []byte) error {
	status, header, _, err := p.API.Do(ctx, method, "/@connections/"+url.QueryEscape(id), frame, maxAnswer)
	if err != nil {
		return err
	}
	failed := fmt.Errorf("execute-api: %d %s", status, header.Get("X-Amzn-Errortype"))
	switch m := meaning.Of(status, false); {
	case m == meaning.Done:
		return nil
	case meaning.Gone(status):
		return fmt.Errorf("%w: %w", realtime.ErrGone, failed)
	case m == meaning.Refused:
		return fmt.Errorf("%w: %w", realtime.ErrRefused, failed)
	}
	return failed
}
