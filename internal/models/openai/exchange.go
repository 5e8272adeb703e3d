package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"

	"piloto/internal/ground/meaning"
)

// Limits of a provider's response, in bytes.
const (
	maxAnswer  = 8 << 20
	maxRefusal = 64 << 10
)

var errTooLong = errors.New("the answer is longer than 8 MiB")

// exchange is one HTTP request of the SDK and its response. It reads and normalizes the response before the SDK
// sees it, because the SDK drops the headers and bodies of error responses, and the end of streams.
type exchange struct {
	client   *Client
	streamed bool
	sent     bool
}

// Do implements the SDK's HTTPDoer. Its error is a *refusal when the provider answered with an error.
func (x *exchange) Do(req *http.Request) (*http.Response, error) {
	if err := zeroTemperature(req); err != nil {
		return nil, err
	}
	x.sent = true
	res, err := x.client.http.Do(req)
	if err != nil {
		return nil, err
	}
	if meaning.Of(res.StatusCode, false) != meaning.Done {
		defer func() { _ = res.Body.Close() }()
		return nil, x.client.readRefusal(res)
	}
	if x.streamed {
		res.Body = newEvents(res.Body, x.client.key)
		return res, nil
	}
	defer func() { _ = res.Body.Close() }()
	body, err := readWhole(res.Body)
	if err != nil {
		return nil, err
	}
	a, err := normalize(body, x.client.key)
	if err != nil {
		return nil, err
	}
	a.finish()
	if body, err = json.Marshal(a); err != nil {
		return nil, err
	}
	res.Body = io.NopCloser(bytes.NewReader(body))
	res.ContentLength = int64(len(body))
	return res, nil
}

// readWhole reads a response to its end, up to maxAnswer bytes.
func readWhole(r io.Reader) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(r, maxAnswer+1))
	if err == nil && len(body) > maxAnswer {
		err = errTooLong
	}
	return body, err
}

// tiny is the smallest temperature that the SDK does not omit, in the SDK's notation.
const tiny = "1e-45"

// zeroTemperature writes a temperature of 0 where the SDK could only write a tiny one, because some servers raise
// the tiny one to 0.01.
func zeroTemperature(req *http.Request) error {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return err
	}
	_ = req.Body.Close()
	if bytes.Contains(body, []byte(tiny)) {
		var members map[string]json.RawMessage
		if err := json.Unmarshal(body, &members); err != nil {
			return err
		}
		if string(members["temperature"]) == tiny {
			members["temperature"] = json.RawMessage("0")
			if body, err = json.Marshal(members); err != nil {
				return err
			}
		}
	}
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	req.Body, _ = req.GetBody()
	req.ContentLength = int64(len(body))
	req.Header.Set("Content-Length", strconv.Itoa(len(body)))
	return nil
}
