package main

import (
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"time"
)

// registerTools registers the server with tools.
func registerTools(v *user) error {
	r, err := v.client.again(http.StatusCreated, "POST", "/api/mcps", object("url", v.tools.url, "kind", "mcp", "name", "Notas"))
	v.model.setServer("$T", r.text("mcp_id"))
	return err
}

// registerAgent registers the agent.
func registerAgent(v *user) error {
	_, err := v.client.again(http.StatusCreated, "POST", "/api/mcps", object("url", v.tools.agent, "kind", "mcp", "role", "agent", "name", agentName))
	return err
}

// awaitTwoChecks waits until the step in doubt was checked twice, before and after a time in which
// the machine was off.
func awaitTwoChecks(v *user) error {
	if err := v.awaitChecks(1); err != nil {
		return err
	}
	if err := v.d.kill(away); err != nil {
		return err
	}
	return v.awaitChecks(2)
}

// awaitChecks waits until a step was checked the given number of times.
func (v *user) awaitChecks(times int) error {
	for deadline := time.Now().Add(endLimit); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		events, err := v.client.get("/api/runs/" + v.run + "/events")
		if err != nil || strings.Count(string(events.body), `"step.checked"`) >= times {
			return err
		}
	}
	return fmt.Errorf("it was not looked for %d times", times)
}

