package gateway

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/aws/aws-lambda-go/events"

	"piloto/internal/access/auth"
	"piloto/internal/ground/fault"
	"piloto/internal/live/realtime"
)

// socketEvents are the events that Socket answers, by the route of the WebSocket
// API that each comes on. What a client says is all of one route: what it may say
// is the desk's to decide. The event decides what is done, and not the route,
// which a client's message may name.
var socketEvents = map[string]struct {
	route  string
	answer func(context.Context, *realtime.Handler, events.APIGatewayWebsocketProxyRequest) (int, error)
}{
	"CONNECT": {"$connect", func(ctx context.Context, d *realtime.Handler, e events.APIGatewayWebsocketProxyRequest) (int, error) {
		return admitted(d.Connect(ctx, visit(e)))
	}},
	"DISCONNECT": {"$disconnect", func(ctx context.Context, d *realtime.Handler, e events.APIGatewayWebsocketProxyRequest) (int, error) {
		return http.StatusOK, d.Leave(ctx, e.RequestContext.ConnectionID)
	}},
	"MESSAGE": {"$default", func(ctx context.Context, d *realtime.Handler, e events.APIGatewayWebsocketProxyRequest) (int, error) {
		return http.StatusOK, d.Receive(ctx, e.RequestContext.ConnectionID, said(e))
	}},
}

// SocketRoutes lists the routes of the events that Socket answers.
func SocketRoutes() []string {
	var routes []string
	for _, e := range socketEvents {
		routes = append(routes, e.route)
	}
	return routes
}

// ticketParameter names the ticket in the URL of a socket.
const ticketParameter = "ticket"

// Socket answers the events of API Gateway's WebSocket API with d. A client that
// may not connect is answered 401, 403 or 429, and why is not said. An error is of the
// store: API Gateway refuses the connection, or tells the client that it failed.
func Socket(d *realtime.Handler) func(context.Context, events.APIGatewayWebsocketProxyRequest) (events.APIGatewayProxyResponse, error) {
	return func(ctx context.Context, e events.APIGatewayWebsocketProxyRequest) (events.APIGatewayProxyResponse, error) {
		known, ok := socketEvents[e.RequestContext.EventType]
		if !ok {
			return events.APIGatewayProxyResponse{}, fmt.Errorf("gateway: no event %q", e.RequestContext.EventType)
		}
		status, err := known.answer(ctx, d, e)
		return events.APIGatewayProxyResponse{StatusCode: status}, err
	}
}

// admitted is the status that answers a client that wants to connect.
func admitted(err error) (int, error) {
	var refusal *fault.Error
	if !errors.As(err, &refusal) {
		return http.StatusOK, err
	}
	switch refusal.Kind {
	case fault.Unauthenticated:
		return http.StatusUnauthorized, nil
	case fault.Forbidden:
		return http.StatusForbidden, nil
	case fault.Throttled:
		return http.StatusTooManyRequests, nil
	}
	return http.StatusInternalServerError, err
}

// visit is who wants to connect. A cookie is nobody: other pages can send it. What
// stands twice is one text that no secret equals.
func visit(e events.APIGatewayWebsocketProxyRequest) realtime.ConnectRequest {
	header := http.Header{}
	for name, value := range e.Headers {
		header.Set(name, value)
	}
	for name, values := range e.MultiValueHeaders {
		header[http.CanonicalHeaderKey(name)] = slices.Clone(values)
	}
	v := realtime.ConnectRequest{ID: e.RequestContext.ConnectionID, Origins: header.Values("Origin"), Host: header.Get("Host"), Address: e.RequestContext.Identity.SourceIP}
	if v.Host == "" {
		v.Host = e.RequestContext.DomainName
	}
	if secrets, kind := credentials(header, v.Host); kind == auth.KindToken && len(secrets) > 0 {
		v.Token = secrets[0]
	}
	v.Ticket = e.QueryStringParameters[ticketParameter]
	if len(e.MultiValueQueryStringParameters[ticketParameter]) > 1 {
		v.Ticket = ""
	}
	return v
}

// said is what a client said. Bytes that are no text are nothing it may say.
func said(e events.APIGatewayWebsocketProxyRequest) string {
	if !e.IsBase64Encoded {
		return e.Body
	}
	text, err := base64.StdEncoding.DecodeString(e.Body)
	if err != nil {
		return ""
	}
	return string(text)
}
