package httpapi

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
)

// admitBody reads the body, checks it, and puts it back for whoever decodes it.
// No body at all reads as an empty object, so that what is missing in it is
// named. The media type must be JSON when it is given.
func admitBody(w http.ResponseWriter, r *http.Request, members map[string]bool) error {
	if !isJSON(r.Header.Values("Content-Type")) {
		return errMedia
	}
	if enc := r.Header.Get("Content-Encoding"); enc != "" && enc != "identity" {
		return errMedia
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBody))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return errTooLarge
	case err != nil:
		return errUnread.Because(err)
	}
	if len(body) == 0 {
		body = []byte("{}")
	}
	if err := checkJSON(body, members); err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.ContentLength = int64(len(body))
	return nil
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
