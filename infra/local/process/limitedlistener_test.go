package process

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// pipes is a listener of connections in memory, each with an address.
type pipes struct {
	calls chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newPipes() *pipes { return &pipes{calls: make(chan net.Conn), done: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.calls:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}
func (p *pipes) Close() error   { p.once.Do(func() { close(p.done) }); return nil }
func (p *pipes) Addr() net.Addr { return tcp("127.0.0.1:8080") }

type fromAddress struct {
	net.Conn
	at string
}

func (f fromAddress) RemoteAddr() net.Addr { return tcp(f.at) }

func (p *pipes) dial(at string) net.Conn {
	ours, theirs := net.Pipe()
	p.calls <- fromAddress{theirs, at}
	return ours
}

// TestListenerLimitsConnections checks the total, all other machines, and one other machine. A
// released place can be used again.
func TestListenerLimitsConnections(t *testing.T) { synctest.Test(t, limitsConnections) }

func limitsConnections(t *testing.T) {
	list := newPipes()
	defer func() { _ = list.Close() }()
	d := newLimitedListener(list, limits{all: 6, remote: 4, perRemote: 2})
	in := make(chan net.Conn, 100)
	go func() {
		for {
			c, err := d.Accept()
			if err != nil {
				close(in)
				return
			}
			in <- c
		}
	}()
	var held []net.Conn
	let := func(at string) bool {
		client := list.dial(at)
		first := make(chan string, 1)
		go func() {
			line, _ := bufio.NewReader(client).ReadString('\n')
			first <- line
		}()
		select {
		case <-first:
			return false
		case c := <-in:
			t.Cleanup(func() { _ = c.Close() })
			held = append(held, c)
			return true
		case <-time.After(time.Minute): // in the bubble's clock: nothing more happens
			t.Fatalf("%s is neither let in nor told that there is no place", at)
			return false
		}
	}
	for i, step := range []struct {
		from string
		in   bool
	}{
		{"10.0.0.1:1", true}, {"10.0.0.1:2", true}, {"10.0.0.1:3", false}, // one machine
		{"[fd00::1]:1", true}, {"[fd00::2]:1", true}, {"[fd00::3]:1", false}, // one IPv6 network
		{"10.0.0.2:1", false},                                            // all other machines
		{"127.0.0.1:1", true}, {"[::1]:1", true}, {"127.0.0.1:2", false}, // this machine, and the total
	} {
		if got := let(step.from); got != step.in {
			t.Fatalf("%d: %s is let in: %v", i, step.from, got)
		}
	}
	_ = held[0].Close()
	_ = held[0].Close() // two calls release one place
	if !let("10.0.0.2:1") || let("127.0.0.1:3") {
		t.Error("a place that was given back is not free, or is two")
	}
	for _, c := range held {
		_ = c.Close()
	}
	if d.open != 0 || d.remoteOpen != 0 || len(d.remote) != 0 {
		t.Errorf("%d open, %d of others, %v", d.open, d.remoteOpen, d.remote)
	}
}

// TestListenerAnswersRejectedConnection reads a complete response.
func TestListenerAnswersRejectedConnection(t *testing.T) {
	list := newPipes()
	d := newLimitedListener(list, limits{})
	go func() { _, _ = d.Accept() }()
	client := list.dial("127.0.0.1:1")
	res, err := http.ReadResponse(bufio.NewReader(client), nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(res.Body)
	_ = res.Body.Close()
	if err != nil || res.StatusCode != 503 || res.Header.Get("Retry-After") == "" || !strings.Contains(string(text), "Too many connections") {
		t.Errorf("%d %s %v", res.StatusCode, text, err)
	}
	_ = list.Close()
}

// TestServeTimesOutSlowClients tries clients that send a head or a body slowly, and clients that do
// not read the response. A stream that is read continues.
func TestServeTimesOutSlowClients(t *testing.T) {
	for name, x := range map[string]struct {
		sends  string // and then nothing
		reads  bool
		within time.Duration
	}{
		"half a head":           {"GET / HTTP/1.1\r\nHost: a", true, 11 * time.Second},
		"half a body":           {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nhalf", true, 61 * time.Second},
		"an answer not read":    {"GET /long HTTP/1.1\r\nHost: a\r\n\r\n", false, writeTimeout + time.Second},
		"nothing any more":      {"GET / HTTP/1.1\r\nHost: a\r\n\r\n", true, 2*time.Minute + time.Second},
		"nothing at all":        {"", true, 11 * time.Second},
		"a stream that is read": {"GET /stream HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", true, 6*time.Minute + time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				list := newPipes()
				ctx, stop := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- serve(ctx, list, http.HandlerFunc(slowAnswers), slog.New(slog.DiscardHandler)) }()
				began := time.Now()
				client := list.dial("10.0.0.1:1")
				if _, err := io.WriteString(client, x.sends); err != nil {
					t.Fatal(err)
				}
				over := make(chan string, 1)
				go func() {
					if !x.reads {
						time.Sleep(writeTimeout + time.Second)
					}
					text, _ := io.ReadAll(client)
					over <- string(text)
				}()
				text := <-over
				if took := time.Since(began); took > x.within {
					t.Errorf("it was waited for for %s", took)
				}
				if streamed := strings.Count(text, "tick"); strings.HasPrefix(x.sends, "GET /stream") && streamed != 72 {
					t.Errorf("%d of the stream arrived", streamed)
				}
				_ = client.Close()
				stop()
				if err := <-ended; err != nil && !errors.Is(err, http.ErrServerClosed) {
					t.Error(err)
				}
			})
		})
	}
}

func slowAnswers(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/long":
		_, _ = io.WriteString(w, strings.Repeat("x", 1<<20))
	case "/stream": // for six minutes, a piece every five seconds
		for range 72 {
			time.Sleep(5 * time.Second)
			_, _ = io.WriteString(w, "tick\n")
			_ = http.NewResponseController(w).Flush()
		}
	default:
		_, _ = io.Copy(io.Discard, r.Body)
	}
}
