package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"piloto/internal/ground/meaning"
)

// Limits of a provider's response, in bytes.
const (
	maxAnswer  = 8 << 20
	maxRefusal = 64 << 10
)

var errTooLong = errors.New("the answer is longer than 8 MiB")

// post sends a request, and returns the answer that the provider accepted it with, which the caller must close. sent
// says that it was sent. The error is a *refusal when the provider answered with an error.
func (c *Client) post(ctx context.Context, b body) (answer io.ReadCloser, sent bool, err error) {
	raw, err := json.Marshal(b)
	if err != nil {
		return nil, false, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+"/chat/completions", bytes.NewReader(raw))
	if err != nil {
		return nil, false, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	if b.Stream {
		req.Header.Set("Accept", "text/event-stream")
	}
	if c.key != "" {
		req.Header.Set("Authorization", "Bearer "+c.key)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return nil, true, err
	}
	res.Body = watched(req, res)
	if meaning.Of(res.StatusCode, false) != meaning.Done {
		no := c.readRefusal(res)
		_ = res.Body.Close()
		return nil, true, no
	}
	if strings.HasPrefix(res.Header.Get("Content-Type"), "text/html") {
		_ = res.Body.Close()
		return nil, true, &refusal{status: http.StatusNotFound, message: "a page of HTML, and not an answer"}
	}
	return res.Body, true, nil
}

// readWhole reads a response to its end, up to maxAnswer bytes.
func readWhole(r io.Reader) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(r, maxAnswer+1))
	if err == nil && len(body) > maxAnswer {
		err = errTooLong
	}
	return body, err
}
