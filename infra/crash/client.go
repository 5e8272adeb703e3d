package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// patience is how long a client retries without a response.
const patience = 30 * time.Second

// errLost means that a request got no response: it may have been processed. errLeft means that the
// client left.
var (
	errLost = errors.New("no answer")
	errLeft = errors.New("the client left")
)

// client sends requests to a deployment as a user's program does. It expects that responses may be
// lost.
type client struct {
	ctx  context.Context //nolint:containedctx // the client is one person's stay
	base string
	http *http.Client
}

func newClient(ctx context.Context, addr string) *client {
	return &client{ctx: ctx, base: "http://" + addr, http: &http.Client{
		Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true},
	}}
}

// reply is a whole response.
type reply struct {
	status int
	body   []byte
}

func (r reply) String() string { return fmt.Sprintf("%d %s", r.status, r.body) }

// text returns the value at a path such as run.steps.0.id as text; "" when it is absent.
func (r reply) text(path string) string {
	dec := json.NewDecoder(bytes.NewReader(r.body))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return ""
	}
	for part := range strings.SplitSeq(path, ".") {
		switch in := v.(type) {
		case map[string]any:
			v = in[part]
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i >= len(in) {
				return ""
			}
			v = in[i]
		default:
			return ""
		}
	}
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	default:
		return fmt.Sprint(v)
	}
}

// once sends a request once. It returns errLost when there is no response.
func (c *client) once(method, path, body string, headers ...string) (reply, error) {
	req, err := http.NewRequestWithContext(c.ctx, method, c.base+path, strings.NewReader(body))
	if err != nil {
		return reply{}, err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := c.http.Do(req)
	if c.ctx.Err() != nil {
		return reply{}, errLeft
	}
	if err != nil {
		return reply{}, fmt.Errorf("%w: %w", errLost, err)
	}
	defer func() { _ = res.Body.Close() }()
	got, err := io.ReadAll(res.Body)
	if err != nil {
		return reply{}, fmt.Errorf("%w: %w", errLost, err)
	}
	if r := (reply{res.StatusCode, got}); r.status != http.StatusInternalServerError || r.text("message") != cutOff {
		return r, nil
	}
	return reply{}, fmt.Errorf("%w: the function was cut off", errLost)
}

// cutOff is the message of API Gateway about a function that ended without an answer.
const cutOff = "Internal Server Error"

// again repeats an idempotent request until the response has the wanted status. It retries after a
// 503 and after no response.
func (c *client) again(want int, method, path, body string, headers ...string) (reply, error) {
	for deadline := time.Now().Add(patience); ; {
		r, err := c.once(method, path, body, headers...)
		switch {
		case err == nil && r.status == want:
			return r, nil
		case errors.Is(err, errLeft):
			return r, err
		case err == nil && r.status != http.StatusServiceUnavailable:
			return r, fmt.Errorf("%s %s: want %d, got %s", method, path, want, r)
		case time.Now().After(deadline):
			return r, fmt.Errorf("%s %s: %w %s", method, path, err, r)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// get reads a path, with retries.
func (c *client) get(path string) (reply, error) {
	return c.again(http.StatusOK, http.MethodGet, path, "")
}

// object returns a JSON object of names and values.
func object(pairs ...any) string {
	m := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		m[fmt.Sprint(pairs[i])] = pairs[i+1]
	}
	raw, err := json.Marshal(m)
	if err != nil {
		return err.Error() // cannot happen: strings, numbers and maps of them
	}
	return string(raw)
}
