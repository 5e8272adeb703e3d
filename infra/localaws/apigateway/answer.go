package apigateway

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
)

// answer is a function's result as an HTTP response.
type answer struct {
	status  int
	headers map[string]string
	cookies []string
	body    []byte
}

// The content types of answers that name none.
const (
	plain    = "text/plain;charset=UTF-8" // an answer with a status, and no content type
	inferred = "application/json"         // a value without a status
)

// readAnswer reads a function's result. A value without a status is the body of a 200: a text as it
// is, any other value as JSON.
func readAnswer(out []byte) (answer, error) {
	var members map[string]json.RawMessage
	if !json.Valid(out) {
		return answer{}, errors.New("it is not JSON")
	}
	if json.Unmarshal(out, &members) != nil || members["statusCode"] == nil {
		a := answer{status: http.StatusOK, headers: map[string]string{"Content-Type": inferred}, body: out}
		var text string
		if json.Unmarshal(out, &text) == nil && string(out) != "null" {
			a.body = []byte(text)
		}
		return a, nil
	}
	var result struct {
		Status  json.Number                `json:"statusCode"`
		Headers map[string]json.RawMessage `json:"headers"`
		Cookies []string                   `json:"cookies"`
		Body    *string                    `json:"body"`
		Base64  bool                       `json:"isBase64Encoded"`
	}
	if err := json.Unmarshal(out, &result); err != nil {
		return answer{}, err
	}
	status, err := strconv.Atoi(result.Status.String())
	if err != nil || status < 200 || status > 599 {
		return answer{}, fmt.Errorf("no status: %s", members["statusCode"])
	}
	a := answer{status: status, headers: map[string]string{}, cookies: result.Cookies}
	for name, raw := range result.Headers {
		value := string(raw) // a number keeps its text
		switch raw[0] {
		case '"':
			if err := json.Unmarshal(raw, &value); err != nil {
				return answer{}, err
			}
		case '{', '[', 'n':
			return answer{}, fmt.Errorf("the header %s is no text", name)
		}
		a.headers[http.CanonicalHeaderKey(name)] = value
	}
	if result.Body == nil {
		return a, nil
	}
	if a.body = []byte(*result.Body); result.Base64 {
		a.body, err = base64.StdEncoding.DecodeString(*result.Body)
	}
	return a, err
}

// write sends the answer to the client. Content-Length is that of the body, and the function cannot
// set headers of the connection.
func (a answer) write(w http.ResponseWriter, method string) {
	h := w.Header()
	for name, value := range a.headers {
		switch name {
		case "Connection", "Keep-Alive", "Transfer-Encoding", "Upgrade", "Trailer":
		case "Content-Length":
			if method == http.MethodHead {
				h.Set(name, value)
			}
		default:
			h.Set(name, value)
		}
	}
	for _, cookie := range a.cookies {
		h.Add("Set-Cookie", cookie)
	}
	if a.headers["Content-Type"] == "" {
		if len(a.body) > 0 {
			h.Set("Content-Type", plain)
		} else {
			h["Content-Type"] = nil // net/http would guess one
		}
	}
	w.WriteHeader(a.status)
	if method != http.MethodHead {
		_, _ = w.Write(a.body) // the client may be gone
	}
}
