// Package managementapi reaches connected clients through API Gateway's management API.
//
// What stays true: one call is one attempt, so that whoever calls decides how
// often and how long; and an error says whether the client is gone, whether it is
// no use to try again, or neither.
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

// New returns the poster of one stage of a WebSocket API: its management endpoint
// is https://{api}.execute-api.{region}.amazonaws.com/{stage}, unless the
// configuration has another.
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
	return classified(err)
}

// Close ends a connection; one that is gone is closed already.
func (p *Poster) Close(ctx context.Context, id string) error {
	_, err := p.client.DeleteConnection(ctx, &apigatewaymanagementapi.DeleteConnectionInput{ConnectionId: &id})
	if err = classified(err); errors.Is(err, realtime.ErrGone) {
		return nil
	}
	return err
}

// classified says what an answer means for whoever asks again.
func classified(err error) error {
	if err == nil {
		return nil
	}
	var answer interface{ HTTPStatusCode() int }
	if !errors.As(err, &answer) {
		return err // there was none
	}
	switch status := answer.HTTPStatusCode(); {
	case status == http.StatusGone:
		return fmt.Errorf("%w: %w", realtime.ErrGone, err)
	case status >= 400 && status < 500 && status != http.StatusTooManyRequests && status != http.StatusRequestTimeout:
		return fmt.Errorf("%w: %w", realtime.ErrRefused, err)
	}
	return err
}
