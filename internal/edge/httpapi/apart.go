package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"piloto/internal/access/auth"
	"piloto/internal/access/replay"
)

// Apart serves the turns that Later began, with what Chat returned.
type Apart struct {
	Config  Config
	Handler http.Handler
}

// Serve serves a turn of an account, once. When it returns an error it is to be called again.
func (a Apart) Serve(ctx context.Context, account, id string) error {
	return a.answer(ctx, account, id, a.Handler)
}

// GiveUp answers a turn that could not be served.
func (a Apart) GiveUp(ctx context.Context, account, id string) error {
	return a.answer(ctx, account, id, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		Problems(a.Config)(w, r, errGivenUp)
	}))
}

func (a Apart) answer(ctx context.Context, account, id string, h http.Handler) error {
	err := a.Config.Once.Serve(ctx, account, laterKey(id), func(ctx context.Context, raw []byte, t ticket) ([]byte, error) {
		var b brought
		if err := json.Unmarshal(raw, &b); err != nil {
			return nil, err
		}
		r, err := b.request(ctx, t)
		if err != nil {
			return nil, err
		}
		w := &noting{header: http.Header{}}
		h.ServeHTTP(w, r)
		if w.status == http.StatusConflict && w.code() == replay.ErrBusy.Code {
			return nil, errAgain
		}
		out, err := w.told(b.Principal.User)
		if err == nil && len(out) > replay.MaxAnswer {
			w = &noting{header: http.Header{}}
			Problems(a.Config)(w, r, replay.ErrTooLarge)
			out, err = w.told(b.Principal.User)
		}
		return out, err
	})
	if errors.Is(err, replay.ErrUnknown) { // it is forgotten, or never was
		return nil
	}
	return err
}

// request is the request that was kept, as it came.
func (b brought) request(ctx context.Context, t ticket) (*http.Request, error) {
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

// noting keeps what a handler answers.
type noting struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (n *noting) Header() http.Header { return n.header }

// WriteHeader implements http.ResponseWriter.
func (n *noting) WriteHeader(status int) {
	if n.status == 0 {
		n.status = status
	}
}

// Write implements http.ResponseWriter.
func (n *noting) Write(p []byte) (int, error) {
	n.WriteHeader(http.StatusOK)
	return n.body.Write(p)
}

// code is that of a problem.
func (n *noting) code() string {
	var p struct{ Code string }
	_ = json.Unmarshal(n.body.Bytes(), &p) // what is no JSON has none
	return p.Code
}

func (n *noting) told(user string) ([]byte, error) {
	n.WriteHeader(http.StatusOK)
	return json.Marshal(told{User: user, Status: n.status, Header: n.header, Body: n.body.String()})
}
