package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

const (
	wish    = "Reserva una sala para 6 mañana a las 10"
	hostile = "Reserva una sala para 6 mañana a las 12 <script>alert(1)</script>"
)

// button holds the request of a button.
type button struct {
	Method string
	URL    string
	Body   map[string]string
}

// card is a plan as the workflow shows it.
type card struct {
	RunID       string `json:"run_id"`
	Digest      string
	Steps       []any
	Confirm     button
	Cancel      button
	ReadURL     string `json:"read_url"`
	ApprovalURL string `json:"approval_url"`
}

// propose makes the model propose a plan through n8n.
func (w *world) propose(ctx context.Context, text string) (card, error) {
	got, err := w.hook(ctx, http.MethodPost, "piloto-plan", map[string]string{"message": text})
	if err != nil {
		return card{}, err
	}
	var c card
	if err := errors.Join(expect(got, 200, "kind", "plan"), checkSentence(got), json.Unmarshal([]byte(got.Text), &c)); err != nil {
		return card{}, err
	}
	if c.RunID == "" || len(c.Digest) != 64 || len(c.Steps) == 0 || c.ApprovalURL == "" {
		return card{}, fmt.Errorf("no card: %s", brief(got.Text))
	}
	return c, w.checkStatus(ctx, c.RunID, "draft")
}

func (w *world) press(ctx context.Context, b button, digest string) (response, error) {
	body := map[string]string{"run_id": b.Body["run_id"], "digest": b.Body["digest"], "action": b.Body["action"]}
	if digest != "" {
		body["digest"] = digest
	}
	return w.hook(ctx, b.Method, b.URL, body)
}

func planSteps() []step {
	const flow = "plan-confirm"
	var c card
	return []step{
		{flow, "a greeting is answered, and is no plan", func(ctx context.Context, w *world) error {
			got, err := w.hook(ctx, http.MethodPost, "piloto-plan", map[string]string{"message": "Hola"})
			if err != nil {
				return err
			}
			return errors.Join(expect(got, 200, "kind", "message"), checkSentence(got))
		}},
		{flow, "a wish becomes a plan that has not begun", func(ctx context.Context, w *world) (err error) {
			c, err = w.propose(ctx, wish)
			return err
		}},
		{flow, "following the button's address with GET changes nothing", func(ctx context.Context, w *world) error {
			got, err := w.hook(ctx, http.MethodGet, c.Confirm.URL+"?run_id="+c.RunID+"&digest="+c.Digest, nil)
			if err != nil {
				return err
			}
			return errors.Join(expect(got, 404), w.checkStatus(ctx, c.RunID, "draft"))
		}},
		{flow, "another digest is refused, with a sentence", func(ctx context.Context, w *world) error {
			got, err := w.press(ctx, c.Confirm, strings.Repeat("0", 64))
			if err != nil {
				return err
			}
			return errors.Join(expect(got, 409, "error", "plan.stale"), checkSentence(got), w.checkStatus(ctx, c.RunID, "draft"))
		}},
		{flow, "the button confirms, and the run gets done", func(ctx context.Context, w *world) error {
			w.gate.next(nothing)
			got, err := w.press(ctx, c.Confirm, "")
			if err != nil {
				return err
			}
			for _, p := range w.gate.requestsTo("/api/runs/" + c.RunID + "/confirm") {
				if p.Header.Get("Idempotency-Key") == "" {
					return errors.New("it was sent without a key")
				}
			}
			return errors.Join(expect(got, 202, "run_id", c.RunID), checkSentence(got), w.waitForStatus(ctx, c.RunID, "done"))
		}},
		{flow, "pressed again, it starts nothing", func(ctx context.Context, w *world) error {
			got, err := w.press(ctx, c.Confirm, "")
			if err != nil {
				return err
			}
			if got.Status != 202 && got.Status != 409 {
				return fmt.Errorf("%d: %s", got.Status, brief(got.Text))
			}
			return w.checkStatus(ctx, c.RunID, "done")
		}},
		{flow, "the run can be read", func(ctx context.Context, w *world) error {
			got, err := w.hook(ctx, http.MethodGet, c.ReadURL, nil)
			if err != nil {
				return err
			}
			return expect(got, 200, "run_id", c.RunID, "status", "done")
		}},
		{flow, "the other button cancels", func(ctx context.Context, w *world) error {
			c, err := w.propose(ctx, wish)
			if err != nil {
				return err
			}
			got, err := w.press(ctx, c.Cancel, "")
			if err != nil {
				return err
			}
			return errors.Join(expect(got, 200, "status", "cancelled"), w.checkStatus(ctx, c.RunID, "cancelled"))
		}},
	}
}

