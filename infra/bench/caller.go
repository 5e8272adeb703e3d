package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// caller is an HTTP client that keeps its connections. Its calls end with ctx.
type caller struct {
	ctx    context.Context
	token  string
	client *http.Client
}

func newCaller(ctx context.Context, token string) caller {
	return caller{ctx, token, &http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: 512}}}
}

func (c caller) post(url string, body, answer any) error {
	raw, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return c.do(http.MethodPost, url, raw, answer)
}

func (c caller) get(url string, answer any) error { return c.do(http.MethodGet, url, nil, answer) }

// do sends bytes and reads the whole answer; with a nil answer the body is dropped.
func (c caller) do(method, url string, body []byte, answer any) error {
	request, err := http.NewRequestWithContext(c.ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	return c.send(request, answer)
}

// again repeats a request with its exact header and body.
func (c caller) again(url string, r recorded) error {
	request, err := http.NewRequestWithContext(c.ctx, http.MethodPost, url, bytes.NewReader(r.body))
	if err != nil {
		return err
	}
	request.Header = r.header
	return c.send(request, nil)
}

func (c caller) send(request *http.Request, answer any) error {
	response, err := c.client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("%s %s: %s: %s", request.Method, request.URL, response.Status, raw)
	}
	if answer == nil {
		return nil
	}
	return json.Unmarshal(raw, answer)
}
