package main

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"
)

const (
	soon      = 6 * time.Second // by then all automatic work has ended, including the second sweep after a start
	away      = 5 * time.Minute // how long the machine is off before the sweep must find overdue work
	endLimit  = 30 * time.Second
	pauses    = 2 * time.Minute         // the pauses of a state machine between three checks, by the machine's own clock
	stopDelay = 1500 * time.Millisecond // how long a client waits for the second step before it stops the run
	maxShown  = 600                     // characters of a response in a failure message
)

var terminal = []string{"done", "error", "cancelled", "in_doubt", "expired", "superseded"}

// user is one client of a deployment, with the responses that it received.
type user struct {
	client  *client
	service *service
	model   *model
	tools   *toolbox
	d       *deployment

	chat, run, digest string
	job               string
	first             string // the digest before an edit
	session           string // session id for the router
	watch             *watch
	limit             time.Duration // limit of the scenario
	acked             acked
	others            []*user // concurrent users
	swept             bool    // some work was finished only by the sweep
	idleFrom          time.Time
}

// acked holds the data of 2xx responses, which must survive every crash.
type acked struct {
	chats          []string
	messages       []string
	runs           []string
	confirmed      bool
	cancelled      bool
	decision       string // on the waiting step
	resolved       bool
	replies        []string // of the router
	unknownReplies []string // replies of the router about a call of the agent whose outcome is unknown
}

// openChat creates a chat. It creates another one when the response is lost.
func (v *user) openChat() error {
	r, err := v.client.again(http.StatusCreated, "POST", "/api/chats", "{}")
	if err != nil {
		return err
	}
	v.chat = r.text("chat_id")
	v.acked.chats = append(v.acked.chats, v.chat)
	return nil
}

// send sends a message and waits for a response of the wanted kind. When the response is lost, done
// reads from the chat whether the message took effect; if not, the message is sent again.
func (v *user) send(kind, message string, done func() (bool, error)) error {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		r, err := v.client.once("POST", "/api/send", object("chat_id", v.chat, "message", message))
		switch {
		case err == nil && r.status == http.StatusOK && r.text("kind") == kind:
			v.acked.messages = append(v.acked.messages, r.text("message.id"))
			if run := r.text("run.run_id"); run != "" {
				v.run, v.digest = run, r.text("run.digest")
				v.acked.runs = append(v.acked.runs, run)
			}
			return nil
		case errors.Is(err, errLeft):
			return err
		case err == nil && r.text("message.code") == "busy": // a dead function holds the credits
			if err := v.awaitCredits(); err != nil {
				return err
			}
		case err == nil && r.status != http.StatusServiceUnavailable && r.status != http.StatusConflict:
			return fmt.Errorf("%q: want %s, got %s", message, kind, r)
		}
		if ok, err := done(); ok || err != nil {
			return err
		}
	}
	return fmt.Errorf("%q was never answered", message)
}

// propose has a plan proposed.
func (v *user) propose(name string) error {
	return v.send("plan", "Prepara el plan "+name, func() (bool, error) {
		chat, err := v.client.get("/api/chats/" + v.chat)
		if err != nil || chat.text("pending_run_id") == "" {
			return false, err
		}
		v.run = chat.text("pending_run_id")
		r, err := v.client.get("/api/runs/" + v.run)
		v.digest = r.text("digest")
		return err == nil, err
	})
}

// converse has a turn answered with text.
func (v *user) converse() error {
	return v.send("message", "Hola", func() (bool, error) { return false, nil })
}

// confirm sends the confirmation, with the same key again when the response is lost.
func (v *user) confirm() error {
	_, err := v.client.again(http.StatusAccepted, "POST", "/api/runs/"+v.run+"/confirm", object("digest", v.digest), "Idempotency-Key", v.run)
	v.acked.confirmed = err == nil
	return err
}

