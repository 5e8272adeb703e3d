package webui

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// shortest is the length in bytes from which a body is compressed: a shorter one fits in one packet anyway.
const shortest = 1 << 10

// zippers are writers to use again, because each has 0.8 MB of tables.
var zippers = sync.Pool{New: func() any { return gzip.NewWriter(io.Discard) }}

// zipped compresses bytes with gzip.
func zipped(body []byte) []byte {
	var b bytes.Buffer
	z, _ := zippers.Get().(*gzip.Writer)
	defer zippers.Put(z)
	z.Reset(&b)
	_, _ = z.Write(body) // a buffer takes everything
	_ = z.Close()
	return b.Bytes()
}

// send writes a body, compressed when the client accepts it. The response must vary by Accept-Encoding.
func send(w http.ResponseWriter, r *http.Request, status int, body []byte, zip func() []byte) {
	if len(body) >= shortest && acceptsGzip(r.Header.Values("Accept-Encoding")) {
		body = zip()
		w.Header().Set("Content-Encoding", "gzip")
	}
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client may be gone; there is nothing left to do
}

// acceptsGzip reports whether a client names gzip and gives it a weight above 0. A client that names no encoding
// gets none (RFC 9110, section 12.5.3, allows it).
func acceptsGzip(accepted []string) bool {
	for each := range strings.SplitSeq(strings.Join(accepted, ","), ",") {
		name, weight, _ := strings.Cut(each, ";")
		if !strings.EqualFold(strings.TrimSpace(name), "gzip") {
			continue
		}
		q, given := strings.CutPrefix(strings.ToLower(strings.ReplaceAll(weight, " ", "")), "q=")
		n, err := strconv.ParseFloat(q, 64)
		return !given || err == nil && n > 0
	}
	return false
}
