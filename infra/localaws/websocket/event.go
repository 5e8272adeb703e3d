package websocket

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/coder/websocket"
)

// event is the event of a function: API Gateway's proxy event of a WebSocket API.
type event struct {
	Headers           map[string]string   `json:"headers,omitempty"`
	MultiValueHeaders map[string][]string `json:"multiValueHeaders,omitempty"`
	Query             map[string]string   `json:"queryStringParameters,omitempty"`
	MultiValueQuery   map[string][]string `json:"multiValueQueryStringParameters,omitempty"`
	RequestContext    requestContext      `json:"requestContext"`
	Body              string              `json:"body,omitempty"`
	IsBase64Encoded   bool                `json:"isBase64Encoded"`
}

type requestContext struct {
	RouteKey         string `json:"routeKey"`
	EventType        string `json:"eventType"`
	MessageID        string `json:"messageId,omitempty"`
	MessageDirection string `json:"messageDirection"`
	RequestID        string `json:"requestId"`
	ExtendedID       string `json:"extendedRequestId"`
	RequestTime      string `json:"requestTime"`
	RequestTimeEpoch int64  `json:"requestTimeEpoch"`
	ConnectedAt      int64  `json:"connectedAt"`
	ConnectionID     string `json:"connectionId"`
	API              string `json:"apiId"`
	Stage            string `json:"stage"`
	Domain           string `json:"domainName"`
	Identity         struct {
		SourceIP  string `json:"sourceIp"`
		UserAgent string `json:"userAgent,omitempty"`
	} `json:"identity"`
	DisconnectStatus int    `json:"disconnectStatusCode,omitempty"`
	DisconnectReason string `json:"disconnectReason,omitempty"`
}

func (c *client) event(route, kind string) event {
	at, request := c.gateway.options.Now(), newID()
	e := event{RequestContext: requestContext{
		RouteKey: route, EventType: kind, MessageDirection: "IN", RequestID: request, ExtendedID: request,
		RequestTime: at.UTC().Format("02/Jan/2006:15:04:05 +0000"), RequestTimeEpoch: at.UnixMilli(),
		ConnectedAt: c.connected.UnixMilli(), ConnectionID: c.id,
		API: c.gateway.options.API, Stage: c.gateway.options.Stage, Domain: c.domain,
	}}
	e.RequestContext.Identity.SourceIP, e.RequestContext.Identity.UserAgent = c.source, c.agent
	return e
}

// connectEvent returns the event of a connection, with the headers and the query of the upgrade
// request.
func connectEvent(c *client, r *http.Request) event {
	e := c.event("$connect", "CONNECT")
	header := r.Header.Clone()
	header.Set("Host", r.Host)
	e.Headers, e.MultiValueHeaders = lastValues(header), header
	if query, err := url.ParseQuery(r.URL.RawQuery); err == nil && len(query) > 0 {
		e.Query, e.MultiValueQuery = lastValues(query), query
	}
	return e
}

// lastValues returns the last value of each name.
func lastValues(of map[string][]string) map[string]string {
	one := make(map[string]string, len(of))
	for name, values := range of {
		if len(values) > 0 {
			one[name] = values[len(values)-1]
		}
	}
	return one
}

func messageEvent(c *client, route string, kind websocket.MessageType, data []byte) event {
	e := c.event(route, "MESSAGE")
	e.RequestContext.MessageID = newID()
	if kind == websocket.MessageText && utf8.Valid(data) {
		e.Body = string(data)
		return e
	}
	e.Body, e.IsBase64Encoded = base64.StdEncoding.EncodeToString(data), true
	return e
}

func disconnectEvent(c *client, code websocket.StatusCode, reason string) event {
	e := c.event("$disconnect", "DISCONNECT")
	e.RequestContext.DisconnectStatus, e.RequestContext.DisconnectReason = int(code), reason
	return e
}

// headerHas reports whether a header lists a word.
func headerHas(h http.Header, name, word string) bool {
	for _, value := range h.Values(name) {
		for part := range strings.SplitSeq(value, ",") {
			if strings.EqualFold(strings.TrimSpace(part), word) {
				return true
			}
		}
	}
	return false
}

// timestamp writes a time in the format of the management API.
func timestamp(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000Z") }
