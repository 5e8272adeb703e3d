package process

import (
	"context"
	"localaws/inproc"
	"localaws/websocket"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// socketPath is the path of WebSocket connections on the listener of the API.
const socketPath = "/realtime"

// newSockets returns the gateway that replaces the template's WebSocket API.
func (p *Process) newSockets() *websocket.Gateway {
	api := p.template.Socket
	var actions []string
	for _, r := range api.Routes {
		if !strings.HasPrefix(r.Key, "$") { // routes of the gateway itself, which no client can name
			actions = append(actions, r.Key)
		}
	}
	return websocket.New(websocket.Options{
		API: p.names[api.ID], Stage: api.Stage, Routes: actions, Now: p.Clock, Log: p.log,
		Invoke: func(ctx context.Context, route string, event []byte) ([]byte, error) {
			out, failure, err := p.functions.call(ctx, api.Route(route), event)
			if failure != nil {
				return nil, failure
			}
			return out, err
		},
	})
}

// pushConfig returns the configuration of the management client. It keeps the endpoint of a
// deployment, and the transport leads to this process.
func (p *Process) pushConfig() aws.Config {
	config := p.clientConfig()
	config.HTTPClient, config.BaseEndpoint = inproc.Transport{Handler: p.sockets.Management()}, nil
	return config
}

// withSockets serves WebSocket upgrades here, because they do not pass through the HTTP API.
func (p *Process) withSockets(api http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == socketPath && websocket.Upgrade(r) {
			p.sockets.ServeHTTP(w, r)
			return
		}
		api.ServeHTTP(w, r)
	})
}
