package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"piloto/internal/access/auth"
	"piloto/internal/live/hook"
)

// channel is where people read: it takes a text as the incoming webhooks of messengers do.
type channel struct {
	*httptest.Server
	mu    sync.Mutex
	said  []string
	fails bool
}

func newChannel() *channel {
	c := &channel{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		var m struct{ Text string }
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.fails || err != nil || json.Unmarshal(raw, &m) != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		c.said = append(c.said, m.Text)
	}))
	return c
}

// take returns the messages since the last call.
func (c *channel) take() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	said := c.said
	c.said = nil
	return said
}

func (c *channel) setFails(fails bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fails = fails
}

const hookRoute = "/webhook/piloto-hook"

// delivery returns a message to the hook as Piloto signs it at a time.
func (w *world) delivery(id string, at time.Time, secret, body string) (http.Header, error) {
	signature, err := auth.Delivery{ID: id, Body: []byte(body)}.Sign(secret, at)
	return http.Header{
		"Webhook-Id": {id}, "Webhook-Timestamp": {strconv.FormatInt(at.Unix(), 10)}, "Webhook-Signature": {signature},
	}, err
}

// tell sends a message to the workflow. It returns the answer, and the messages in the channel.
func (w *world) tell(ctx context.Context, header http.Header, body string) (response, []string, error) {
	w.channel.take()
	got, err := call(ctx, http.MethodPost, w.hooks+hookRoute, json.RawMessage(body), header)
	return got, w.channel.take(), err
}

// refused fails unless a message is answered with a status, and nothing is said.
func (w *world) refused(ctx context.Context, status int, header http.Header, body string) error {
	got, said, err := w.tell(ctx, header, body)
	if err == nil && len(said) > 0 {
		err = fmt.Errorf("it said %q", said)
	}
	return errors.Join(err, expect(got, status))
}

func hookSteps() []step {
	const flow = "hook"
	var came passed
	var id string
	header := func() http.Header {
		h := http.Header{}
		for _, name := range []string{"Webhook-Id", "Webhook-Timestamp", "Webhook-Signature"} {
			h[name] = slices.Clone(came.Header[name])
		}
		return h
	}
	return []step{
		{flow, "a step that waits is said in the channel", func(ctx context.Context, w *world) (err error) {
			id, came, err = w.waitIsSaid(ctx)
			return err
		}},
		{flow, "its replay is refused: nothing is said again", func(ctx context.Context, w *world) error {
			got, said, err := w.tell(ctx, header(), came.Body)
			if err == nil && len(said) > 0 {
				err = fmt.Errorf("it said %q", said)
			}
			return errors.Join(err, expect(got, 200, "told", "false", "repeated", "true"))
		}},
		{flow, "a body, an id or a time that was not signed is refused", func(ctx context.Context, w *world) error {
			other, later := header(), header()
			other.Set("Webhook-Id", "msg_other")
			later.Set("Webhook-Timestamp", strconv.FormatInt(time.Now().Unix()+1, 10))
			return errors.Join(
				w.refused(ctx, 401, header(), strings.Replace(came.Body, "run.waiting", "run.finished", 1)),
				w.refused(ctx, 401, other, came.Body), w.refused(ctx, 401, later, came.Body), w.refused(ctx, 401, nil, came.Body))
		}},
		{flow, "what was signed with another secret, or more than five minutes ago, is refused", func(ctx context.Context, w *world) error {
			foreign, err := w.delivery("msg_foreign", time.Now(), auth.NewWebhookSecret(), came.Body)
			if err != nil {
				return err
			}
			old, err := w.delivery("msg_old", time.Now().Add(-6*time.Minute), w.secret, came.Body)
			if err != nil {
				return err
			}
			return errors.Join(w.refused(ctx, 401, foreign, came.Body), w.refused(ctx, 401, old, came.Body))
		}},
		{flow, "a channel that fails is 503, and the message that is sent again is said", func(ctx context.Context, w *world) error {
			return w.saidLater(ctx, came.Body)
		}},
		{flow, "every type of message is said in words", func(ctx context.Context, w *world) error {
			var errs []error
			for _, e := range hook.Events {
				errs = append(errs, w.checkWords(ctx, e))
			}
			return errors.Join(errs...)
		}},
		{flow, "a type that it does not know is answered, and not said", func(ctx context.Context, w *world) error {
			body := `{"type":"something.new","data":{}}`
			h, err := w.delivery("msg_new", time.Now(), w.secret, body)
			return errors.Join(err, w.refused(ctx, 200, h, body))
		}},
		{flow, "Piloto's log says that it was delivered", func(ctx context.Context, w *world) error {
			var log struct{ Deliveries []struct{ State string } }
			if err := w.ask(ctx, http.MethodGet, "/api/hooks/"+id+"/deliveries", nil, &log); err != nil {
				return err
			}
			if len(log.Deliveries) != 1 || log.Deliveries[0].State != "delivered" {
				return fmt.Errorf("%+v", log)
			}
			return errors.Join(w.ask(ctx, http.MethodDelete, "/api/hooks/"+id, nil, nil),
				w.ask(ctx, http.MethodPut, "/api/rules", map[string]any{"version": 1, "rules": []any{}}, nil))
		}},
	}
}

