package plan

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"piloto/internal/ground/jcs"
)

// Chained returns the event with its hash: the lower-case hex SHA-256 of the canonical form of
// {prev, seq, at, type, step_id, data}. prev is the hash of the previous event, empty for the
// first. at is RFC 3339 in UTC, in whole milliseconds.
func (e Event) Chained(prev string) (Event, error) {
	sum, err := jcs.Sum(map[string]any{
		"prev": prev, "seq": e.Seq, "at": e.At.UTC().Format("2006-01-02T15:04:05.000Z07:00"),
		"type": e.Type, "step_id": e.StepID.String(), "data": e.Data,
	})
	if err != nil {
		return e, fmt.Errorf("plan: event %d: %w", e.Seq, err)
	}
	e.Hash = sum
	return e, nil
}

// RequestLine returns the second line of the identity of a request: its URL, and the headers of its plan in canonical form,
// if there are any. No URL has a space in it.
func RequestLine(url string, headers json.RawMessage) string {
	if len(headers) == 0 {
		return url
	}
	form, err := jcs.Canonical(headers)
	if err != nil { // no plan has such headers
		form = headers
	}
	return url + " " + string(form)
}

// RequestHash identifies a request without its key: the lower-case hex SHA-256 of its method (or its tool), its URL with the
// headers of its plan (RequestLine) and its body, each on a line of its own. It compares the approved request, the sent
// request and the request in a receipt.
func RequestHash(method, url string, body []byte) string {
	sum := sha256.Sum256([]byte(method + "\n" + url + "\n" + string(body)))
	return hex.EncodeToString(sum[:])
}

// RequestOf returns the RequestHash of an attempt of a step.
func (s Step) RequestOf(a Attempt) string {
	return RequestHash(cmp.Or(s.Tool, s.Method), RequestLine(a.URL, a.Headers), a.Body)
}
