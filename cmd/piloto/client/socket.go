package client

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/coder/websocket"

	"piloto/internal/edge/httpapi"
)

// ErrOtherSocket means that the socket of a deployment is at an address that is neither its own nor the one that login stored.
var ErrOtherSocket = errors.New("the socket is at an address that is not the deployment's")

// dialTimeout is the longest time that opening a socket may take.
const dialTimeout = 5 * time.Second

// ofAWS is the host of an API of API Gateway: a deployment on AWS has its WebSocket API there, also with a host name of
// its own.
var ofAWS = regexp.MustCompile(`^[a-z0-9]{6,20}\.execute-api\.[a-z0-9-]{5,32}\.amazonaws\.com(\.cn)?$`)

// Socket opens the socket of the deployment, and returns an open connection. It is dialled only at the deployment's own origin, or at
// Live; else it returns ErrOtherSocket. The token is not sent there: the address has a ticket that is good once.
func (c *Client) Socket(ctx context.Context) (*websocket.Conn, error) {
	at, err := c.socketAddress(ctx)
	if err != nil {
		return nil, err
	}
	if host := liveOf(at); host != c.own() && (c.Live == "" || host != c.Live) {
		return nil, ErrOtherSocket
	}
	dialing, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	own := &http.Client{Transport: c.http.Transport, CheckRedirect: c.http.CheckRedirect}
	conn, answer, err := websocket.Dial(dialing, at.String(), &websocket.DialOptions{HTTPClient: own})
	if answer != nil && answer.Body != nil && err != nil {
		_ = answer.Body.Close()
	}
	return conn, err
}

// LiveOrigin returns the origin of the deployment's socket (wss://host) when that is another one than its own, as login stores it;
// else "". Only a deployment on AWS has one, at API Gateway: another address is ErrOtherSocket.
func (c *Client) LiveOrigin(ctx context.Context) (string, error) {
	at, err := c.socketAddress(ctx)
	if err != nil {
		return "", err
	}
	switch origin := liveOf(at); {
	case origin == c.own():
		return "", nil
	case at.Scheme == "wss" && at.Port() == "" && ofAWS.MatchString(at.Hostname()):
		return origin, nil
	}
	return "", ErrOtherSocket
}

// socketAddress asks the deployment for the address of its socket.
func (c *Client) socketAddress(ctx context.Context) (*url.URL, error) {
	got, err := Post[httpapi.RealtimeAnswer](ctx, c, "/api/realtime", nil)
	if err != nil {
		return nil, err
	}
	at, err := url.Parse(got.URL)
	if err != nil || at.User != nil || at.Host == "" {
		return nil, ErrOtherSocket
	}
	return at, nil
}

// own returns the origin of a socket at the deployment's own address.
func (c *Client) own() string {
	u, err := url.Parse(c.Origin)
	if err != nil {
		return ""
	}
	u.Scheme = map[string]string{"https": "wss", "http": "ws"}[u.Scheme]
	return liveOf(u)
}

// liveOf returns the scheme and the authority of an address, without the port that is the usual one.
func liveOf(u *url.URL) string {
	host := strings.ToLower(u.Host)
	if u.Scheme == "wss" {
		host = strings.TrimSuffix(host, ":443")
	} else {
		host = strings.TrimSuffix(host, ":80")
	}
	return u.Scheme + "://" + host
}
