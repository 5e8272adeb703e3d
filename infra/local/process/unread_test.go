package process

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// refusing serves a handler that reads at most a little of a body, and refuses it.
func refusing(t *testing.T, read int64) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.CopyN(io.Discard, r.Body, read)
		w.WriteHeader(http.StatusRequestEntityTooLarge)
		_, _ = io.WriteString(w, `{"code":"request.too_large"}`)
	})
	go func() { done <- serve(ctx, l, h, slog.New(slog.DiscardHandler)) }()
	t.Cleanup(func() { stop(); <-done })
	return l.Addr().String()
}

// TestARefusedBodyIsReadToItsEnd: a client that sends all of a body before it reads gets the answer, and can use the
// connection again.
func TestARefusedBodyIsReadToItsEnd(t *testing.T) {
	const size = 20 << 20
	body := bytes.Repeat([]byte("x"), size)
	for name, c := range map[string]struct {
		read int64
		head string
		send func(w io.Writer) error
	}{
		"nothing was read":      {0, fmt.Sprintf("Content-Length: %d", size), func(w io.Writer) error { _, err := w.Write(body); return err }},
		"a part was read":       {1000, fmt.Sprintf("Content-Length: %d", size), func(w io.Writer) error { _, err := w.Write(body); return err }},
		"chunks of no length":   {1000, "Transfer-Encoding: chunked", chunks(body)},
		"a client that may ask": {1000, "Transfer-Encoding: chunked\r\nExpect: 100-continue", chunks(body)},
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("tcp", refusing(t, c.read))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			answers := bufio.NewReader(conn)
			for range 2 {
				if _, err := fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: x\r\n%s\r\n\r\n", c.head); err != nil {
					t.Fatal(err)
				}
				if err := c.send(conn); err != nil {
					t.Fatalf("the server stopped reading: %v", err)
				}
				answer, err := http.ReadResponse(answers, nil)
				for err == nil && answer.StatusCode == http.StatusContinue {
					answer, err = http.ReadResponse(answers, nil)
				}
				if err != nil {
					t.Fatal(err)
				}
				said, err := io.ReadAll(answer.Body)
				if err != nil || answer.StatusCode != http.StatusRequestEntityTooLarge || !strings.Contains(string(said), "request.too_large") {
					t.Fatalf("%d %q, %v", answer.StatusCode, said, err)
				}
			}
		})
	}
}

func chunks(body []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		for part := range slices.Chunk(body, 1<<20) {
			if _, err := fmt.Fprintf(w, "%x\r\n%s\r\n", len(part), part); err != nil {
				return err
			}
		}
		_, err := io.WriteString(w, "0\r\n\r\n")
		return err
	}
}

// TestWhoWaitsIsToldAtOnce: a client that waits for 100 Continue sends nothing that is refused.
func TestWhoWaitsIsToldAtOnce(t *testing.T) {
	conn, err := net.Dial("tcp", refusing(t, 0))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := io.WriteString(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\nExpect: 100-continue\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || answer.StatusCode != http.StatusRequestEntityTooLarge {
		t.Fatalf("%+v, %v", answer, err)
	}
}

// TestABodyWithoutAnEndIsGivenUp: what is read of a refused body is bounded.
func TestABodyWithoutAnEndIsGivenUp(t *testing.T) {
	conn, err := net.Dial("tcp", refusing(t, 0))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	sent := make(chan int64, 1)
	go func() {
		_, _ = io.WriteString(conn, "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
		var n int64
		part := []byte(fmt.Sprintf("%x\r\n%s\r\n", 1<<20, strings.Repeat("x", 1<<20)))
		for {
			m, err := conn.Write(part)
			if n += int64(m); err != nil {
				sent <- n
				return
			}
		}
	}()
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || answer.StatusCode != http.StatusRequestEntityTooLarge {
		t.Fatalf("%+v, %v", answer, err)
	}
	if n := <-sent; n < mostUnread || n > 2*mostUnread {
		t.Errorf("%d MB were taken", n>>20)
	}
}
