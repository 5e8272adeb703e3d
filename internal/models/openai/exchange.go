package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
)

// Bounds of what is read of a provider, in bytes.
const (
	maxAnswer  = 8 << 20
	maxRefusal = 64 << 10
)

var errTooLong = errors.New("the answer is longer than 8 MiB")

// exchange is one HTTP request of the SDK and its answer, read and mended before
// the SDK sees it: it loses headers and bodies of what it calls an error, and the
// end of what it calls a stream.
type exchange struct {
	client   *Client
	streamed bool
	sent     bool
}

// Do implements the SDK's HTTPDoer. Its error is a *refusal when the provider
// answered, and answered no.
func (x *exchange) Do(req *http.Request) (*http.Response, error) {
	if err := zeroTemperature(req); err != nil {
		return nil, err
	}
	x.sent = true
	res, err := x.client.http.Do(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode < 200 || res.StatusCode > 299 {
		defer func() { _ = res.Body.Close() }()
		return nil, refused(res, x.client.key)
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
	a, err := mend(body, x.client.key)
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

// readWhole reads an answer to its end.
func readWhole(r io.Reader) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(r, maxAnswer+1))
	if err == nil && len(body) > maxAnswer {
		err = errTooLong
	}
	return body, err
}

// tiny is the least temperature that the SDK does not leave out, as it writes it.
const tiny = "1e-45"

// zeroTemperature writes a temperature of 0 where the SDK could only write a tiny
// one: some servers raise that to 0.01.
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
