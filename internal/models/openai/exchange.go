package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"piloto/internal/ground/meaning"
)

// Limits of a provider's response, in bytes.
const (
	maxAnswer  = 8 << 20
	maxRefusal = 64 << 10
)

var errTooLong = errors.New("the answer is longer than 8 MiB")

// exchange sends a request and reads its answer into b. It reports whether the provider may have the request. Its error is a
// *refusal when the provider answered with an error.
func (c *Client) exchange(ctx context.Context, r body, b *replyBuilder) (sent bool, err error) {
	if err := r.check(); err != nil {
		return false, err
	}
	raw, err := json.Marshal(r)
	if err != nil {
		return false, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+"/chat/completions", bytes.NewReader(raw))
	if err != nil {
		return false, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	if r.Stream {
		req.Header.Set("Accept", "text/event-stream")
		req.Header.Set("Cache-Control", "no-cache")
	}
	if c.key != "" {
		req.Header.Set("Authorization", "Bearer "+c.key)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return true, err
	}
	defer func() { _ = res.Body.Close() }()
	switch {
	case meaning.Of(res.StatusCode, false) != meaning.Done:
		return true, c.readRefusal(res)
	case r.Stream:
		return true, newEvents(res.Body, c.key).readInto(b)
	}
	whole, err := readWhole(res.Body)
	if err != nil {
		return true, err
	}
	a, err := normalize(whole, c.key)
	if err != nil {
		return true, err
	}
	a.finish()
	return true, b.addWhole(a)
}

// readWhole reads a response to its end, up to maxAnswer bytes.
func readWhole(r io.Reader) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(r, maxAnswer+1))
	if err == nil && len(body) > maxAnswer {
		err = errTooLong
	}
	return body, err
}
