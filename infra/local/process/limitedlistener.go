package process

import (
	"io"
	"net"
	"sync"
	"time"
)

// limits holds the largest numbers of open connections: in total, from all other machines, and from
// one other machine. A connection from this machine counts only in the total, because the
// connections of a proxy and the functions' calls of the demonstration come from this machine.
type limits struct {
	all       int
	remote    int // from other machines
	perRemote int // from one other machine
}

var usualLimits = limits{all: 4096, remote: 1024, perRemote: 256}

// writeTimeout limits one write to a client.
const writeTimeout = 2 * time.Minute

// limitedListener limits the number of open connections. A connection over the limit gets an error
// response and is closed.
type limitedListener struct {
	net.Listener
	limits limits

	mu         sync.Mutex
	open       int
	remote     map[string]int // open connections by address
	remoteOpen int            // sum of remote
}

func newLimitedListener(l net.Listener, most limits) *limitedListener {
	return &limitedListener{Listener: l, limits: most, remote: map[string]int{}}
}

// Accept returns the next connection that is within the limits.
func (d *limitedListener) Accept() (net.Conn, error) {
	for {
		conn, err := d.Listener.Accept()
		if err != nil {
			return nil, err
		}
		from := remoteAddress(conn)
		if d.acquire(from) {
			return &limitedConn{Conn: conn, release: sync.OnceFunc(func() { d.release(from) })}, nil
		}
		reject(conn)
	}
}

// remoteAddress returns the address of the other machine; "" for this machine.
func remoteAddress(conn net.Conn) string {
	at, ok := conn.RemoteAddr().(*net.TCPAddr)
	if !ok || at.IP.IsLoopback() {
		return ""
	}
	if at.IP.To4() == nil { // one client usually has a whole /64 network of IPv6
		return at.IP.Mask(net.CIDRMask(64, 128)).String()
	}
	return at.IP.String()
}

func (d *limitedListener) acquire(from string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.open >= d.limits.all || from != "" && (d.remoteOpen >= d.limits.remote || d.remote[from] >= d.limits.perRemote) {
		return false
	}
	d.open++
	if from != "" {
		d.remoteOpen++
		d.remote[from]++
	}
	return true
}

func (d *limitedListener) release(from string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open--
	if from == "" {
		return
	}
	d.remoteOpen--
	if d.remote[from]--; d.remote[from] == 0 {
		delete(d.remote, from)
	}
}

// rejection is the response to a connection over the limit.
const rejection = "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 5\r\n" +
	"Content-Type: text/plain; charset=utf-8\r\nContent-Length: 75\r\n\r\n" +
	"Hay demasiadas conexiones abiertas. / Too many connections are open here.\r\n"

// reject does not block: the response fits the empty send buffer.
func reject(conn net.Conn) {
	_ = conn.SetDeadline(time.Now().Add(time.Second))
	_, _ = io.WriteString(conn, rejection)
	_ = conn.Close()
}

// limitedConn is a connection that counts until it is closed. A write to a client that does not
// read fails after writeTimeout.
type limitedConn struct {
	net.Conn
	release func()
}

// Write implements io.Writer.
func (v *limitedConn) Write(b []byte) (int, error) {
	if err := v.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return 0, err
	}
	return v.Conn.Write(b)
}

// Close closes the connection and releases its place.
func (v *limitedConn) Close() error {
	defer v.release()
	return v.Conn.Close()
}
