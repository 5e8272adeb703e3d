package process

import (
	"io"
	"net"
	"sync"
	"time"
)

// limits are how many connections may be open at once: in all, of other machines together, and
// of one other machine. Connections from this machine count only in the total, because a
// proxy's come from here, and so do the functions' calls of the demonstration.
type limits struct {
	all  int
	far  int // from other machines
	each int // from one of them
}

var usualLimits = limits{all: 4096, far: 1024, each: 256}

// answerPatience is how long one write to a client may take.
const answerPatience = 2 * time.Minute

// doors is a listener with a limited number of places. A connection without a place is told
// so, and closed.
type doors struct {
	net.Listener
	limits limits

	mu   sync.Mutex
	open int
	far  map[string]int // by address
	away int            // of far, together
}

func newDoors(l net.Listener, most limits) *doors {
	return &doors{Listener: l, limits: most, far: map[string]int{}}
}

// Accept waits for a connection that there is a place for.
func (d *doors) Accept() (net.Conn, error) {
	for {
		conn, err := d.Listener.Accept()
		if err != nil {
			return nil, err
		}
		from := farAddress(conn)
		if d.enter(from) {
			return &visitor{Conn: conn, leave: sync.OnceFunc(func() { d.leave(from) })}, nil
		}
		turnAway(conn)
	}
}

// farAddress is the address of the other machine of a connection; "" when it is this machine.
func farAddress(conn net.Conn) string {
	at, ok := conn.RemoteAddr().(*net.TCPAddr)
	if !ok || at.IP.IsLoopback() {
		return ""
	}
	if at.IP.To4() == nil { // who has an address of version 6 has all of its network
		return at.IP.Mask(net.CIDRMask(64, 128)).String()
	}
	return at.IP.String()
}

func (d *doors) enter(from string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.open >= d.limits.all || from != "" && (d.away >= d.limits.far || d.far[from] >= d.limits.each) {
		return false
	}
	d.open++
	if from != "" {
		d.away++
		d.far[from]++
	}
	return true
}

func (d *doors) leave(from string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open--
	if from == "" {
		return
	}
	d.away--
	if d.far[from]--; d.far[from] == 0 {
		delete(d.far, from)
	}
}

// turnedAway is what a connection without a place is told.
const turnedAway = "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 5\r\n" +
	"Content-Type: text/plain; charset=utf-8\r\nContent-Length: 75\r\n\r\n" +
	"Hay demasiadas conexiones abiertas. / Too many connections are open here.\r\n"

// turnAway does not wait: its answer fits the empty send buffer.
func turnAway(conn net.Conn) {
	_ = conn.SetDeadline(time.Now().Add(time.Second))
	_, _ = io.WriteString(conn, turnedAway)
	_ = conn.Close()
}

// visitor is a connection that has a place until it is closed. A write to a client that does
// not read fails after answerPatience.
type visitor struct {
	net.Conn
	leave func()
}

// Write implements io.Writer.
func (v *visitor) Write(b []byte) (int, error) {
	if err := v.SetWriteDeadline(time.Now().Add(answerPatience)); err != nil {
		return 0, err
	}
	return v.Conn.Write(b)
}

// Close gives the place back.
func (v *visitor) Close() error {
	defer v.leave()
	return v.Conn.Close()
}
