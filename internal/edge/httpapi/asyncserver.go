package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"piloto/internal/access/auth"
	"piloto/internal/access/replay"
	"piloto/internal/ground/ids"
)

// AsyncServer serves the turns that Async started, with the handler of Chat.
type AsyncServer struct {
	Config  Config
	Handler http.Handler
}

// Serve serves a turn of an account, once. After an error the caller must call it again.
func (a AsyncServer) Serve(ctx context.Context, account ids.Account, id string) error {
	return a.answer(ctx, account, id, a.Handler)
}

// GiveUp stores an error as the answer to a turn that could not be served.
func (a AsyncServer) GiveUp(ctx context.Context, account ids.Account, id string) error {
	return a.answer(ctx, account, id, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		Problems(a.Config)(w, r, errGivenUp)
	}))
}

func (a AsyncServer) answer(ctx context.Context, account ids.Account, id string, h http.Handler) error {
	err := a.Config.Once.Serve(ctx, account, asyncKey(id), func(ctx context.Context, raw []byte, t ticket) ([]byte, error) {
		var b storedRequest
		if err := json.Unmarshal(raw, &b); err != nil {
			return nil, err
		}
		r, err := b.request(ctx, t)
		if err != nil {
			return nil, err
		}
		w := &answerRecorder{header: http.Header{}}
		h.ServeHTTP(w, r)
		if w.status == http.StatusConflict && w.code() == replay.ErrBusy.Code {
			return nil, errAgain
		}
		out, err := w.encode(b.Principal.User)
		if err == nil && len(out) > replay.MaxAnswer {
			w = &answerRecorder{header: http.Header{}}
			Problems(a.Config)(w, r, replay.ErrTooLarge)
			out, err = w.encode(b.Principal.User)
		}
		return out, err
	})
	if errors.Is(err, replay.ErrUnknown) { // it expired, or never existed
		return nil
	}
	return err
}

// request returns the stored request as it arrived.
func (b storedRequest) request(ctx context.Context, t ticket) (*http.Request, error) {
	ctx = context.WithValue(auth.NewContext(ctx, b.Principal), ticketKey{}, t)
	if b.Webhook != "" {
		ctx = context.WithValue(ctx, deliveryKey{}, delivery{b.Webhook, b.Delivery})
	}
	r, err := http.NewRequestWithContext(ctx, b.Method, b.URL, bytes.NewReader(b.Body))
	if err != nil {
		return nil, err
	}
	r.Host, r.Header = b.Host, b.Header
	return r, nil
}

// answerRecorder records the response of a handler.
type answerRecorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (n *answerRecorder) Header() http.Header { return n.header }

// WriteHeader implements http.ResponseWriter.
func (n *answerRecorder) WriteHeader(status int) {
	if n.status == 0 {
		n.status = status
	}
}

// Write implements http.ResponseWriter.
func (n *answerRecorder) Write(p []byte) (int, error) {
	n.WriteHeader(http.StatusOK)
	return n.body.Write(p)
}

// code returns the code of a problem.
func (n *answerRecorder) code() string {
	var p struct{ Code string }
	_ = json.Unmarshal(n.body.Bytes(), &p) // a body that is not JSON has none
	return p.Code
}

func (n *answerRecorder) encode(user string) ([]byte, error) {
	n.WriteHeader(http.StatusOK)
	return json.Marshal(storedAnswer{User: user, Status: n.status, Header: n.header, Body: n.body.String()})
}
