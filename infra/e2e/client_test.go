package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// client sends requests as one account.
type client struct {
	base   string
	token  string
	header http.Header // on every request
	http   *http.Client
}

func newClient(base, token string) *client {
	return &client{
		base: base, token: token, header: http.Header{},
		http: &http.Client{
			Timeout:       90 * time.Second,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// answer is a response whose body was read.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// at returns the JSON value at a path such as run.steps.0.id; count is the length of a list or an object.
func (a answer) at(path string) (any, bool) { return lookup(a.body, path) }

// text is the value at a path as text, "" when there is none.
func (a answer) text(path string) string {
	v, ok := a.at(path)
	if !ok {
		return ""
	}
	return scriptText(v)
}

func (a answer) String() string {
	body := a.body
	const most = 3000
	if len(body) > most {
		body = append(body[:most:most], "…"...)
	}
	return fmt.Sprintf("%d %s\n%s", a.status, a.header.Get("Content-Type"), body)
}

// do sends a request; body is JSON when it is not empty.
func (c *client) do(method, path, body string, headers ...string) (answer, error) {
	return c.send(context.Background(), method, path, []byte(body), headers...)
}

func (c *client) send(ctx context.Context, method, path string, body []byte, headers ...string) (answer, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	req.Header = c.header.Clone()
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	if len(body) > 0 {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i+1] == "" {
			req.Header.Del(headers[i])
		} else {
			req.Header.Set(headers[i], headers[i+1])
		}
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	got, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, got}, err
}

// must does the same as do, for a request that must return one status.
func (c *client) must(t testing.TB, status int, method, path, body string, headers ...string) answer {
	t.Helper()
	a, err := c.do(method, path, body, headers...)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	if a.status != status {
		t.Fatalf("%s %s: want %d, got %s", method, path, status, a)
	}
	return a
}

// chat creates a chat and returns its id.
func (c *client) chat(t testing.TB) string {
	t.Helper()
	return c.must(t, 201, "POST", "/api/chats", "{}").text("chat_id")
}

// say sends a message to a chat.
func (c *client) say(t testing.TB, chat, message string) answer {
	t.Helper()
	return c.must(t, 200, "POST", "/api/send", object("chat_id", chat, "message", message))
}

// waitEnded waits until a run is in a final state and returns it.
func (c *client) waitEnded(id string) (answer, error) {
	var last answer
	err := eventually(patience, func() error {
		a, err := c.do("GET", "/api/runs/"+id, "")
		if err != nil {
			return err
		}
		last = a
		switch a.text("status") {
		case "done", "error", "cancelled", "in_doubt", "expired", "superseded":
			return nil
		}
		return fmt.Errorf("the run has not ended: %s", a)
	})
	return last, err
}

// object writes a JSON object of names and values.
func object(pairs ...any) string {
	m := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		m[fmt.Sprint(pairs[i])] = pairs[i+1]
	}
	raw, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// lookup returns the value at a path in a JSON text.
func lookup(text []byte, path string) (any, bool) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return nil, false
	}
	for part := range strings.SplitSeq(path, ".") {
		switch in := v.(type) {
		case map[string]any:
			next, ok := in[part]
			if part == "count" && !ok {
				next, ok = json.Number(strconv.Itoa(len(in))), true
			}
			if !ok {
				return nil, false
			}
			v = next
		case []any:
			if part == "count" {
				v = json.Number(strconv.Itoa(len(in)))
				continue
			}
			i, err := strconv.Atoi(part)
			if err != nil || i >= len(in) || i < -len(in) {
				return nil, false
			}
			v = in[(i+len(in))%len(in)]
		default:
			return nil, false
		}
	}
	return v, true
}

// scriptText returns a JSON value as a script writes it: a string without its quotes.
func scriptText(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err.Error()
	}
	return strings.TrimSuffix(b.String(), "\n")
}

var traceID = regexp.MustCompile(`^[0-9a-f]{32}$`)

// problemOf returns nil when an answer is an RFC 9457 problem with a status and a code, else the difference.
func problemOf(a answer, status int, code string) error {
	switch {
	case a.status != status:
		return fmt.Errorf("want %d %s, got %s", status, code, a)
	case a.header.Get("Content-Type") != "application/problem+json":
		return fmt.Errorf("want a problem, got %s", a)
	case a.text("code") != code || a.text("status") != strconv.Itoa(status):
		return fmt.Errorf("want code %s, got %s", code, a)
	case !traceID.MatchString(a.text("trace_id")) || a.text("trace_id") != a.header.Get("X-Trace-Id"):
		return fmt.Errorf("trace_id %q, X-Trace-Id %q", a.text("trace_id"), a.header.Get("X-Trace-Id"))
	case a.text("title") == "" || a.text("type") != "urn:piloto:problem:"+code:
		return fmt.Errorf("a problem without its title or type: %s", a)
	}
	return nil
}
