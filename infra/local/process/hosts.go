package process

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"piloto/internal/ground/clip"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/locale"
)

// hosts holds the names of the listener. With DNS rebinding, a web page points its own name at this
// machine, and the browser then treats this process as the same origin. The browser still sends the
// name of the page in Host, so the guard can refuse the request.
type hosts struct {
	port  string
	own   []string // with the port of the listener
	named []string // NAME, with any port, or NAME:PORT
}

// hostsOf returns the names of a listener: loopback, its address, and the names of -host.
func hostsOf(addr net.Addr, asked string, named []string) hosts {
	_, port, err := net.SplitHostPort(addr.String())
	if err != nil {
		port = "80"
	}
	h := hosts{port: port, own: []string{"localhost"}, named: named}
	for _, a := range []string{addr.String(), asked} {
		if host, _, err := net.SplitHostPort(a); err == nil && host != "" && !isUnspecified(host) {
			h.own = append(h.own, strings.ToLower(host))
		}
	}
	return h
}

func isUnspecified(host string) bool {
	ip := net.ParseIP(host)
	return ip != nil && ip.IsUnspecified()
}

// includes reports whether Host names this listener. The address at which the request arrived is
// accepted too, because a browser uses no name to reach it.
func (h hosts) includes(asked string, arrived net.Addr) bool {
	asked = strings.ToLower(asked)
	host, port, err := net.SplitHostPort(asked)
	if err != nil {
		host, port = strings.Trim(asked, "[]"), "80"
	}
	for _, name := range h.named {
		if name = strings.ToLower(name); name == asked || name == host {
			return true
		}
	}
	if port != h.port {
		return false
	}
	for _, own := range h.own {
		if host == own {
			return true
		}
	}
	ip := net.ParseIP(host)
	at, ok := arrived.(*net.TCPAddr)
	return ip != nil && (ip.IsLoopback() || ok && ip.Equal(at.IP))
}

// guard serves the requests that name this listener. It refuses the others, and the refusal names
// the right host.
func (h hosts) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		arrived, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
		if h.includes(r.Host, arrived) {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Connection", "close") // the server does not wait for the unread body
		refuse(w, r, http.StatusMisdirectedRequest, "listener.host_unknown", map[string]string{
			"host": clip.Runes(strings.ToValidUTF8(r.Host, ""), 80), "own": "localhost:" + h.port,
		})
	})
}

// refuse responds with a problem (RFC 9457) in the client's language.
func refuse(w http.ResponseWriter, r *http.Request, status int, code string, args map[string]string) {
	lang := locale.Match(r.Header.Get("Accept-Language"))
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{
		"type": "urn:piloto:problem:" + code, "title": http.StatusText(status), "status": status, "code": code,
		"detail": locale.Fill(lang, code, args), "action": locale.Fill(lang, code+".do", args),
	})
}

// checkHosts refuses names that cannot be in a Host header.
func checkHosts(named []string) error {
	for _, name := range named {
		host, port, err := net.SplitHostPort(name)
		if err != nil {
			host, port = strings.Trim(name, "[]"), "1"
		}
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 || host == "" || strings.ContainsAny(host, "/*@ \t?#") {
			return refusal("up.wrong.host", "value", name)
		}
	}
	return nil
}

// lookupTime is how long the lookup of a name in --addr takes at most.
const lookupTime = 5 * time.Second

// checkAddress refuses an address at which nothing can listen: without a port, or with a host that is not known here.
func (o Options) checkAddress(ctx context.Context) error {
	host, port, err := net.SplitHostPort(o.Addr)
	if err != nil || port == "" {
		return refusal("up.wrong.addr", "value", o.Addr)
	}
	if _, err := net.DefaultResolver.LookupPort(ctx, "tcp", port); err != nil {
		return refusal("up.wrong.addr_port", "value", o.Addr, "port", port)
	}
	if _, err := netip.ParseAddr(host); err == nil || host == "" || host == "localhost" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTime)
	defer cancel()
	if _, err := net.DefaultResolver.LookupHost(ctx, host); err != nil {
		return refusal("up.wrong.addr_host", "value", o.Addr, "host", host)
	}
	return nil
}

// IsMiswritten reports whether an error of Serve is about how the command or its settings are written.
func IsMiswritten(err error) bool {
	wrong, ok := errors.AsType[*fault.Error](err)
	return ok && strings.HasPrefix(wrong.Code, "up.wrong.") && wrong.Code != "up.wrong.build" && wrong.Code != "up.wrong.start"
}

// checkReach refuses an address that other machines can reach, unless --expose was given.
func (o Options) checkReach() error {
	if err := checkHosts(o.Hosts); err != nil {
		return err
	}
	if o.Expose || OnThisMachine(o.Addr) {
		return nil
	}
	return refusal("up.wrong.reach", "value", o.Addr)
}

// OnThisMachine reports whether an address can be reached from this machine only.
func OnThisMachine(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
