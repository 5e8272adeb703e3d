package gateway

import (
	"bytes"
	"encoding/base64"
	"mime"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/events"
)

// recorder keeps what a handler writes, with the rules of net/http: the first
// status counts, headers are fixed with it, writing means 200.
type recorder struct {
	header http.Header
	sent   http.Header // as they were when the status was written
	status int
	body   bytes.Buffer
}

func (w *recorder) Header() http.Header { return w.header }

func (w *recorder) WriteHeader(status int) {
	if w.status != 0 || status < 200 { // informational answers do not pass API Gateway
		return
	}
	w.status = status
	w.sent = w.header.Clone()
}

func (w *recorder) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(p)
}

// answer returns the event of what was written. A handler that wrote nothing
// answered 200 with nothing, as with net/http.
func (w *recorder) answer(method string) events.APIGatewayV2HTTPResponse {
	w.WriteHeader(http.StatusOK)
	body := w.body.Bytes()
	if method == http.MethodHead || w.status == http.StatusNoContent || w.status == http.StatusNotModified {
		body = nil
	}
	if len(body) > 0 && len(w.sent.Values("Content-Type")) == 0 {
		w.sent.Set("Content-Type", http.DetectContentType(body))
	}
	out := events.APIGatewayV2HTTPResponse{StatusCode: w.status, Headers: make(map[string]string, len(w.sent))}
	for name, values := range w.sent {
		switch name {
		case "Set-Cookie":
			out.Cookies = append(out.Cookies, values...)
		default:
			out.Headers[name] = strings.Join(values, ", ")
		}
	}
	if isText(w.sent, body) {
		out.Body = string(body)
		return out
	}
	out.Body, out.IsBase64Encoded = base64.StdEncoding.EncodeToString(body), true
	return out
}

// isText reports whether a body may travel as a JSON string: it says it is text,
// it is not compressed, and it is UTF-8.
func isText(h http.Header, body []byte) bool {
	if len(body) == 0 {
		return true
	}
	if enc := h.Get("Content-Encoding"); enc != "" && enc != "identity" || !utf8.Valid(body) {
		return false
	}
	media, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil {
		return false
	}
	switch media {
	case "application/json", "application/javascript", "application/xml", "application/x-www-form-urlencoded":
		return true
	}
	return strings.HasPrefix(media, "text/") || strings.HasSuffix(media, "+json") || strings.HasSuffix(media, "+xml")
}
