package openapi

import (
	"bytes"
	"io"
	"net/http"

	"piloto/internal/ground/redact"
)

func asksForKey(status int) bool {
	return status == http.StatusUnauthorized || status == http.StatusForbidden
}

// send requests a document, and once more with the service's key when the service refused the first request. The
// key is removed from the response, because documents are shown. Client credentials (in "oauth") are not sent.
func (q *search) send(req *http.Request) (*http.Response, error) {
	res, err := q.client.Do(req)
	if err != nil || q.key == nil || !asksForKey(res.StatusCode) {
		return res, err
	}
	again := req.Clone(req.Context())
	switch q.key.Place.In {
	case "bearer":
		again.Header.Set("Authorization", "Bearer "+q.key.Secret)
	case "header":
		again.Header.Set(q.key.Place.Name, q.key.Secret)
	case "query":
		query := again.URL.Query()
		query.Set(q.key.Place.Name, q.key.Secret)
		again.URL.RawQuery = query.Encode()
	default:
		return res, nil
	}
	_ = res.Body.Close()
	if res, err = q.client.Do(again); err != nil {
		return nil, withoutURL(err) // without the URL, which may contain the key
	}
	raw, err := io.ReadAll(io.LimitReader(res.Body, maxDocument+1))
	_ = res.Body.Close()
	if err != nil {
		return nil, err
	}
	res.Body = io.NopCloser(bytes.NewReader(redact.Known(raw, q.key.Secret)))
	return res, nil
}