// confirmByText confirms with a message; when the response is lost, the chat shows whether it took
// effect.
func (v *user) confirmByText() error {
	err := v.send("queued", "confirmo", func() (bool, error) {
		chat, err := v.client.get("/api/chats/" + v.chat)
		return err == nil && chat.text("pending_run_id") == "", err
	})
	v.acked.confirmed = err == nil
	return err
}

// decide sends a decision until it gets a 200, or the run has the decision.
func (v *user) decide(path, body string, done func(run reply) bool) error {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		r, err := v.client.once("POST", "/api/runs/"+v.run+path, body)
		if err == nil && r.status == http.StatusOK {
			return nil
		}
		if errors.Is(err, errLost) || r.status == http.StatusConflict || r.status == http.StatusServiceUnavailable {
			now, err := v.client.get("/api/runs/" + v.run)
			if err != nil {
				return err
			}
			if done(now) {
				return nil
			}
			if r.status != http.StatusConflict {
				continue
			}
		}
		return fmt.Errorf("%s: %w %s", path, err, r)
	}
	return fmt.Errorf("%s was never answered", path)
}

// cancel requests a stop. A request after the end of all steps stops nothing.
func (v *user) cancel() error {
	late := false
	err := v.decide("/cancel", object("reason", "Me he equivocado"), func(run reply) bool {
		late = run.text("status") == "done"
		return run.text("stopping") == "true" || slices.Contains(terminal, run.text("status"))
	})
	v.acked.cancelled = err == nil && !late
	return err
}

func (v *user) approve(decision string) error {
	said := map[string]string{"approve": "approved", "refuse": "refused"}[decision]
	shown, err := v.client.get("/api/runs/" + v.run)
	if err != nil {
		return err
	}
	err = v.decide("/approve", object("step_id", "s2", "decision", decision, "request_digest", shown.text("steps.1.approval.request_digest")), func(run reply) bool {
		return run.text("steps.1.approval.decision") == said
	})
	if err == nil {
		v.acked.decision = said
	}
	return err
}

// resolve sends the verdict on a step in doubt.
func (v *user) resolve(step, outcome string) error {
	err := v.decide("/settle", object("step_id", step, "outcome", outcome), func(run reply) bool {
		return run.text("steps.1.settled.outcome") == outcome
	})
	v.acked.resolved = err == nil
	return err
}

// waitFor waits until the run is in one of the states. The sweep, which runs at each start, must
// finish the work that the process does not do by itself.
func (v *user) waitFor(states ...string) (string, error) {
	var last reply
	late := time.Now().Add(soon)
	for deadline := time.Now().Add(max(endLimit, v.limit)); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		var err error
		if last, err = v.client.get("/api/runs/" + v.run); err != nil {
			return "", err
		}
		if status := last.text("status"); slices.Contains(states, status) {
			return status, nil
		}
		if v.isLate(late) {
			if err := v.skipAhead(away); err != nil {
				return "", err
			}
		}
	}
	return "", fmt.Errorf("it should be %v by now: %.*s", states, maxShown, last)
}

// isLate reports whether the sweep must do what a death left unfinished, because the time is over in which all
// other work ends.
func (v *user) isLate(late time.Time) bool {
	deaths, _ := v.d.deathCount()
	return deaths > 0 && !v.swept && time.Now().After(late)
}

// awaitCredits waits until the sweep may have released the credits that a dead function holds.
func (v *user) awaitCredits() error {
	if v.isLate(time.Time{}) {
		return v.skipAhead(away)
	}
	if !v.swept {
		return errors.New("nothing died, and the credits are held")
	}
	time.Sleep(time.Second)
	return nil
}

// skipAhead starts the process again after the machine was off, so that the sweep finds overdue work.
func (v *user) skipAhead(off time.Duration) error {
	v.swept = true
	return v.d.kill(off)
}

// waitForEnd waits for the end of the run.
func (v *user) waitForEnd() (string, error) { return v.waitFor(terminal...) }
