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

// recorder records the response of a handler with the rules of net/http: the first status counts and fixes the
// headers, and Write implies status 200.
type recorder struct {
	header http.Header
	sent   http.Header // headers at the time of the status
	status int
	body   bytes.Buffer
}

func (w *recorder) Header() http.Header { return w.header }

func (w *recorder) WriteHeader(status int) {
	if w.status != 0 || status < 200 { // API Gateway cannot forward informational responses
		return
	}
	w.status = status
	w.sent = w.header.Clone()
}

func (w *recorder) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(p)
}

// answer returns the event of the recorded response. A handler that wrote nothing gives 200 with an empty body, as
// with net/http.
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

// isText reports whether a body can be sent as a JSON string: its type is text, it is not compressed, and it is
// valid UTF-8.
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
