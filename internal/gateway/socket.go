package gateway

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/aws/aws-lambda-go/events"

	"piloto/internal/auth"
	"piloto/internal/fault"
	"piloto/internal/realtime"
)

// The routes of the WebSocket API. What a client says is all of one route: what
// it may say is the desk's to decide.
const (
	RouteConnect    = "$connect"
	RouteDisconnect = "$disconnect"
	RouteDefault    = "$default"
)

// SocketRoutes lists the routes that Socket answers.
func SocketRoutes() []string { return []string{RouteConnect, RouteDisconnect, RouteDefault} }

// ticketParameter names the ticket in the URL of a socket.
const ticketParameter = "ticket"

// Socket answers the events of API Gateway's WebSocket API with d. A client that
// may not connect is answered 401 or 403, and why is not said. An error is of the
// store: API Gateway refuses the connection, or tells the client that it failed.
func Socket(d *realtime.Desk) func(context.Context, events.APIGatewayWebsocketProxyRequest) (events.APIGatewayProxyResponse, error) {
	return func(ctx context.Context, e events.APIGatewayWebsocketProxyRequest) (events.APIGatewayProxyResponse, error) {
		status, err := http.StatusOK, error(nil)
		id := e.RequestContext.ConnectionID
		switch e.RequestContext.EventType { // and not by the route, which a client's message may name
		case "CONNECT":
			status, err = admitted(d.Connect(ctx, visit(e)))
		case "DISCONNECT":
			err = d.Leave(ctx, id)
		case "MESSAGE":
			err = d.Receive(ctx, id, said(e))
		default:
			err = fmt.Errorf("gateway: no event %q", e.RequestContext.EventType)
		}
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
	}
	return http.StatusInternalServerError, err
}

// visit is who wants to connect. A cookie is nobody: other pages can send it. What
// stands twice is one text that no secret equals.
func visit(e events.APIGatewayWebsocketProxyRequest) realtime.Visit {
	header := http.Header{}
	for name, value := range e.Headers {
		header.Set(name, value)
	}
	for name, values := range e.MultiValueHeaders {
		header[http.CanonicalHeaderKey(name)] = slices.Clone(values)
	}
	v := realtime.Visit{ID: e.RequestContext.ConnectionID, Origins: header.Values("Origin"), Host: header.Get("Host")}
	if v.Host == "" {
		v.Host = e.RequestContext.DomainName
	}
	if secret, kind := credential(header); kind == auth.KindToken {
		v.Token = secret
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
