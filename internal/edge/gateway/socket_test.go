package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"piloto/infra/local/fixture"
	"piloto/internal/access/auth"
	"piloto/internal/edge/gateway"
	"piloto/internal/ground/ids"
	"piloto/internal/live/realtime"
)

// silent is a management API that accepts every message.
type silent struct{ posts []string }

func (s *silent) Post(_ context.Context, _ string, frame []byte) error {
	s.posts = append(s.posts, string(frame))
	return nil
}

func (s *silent) Close(context.Context, string) error { return nil }

func TestASocketNeedsATicketOrAToken(t *testing.T) {
	store, at := fixture.Table(t), fixture.Epoch
	put := func(secret string, kind auth.Kind, parent string) {
		if err := store.Access.PutToken(t.Context(), auth.Token{
			Hash: ids.Hash(secret), Kind: kind, Account: "acme", User: "ana", Scopes: []auth.Scope{auth.ScopeChat}, Parent: parent,
			ExpiresAt: at.Add(time.Minute), CreatedAt: at,
		}); err != nil {
			t.Fatal(err)
		}
	}
	put("token", auth.KindToken, "")
	put("session", auth.KindSession, ids.Hash("token"))
	desk := &realtime.Handler{
		Connections: store.Access, Tokens: store.Access, Poster: &silent{}, Origins: []string{"https://page.example"},
		Now: func() time.Time { return at }, Log: slog.New(slog.DiscardHandler),
	}
	handle := gateway.Socket(desk)
	for name, c := range map[string]struct {
		event  string // without its context
		status int
	}{
		"a ticket":                 {`"queryStringParameters":{"ticket":"TICKET"}`, 200},
		"a ticket, said twice":     {`"queryStringParameters":{"ticket":"TICKET"},"multiValueQueryStringParameters":{"ticket":["TICKET","TICKET"]}`, 401},
		"a token":                  {`"headers":{"authorization":"Bearer token"}`, 200},
		"a token, in other form":   {`"headers":{"X-VX11-Token":"token"}`, 200},
		"a token as a ticket":      {`"queryStringParameters":{"ticket":"token"}`, 401},
		"the page's cookie":        {`"headers":{"Cookie":"__Host-piloto_session=session"}`, 401},
		"the cookie and a ticket":  {`"headers":{"Cookie":"__Host-piloto_session=session"},"queryStringParameters":{"ticket":"TICKET"}`, 200},
		"a session as a token":     {`"headers":{"Authorization":"Bearer session"}`, 401},
		"two tokens":               {`"multiValueHeaders":{"Authorization":["Bearer token","Bearer token"]}`, 401},
		"nothing":                  {`"headers":{}`, 401},
		"a bad token and a ticket": {`"headers":{"Authorization":"Bearer x"},"queryStringParameters":{"ticket":"TICKET"}`, 401},
		"a page that is known":     {`"headers":{"Origin":"https://page.example","Host":"h"},"queryStringParameters":{"ticket":"TICKET"}`, 200},
		"a page of the host":       {`"headers":{"Origin":"https://h","Host":"h"},"queryStringParameters":{"ticket":"TICKET"}`, 200},
		"a page of the domain":     {`"headers":{"Origin":"https://domain"},"queryStringParameters":{"ticket":"TICKET"}`, 200},
		"a page of elsewhere":      {`"headers":{"Origin":"https://evil.example","Host":"h"},"queryStringParameters":{"ticket":"TICKET"}`, 403},
		"two pages":                {`"multiValueHeaders":{"Origin":["https://page.example","https://evil.example"]},"queryStringParameters":{"ticket":"TICKET"}`, 403},
	} {
		t.Run(name, func(t *testing.T) {
			put("TICKET", auth.KindTicket, ids.Hash("token"))
			id := ids.Secret()
			var e events.APIGatewayWebsocketProxyRequest
			text := `{"requestContext":{"routeKey":"$connect","eventType":"CONNECT","connectionId":"` + id + `","domainName":"domain"},` + c.event + `}`
			if err := json.Unmarshal([]byte(text), &e); err != nil {
				t.Fatal(err)
			}
			out, err := handle(t.Context(), e)
			if err != nil || out.StatusCode != c.status || out.Body != "" || len(out.Headers) != 0 {
				t.Errorf("%+v, %v, want %d and not a word", out, err, c.status)
			}
			if _, err := store.Access.Connection(t.Context(), id); (err == nil) != (c.status == 200) {
				t.Errorf("the connection: %v", err)
			}
		})
	}
}

