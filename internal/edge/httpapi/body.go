package httpapi

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
)

// received is a body that was read. Who reads it once more gets the same bytes.
type received struct {
	*bytes.Reader
	bytes []byte
}

// Close implements io.Closer.
func (received) Close() error { return nil }

// receive replaces the body of a request with its bytes, which were read.
func receive(r *http.Request, body []byte) {
	r.Body, r.ContentLength = received{bytes.NewReader(body), body}, int64(len(body))
}

// admitBody reads the body of a route, checks it, leaves it for the decoder, and returns it. An absent body reads
// as an empty object, so that its missing members are named. Where no member is required, the absent body itself is
// the fault, because a body that was lost on the way must not reset settings. A media type, if present, must be
// JSON.
func admitBody(w http.ResponseWriter, r *http.Request, to boundRoute) ([]byte, error) {
	if !isJSON(r.Header.Values("Content-Type")) {
		return nil, errMedia
	}
	if enc := r.Header.Get("Content-Encoding"); enc != "" && enc != "identity" {
		return nil, errMedia
	}
	body, err := readBody(w, r, MaxBody)
	if err != nil {
		return nil, err
	}
	body = bytes.TrimPrefix(body, []byte("\ufeff")) // some editors write it, and it says nothing
	if len(body) == 0 && to.bodyRequired {
		return nil, errInvalid.At(field("missing", "body"))
	}
	if len(body) == 0 {
		body = []byte("{}")
	}
	blank, err := checkJSON(body, to.members)
	if err != nil {
		return nil, err
	}
	for _, at := range slices.Backward(blank) { // the schema judges it as empty then, with all other faults
		body = slices.Concat(body[:at[0]], []byte(`""`), body[at[1]:])
	}
	r.Header.Set("Content-Type", "application/json")
	receive(r, body)
	return body, nil
}

// admitBytes reads the body of a route that takes any bytes.
func admitBytes(w http.ResponseWriter, r *http.Request, most int64) ([]byte, error) {
	if enc := r.Header.Get("Content-Encoding"); enc != "" && enc != "identity" {
		return nil, errMedia
	}
	body, err := readBody(w, r, most)
	if errors.Is(err, errTooLarge) {
		err = errTooLarge.With("case", "bytes")
	}
	return body, err
}

// readBody reads a body to its end, up to a limit, once: the signature of a request covers its body, so that it may be read before. It does not wait for a body whose declared length exceeds the
// limit.
func readBody(w http.ResponseWriter, r *http.Request, most int64) ([]byte, error) {
	if r.ContentLength > most {
		return nil, errTooLarge
	}
	if was, ok := r.Body.(received); ok {
		return was.bytes, nil
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, most))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, errTooLarge
	case err != nil:
		return nil, errUnread.Because(err)
	}
	return body, nil
}

// isJSON reports whether the Content-Type is accepted: JSON in UTF-8, or none.
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
