package openai

import (
	"bytes"
	"io"
	"net/http"
	"sync"

	"piloto/internal/models/llm"
)

// watched returns the body of a response, of which the watcher of the request gets a copy once it is closed.
func watched(req *http.Request, res *http.Response) io.ReadCloser {
	watch := llm.Watcher(req.Context())
	if watch == nil {
		return res.Body
	}
	seen := llm.Exchange{}
	if req.GetBody != nil {
		if body, err := req.GetBody(); err == nil {
			seen.Request, _ = io.ReadAll(body) // it is in memory
		}
	}
	return &watchedBody{body: res.Body, seen: seen, watch: watch, isNoAPI: func(body []byte) bool { return isNoAPI(res.StatusCode, res.Header, body) }}
}

// watchedBody may be closed while it is read.
type watchedBody struct {
	body    io.ReadCloser
	watch   func(llm.Exchange)
	isNoAPI func(body []byte) bool

	mu   sync.Mutex
	seen llm.Exchange
	copy bytes.Buffer
	told bool
}

// Read implements io.Reader.
func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.body.Read(p)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.copy.Write(p[:min(n, llm.MostWatched-b.copy.Len())])
	return n, err
}

// Close implements io.Closer.
func (b *watchedBody) Close() error {
	err := b.body.Close()
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.told {
		b.told, b.seen.Answer = true, bytes.Clone(b.copy.Bytes())
		b.seen.NoAPI = b.isNoAPI(b.seen.Answer)
		b.watch(b.seen)
	}
	return err
}
