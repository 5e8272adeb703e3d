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

// socketEvents are the events that Socket handles, with the route of the WebSocket API for each. All messages of
// clients have one route; the desk checks their content. The event type selects the handler and not the route,
// because a client's message can name a route.
var socketEvents = map[string]struct {
	route  string
	answer func(context.Context, *realtime.Handler, events.APIGatewayWebsocketProxyRequest) (int, error)
}{
	"CONNECT": {"$connect", func(ctx context.Context, d *realtime.Handler, e events.APIGatewayWebsocketProxyRequest) (int, error) {
		return connectStatus(d.Connect(ctx, visit(e)))
	}},
	"DISCONNECT": {"$disconnect", func(ctx context.Context, d *realtime.Handler, e events.APIGatewayWebsocketProxyRequest) (int, error) {
		return http.StatusOK, d.Leave(ctx, e.RequestContext.ConnectionID)
	}},
	"MESSAGE": {"$default", func(ctx context.Context, d *realtime.Handler, e events.APIGatewayWebsocketProxyRequest) (int, error) {
		return http.StatusOK, d.Receive(ctx, e.RequestContext.ConnectionID, messageText(e))
	}},
}

// SocketRoutes lists the routes of the events that Socket handles.
func SocketRoutes() []string {
	var routes []string
	for _, e := range socketEvents {
		routes = append(routes, e.route)
	}
	return routes
}

// ticketParameter is the query parameter with the ticket in the URL of a socket.
const ticketParameter = "ticket"

// Socket handles the events of API Gateway's WebSocket API with d. A client that may not connect gets 401, 403 or
// 429 without a reason. An error comes from the store: API Gateway then refuses the connection, or reports a
// failure to the client.
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

// connectStatus returns the status of the response to a connection attempt.
func connectStatus(err error) (int, error) {
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

// visit returns the data of a connection attempt. Cookies are ignored, because other pages can send them. A
// repeated header is one text that equals no secret.
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

// messageText returns the text of a client's message; "" for bytes that cannot be decoded.
func messageText(e events.APIGatewayWebsocketProxyRequest) string {
	if !e.IsBase64Encoded {
		return e.Body
	}
	text, err := base64.StdEncoding.DecodeString(e.Body)
	if err != nil {
		return ""
	}
	return string(text)
}