// waitIsSaid makes a hook, and has a step of a run wait. It returns the hook, and its delivery.
func (w *world) waitIsSaid(ctx context.Context) (id string, came passed, err error) {
	rules := map[string]any{"version": 0, "rules": []any{map[string]any{"effect": "ask", "path": "/*", "reason": "se mira"}}}
	if err := w.ask(ctx, http.MethodPut, "/api/rules", rules, nil); err != nil {
		return "", came, err
	}
	var made struct {
		ID string `json:"hook_id"`
	}
	body := map[string]any{"url": w.back.URL + hookRoute, "events": []string{"run.waiting"}, "secret": w.secret}
	if err := w.ask(ctx, http.MethodPost, "/api/hooks", body, &made); err != nil {
		return "", came, err
	}
	c, err := w.propose(ctx, wish)
	if err != nil {
		return made.ID, came, err
	}
	if _, err = w.press(ctx, c.Confirm, ""); err != nil {
		return made.ID, came, err
	}
	if err := w.waitForStatus(ctx, c.RunID, "waiting"); err != nil {
		return made.ID, came, err
	}
	w.back.next(nothing)
	w.channel.take()
	if err := errors.Join(w.piloto.stop(), w.startPiloto(ctx)); err != nil { // each start sweeps
		return made.ID, came, err
	}
	said, err := w.waitForWords(ctx)
	if err != nil {
		return made.ID, came, err
	}
	if len(said) != 1 || !strings.Contains(said[0], "espera tu aprobación") || !strings.Contains(said[0], w.gate.URL+"/?chat=") {
		return made.ID, came, fmt.Errorf("it said %q", said)
	}
	all := w.back.requestsTo(hookRoute)
	if len(all) != 1 || !strings.Contains(all[0].Body, `"type":"run.waiting"`) || !strings.Contains(all[0].Body, c.RunID) {
		return made.ID, came, fmt.Errorf("not one delivery: %+v", all)
	}
	return made.ID, all[0], nil
}

// saidLater fails unless a message that the channel did not take is said when it is sent again.
func (w *world) saidLater(ctx context.Context, body string) error {
	h, err := w.delivery("msg_late", time.Now(), w.secret, body)
	if err != nil {
		return err
	}
	w.channel.setFails(true)
	err = w.refused(ctx, 503, h, body)
	w.channel.setFails(false)
	if err != nil {
		return err
	}
	got, said, err := w.tell(ctx, h, body)
	if err == nil && len(said) != 1 {
		err = fmt.Errorf("it said %q", said)
	}
	return errors.Join(err, expect(got, 200, "told", "true"))
}

// waitForWords waits until something was said in the channel.
func (w *world) waitForWords(ctx context.Context) ([]string, error) {
	for late := time.Now().Add(30 * time.Second); time.Now().Before(late); {
		if said := w.channel.take(); len(said) > 0 {
			return said, nil
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return nil, fmt.Errorf("nothing was said; %+v", w.back.requestsTo(hookRoute))
}

// checkWords fails unless a message of a type is said with the words of its data.
func (w *world) checkWords(ctx context.Context, e hook.Event) error {
	var data any = hook.RunData{RunID: "r", Status: "error", Goal: "Reservar «la» sala <1> & \"dos\"", Path: hook.ChatPath("c")}
	word := `Reservar «la» sala <1> & "dos"`
	switch e {
	case hook.AgentFailed:
		data, word = hook.AgentData{Agent: "reserva", Error: "agent.timeout", Path: hook.ChatPath("c")}, "reserva falló (agent.timeout)"
	case hook.BreakerOpened:
		data, word = hook.BreakerData{Agent: "reserva", RetryAt: "2026-03-01T10:00:00Z", Path: hook.AgentsPath}, "hasta 2026-03-01T10:00:00Z"
	case hook.BudgetLow:
		data, word = hook.BudgetData{Budget: "month", Left: 1_500_000, Of: 10_000_000, Path: hook.CreditsPath}, "(límite del mes): 1.50 de 10.00 USD"
	}
	m, err := hook.NewMessage(e, time.Now(), data)
	if err != nil {
		return err
	}
	body, err := json.Marshal(m)
	if err != nil {
		return err
	}
	h, err := w.delivery("msg_"+string(e), time.Now(), w.secret, string(body))
	if err != nil {
		return err
	}
	got, said, err := w.tell(ctx, h, string(body))
	if err == nil && (len(said) != 1 || !strings.Contains(said[0], word) || strings.Contains(said[0], "undefined")) {
		err = fmt.Errorf("of %s it said %q", e, said)
	}
	return errors.Join(err, expect(got, 200, "told", "true"))
}