func approvalSteps() []step {
	const flow = "approval-page"
	var c card
	open := func(ctx context.Context, method, address string) (response, error) {
		return call(ctx, method, address, nil, nil)
	}
	return []step{
		{flow, "the link asks and changes nothing, however often it is opened", func(ctx context.Context, w *world) (err error) {
			if c, err = w.propose(ctx, hostile); err != nil {
				return err
			}
			for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodGet} {
				got, err := open(ctx, method, c.ApprovalURL)
				if err != nil {
					return err
				}
				if method == http.MethodHead {
					continue // n8n may answer anything
				}
				if err := errors.Join(expect(got, 200), contains(got, `<form method="post">`), contains(got, c.Digest), contains(got, "POST /reservations {")); err != nil {
					return err
				}
				if !strings.HasPrefix(got.Header.Get("Content-Type"), "text/html") {
					return fmt.Errorf("it is %s", got.Header.Get("Content-Type"))
				}
			}
			return w.checkStatus(ctx, c.RunID, "draft")
		}},
		{flow, "what a plan says is text, and no part of the page", func(ctx context.Context, w *world) error {
			got, err := open(ctx, http.MethodGet, c.ApprovalURL)
			if err == nil && strings.Contains(got.Text, "<script") {
				err = errors.New("a script of the plan is in the page")
			}
			return err
		}},
		{flow, "who knows only the run's id sees nothing of it", func(ctx context.Context, w *world) error {
			got, err := open(ctx, http.MethodGet, strings.Replace(c.ApprovalURL, c.Digest, strings.Repeat("0", 64), 1))
			if err == nil && strings.Contains(got.Text, "sala") {
				err = errors.New("the plan is shown")
			}
			return errors.Join(err, expect(got, 404))
		}},
		{flow, "a form that says neither yes nor no changes nothing", func(ctx context.Context, w *world) error {
			form := url.Values{"run_id": {c.RunID}, "digest": {c.Digest}, "action": {"approve"}}
			got, err := call(ctx, http.MethodPost, c.ApprovalURL, form.Encode(), nil)
			return errors.Join(err, expect(got, 404), w.checkStatus(ctx, c.RunID, "draft"))
		}},
		{flow, "the form's POST confirms, and the run gets done", func(ctx context.Context, w *world) error {
			form := url.Values{"run_id": {c.RunID}, "digest": {c.Digest}, "action": {"confirm"}}
			got, err := call(ctx, http.MethodPost, c.ApprovalURL, form.Encode(), nil)
			if err != nil {
				return err
			}
			return errors.Join(expect(got, 200), contains(got, "Confirmado"), w.waitForStatus(ctx, c.RunID, "done"))
		}},
		{flow, "the link then says that it is done, and asks no more", func(ctx context.Context, w *world) error {
			got, err := open(ctx, http.MethodGet, c.ApprovalURL)
			if err == nil && strings.Contains(got.Text, "<form") {
				err = errors.New("it still asks")
			}
			return errors.Join(err, expect(got, 200), contains(got, "Está hecho"))
		}},
		{flow, "the form's POST cancels", func(ctx context.Context, w *world) error {
			c, err := w.propose(ctx, wish)
			if err != nil {
				return err
			}
			form := url.Values{"run_id": {c.RunID}, "digest": {c.Digest}, "action": {"cancel"}}
			got, err := call(ctx, http.MethodPost, c.ApprovalURL, form.Encode(), nil)
			if err != nil {
				return err
			}
			return errors.Join(expect(got, 200), contains(got, "Está cancelado"), w.checkStatus(ctx, c.RunID, "cancelled"))
		}},
	}
}