func TestASocketsMessageArrivesUnchanged(t *testing.T) {
	store, posts := fixture.Table(t), &silent{}
	desk := &realtime.Handler{
		Connections: store.Access, Tokens: store.Access, Poster: posts, Now: func() time.Time { return fixture.Epoch }, Log: slog.New(slog.DiscardHandler),
	}
	if err := store.Access.PutToken(t.Context(), auth.Token{Hash: "h", Kind: auth.KindToken, Account: "acme", User: "ana", CreatedAt: fixture.Epoch}); err != nil {
		t.Fatal(err)
	}
	if err := store.Access.AddConnection(t.Context(), realtime.Connection{
		Account: "acme", ID: "c", Parent: "h", ConnectedAt: fixture.Epoch, PingedAt: fixture.Epoch, ExpiresAt: fixture.Epoch.Add(time.Minute),
	}); err != nil {
		t.Fatal(err)
	}
	handle := gateway.Socket(desk)
	event := func(kind, body string, encoded bool) events.APIGatewayWebsocketProxyRequest {
		return events.APIGatewayWebsocketProxyRequest{
			RequestContext: events.APIGatewayWebsocketProxyRequestContext{EventType: kind, ConnectionID: "c"}, Body: body, IsBase64Encoded: encoded,
		}
	}
	for _, c := range []struct {
		body    string
		encoded bool
		pong    bool
	}{
		{`{"action":"ping"}`, false, true}, {"eyJhY3Rpb24iOiJwaW5nIn0=", true, true}, {"%%%", true, false}, {"", false, false},
	} {
		posts.posts = nil
		if out, err := handle(t.Context(), event("MESSAGE", c.body, c.encoded)); err != nil || out.StatusCode != 200 {
			t.Errorf("%q: %+v, %v", c.body, out, err)
		}
		var told struct {
			Type string `json:"type"`
		}
		if len(posts.posts) != 1 || json.Unmarshal([]byte(posts.posts[0]), &told) != nil || (told.Type == "pong") != c.pong {
			t.Errorf("%q: told %v", c.body, posts.posts)
		}
	}
	if _, err := handle(t.Context(), event("PING", "", false)); err == nil {
		t.Error("an event of no one is answered")
	}
	if out, err := handle(t.Context(), event("DISCONNECT", "", false)); err != nil || out.StatusCode != 200 {
		t.Errorf("%+v, %v", out, err)
	}
	if _, err := store.Access.Connection(t.Context(), "c"); !errors.Is(err, realtime.ErrGone) {
		t.Error(err)
	}
}

// TestAFailingStoreRefusesConnections.
func TestAFailingStoreRefusesConnections(t *testing.T) {
	store := fixture.Table(t)
	desk := &realtime.Handler{
		Connections: store.Access, Tokens: store.Access, Poster: &silent{}, Now: func() time.Time { return fixture.Epoch }, Log: slog.New(slog.DiscardHandler),
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, kind := range []string{"CONNECT", "DISCONNECT", "MESSAGE"} {
		if out, err := gateway.Socket(desk)(canceled, events.APIGatewayWebsocketProxyRequest{
			Headers:        map[string]string{"Authorization": "Bearer t"},
			RequestContext: events.APIGatewayWebsocketProxyRequestContext{EventType: kind, ConnectionID: "c"},
		}); err == nil {
			t.Errorf("%s: %+v", kind, out)
		}
	}
}
