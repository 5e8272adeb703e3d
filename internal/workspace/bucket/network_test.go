package bucket_test

import (
	"errors"
	"fmt"
	"io"
	"localaws/inproc"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"piloto/internal/ground/fault"
	"piloto/internal/workspace"
	"piloto/internal/workspace/bucket"
)

// network is the way to an engine, on which a test lets requests and answers go wrong.
type network struct {
	inproc.Transport
	mu    sync.Mutex
	asked []string // methods
	// before, if it is set, may answer a request itself. after may lose the answer.
	before func(*http.Request) *http.Response
	after  func(*http.Request) error
}

func (n *network) Do(r *http.Request) (*http.Response, error) {
	n.mu.Lock()
	n.asked = append(n.asked, r.Method)
	before, after := n.before, n.after
	n.mu.Unlock()
	if before != nil {
		if res := before(r); res != nil {
			return res, nil
		}
	}
	res, err := n.Transport.Do(r)
	if err == nil && after != nil {
		err = after(r)
	}
	return res, err
}

// once calls fn for the first request with a method only.
func once[T any](method string, fn func() T) func(*http.Request) T {
	var done atomic.Bool
	return func(r *http.Request) (none T) {
		if r.Method != method || done.Swap(true) {
			return none
		}
		return fn()
	}
}

var errLost = errors.New("connection reset by peer")

func lost() error { return &lostError{} }

// lostError is an error of the network, after which the client repeats a request.
type lostError struct{}

func (*lostError) Error() string        { return errLost.Error() }
func (*lostError) RetryableError() bool { return true }
func (*lostError) Unwrap() error        { return errLost }

func answer(status int, code string) *http.Response {
	return &http.Response{
		StatusCode: status, Header: http.Header{"Content-Type": {"application/xml"}},
		Body: io.NopCloser(strings.NewReader("<Error><Code>" + code + "</Code><Message>m</Message></Error>")),
	}
}

func TestAWriteWhoseAnswerIsLostIsMadeOnce(t *testing.T) {
	n := &network{Transport: inproc.Transport{Handler: serve(t)}}
	s := open(clientOf(n), workspace.Limits{})
	n.after = once(http.MethodPut, lost)
	first := mustWrite(t, s, "a", "one", "")
	n.after = once(http.MethodPut, lost)
	second := mustWrite(t, s, "a", "two", first.Version)
	if f, err := s.Stat(t.Context(), "a"); err != nil || f.Version != second.Version {
		t.Errorf("%+v, %v", f, err)
	}
	if all, err := s.Versions(t.Context(), "a"); err != nil || len(all) != 2 {
		t.Errorf("%+v, %v", all, err)
	}
	n.after = once(http.MethodDelete, lost)
	if err := s.Delete(t.Context(), "a", second.Version); err != nil {
		t.Error(err)
	}
}

// TestARepeatedWriteIsNotTakenForThatOfAnother: the first request never arrived, and somebody else wrote the same.
func TestARepeatedWriteIsNotTakenForThatOfAnother(t *testing.T) {
	e := serve(t)
	n := &network{Transport: inproc.Transport{Handler: e}}
	config := bucket.Config{Client: clientOf(n), Name: name, Prefix: prefixOf("acc", "raced"), Now: time.Now}
	s := bucket.New(config)
	config.Client = client(e)
	other := bucket.New(config)
	n.before = once(http.MethodPut, func() *http.Response {
		mustWrite(t, other, "a", "same", "")
		return answer(http.StatusServiceUnavailable, "SlowDown")
	})
	if _, err := s.Write(t.Context(), "a", []byte("same"), ""); !errors.Is(err, workspace.ErrMoved) {
		t.Error(err)
	}
}

func TestAConflictIsRepeated(t *testing.T) {
	n := &network{Transport: inproc.Transport{Handler: serve(t)}}
	s := open(clientOf(n), workspace.Limits{})
	conflict := func() *http.Response { return answer(http.StatusConflict, "ConditionalRequestConflict") }
	n.before = once(http.MethodPut, conflict)
	f := mustWrite(t, s, "a", "one", "")
	n.before = once(http.MethodDelete, conflict)
	if err := s.Delete(t.Context(), "a", f.Version); err != nil {
		t.Error(err)
	}
	n.before = func(r *http.Request) *http.Response {
		if r.Method == http.MethodPut {
			return conflict()
		}
		return nil
	}
	if _, err := s.Write(t.Context(), "b", nil, ""); !errors.Is(err, workspace.ErrMoved) {
		t.Error(err)
	}
}

// TestFaultsSayWhatToDo, and have no key of the deployment in them.
func TestFaultsSayWhatToDo(t *testing.T) {
	for _, c := range []struct {
		status int
		code   string
		want   error // of a write; nil: the deployment is wrong
	}{
		{http.StatusServiceUnavailable, "SlowDown", workspace.ErrUnreachable},
		{http.StatusInternalServerError, "InternalError", workspace.ErrUnreachable},
		{http.StatusBadRequest, "RequestTimeout", workspace.ErrUnreachable},
		{http.StatusBadRequest, "Throttling", workspace.ErrUnreachable},
		{http.StatusInsufficientStorage, "InternalError", fault.ErrStorage},
		{http.StatusForbidden, "AccessDenied", nil},
		{http.StatusNotFound, "NoSuchBucket", nil},
		{http.StatusNotImplemented, "NotImplemented", nil},
	} {
		n := &network{Transport: inproc.Transport{Handler: serve(t)}}
		s := open(clientOf(n), workspace.Limits{})
		f := mustWrite(t, s, "a", "1", "")
		n.before = func(r *http.Request) *http.Response {
			if r.Method == http.MethodPut || r.Method == http.MethodDelete {
				return answer(c.status, c.code)
			}
			return nil
		}
		_, err := s.Write(t.Context(), "a", []byte("2"), f.Version)
		for what, err := range map[string]error{"write": err, "delete": s.Delete(t.Context(), "a", f.Version)} {
			switch {
			case err == nil, strings.Contains(fmt.Sprintf("%+v %#v", err, err), canary):
				t.Errorf("%s after %s: %v", what, c.code, err)
			case c.want == nil && fault.KindOf(err) != fault.Internal, c.want != nil && !errors.Is(err, c.want):
				t.Errorf("%s after %s: %v, want %v", what, c.code, err, c.want)
			}
		}
	}
}
