package apigateway

import (
	"cmp"
	"encoding/base64"
	"maps"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"
)

// event is the event of a function: payload format 2.0.
type event struct {
	Version    string            `json:"version"`
	RouteKey   string            `json:"routeKey"`
	RawPath    string            `json:"rawPath"`
	RawQuery   string            `json:"rawQueryString"`
	Cookies    []string          `json:"cookies,omitempty"`
	Headers    map[string]string `json:"headers"`
	Query      map[string]string `json:"queryStringParameters,omitempty"`
	Context    requestContext    `json:"requestContext"`
	Parameters map[string]string `json:"pathParameters,omitempty"`
	Variables  map[string]string `json:"stageVariables,omitempty"`
	Body       string            `json:"body,omitempty"`
	Base64     bool              `json:"isBase64Encoded"`
}

type requestContext struct {
	Account      string             `json:"accountId"`
	API          string             `json:"apiId"`
	Authorizer   *authorizerContext `json:"authorizer,omitempty"`
	DomainName   string             `json:"domainName"`
	DomainPrefix string             `json:"domainPrefix"`
	HTTP         struct {
		Method    string `json:"method"`
		Path      string `json:"path"`
		Protocol  string `json:"protocol"`
		SourceIP  string `json:"sourceIp"`
		UserAgent string `json:"userAgent"`
	} `json:"http"`
	RequestID string `json:"requestId"`
	RouteKey  string `json:"routeKey"`
	Stage     string `json:"stage"`
	Time      string `json:"time"`
	TimeEpoch int64  `json:"timeEpoch"`
}

// authorizerContext is the authorizer's part of an event.
type authorizerContext struct {
	Lambda map[string]any `json:"lambda"`
}

const traceHeader = "x-amzn-trace-id"

// event returns the event of a request.
func (g *Gateway) event(r *http.Request, route Route, id string, body []byte) *event {
	o, at := g.options, g.options.Now()
	path := r.URL.Path // decoded: the HTTP API gives no other
	if o.Stage != defaultStage {
		path = "/" + o.Stage + path
	}
	e := &event{
		Version: "2.0", RouteKey: route.Key, RawPath: path, RawQuery: r.URL.RawQuery,
		Cookies: cookies(r.Header), Headers: g.headers(r, len(body)), Query: query(r.URL.RawQuery),
		Parameters: parameters(route.Path, r.URL.EscapedPath()), Variables: o.Variables,
	}
	e.Body, e.Base64 = encodeBody(r.Header, body)
	c := &e.Context
	c.Account, c.API, c.Stage, c.RequestID, c.RouteKey = o.Account, o.API, o.Stage, id, route.Key
	c.DomainName = domain(r.Host)
	c.DomainPrefix, _, _ = strings.Cut(c.DomainName, ".")
	c.Time, c.TimeEpoch = at.UTC().Format("02/Jan/2006:15:04:05 +0000"), at.UnixMilli()
	c.HTTP.Method, c.HTTP.Path, c.HTTP.Protocol = r.Method, path, r.Proto
	c.HTTP.SourceIP, c.HTTP.UserAgent = source(r), r.UserAgent()
	return e
}

// dropped lists the headers that belong to a connection, and not to the request.
var dropped = []string{"Connection", "Cookie", "Keep-Alive", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade"}

// headers returns a request's headers, with those that the gateway adds.
func (g *Gateway) headers(r *http.Request, length int) map[string]string {
	h := maps.Clone(r.Header)
	for _, name := range dropped {
		delete(h, name)
	}
	out := make(map[string]string, len(h)+6)
	for name, values := range h {
		out[strings.ToLower(name)] = strings.Join(values, ",")
	}
	out["host"] = r.Host
	if length > 0 || r.ContentLength == 0 && r.Header.Get("Content-Type") != "" {
		out["content-length"] = strconv.Itoa(length)
	}
	chain := source(r)
	if before := out["x-forwarded-for"]; before != "" {
		chain = before + ", " + chain
	}
	proto, port := "http", "80"
	if r.TLS != nil {
		proto, port = "https", "443"
	}
	if _, named, err := net.SplitHostPort(r.Host); err == nil {
		port = named
	}
	// On AWS, TLS ends at API Gateway. Here it may end at a proxy before the listener, and
	// responses need the URLs and cookies of that proxy.
	if forwarded := out["x-forwarded-proto"]; forwarded != "" && r.TLS == nil {
		proto, port = forwarded, cmp.Or(out["x-forwarded-port"], port)
	}
	out["x-forwarded-for"], out["x-forwarded-proto"], out["x-forwarded-port"] = chain, proto, port
	if out[traceHeader] == "" {
		out[traceHeader] = g.options.NewTrace(g.options.Now())
	}
	return out
}

// cookies returns the cookies of every Cookie header, one by one.
func cookies(h http.Header) []string {
	var list []string
	for _, line := range h.Values("Cookie") {
		for part := range strings.SplitSeq(line, ";") {
			if part = strings.TrimSpace(part); part != "" {
				list = append(list, part)
			}
		}
	}
	return list
}

// query returns the decoded parameters; repeated ones are joined. A pair with a wrong encoding is
// left out: it is in the raw query.
func query(raw string) map[string]string {
	out := map[string]string{}
	values, _ := url.ParseQuery(raw)
	for name, list := range values {
		out[name] = strings.Join(list, ",")
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// parameters returns the values in a path for the {names} of its route.
func parameters(route, escaped string) map[string]string {
	names, segments := strings.Split(route, "/"), strings.Split(escaped, "/")
	var out map[string]string
	for i, name := range names {
		if !strings.HasPrefix(name, "{") || i >= len(segments) {
			continue
		}
		value := segments[i]
		name = strings.Trim(name, "{}")
		if rest, ok := strings.CutSuffix(name, "+"); ok {
			name, value = rest, strings.Join(segments[i:], "/")
		}
		if plain, err := url.PathUnescape(value); err == nil {
			value = plain
		}
		if out == nil {
			out = map[string]string{}
		}
		out[name] = value
	}
	return out
}

// encodeBody returns a body in the form of an event: unchanged when its type is text, and in base64
// otherwise.
func encodeBody(h http.Header, body []byte) (text string, base64ed bool) {
	if len(body) == 0 {
		return "", false
	}
	if utf8.Valid(body) && h.Get("Content-Encoding") == "" && isText(h.Get("Content-Type")) {
		return string(body), false
	}
	return base64.StdEncoding.EncodeToString(body), true
}

// isText reports whether the HTTP API passes a content type unencoded. A form is passed in base64.
func isText(contentType string) bool {
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return false
	}
	switch media {
	case "application/json", "application/javascript", "application/xml":
		return true
	}
	return strings.HasPrefix(media, "text/")
}

// source returns the address of the client.
func source(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

func domain(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return host
}
