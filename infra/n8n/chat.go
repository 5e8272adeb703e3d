package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

const route = "/api/agent/chat"

// message returns a customer's message in the form that the webhooks get.
func message(session, id, text string) map[string]any {
	m := map[string]any{"session_id": session, "message": text}
	if id != "" {
		m["message_id"] = id
	}
	return m
}

const booking = "Quiero reservar una sala para 6 personas mañana a las 10"

func chatSteps() []step {
	const flow = "chat"
	var first response
	return []step{
		{flow, "a greeting is answered by Piloto itself", func(ctx context.Context, w *world) error {
			got, err := w.hook(ctx, http.MethodPost, "piloto-chat", message("greets", "1", "Hola"))
			if err != nil {
				return err
			}
			return errors.Join(expect(got, 200, "session_id", "greets", "action", "respond", "agent_used", ""), checkSentence(got), w.checkRemembered(ctx, "greets", 1))
		}},
		{flow, "a booking is delegated to the agent reserva", func(ctx context.Context, w *world) (err error) {
			if first, err = w.hook(ctx, http.MethodPost, "piloto-chat", message("books", "1", booking)); err != nil {
				return err
			}
			return errors.Join(expect(first, 200, "action", "delegate", "agent_used", "reserva"), checkSentence(first), w.checkRemembered(ctx, "books", 1))
		}},
		{flow, "the same message again has the same answer, and is one turn", func(ctx context.Context, w *world) error {
			again, err := w.hook(ctx, http.MethodPost, "piloto-chat", message("books", "1", booking))
			if err != nil {
				return err
			}
			if again.Text != first.Text {
				return fmt.Errorf("another answer: %s", brief(again.Text))
			}
			return errors.Join(expect(again, 200), checkReplayed(again), w.checkRemembered(ctx, "books", 1))
		}},
		{flow, "an answer lost on its way is asked for again with the same key, and is one turn", func(ctx context.Context, w *world) error {
			w.gate.next(loseAnswer)
			got, err := w.hook(ctx, http.MethodPost, "piloto-chat", message("loses", "", "Hola"))
			if err != nil {
				return err
			}
			came := w.gate.requestsTo(route)
			if len(came) != 2 || came[0].Header.Get("Idempotency-Key") == "" || came[0].Header.Get("Idempotency-Key") != came[1].Header.Get("Idempotency-Key") {
				return fmt.Errorf("not two requests with one key: %+v", came)
			}
			return errors.Join(expect(got, 200), checkSentence(got), checkReplayed(got), w.checkRemembered(ctx, "loses", 1))
		}},
		{flow, "five deliveries of one message at once are one turn, and have one answer", func(ctx context.Context, w *world) error {
			return w.atOnce(ctx, "rushes", 5)
		}},
		{flow, "two messages without an id of their own are two turns", func(ctx context.Context, w *world) error {
			for range 2 {
				got, err := w.hook(ctx, http.MethodPost, "piloto-chat", message("twice", "", "Hola"))
				if err := errors.Join(err, expect(got, 200)); err != nil {
					return err
				}
			}
			return w.checkRemembered(ctx, "twice", 2)
		}},
		{flow, "a message that says nothing is refused with Piloto's own sentence", func(ctx context.Context, w *world) error {
			got, err := w.hook(ctx, http.MethodPost, "piloto-chat", map[string]any{"session_id": "empty"})
			if err != nil {
				return err
			}
			return errors.Join(expect(got, 422), checkSentence(got))
		}},
		{flow, "a turn that may not run is 503, and tells the customer nothing of why", func(ctx context.Context, w *world) error {
			return w.withoutAssistant(ctx, func() error {
				got, err := w.hook(ctx, http.MethodPost, "piloto-chat", message("blocked", "1", "Hola"))
				if err != nil {
					return err
				}
				return errors.Join(expect(got, 503, "action", "respond", "agent_used", ""), checkSentence(got), contains(got, `"reason":"no_assistant"`))
			})
		}},
		{flow, "who has no key of the webhook is refused by n8n", func(ctx context.Context, w *world) error {
			got, err := call(ctx, http.MethodPost, w.hooks+"/webhook/piloto-chat", message("stranger", "1", "Hola"), nil)
			if err != nil {
				return err
			}
			return errors.Join(expect(got, 403), w.checkRemembered(ctx, "stranger", 0))
		}},
	}
}

// atOnce sends one message n times at the same time.
func (w *world) atOnce(ctx context.Context, session string, n int) error {
	type outcome struct {
		got response
		err error
	}
	came, begin := make(chan outcome), make(chan struct{})
	for range n {
		go func() {
			<-begin
			got, err := w.hook(ctx, http.MethodPost, "piloto-chat", message(session, "1", booking))
			came <- outcome{got, err}
		}()
	}
	close(begin)
	var errs []error
	first := ""
	for range n {
		o := <-came
		if errs = append(errs, o.err); o.err != nil {
			continue
		}
		if first == "" {
			first = o.got.Text
		}
		if errs = append(errs, expect(o.got, 200)); o.got.Text != first {
			errs = append(errs, fmt.Errorf("another answer: %s", brief(o.got.Text)))
		}
	}
	return errors.Join(append(errs, w.checkRemembered(ctx, session, 1))...)
}

