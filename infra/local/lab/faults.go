package lab

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// Faults is a way to the table on which transactions meet what they meet on AWS:
// some are cancelled by a conflict with another, and the answers of some that were
// made are lost.
type Faults struct {
	aws.HTTPClient
	Conflicts float64 // of all transactions
	Lost      float64

	mu  sync.Mutex
	off bool
}

// Stop ends the faults.
func (f *Faults) Stop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.off = true
}

// Resume begins them again.
func (f *Faults) Resume() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.off = false
}

func (f *Faults) happens(share float64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.off && rand.Float64() < share
}

// Do implements aws.HTTPClient.
func (f *Faults) Do(r *http.Request) (*http.Response, error) {
	if !strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".TransactWriteItems") {
		return f.HTTPClient.Do(r)
	}
	if f.happens(f.Conflicts) {
		return cancelled(r), nil
	}
	res, err := f.HTTPClient.Do(r)
	if err == nil && f.happens(f.Lost) {
		_ = res.Body.Close()
		return nil, errors.New("lab: the answer was lost")
	}
	return res, err
}

// cancelled is DynamoDB's answer to a transaction that met another.
func cancelled(r *http.Request) *http.Response {
	body := []byte(`{"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException",` +
		`"Message":"Transaction cancelled, please refer cancellation reasons for specific reasons [TransactionConflict]",` +
		`"CancellationReasons":[{"Code":"TransactionConflict","Message":"Transaction is ongoing for the item"}]}`)
	return &http.Response{
		StatusCode: http.StatusBadRequest, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}}, ContentLength: int64(len(body)),
		Body: io.NopCloser(bytes.NewReader(body)),
	}
}