// edit changes the recipient of the draft's mail, on the page's own route. When the response is
// lost, the run shows whether the edit took effect.
func (v *user) edit() error {
	r, err := v.client.get("/api/runs/" + v.run)
	if err != nil {
		return err
	}
	server := r.text("steps.0.mcp_id")
	body := object("digest", v.digest, "steps", []any{
		map[string]any{"id": "s1", "mcp_id": server, "method": "GET", "path": "/rooms"},
		map[string]any{"id": "s2", "mcp_id": server, "method": "POST", "path": "/mail", "body": map[string]any{"to": "eva"}},
	})
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		r, err := v.client.once("PATCH", "/api/runs/"+v.run+"/plan", body)
		switch {
		case err == nil && r.status == http.StatusOK:
		case err == nil && r.status != http.StatusConflict && r.status != http.StatusServiceUnavailable || errors.Is(err, errLeft):
			return fmt.Errorf("edit: %w %s", err, r)
		default:
			if r, err = v.client.get("/api/runs/" + v.run); err != nil {
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

// refuse confirms the digest from before the edit, which must be refused, now and later.
func (v *user) refuse(code string) error {
	r, err := v.client.again(http.StatusConflict, "POST", "/api/runs/"+v.run+"/confirm", object("digest", v.first), "Idempotency-Key", "old-"+v.run)
	if err == nil && r.text("code") != code {
		err = fmt.Errorf("the plan of before the edit: want %s, got %s", code, r)
	}
	return err
}

func (v *user) refuseDraft() error { return v.refuse("plan.stale") }
func (v *user) refuseEnded() error { return v.refuse("plan.not_pending") }

// lease is how long a dead process still holds a key. It cannot be skipped with the machine off,
// because the time limit of a response uses the machine's own clock.
const lease = 35 * time.Second

// turns is the number of messages that route sends.
const turns = 2

// route sends messages to the router, each under its key until it gets a response, and then once
// more: the response must be the same. If a process died while it called the agent, the agent is
// not called again for that message. A client that is told so sends the message again.
func (v *user) route() error {
	v.session = "s-" + filepath.Base(v.d.folder)
	for n := len(v.acked.replies); n < turns; n++ {
		first, err := v.sendRouted(n)
		if err != nil {
			return err
		}
		v.chat = first.text("chat_id")
		v.acked.replies = append(v.acked.replies, string(first.body))
		if err := v.checkSameReply(n); err != nil {
			return err
		}
	}
	return nil
}

// checkSameReply checks that a repeated message gets the first response.
func (v *user) checkSameReply(n int) error {
	r, err := v.sendRouted(n)
	if err == nil && string(r.body) != v.acked.replies[n] {
		err = fmt.Errorf("under the same key:\n%s\n%s", v.acked.replies[n], r.body)
	}
	return err
}

func (v *user) sendRouted(n int) (reply, error) {
	body := object("message", fmt.Sprintf("Pregunta %d", n), "session_id", v.session, "config", map[string]any{"id_empresa": 7})
	for deadline := time.Now().Add(lease + patience); ; time.Sleep(50 * time.Millisecond) {
		r, err := v.client.once("POST", "/api/agent/chat", body, "Idempotency-Key", fmt.Sprintf("%s-%d", v.session, n))
		switch {
		case err == nil && r.status == http.StatusOK && r.text("failure.code") == "":
			return r, nil
		case err == nil && r.status == http.StatusOK:
			v.acked.unknownReplies = append(v.acked.unknownReplies, r.text("reply"))
			if deaths, _ := v.d.deathCount(); r.text("failure.code") != "agent.timeout" || len(v.acked.unknownReplies) > deaths {
				return r, fmt.Errorf("message %d: after %d deaths: %s", n, deaths, r)
			}
		case errors.Is(err, errLeft), time.Now().After(deadline),
			err == nil && r.status != http.StatusServiceUnavailable && r.text("code") != "request.in_progress":
			return r, fmt.Errorf("message %d: %w %s", n, err, r)
		}
	}
}

// checkTools checks that no tool is called twice, even if its server declares that it may be
// repeated.
func checkTools(v *user) error {
	var wrong []error
	for name, r := range v.service.got(v.run) {
		if r.method != calledTool || r.times != 1 {
			wrong = append(wrong, fmt.Errorf("%s was called %d times: %+v", name, r.times, r))
		}
	}
	return errors.Join(wrong...)
}

// checkOrder checks that a step's status agrees with the service: whether an order that arrived was
// made. lost means that the service loses it.
func checkOrder(lost bool) func(*user) error {
	return func(v *user) error {
		r, err := v.client.get("/api/runs/" + v.run)
		if err != nil {
			return err
		}
		made, arrived := v.service.orderCount(r.text("steps.0.result.body.id")), v.service.got(v.run)["s2"].times
		status, code := r.text("steps.1.status"), r.text("steps.1.error.code")
		switch {
		case status == "done" && made != 1, status == "error" && (made != 0 || code != "step.not_done"), made > 1, lost && made > 0,
			arrived > 0 && !lost && status != "done", status == "in_doubt":
			return fmt.Errorf("an order that arrived %d times, and was made %d times, is %s %s", arrived, made, status, code)
		}
		return nil
	}
}

// checkUndecided checks that an order of which no check was answered is in doubt, made or not.
func checkUndecided(v *user) error {
	r, err := v.client.get("/api/runs/" + v.run)
	if err != nil {
		return err
	}
	made, status := v.service.orderCount(r.text("steps.0.result.body.id")), r.text("steps.1.status")
	if status != "in_doubt" || made > 1 || r.text("steps.2.status") != "cancelled" {
		return fmt.Errorf("an order that was made %d times, and whose check was refused, is %s: %s", made, status, r)
	}
	return nil
}

// checkEdit checks that the edited plan ran, and that the earlier digest is refused.
func checkEdit(v *user) error {
	r, err := v.client.get("/api/runs/" + v.run)
	if err != nil {
		return err
	}
	got := v.service.got(v.run)["s2"]
	if r.text("digest") != v.digest || r.text("revision") != "2" || r.text("steps.2.id") != "" || got.times > 0 && !strings.Contains(got.body, `"eva"`) {
		return fmt.Errorf("it was edited, and %+v was sent: %s", got, r)
	}
	return v.refuseEnded()
}

// maxTries is how often the service must be called: it refuses twice.
const maxTries = 3

// checkRetry checks that a repeatable request is repeated only after a refusal, or after the death
// of its process.
func checkRetry(v *user) error {
	r, err := v.client.get("/api/runs/" + v.run)
	if err != nil {
		return err
	}
	deaths, _ := v.d.deathCount()
	if got := v.service.got(v.run)["s2"]; got.times < maxTries || got.times > maxTries+deaths || r.text("steps.1.status") != "done" {
		return fmt.Errorf("after %d deaths it was asked %d times: %s", deaths, got.times, r)
	}
	return nil
}

// checkRoute checks that each message keeps its reply, stands once in the chat and once in the
// memory of its session, and reached the agent under one key, no more often than the chat shows.
func checkRoute(v *user) error {
	var wrong []error
	for n := range v.acked.replies {
		wrong = append(wrong, v.checkSameReply(n))
	}
	memory, err := v.client.get("/memory/" + v.session)
	wrong = append(wrong, err)
	chat, err := v.client.get("/api/chats/" + v.chat + "/messages?limit=200")
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
	deaths, _ := v.d.deathCount()
	untold := strings.Count(string(chat.body), `"kind":"notice"`)
	if memory.text(fmt.Sprintf("turns.%d.user", turns)) != "" || chat.text(fmt.Sprintf("messages.%d.id", 2*turns+untold)) != "" ||
		untold < len(v.acked.unknownReplies) || untold > deaths {
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
