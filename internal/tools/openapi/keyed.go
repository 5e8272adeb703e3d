package openapi

import (
	"bytes"
	"io"
	"net/http"

	"piloto/internal/ground/meaning"
	"piloto/internal/ground/redact"
)

// send requests a document, and once more with the service's keys when the service refused the first request. The
// keys are removed from the response, because documents are shown. Client credentials (in "oauth") are not sent.
func (q *search) send(req *http.Request) (*http.Response, error) {
	res, err := q.client.Do(req)
	if err != nil || len(q.keys) == 0 || q.keys.Exchanged() || !meaning.WantsKey(res.StatusCode) {
		return res, err
	}
	again := req.Clone(req.Context())
	_ = res.Body.Close()
	if err := q.keys.Sign(again.Header, again.URL); err != nil {
		return nil, err
	}
	if res, err = q.client.Do(again); err != nil {
		return nil, withoutURL(err) // without the URL, which may contain the key
	}
	raw, err := io.ReadAll(io.LimitReader(res.Body, maxDocument+1))
	_ = res.Body.Close()
	if err != nil {
		return nil, err
	}
	res.Body = io.NopCloser(bytes.NewReader(redact.Known(raw, q.keys.Secrets()...)))
	return res, nil
}
