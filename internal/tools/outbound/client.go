package outbound

import (
	"net"
	"net/http"
	"time"

	"piloto/internal/tools/tool"
)

// Limits of every exchange.
const (
	defaultTimeout = 30 * time.Second
	dialTimeout    = 5 * time.Second
	maxHeader      = 256 << 10 // bytes of all response headers, 1xx included
)

// Options configures the limits of a deployment. The zero value allows public addresses only. Timeout limits a
// whole exchange with its body (default 30 s).
type Options struct {
	AllowLoopback bool          // 127.0.0.0/8 and ::1
	Private       tool.Networks // beyond the public addresses
	Timeout       time.Duration
	Resolver      *net.Resolver // nil: the system's
}

func (o Options) timeout() time.Duration {
	if o.Timeout > 0 {
		return o.Timeout
	}
	return defaultTimeout
}

// NewClient returns a guarded client for reads, without proxy, redirects or cookies. A 3xx is a normal response. It
// speaks only HTTP/1.1: the functions are built without HTTP/2, because one invocation sends one request at a time
// and gains nothing from it.
func NewClient(opts Options) *http.Client {
	return newClient(opts, opts.transport())
}

// newOnceClient returns a client for unsafe requests. It opens a connection for each request, because net/http
// repeats a request by itself only on a connection that was used before.
func newOnceClient(opts Options) *http.Client {
	t := opts.transport()
	t.DisableKeepAlives = true
	return newClient(opts, t)
}

func newClient(opts Options, t *http.Transport) *http.Client {
	return &http.Client{
		Transport:     t,
		Timeout:       opts.timeout(),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func (o Options) transport() *http.Transport {
	dialer := &net.Dialer{
		Timeout:  dialTimeout,
		Control:  newGuard(o.AllowLoopback, o.Private).control,
		Resolver: o.Resolver,
	}
	var one http.Protocols
	one.SetHTTP1(true)
	return &http.Transport{
		Protocols:              &one,
		Proxy:                  nil, // a proxy would connect to addresses that the guard does not see
		DialContext:            dialer.DialContext,
		TLSHandshakeTimeout:    dialTimeout,
		ResponseHeaderTimeout:  o.timeout(),
		ExpectContinueTimeout:  time.Second,
		MaxResponseHeaderBytes: maxHeader,
		MaxIdleConns:           32,
		MaxIdleConnsPerHost:    4,
		IdleConnTimeout:        30 * time.Second,
	}
}
