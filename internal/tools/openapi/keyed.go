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

// ask sends a request for a document, and again with the service's key when it was
// refused without it: a key is shown to who asks for it. What answers has the key taken
// out, because documents are shown. A client's credentials (in "oauth") are not sent.
func (q *quest) ask(req *http.Request) (*http.Response, error) {
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
		return nil, plain(err) // without the URL, which may have the key
	}
	raw, err := io.ReadAll(io.LimitReader(res.Body, maxDocument+1))
	_ = res.Body.Close()
	if err != nil {
		return nil, err
	}
	res.Body = io.NopCloser(bytes.NewReader(redact.Known(raw, q.key.Secret)))
	return res, nil
}
