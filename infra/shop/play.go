package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"piloto/infra/shop/business"
	"piloto/infra/shop/meter"
	"piloto/infra/shop/task"
)

// mostMessages bounds the messages of a customer: then they leave.
const mostMessages = 16

// mostWaits bounds the reads of a run, each of which waits for 25 seconds at most.
const mostWaits = 50

// quiet is how long no call of the model may be open before a conclusion is not waited for any more.
const quiet = 5 * time.Second

// result is how a task was played.
type result struct {
	Task          string         `json:"task"`
	Kind          string         `json:"kind"`
	Language      string         `json:"language"`
	Success       bool           `json:"success"`
	Wrong         []string       `json:"wrong,omitempty"` // why it is no success
	Messages      int            `json:"messages"`        // of the customer, with those that confirm
	Confirmations int            `json:"confirmations"`   // in words, by the button, and of single steps
	Writes        int            `json:"writes"`          // that the studio served
	Tokens        meter.Tokens   `json:"tokens"`
	Usage         meter.Usage    `json:"usage"`
	Notes         map[string]int `json:"notes"` // beside texts, by their code
}

// game is a conversation under way.
type game struct {
	*result
	p        *piloto
	customer *task.Customer
	read     int      // messages of the chat that were read
	texts    []string // of the assistant
	tell     func(who, text string)
}

// play plays one task. An error is one of the bench; what goes wrong in the conversation is in the result.
func play(ctx context.Context, from provider, t task.Task, tell func(who, text string)) (r result, err error) {
	p, err := open(ctx, from, t)
	if err != nil {
		return result{}, fmt.Errorf("%s: %w", t.ID, err)
	}
	defer func() { err = errors.Join(err, p.close()) }()
	r = result{Task: t.ID, Kind: t.Kind, Language: t.Language, Notes: map[string]int{}}
	g := &game{result: &r, p: p, customer: task.NewCustomer(t), tell: tell}
	if err := g.converse(); err != nil {
		if ctx.Err() != nil {
			return r, ctx.Err()
		}
		r.Wrong = append(r.Wrong, err.Error())
	}
	wrong, err := t.Judge(p.studio, g.texts)
	if err != nil {
		return r, err
	}
	r.Wrong = append(r.Wrong, wrong...)
	r.Success, r.Writes = len(r.Wrong) == 0, len(p.studio.Writes())
	base, err := meter.Base(business.Document(), business.Policy(t.Language))
	if err != nil {
		return r, err
	}
	calls := p.calls.Calls()
	for _, c := range calls {
		r.Usage = r.Usage.Plus(c.Usage)
	}
	r.Tokens, err = meter.Count(calls, base)
	return r, err
}

// sent is the answer to a message.
type sent struct {
	Kind string `json:"kind"`
	Chat struct {
		Pending string `json:"pending_run_id"`
	} `json:"chat"`
	Run   plan `json:"run"`
	Block struct {
		Message string `json:"message"`
	} `json:"block"`
}

// converse has the customer talk until they leave.
func (g *game) converse() error {
	reply, digest := task.Reply{Say: g.customer.Open()}, ""
	for g.Messages < mostMessages && !reply.Leave {
		if reply.Confirm {
			g.Confirmations++
		}
		got, err := g.say(reply.Say, digest)
		if err != nil {
			return err
		}
		waits, err := g.waiting(got)
		if err != nil {
			return err
		}
		started := ""
		switch {
		case got.Kind == "blocked":
			return fmt.Errorf("the turn is blocked: %s", got.Block.Message)
		case got.Kind == "queued":
			started = got.Run.ID
		case reply.Confirm && waits.ID != "" && waits.Digest == digest: // the words did not count
			g.Confirmations++
			g.tell("customer", "[button]")
			started = waits.ID
			if err := g.p.post("/api/runs/"+started+"/confirm", fields{"digest": digest}, nil); err != nil {
				return err
			}
		}
		heard, err := g.hear()
		if started != "" && err == nil {
			waits = plan{}
			heard, err = g.follow(started)
		}
		if err != nil {
			return err
		}
		digest = waits.Digest
		if waits.ID != "" {
			reply = g.customer.AtCard(waits.card())
		} else {
			reply = g.customer.AtText(heard.text, heard.asks)
		}
	}
	return nil
}

// say sends a message of the customer, who has the plan with a digest before them.
func (g *game) say(text, digest string) (got sent, err error) {
	g.Messages++
	g.tell("customer", text)
	body := fields{"chat_id": g.p.chat, "message": text}
	if digest != "" {
		body["digest"] = digest
	}
	err = g.p.post("/api/send", body, &got)
	return got, err
}

// waiting returns the plan that waits after an answer; zero: none.
func (g *game) waiting(got sent) (plan, error) {
	if got.Kind == "queued" || got.Chat.Pending == "" {
		return plan{}, nil
	}
	waits, err := g.p.run(got.Chat.Pending, "")
	if err == nil && waits.Status != "draft" {
		return plan{}, nil
	}
	for _, s := range waits.Steps {
		g.tell("card", fmt.Sprintf("%s %s %v", s.Method, s.Path, s.Body))
	}
	return waits, err
}

// heard is what the assistant said.
type heard struct {
	text string
	asks bool
}

// hear reads what the assistant wrote since it was last called.
func (g *game) hear() (h heard, err error) {
	all, err := g.p.messages()
	if err != nil {
		return h, err
	}
	for _, m := range all[min(g.read, len(all)):] {
		if m.Role == "user" {
			continue
		}
		for _, n := range m.Notes {
			g.Notes[n.Code]++
		}
		g.tell(m.Role+" "+m.Kind, m.Content)
		if m.Kind == "plan" { // a card is compared by its requests
			continue
		}
		h.text, h.asks = strings.TrimSpace(h.text+"\n"+m.Content), h.asks || m.Asks
		g.texts = append(g.texts, m.Content)
		g.customer.Hear(m.Content)
	}
	g.read = len(all)
	return h, nil
}

// follow waits for the end of a run, approves the steps that ask for it, and returns what was said about it.
func (g *game) follow(id string) (heard, error) {
	for i := range mostWaits {
		query := "?wait=25"
		if i == 0 { // the next status may have come already
			query = ""
		}
		r, err := g.p.run(id, query)
		if err != nil {
			return heard{}, err
		}
		switch r.Status {
		case "waiting":
			for _, s := range r.Steps {
				if s.Status == "waiting" {
					g.Confirmations++
					g.tell("customer", "[approves "+s.Method+" "+s.Path+"]")
					if err := g.p.post("/api/runs/"+id+"/approve", fields{"step_id": s.ID, "request_digest": s.Approval.Digest}, nil); err != nil {
						return heard{}, err
					}
				}
			}
		case "queued", "running":
		default:
			g.customer.Did(r.done())
			return g.conclusion(r)
		}
	}
	return heard{}, errors.New("the plan does not end")
}

// conclusion waits until the model has told what came of a run, where it does.
func (g *game) conclusion(r plan) (heard, error) {
	for r.Concludes {
		all, err := g.p.messages()
		if err != nil {
			return heard{}, err
		}
		told := slices.ContainsFunc(all, func(m message) bool { return m.ID == r.ID+"#conclusion" })
		if told || g.p.calls.Quiet(quiet) {
			break
		}
		select {
		case <-g.p.ctx.Done():
			return heard{}, g.p.ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
	return g.hear()
}
