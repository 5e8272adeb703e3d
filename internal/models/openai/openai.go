// Package openai calls OpenAI-compatible chat-completions APIs: OpenAI, Groq,
// OpenRouter, Ollama, vLLM and any other base URL. It converts the providers'
// responses and errors to the types of package llm.
//
// Invariants: the key and the conversation are sent only to the configured host (no
// redirect is followed); no error contains the key; at most maxAnswer bytes of one
// answer are read; an answer is complete or it is an error, and a stream that ends
// without a finish reason was cut.
//
// The client learns the quirks of each model (Quirks). A request that is refused because of
// stream_options, temperature or max_tokens is sent once more without it, one that is
// refused because a system message stands after the first message once more with all of
// them in front, and the client remembers the quirk. An answer in a Format is requested by its schema, else
// by a tool with that schema that must be called, and as the last resort by the
// prompt alone.
package openai

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"piloto/internal/ground/fault"
	"piloto/internal/models/llm"
)

// Client calls one provider. It is safe for concurrent use.
type Client struct {
	Provider string // name for people and logs
	base     string
	key      string
	http     *http.Client
	quirks   quirkCache
	taught   lessons
	now      func() time.Time
}

// Endpoint is where a provider is called, and with which key; "" is none.
type Endpoint struct{ Provider, BaseURL, Key string }

// New returns a client of the API at an endpoint (…/v1). The transport of doer sends the requests, and its Timeout
// limits each of them, including a streamed answer. Redirects are never followed, under any settings of doer. An answer
// may ask to wait until a date, which is compared with now.
func New(e Endpoint, doer *http.Client, now func() time.Time) *Client {
	return &Client{
		Provider: e.Provider, base: strings.TrimRight(e.BaseURL, "/"), key: e.Key, now: now,
		http: &http.Client{
			Transport: doer.Transport, Timeout: doer.Timeout,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// Quirks returns what is known of a model: what the client was taught, and what refusals have shown since.
func (c *Client) Quirks(model string) Quirks { return c.quirks.of(model) }

// Window implements llm.Windowed.
func (c *Client) Window(model string) int { return c.quirks.of(model).Window }

// Complete calls the model once, streamed when r has a Sink. Its errors are
// llm.ErrNoKey, llm.ErrLimited, llm.ErrRefused, llm.ErrUnreachable and
// llm.ErrStopped, each with its cause, and with the provider's wait if there is one
// (llm.RetryAfter), or what it refused (llm.CauseOf). An account without money (402,
// insufficient_quota) is llm.ErrRefused, because a wait does not help. The reply of a failure names the
// provider and the model and, when ctx ended, holds the text up to that moment.
//
// A model's text that does not match r.Format is returned as a reply and not as an
// error.
func (c *Client) Complete(ctx context.Context, r llm.Request) (llm.Reply, error) {
	if r.Format != nil {
		r.Tools, r.Sink = nil, nil
	}
	r.Messages = ownThoughts(r.Messages, c.from(r.Model))
	known := c.quirks.of(r.Model)
	for now := known; ; {
		b := newBuilder(r, now)
		reply, err := c.ask(ctx, r, now, b)
		now.Thought, now.OpensThought = cmp.Or(b.thought.name, now.Thought), now.OpensThought || b.opened
		now.Plain = now.Plain || err == nil && b.isPlain(r)
		next, mended := now.after(err, r)
		if mended && ctx.Err() == nil {
			now = next
			continue
		}
		no, ok := errors.AsType[*refusal](err)
		if ok && llm.CauseOf(err) == llm.TooLong && (now.Window == 0 || r.Estimate()+r.MaxTokens <= now.Window) { // a longer one was known to be too long
			now.Window = no.window(r)
			c.quirks.learn(r.Model, now)
		}
		if now != known && !errors.Is(err, llm.ErrRefused) {
			c.quirks.learn(r.Model, now)
		}
		return reply, err
	}
}

// ask sends one request, and builds its answer. It returns the reply, or the fault of its failure.
func (c *Client) ask(ctx context.Context, r llm.Request, q Quirks, b *replyBuilder) (llm.Reply, error) {
	asked := request(r, q)
	answer, sent, err := c.post(ctx, asked)
	switch {
	case err != nil:
	case asked.Stream:
		err = stream(newEvents(answer, c.key), b)
	default:
		err = plain(answer, c.key, b)
	}
	reply := llm.Reply{Provider: c.Provider, Model: cmp.Or(b.model, r.Model)}
	if err == nil {
		b.end()
		err = b.check()
	}
	if err == nil {
		b.fill(&reply, r)
		if hasThoughts(reply) {
			reply.From = c.from(r.Model)
		}
		reply.NoTools = q.NoTools && len(r.Tools) > 0
		if r.Format != nil {
			reply.Text, reply.Calls = formText(reply, r.Format.Name), nil
		}
		return reply, nil
	}
	if text, wrote := rejectedText(err); wrote && r.Format != nil {
		reply.Text = text
		reply.Usage = llm.Usage{Input: r.Estimate(), Output: reply.Estimate(), Estimated: true}
		return reply, nil
	}
	if ended := llm.Stopped(ctx); ended != nil {
		reply.Text, reply.Cut = b.text.String(), true
		if reply.Text != "" {
			reply.Usage = llm.Usage{Input: r.Estimate(), Output: reply.Estimate(), Estimated: true}
		}
		return reply, ended
	}
	return reply, faultOf(err, sent)
}

// plain reads an answer that is not streamed.
func plain(in io.ReadCloser, key string, b *replyBuilder) error {
	defer func() { _ = in.Close() }()
	raw, err := readWhole(in)
	if err != nil {
		return err
	}
	a, err := normalize(raw, key)
	if err != nil {
		return err
	}
	a.finish()
	if len(a.Choices) == 0 {
		return errors.New("an answer without choices")
	}
	return b.add(a)
}

// faultOf returns the fault of a failed exchange. It must be called while the context is active. The provider's
// text is the cause, for the log; clients never see it.
func faultOf(err error, sent bool) *fault.Error {
	var no *refusal
	switch {
	case errors.As(err, &no):
		return no.fault()
	case !sent:
		return llm.ErrRefused.Because(fmt.Errorf("not sent: %w", err))
	case errors.Is(err, errFiltered):
		return llm.Refused(llm.Filtered).Because(err)
	case errors.Is(err, errCutShort):
		return llm.Refused(llm.CutShort).Because(err)
	}
	return llm.ErrUnreachable.Because(err)
}
