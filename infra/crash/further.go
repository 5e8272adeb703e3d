package main

import (
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"time"
)

// equipped registers the server with tools.
func equipped(v *visit) error {
	r, err := v.again(http.StatusCreated, "POST", "/api/mcps", object("url", v.tools.url, "kind", "mcp", "name", "Notas"))
	v.model.tell("$T", r.text("mcp_id"))
	return err
}

// staffed registers the agent.
func staffed(v *visit) error {
	_, err := v.again(http.StatusCreated, "POST", "/api/mcps", object("url", v.tools.agent, "kind", "mcp", "role", "agent", "name", agentName))
	return err
}

// inVain waits until what is in doubt was looked for twice, before and after a while in
// which the machine was off.
func inVain(v *visit) error {
	if err := v.looks(1); err != nil {
		return err
	}
	if err := v.d.kill(away); err != nil {
		return err
	}
	return v.looks(2)
}

// looks waits until a step was looked for that often.
func (v *visit) looks(times int) error {
	for deadline := time.Now().Add(endLimit); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		events, err := v.get("/api/runs/" + v.run + "/events")
		if err != nil || strings.Count(string(events.body), `"step.checked"`) >= times {
			return err
		}
	}
	return fmt.Errorf("it was not looked for %d times", times)
}

// edits sends the draft's mail to somebody else, on the page's own route. When the
// answer is lost the run says whether it did.
func (v *visit) edits() error {
	r, err := v.get("/api/runs/" + v.run)
	if err != nil {
		return err
	}
	server := r.text("steps.0.mcp_id")
	body := object("digest", v.digest, "steps", []any{
		map[string]any{"id": "s1", "mcp_id": server, "method": "GET", "path": "/rooms"},
		map[string]any{"id": "s2", "mcp_id": server, "method": "POST", "path": "/mail", "body": map[string]any{"to": "eva"}},
	})
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		r, err := v.once("PATCH", "/api/runs/"+v.run+"/plan", body)
		switch {
		case err == nil && r.status == http.StatusOK:
			v.acked.edited = true
		case err == nil && r.status != http.StatusConflict && r.status != http.StatusServiceUnavailable || errors.Is(err, errLeft):
			return fmt.Errorf("edit: %w %s", err, r)
		default:
			if r, err = v.get("/api/runs/" + v.run); err != nil {
				return err
			}
		}
		if r.text("revision") == "2" {
			v.first, v.digest = v.digest, r.text("digest")
			return nil
		}
	}
	return errors.New("the edit was never answered")
}

// refuses confirms what was shown before the edit: that is void, now and later.
func (v *visit) refuses(code string) error {
	r, err := v.again(http.StatusConflict, "POST", "/api/runs/"+v.run+"/confirm", object("digest", v.first), "Idempotency-Key", "old-"+v.run)
	if err == nil && r.text("code") != code {
		err = fmt.Errorf("the plan of before the edit: want %s, got %s", code, r)
	}
	return err
}

func (v *visit) refusesDraft() error { return v.refuses("plan.stale") }
func (v *visit) refusesEnded() error { return v.refuses("plan.not_pending") }

// lease is how long whoever died with a key in hand still holds it. It cannot be waited
// for with the machine off: an answer is asked for with a time limit, which is by the
// machine's own clock.
const lease = 35 * time.Second

// turns is how many messages routes sends.
const turns = 2

// routes sends messages to the router, each under its key until it is answered, and
// then once more: the answer is the same. When the agent was asked by a process that died it
// is not asked for that; who was told so sends the message again.
func (v *visit) routes() error {
	v.session = "s-" + filepath.Base(v.d.folder)
	for n := len(v.acked.replies); n < turns; n++ {
		first, err := v.routed(n)
		if err != nil {
			return err
		}
		v.chat = first.text("chat_id")
		v.acked.replies = append(v.acked.replies, string(first.body))
		if err := v.sameReply(n); err != nil {
			return err
		}
	}
	return nil
}

// sameReply holds that an answered message is answered as it was.
func (v *visit) sameReply(n int) error {
	r, err := v.routed(n)
	if err == nil && string(r.body) != v.acked.replies[n] {
		err = fmt.Errorf("under the same key:\n%s\n%s", v.acked.replies[n], r.body)
	}
	return err
}

func (v *visit) routed(n int) (reply, error) {
	body := object("message", fmt.Sprintf("Pregunta %d", n), "session_id", v.session, "config", map[string]any{"id_empresa": 7})
	for deadline := time.Now().Add(lease + patience); ; time.Sleep(50 * time.Millisecond) {
		r, err := v.once("POST", "/api/agent/chat", body, "Idempotency-Key", fmt.Sprintf("%s-%d", v.session, n))
		switch {
		case err == nil && r.status == http.StatusOK && r.text("failure.code") == "":
			return r, nil
		case err == nil && r.status == http.StatusOK:
			v.acked.untold = append(v.acked.untold, r.text("reply"))
			if deaths, _ := v.d.dead(); r.text("failure.code") != "agent.timeout" || len(v.acked.untold) > deaths {
				return r, fmt.Errorf("message %d: after %d deaths: %s", n, deaths, r)
			}
		case errors.Is(err, errLeft), time.Now().After(deadline),
			err == nil && r.status != http.StatusServiceUnavailable && r.text("code") != "request.in_progress":
			return r, fmt.Errorf("message %d: %w %s", n, err, r)
		}
	}
}

