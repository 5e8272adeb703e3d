package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"time"
)

// question is the question of the model, and personSays the answer of the person, or of the client of the job.
const (
	question   = "¿Cuál de las dos?"
	personSays = "La norte, por favor."
)

// clientTools are the tools of a client.
var clientTools = []any{map[string]any{
	"name": "read_notes", "description": "Reads the notes of the person.", "schema": map[string]any{"type": "object"},
}}

// answerJob answers the question of the job with a message under a key.
func (v *user) answerJob() error {
	if _, err := v.awaitMember("question"); err != nil {
		return err
	}
	return v.until("POST", "/api/send", object("chat_id", v.chat, "message", personSays), http.StatusOK, "")
}

// tellJob answers the call of the job as its client. Once the job has the answer, it waits for none.
func (v *user) tellJob() error {
	j, err := v.awaitMember("calls.0.call_id")
	if err != nil {
		return err
	}
	told := object("results", []any{map[string]any{"call_id": j.text("calls.0.call_id"), "output": personSays}})
	return v.until("POST", "/api/jobs/"+v.job+"/results", told, http.StatusAccepted, "job.no_call")
}

// until repeats a request under one key until it is answered so. done is the code of a refusal that says, after a lost
// response, that the request had its effect.
func (v *user) until(method, path, body string, status int, done string) error {
	for tries, deadline := 0, time.Now().Add(lease+patience); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		r, err := v.client.once(method, path, body, "Idempotency-Key", "w-"+filepath.Base(v.d.folder))
		switch {
		case errors.Is(err, errLeft):
			return err
		case err == nil && (r.status == status || tries > 0 && done != "" && r.text("code") == done):
			return nil
		case err == nil && r.status != http.StatusServiceUnavailable && r.text("code") != "request.in_progress":
			return fmt.Errorf("%s %s: %s", method, path, r)
		}
		tries++
	}
	return fmt.Errorf("%s %s was never answered", method, path)
}

// checkAsked checks that the question and its answer stand in the chat, each once.
func checkAsked(v *user) error {
	chat, err := v.client.get("/api/chats/" + v.chat + "/messages?limit=200")
	if err != nil {
		return err
	}
	var said struct{ Messages []struct{ Content string } }
	if err := json.Unmarshal(chat.body, &said); err != nil {
		return err
	}
	count := map[string]int{}
	for _, m := range said.Messages {
		count[m.Content]++
	}
	if count[question] != 1 || count[personSays] != 1 {
		return fmt.Errorf("the question is %d times in the chat, and its answer %d times: %s", count[question], count[personSays], chat)
	}
	return nil
}
