package httpapi

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
)

// admitBody reads the body of a route, checks it, puts it back for whoever decodes it,
// and returns it. No body at all reads as an empty object, so that what is missing in it is
// named. Where nothing need be in it the body itself is missing, because one that was lost
// on the way must not set things to nothing. The media type must be JSON when it is given.
func admitBody(w http.ResponseWriter, r *http.Request, to bound) ([]byte, error) {
	if !isJSON(r.Header.Values("Content-Type")) {
		return nil, errMedia
	}
	if enc := r.Header.Get("Content-Encoding"); enc != "" && enc != "identity" {
		return nil, errMedia
	}
	body, err := readBody(w, r)
	if err != nil {
		return nil, err
	}
	if len(body) == 0 && to.bodyNeeded {
		return nil, errInvalid.At(field("missing", "body"))
	}
	if len(body) == 0 {
		body = []byte("{}")
	}
	if err := checkJSON(body, to.members); err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.ContentLength = int64(len(body))
	return body, nil
}

// readBody reads a body to its end, or to the limit. One that is said to be larger is not
// waited for.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if r.ContentLength > MaxBody {
		return nil, errTooLarge
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBody))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, errTooLarge
	case err != nil:
		return nil, errUnread.Because(err)
	}
	return body, nil
}

// isJSON reports whether a Content-Type is one we read: JSON, in UTF-8, or none.
func isJSON(values []string) bool {
	if len(values) == 0 || len(values) == 1 && values[0] == "" {
		return true
	}
	media, params, err := mime.ParseMediaType(values[0])
	if err != nil || len(values) > 1 {
		return false
	}
	if charset := params["charset"]; charset != "" && !strings.EqualFold(charset, "utf-8") && !strings.EqualFold(charset, "utf8") {
		return false
	}
	return media == "application/json" || strings.HasPrefix(media, "application/") && strings.HasSuffix(media, "+json")
}
