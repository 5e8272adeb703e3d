package main

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"
)

const (
	soon     = 6 * time.Second // what goes on by itself, or is found by the second sweep of a start, has ended by then
	away     = 5 * time.Minute // the machine is off before what the sweep must find is looked for
	endLimit = 30 * time.Second
	pauses   = 2 * time.Minute         // those of a state machine between three checks, by the machine's own clock
	slowly   = 1500 * time.Millisecond // a client that wants to stop a run waits for its second step as long
	mostSaid = 600                     // of an answer, in a failure
)

var terminal = []string{"done", "error", "cancelled", "in_doubt", "expired", "superseded"}

// visit is what one person does with a deployment, and what was answered to them.
type visit struct {
	*client
	service *service
	model   *model
	tools   *toolbox
	d       *deployment

	chat, run, digest string
	first             string // the digest before an edit
	session           string // of the router
	watch             *watch
	limit             time.Duration // of the scenario
	acked             acked
	others            []*visit // who are there at the same time
	swept             bool     // something was found by the sweep only
}

// acked is what was answered with a 2xx: it must be there after any crash.
type acked struct {
	chats     []string
	messages  []string
	runs      []string
	confirmed bool
	cancelled bool
	decision  string // of the step that waited
	settled   bool
	edited    bool
	replies   []string // of the router
	untold    []string // what it said of an agent of which nobody knows what it answered
}

// opens makes a chat. When the answer is lost another is made.
func (v *visit) opens() error {
	r, err := v.again(http.StatusCreated, "POST", "/api/chats", "{}")
	if err != nil {
		return err
	}
	v.chat = r.text("chat_id")
	v.acked.chats = append(v.acked.chats, v.chat)
	return nil
}

// asks says something and returns the answer of the kind that is wanted. When the
// answer is lost it looks in the chat for what it was about, and says it again when
// it is not there.
func (v *visit) asks(kind, message string, there func() (bool, error)) error {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		r, err := v.once("POST", "/api/send", object("chat_id", v.chat, "message", message))
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
		case err == nil && r.status != http.StatusServiceUnavailable && r.status != http.StatusConflict:
			return fmt.Errorf("%q: want %s, got %s", message, kind, r)
		}
		if ok, err := there(); ok || err != nil {
			return err
		}
	}
	return fmt.Errorf("%q was never answered", message)
}

// proposed has a plan proposed.
func (v *visit) proposed(name string) error {
	return v.asks("plan", "Prepara el plan "+name, func() (bool, error) {
		chat, err := v.get("/api/chats/" + v.chat)
		if err != nil || chat.text("pending_run_id") == "" {
			return false, err
		}
		v.run = chat.text("pending_run_id")
		r, err := v.get("/api/runs/" + v.run)
		v.digest = r.text("digest")
		return err == nil, err
	})
}

// talks has a turn answered in words.
func (v *visit) talks() error {
	return v.asks("message", "Hola", func() (bool, error) { return false, nil })
}

// confirms presses the button, again with the same key when the answer is lost.
func (v *visit) confirms() error {
	_, err := v.again(http.StatusAccepted, "POST", "/api/runs/"+v.run+"/confirm", object("digest", v.digest), "Idempotency-Key", v.run)
	v.acked.confirmed = err == nil
	return err
}

// types confirms in words; when the answer is lost the chat says whether it did.
func (v *visit) types() error {
	err := v.asks("queued", "confirmo", func() (bool, error) {
		chat, err := v.get("/api/chats/" + v.chat)
		return err == nil && chat.text("pending_run_id") == "", err
	})
	v.acked.confirmed = err == nil
	return err
}

// decides sends a decision until it is answered with 200, or the run is as decided.
func (v *visit) decides(path, body string, done func(run reply) bool) error {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		r, err := v.once("POST", "/api/runs/"+v.run+path, body)
		if err == nil && r.status == http.StatusOK {
			return nil
		}
		if errors.Is(err, errLost) || r.status == http.StatusConflict || r.status == http.StatusServiceUnavailable {
			now, err := v.get("/api/runs/" + v.run)
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

// cancels asks for a stop. One that came when all was done stops nothing.
func (v *visit) cancels() error {
	late := false
	err := v.decides("/cancel", object("reason", "Me he equivocado"), func(run reply) bool {
		late = run.text("status") == "done"
		return run.text("stopping") == "true" || slices.Contains(terminal, run.text("status"))
	})
	v.acked.cancelled = err == nil && !late
	return err
}

func (v *visit) approves(decision string) error {
	said := map[string]string{"approve": "approved", "refuse": "refused"}[decision]
	err := v.decides("/approve", object("step_id", "s2", "decision", decision), func(run reply) bool {
		return run.text("steps.1.approval.decision") == said
	})
	if err == nil {
		v.acked.decision = said
	}
	return err
}

// settles says what became of a step in doubt.
func (v *visit) settles(step, outcome string) error {
	err := v.decides("/settle", object("step_id", step, "outcome", outcome), func(run reply) bool {
		return run.text("steps.1.settled.outcome") == outcome
	})
	v.acked.settled = err == nil
	return err
}

// until waits for the run to be in one of the states. What the process does not do by
// itself the sweep must: it comes with each start, and finds what is due.
func (v *visit) until(states ...string) (string, error) {
	var last reply
	late := time.Now().Add(soon)
	for deadline := time.Now().Add(max(endLimit, v.limit)); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		var err error
		if last, err = v.get("/api/runs/" + v.run); err != nil {
			return "", err
		}
		if status := last.text("status"); slices.Contains(states, status) {
			return status, nil
		}
		if deaths, _ := v.d.dead(); deaths > 0 && !v.swept && time.Now().After(late) {
			v.swept = true
			if err := v.d.kill(away); err != nil {
				return "", err
			}
		}
	}
	return "", fmt.Errorf("it should be %v by now: %.*s", states, mostSaid, last)
}

// ends waits for the end of the run.
func (v *visit) ends() (string, error) { return v.until(terminal...) }