// withoutAssistant calls f while the account has no assistant.
func (w *world) withoutAssistant(ctx context.Context, f func() error) error {
	const path = "/ai/assistant"
	var mine struct{ Provider, Model string }
	if err := w.ask(ctx, http.MethodGet, path, nil, &mine); err != nil {
		return err
	}
	nobody := map[string]any{"provider": mine.Provider, "model": mine.Model, "active": false}
	if err := w.ask(ctx, http.MethodPut, path, nobody, nil); err != nil {
		return err
	}
	return errors.Join(f(), w.ask(ctx, http.MethodDelete, path, nil, nil))
}

func signedSteps() []step {
	const flow, path = "chat-signed", "piloto-chat-signed"
	return []step{
		{flow, "a signed message is answered, without a token", func(ctx context.Context, w *world) error {
			w.gate.next(nothing)
			got, err := w.hook(ctx, http.MethodPost, path, message("signs", "número 1", "Hola, ¿qué tal? «ñandú» \"€\" 🙂"))
			if err != nil {
				return err
			}
			for _, p := range w.gate.requestsTo(route) {
				if p.Header.Get("Authorization") != "" || !strings.HasPrefix(p.Header.Get("Webhook-Signature"), "v1,") {
					return fmt.Errorf("not signed, or not only: %v", p.Header)
				}
			}
			return errors.Join(expect(got, 200, "session_id", "signs"), checkSentence(got), w.checkRemembered(ctx, "signs", 1))
		}},
		{flow, "the same delivery again is one turn", func(ctx context.Context, w *world) error {
			got, err := w.hook(ctx, http.MethodPost, path, message("signs", "número 1", "Hola, ¿qué tal? «ñandú» \"€\" 🙂"))
			if err != nil {
				return err
			}
			return errors.Join(expect(got, 200), checkReplayed(got), w.checkRemembered(ctx, "signs", 1))
		}},
		{flow, "a message changed on its way is refused; the retry, unchanged, is answered", func(ctx context.Context, w *world) error {
			w.gate.next(changeBody)
			got, err := w.hook(ctx, http.MethodPost, path, message("tampered", "1", "Hola"))
			if err != nil {
				return err
			}
			came := w.gate.requestsTo(route)
			if len(came) != 2 || came[0].Status != http.StatusUnauthorized || came[1].Status != http.StatusOK {
				return fmt.Errorf("not refused and then answered: %+v", came)
			}
			return errors.Join(expect(got, 200), w.checkRemembered(ctx, "tampered", 1))
		}},
	}
}

// downSteps come last: they end Piloto, and start it again.
func downSteps() []step {
	unavailable := func(path string) func(context.Context, *world) error {
		return func(ctx context.Context, w *world) error {
			got, err := w.hook(ctx, http.MethodPost, path, message("down", "1", "Hola"))
			if err != nil {
				return err
			}
			return errors.Join(expect(got, 503), checkSentence(got))
		}
	}
	return []step{
		{"all", "Piloto is ended", func(_ context.Context, w *world) error { return w.piloto.stop() }},
		{"chat", "Piloto is down: 503 and a sentence", unavailable("piloto-chat")},
		{"chat-signed", "Piloto is down: 503 and a sentence", unavailable("piloto-chat-signed")},
		{"plan-confirm", "Piloto is down: 503 and a sentence", unavailable("piloto-plan")},
		{"approval-page", "Piloto is down: a page says so, with 503", func(ctx context.Context, w *world) error {
			got, err := call(ctx, http.MethodGet, w.hooks+"/webhook/piloto-approval?run_id=01M7XNKRFZ0YGJXXE4PN4F91B7&digest="+strings.Repeat("0", 64), nil, nil)
			if err != nil {
				return err
			}
			return errors.Join(expect(got, 503), contains(got, "no puedo hablar con Piloto"))
		}},
		{"careless", "without the branch, n8n answers 200 with nothing in it (as docs/n8n.md says)", func(ctx context.Context, w *world) error {
			got, err := w.hook(ctx, http.MethodPost, "careless", message("down", "1", "Hola"))
			if err == nil && (got.Status != 200 || got.Text != "") {
				err = fmt.Errorf("%d %q: the page is out of date", got.Status, brief(got.Text))
			}
			return err
		}},
		{"chat", "Piloto is back: the same message is answered", func(ctx context.Context, w *world) error {
			if err := w.startPiloto(ctx); err != nil {
				return err
			}
			got, err := w.hook(ctx, http.MethodPost, "piloto-chat", message("down", "1", "Hola"))
			if err != nil {
				return err
			}
			return errors.Join(expect(got, 200), checkSentence(got), w.checkRemembered(ctx, "down", 1))
		}},
	}
}

// checkSentence fails unless the answer has a sentence for the customer.
func checkSentence(got response) error {
	if strings.TrimSpace(got.field("reply")) == "" {
		return fmt.Errorf("no reply: %s", brief(got.Text))
	}
	return nil
}

func checkReplayed(got response) error {
	if got.Header.Get("Idempotency-Replayed") != "true" {
		return errors.New("it is not said to be a replay")
	}
	return nil
}

// contains fails unless the answer contains a text.
func contains(got response, text string) error {
	if !strings.Contains(got.Text, text) {
		return fmt.Errorf("%q is not in it: %s", text, brief(got.Text))
	}
	return nil
}
