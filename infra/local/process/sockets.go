package process

import (
	"context"
	"localaws/inproc"
	"localaws/websocket"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// socketPath is where clients connect, on the listener of the API.
const socketPath = "/realtime"

// newSockets returns what stands in for the template's WebSocket API.
func (p *Process) newSockets() *websocket.Gateway {
	api := p.template.Socket
	var actions []string
	for _, r := range api.Routes {
		if !strings.HasPrefix(r.Key, "$") { // those are the gateway's own: no client names them
			actions = append(actions, r.Key)
		}
	}
	return websocket.New(websocket.Options{
		API: p.names[api.ID], Stage: api.Stage, Routes: actions, Now: p.Clock, Log: p.log,
		Invoke: func(ctx context.Context, route string, event []byte) ([]byte, error) {
			out, failure, err := p.functions.task(ctx, api.Route(route), event)
			if failure != nil {
				return nil, failure
			}
			return out, err
		},
	})
}

// pushing is the management client's configuration. The endpoint is the one that
// a deployment has; it leads here.
func (p *Process) pushing() aws.Config {
	config := p.clients()
	config.HTTPClient, config.BaseEndpoint = inproc.Transport{Handler: p.sockets.Management()}, nil
	return config
}

// withSockets serves the upgrades of sockets, which do not pass the HTTP API: they
// have an API of their own.
func (p *Process) withSockets(api http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == socketPath && websocket.Upgrade(r) {
			p.sockets.ServeHTTP(w, r)
			return
		}
		api.ServeHTTP(w, r)
	})
}
