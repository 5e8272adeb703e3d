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

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/apigatewaymanagementapi"

	"piloto/internal/live/realtime"
)

// Poster implements realtime.Poster.
type Poster struct {
	client *apigatewaymanagementapi.Client
}

// New returns the Poster of one stage of a WebSocket API. Its management endpoint is
// https://{api}.execute-api.{region}.amazonaws.com/{stage}, unless the configuration has another
// one.
func New(config aws.Config, endpoint string) *Poster {
	return &Poster{apigatewaymanagementapi.NewFromConfig(config, func(o *apigatewaymanagementapi.Options) {
		if o.BaseEndpoint == nil {
			o.BaseEndpoint = &endpoint
		}
		o.Retryer = aws.NopRetryer{}
	})}
}

// Post sends a text frame to a client.
func (p *Poster) Post(ctx context.Context, id string, frame []byte) error {
	_, err := p.client.PostToConnection(ctx, &apigatewaymanagementapi.PostToConnectionInput{ConnectionId: &id, Data: frame})
	return classify(err)
}

// Close ends a connection. A missing one is no error.
func (p *Poster) Close(ctx context.Context, id string) error {
	_, err := p.client.DeleteConnection(ctx, &apigatewaymanagementapi.DeleteConnectionInput{ConnectionId: &id})
	if err = classify(err); errors.Is(err, realtime.ErrGone) {
		return nil
	}
	return err
}

// classify maps a response to the errors of package realtime.
func classify(err error) error {
	if err == nil {
		return nil
	}
	var answer interface{ HTTPStatusCode() int }
	if !errors.As(err, &answer) {
		return err // there was no response
	}
	switch status := answer.HTTPStatusCode(); {
	case status == http.StatusGone:
		return fmt.Errorf("%w: %w", realtime.ErrGone, err)
	case status >= 400 && status < 500 && status != http.StatusTooManyRequests && status != http.StatusRequestTimeout:
		return fmt.Errorf("%w: %w", realtime.ErrRefused, err)
	}
	return err
}