// holdsTools: no tool is called twice, whatever its server says of it.
func holdsTools(v *visit) error {
	var wrong []error
	for name, r := range v.service.got(v.run) {
		if r.method != calledTool || r.times != 1 {
			wrong = append(wrong, fmt.Errorf("%s was called %d times: %+v", name, r.times, r))
		}
	}
	return errors.Join(wrong...)
}

// holdsOrder: what a check says is so. found is what became of an order that arrived.
func holdsOrder(lost bool) func(*visit) error {
	return func(v *visit) error {
		r, err := v.get("/api/runs/" + v.run)
		if err != nil {
			return err
		}
		made, arrived := v.service.ordered(r.text("steps.0.result.body.id")), v.service.got(v.run)["s2"].times
		status, code := r.text("steps.1.status"), r.text("steps.1.error.code")
		switch {
		case status == "done" && made != 1, status == "error" && (made != 0 || code != "step.not_done"), made > 1, lost && made > 0,
			arrived > 0 && !lost && status != "done", status == "in_doubt":
			return fmt.Errorf("an order that arrived %d times, and was made %d times, is %s %s", arrived, made, status, code)
		}
		return nil
	}
}

// holdsEdit: what was edited is what ran, and what was shown before is void.
func holdsEdit(v *visit) error {
	r, err := v.get("/api/runs/" + v.run)
	if err != nil {
		return err
	}
	got := v.service.got(v.run)["s2"]
	if r.text("digest") != v.digest || r.text("revision") != "2" || r.text("steps.2.id") != "" || got.times > 0 && !strings.Contains(got.body, `"eva"`) {
		return fmt.Errorf("it was edited, and %+v was sent: %s", got, r)
	}
	return v.refusesEnded()
}

// mostTries is how often the service must be asked: it refuses twice.
const mostTries = 3

// holdsRetry: a request that may be repeated is repeated for a reason only: that it was
// refused, or that whoever sent it died.
func holdsRetry(v *visit) error {
	r, err := v.get("/api/runs/" + v.run)
	if err != nil {
		return err
	}
	deaths, _ := v.d.dead()
	if got := v.service.got(v.run)["s2"]; got.times < mostTries || got.times > mostTries+deaths || r.text("steps.1.status") != "done" {
		return fmt.Errorf("after %d deaths it was asked %d times: %s", deaths, got.times, r)
	}
	return nil
}

// holdsRoute: each message is answered as it was, stands in the chat and in the memory
// of its session once, and reached the agent under one key, no oftener than the chat says.
func holdsRoute(v *visit) error {
	var wrong []error
	for n := range v.acked.replies {
		wrong = append(wrong, v.sameReply(n))
	}
	memory, err := v.get("/memory/" + v.session)
	wrong = append(wrong, err)
	chat, err := v.get("/api/chats/" + v.chat + "/messages?limit=200")
	wrong = append(wrong, err)
	for n, answered := range v.acked.replies {
		asked, told := fmt.Sprintf("Pregunta %d", n), reply{body: []byte(answered)}.text("reply")
		at := fmt.Sprintf("turns.%d.", n)
		if memory.text(at+"user") != asked || memory.text(at+"response") != told || memory.text(at+"agent") != agentName {
			wrong = append(wrong, fmt.Errorf("the session does not remember %q", told))
		}
		for _, text := range []string{asked, told} {
			if strings.Count(string(chat.body), object("content", text)[1:len(object("content", text))-1]) != 1 {
				wrong = append(wrong, fmt.Errorf("%q is not once in the chat", text))
			}
		}
	}
	deaths, _ := v.d.dead()
	untold := strings.Count(string(chat.body), `"kind":"notice"`)
	if memory.text(fmt.Sprintf("turns.%d.user", turns)) != "" || chat.text(fmt.Sprintf("messages.%d.id", 2*turns+untold)) != "" ||
		untold < len(v.acked.untold) || untold > deaths {
		wrong = append(wrong, fmt.Errorf("after %d deaths there is more than was said", deaths))
	}
	keys := v.service.got("agent:" + v.session)
	times := 0
	for _, r := range keys {
		times += r.times
	}
	if len(keys) != turns || times > turns+untold {
		wrong = append(wrong, fmt.Errorf("the agent was asked %d times under %d keys", times, len(keys)))
	}
	if err := errors.Join(wrong...); err != nil {
		return fmt.Errorf("%w\n%s\n%s", err, memory, chat)
	}
	return nil
}
