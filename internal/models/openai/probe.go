package openai

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"piloto/internal/ground/meaning"
	"piloto/internal/models/llm"
)

// probeTime is the timeout of a probe.
const probeTime = 3 * time.Second

// Probe requests the list of models, with the key, within 3 s. It returns nil when the provider answers, even if it
// has no such list (404, 405). Its errors are those of Complete. Some providers list their models without a key, so
// nil does not prove that the key is valid.
func (c *Client) Probe(ctx context.Context) error {
	bound, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	return listFault(ctx, c.list(bound))
}

// listFault returns the fault of a failure of the list of models.
func listFault(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ended := llm.Stopped(ctx); ended != nil {
		return ended
	}
	var no *refusal
	switch {
	case !errors.As(err, &no):
		return llm.ErrUnreachable.Because(err)
	case no.status == http.StatusNotFound || no.status == http.StatusMethodNotAllowed:
		return nil
	}
	return no.fault()
}

// list requests the list of models, and drops it.
func (c *Client) list(ctx context.Context) error {
	res, err := c.listing(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, maxRefusal)) // so that the connection can be reused
	return nil
}

// listing requests the list of models. The caller closes the body of the response.
func (c *Client) listing(ctx context.Context) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+"/models", http.NoBody)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	if c.key != "" {
		req.Header.Set("Authorization", "Bearer "+c.key)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	if meaning.Of(res.StatusCode, false) != meaning.Done {
		defer func() { _ = res.Body.Close() }()
		return nil, c.readRefusal(res)
	}
	return res, nil
}
