package gateway

import (
	"context"
	"encoding/base64"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/aws/aws-lambda-go/events"
)

// request converts an event into the HTTP request that was sent. It fails only when the body is marked as base64
// and is not.
func (edge Edge) request(ctx context.Context, e events.APIGatewayV2HTTPRequest) (*http.Request, error) {
	body := []byte(e.Body)
	if e.IsBase64Encoded {
		decoded, err := base64.StdEncoding.DecodeString(e.Body)
		if err != nil {
			return nil, err
		}
		body = decoded
	}
	target := location(e)
	header := headers(e.Headers, e.Cookies)
	host := header.Get("Host")
	if host == "" {
		host = e.RequestContext.DomainName
	}
	header.Del("Host")
	host, address := edge.sender(header, host, e.RequestContext.HTTP.SourceIP)
	method := e.RequestContext.HTTP.Method
	if method == "" {
		method, _, _ = strings.Cut(e.RouteKey, " ")
	}
	r := &http.Request{
		Method:        method,
		URL:           target,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        header,
		Body:          io.NopCloser(strings.NewReader(string(body))),
		ContentLength: int64(len(body)),
		Host:          host,
		RemoteAddr:    remoteAddr(address),
		RequestURI:    target.RequestURI(),
	}
	if len(body) == 0 {
		r.Body = http.NoBody
	}
	if header.Get("Content-Length") != "" {
		header.Set("Content-Length", strconv.Itoa(len(body)))
	}
	return r.WithContext(ctx), nil
}

// location returns the URL of an event. An HTTP API decodes the path, so a slash within a segment reads as a
// separator, and a percent sign that was sent reads as an encoding. The route and its parameters resolve that.
// Without them a path with a valid encoding is kept, and any other is taken as plain text and encoded.
func location(e events.APIGatewayV2HTTPRequest) *url.URL {
	raw := withoutStage(e.RawPath, e.RequestContext.Stage)
	if !strings.HasPrefix(raw, "/") {
		raw = "/" + raw
	}
	u := &url.URL{Path: raw, RawQuery: strings.ReplaceAll(e.RawQueryString, "#", "%23")}
	if sent, ok := routePath(e.RouteKey, e.PathParameters, raw); ok {
		u.RawPath = sent // raw is its decoded form
		return u
	}
	if path, err := url.PathUnescape(raw); err == nil {
		u.Path, u.RawPath = path, raw // EscapedPath checks that both agree
	}
	return u
}

// routePath returns the path of a route with its parameters filled in, encoded. The value of a greedy one ({name+}) has
// slashes. It is not ok when the route has no parameters, or when the decoded result differs from raw.
func routePath(key string, parameters map[string]string, raw string) (sent string, ok bool) {
	_, path, _ := strings.Cut(key, " ")
	if len(parameters) == 0 {
		return "", false
	}
	escaped, plain := strings.Split(path, "/"), strings.Split(path, "/")
	for i, segment := range plain {
		name, ok := strings.CutPrefix(segment, "{")
		if !ok {
			continue
		}
		name, greedy := strings.CutSuffix(strings.TrimSuffix(name, "}"), "+")
		value, ok := parameters[name]
		if !ok {
			return "", false
		}
		whole := url.URL{Path: value}
		escaped[i], plain[i] = whole.EscapedPath(), value
		if !greedy {
			escaped[i] = strings.ReplaceAll(escaped[i], "/", "%2F")
		}
	}
	return strings.Join(escaped, "/"), strings.Join(plain, "/") == raw
}

// withoutStage removes the stage from a path. API Gateway adds it to the paths of its own domain.
func withoutStage(path, stage string) string {
	if stage == "" || stage == "$default" {
		return path
	}
	rest, ok := strings.CutPrefix(path, "/"+stage)
	if !ok || rest != "" && rest[0] != '/' {
		return path
	}
	return rest
}

// headers returns an event's headers in canonical form. API Gateway has already joined repeated ones with commas
// and moved the cookies.
func headers(from map[string]string, cookies []string) http.Header {
	h := make(http.Header, len(from)+1)
	for name, value := range from {
		h.Set(name, value)
	}
	if len(cookies) > 0 {
		h.Set("Cookie", strings.Join(cookies, "; "))
	}
	return h
}

// remoteAddr returns an address in the form of net/http's RemoteAddr, with port 0, because the port is unknown.
func remoteAddr(ip string) string {
	switch {
	case ip == "":
		return ""
	case strings.Contains(ip, ":") && !strings.HasPrefix(ip, "["):
		return "[" + ip + "]:0"
	}
	return ip + ":0"
}
