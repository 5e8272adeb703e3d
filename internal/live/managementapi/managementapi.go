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
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"piloto/internal/ground/signed"
	"piloto/internal/live/realtime"
)

// maxAnswer is how much of an answer is read: it says nothing that is needed.
const maxAnswer = 1 << 10

// Poster implements realtime.Poster.
type Poster struct{ client *signed.Client }

// New returns the Poster of one stage of a WebSocket API. Its management endpoint is
// https://{api}.execute-api.{region}.amazonaws.com/{stage}, unless the configuration has another
// one.
func New(config aws.Config, endpoint string, now func() time.Time) *Poster {
	return &Poster{signed.New(config, "execute-api", endpoint, now)}
}

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
	answer, err := p.client.Do(ctx, method, "/@connections/"+url.QueryEscape(id), frame, maxAnswer)
	if err != nil {
		return err
	}
	failed := fmt.Errorf("execute-api: %d %s", answer.Status, answer.Kind)
	switch status := answer.Status; {
	case status/100 == 2:
		return nil
	case status == http.StatusGone:
		return fmt.Errorf("%w: %w", realtime.ErrGone, failed)
	case status >= 400 && status < 500 && status != http.StatusTooManyRequests && status != http.StatusRequestTimeout:
		return fmt.Errorf("%w: %w", realtime.ErrRefused, failed)
	}
	return failed
}
