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

// request makes of an event the request that was sent. Only a body that says it
// is base64 and is not fails.
func request(ctx context.Context, e events.APIGatewayV2HTTPRequest) (*http.Request, error) {
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
		RemoteAddr:    remote(e.RequestContext.HTTP.SourceIP),
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

// location returns the URL of an event. An HTTP API gives the path decoded, and with it
// no way to tell a slash within a segment from one between two, or a percent sign that
// was sent from an encoding: the route and its parameters do. Without them a path whose
// encoding is valid keeps it; any other is taken as the text it is, and encoded.
func location(e events.APIGatewayV2HTTPRequest) *url.URL {
	raw := withoutStage(e.RawPath, e.RequestContext.Stage)
	if !strings.HasPrefix(raw, "/") {
		raw = "/" + raw
	}
	u := &url.URL{Path: raw, RawQuery: strings.ReplaceAll(e.RawQueryString, "#", "%23")}
	if sent, ok := routed(e.RouteKey, e.PathParameters, raw); ok {
		u.RawPath = sent // whose decoded form raw is
		return u
	}
	if path, err := url.PathUnescape(raw); err == nil {
		u.Path, u.RawPath = path, raw // EscapedPath checks that they agree
	}
	return u
}

// routed is the path of a route with its parameters in their places, encoded. It is not
// ok when the route has none, or takes all that is left, or when that is not the path
// that raw is, decoded.
func routed(key string, parameters map[string]string, raw string) (sent string, ok bool) {
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
		value, ok := parameters[strings.TrimSuffix(name, "}")]
		if !ok {
			return "", false
		}
		whole := url.URL{Path: value}
		escaped[i], plain[i] = strings.ReplaceAll(whole.EscapedPath(), "/", "%2F"), value
	}
	return strings.Join(escaped, "/"), strings.Join(plain, "/") == raw
}

// withoutStage cuts the name of a named stage, with which API Gateway begins
// the paths of its own domain.
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

// headers returns an event's headers in canonical form. API Gateway has joined
// repeated ones with commas, and taken the cookies out.
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

// remote gives an address the form that net/http servers use. The port is not
// known.
func remote(ip string) string {
	switch {
	case ip == "":
		return ""
	case strings.Contains(ip, ":") && !strings.HasPrefix(ip, "["):
		return "[" + ip + "]:0"
	}
	return ip + ":0"
}
