package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"localaws/disk"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"piloto/infra/local/process"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/receipt"
)

// effect is one call of a run, as the API shows it.
type effect struct {
	name, method, status string
}

// runView is a run as the API shows it.
type runView struct {
	Status string `json:"status"`
	Steps  []struct {
		ID, Method, Status string
		ForEach            string `json:"for_each"`
		Approval           struct{ Decision string }
		Resolved           struct{ Outcome string } `json:"settled"`
		Undo               struct{ Method string }
		UndoState          struct{ Status string } `json:"undo_state"`
		Items              []struct {
			N         int
			Status    string
			UndoState struct{ Status string } `json:"undo_state"`
		}
	} `json:"steps"`
}

// effects returns the calls of a run, with the ids that its requests carry.
func (s runView) effects() []effect {
	var list []effect
	for _, step := range s.Steps {
		if step.ForEach == "" {
			list = append(list, effect{step.ID, step.Method, step.Status}, effect{"undo:" + step.ID, step.Undo.Method, step.UndoState.Status})
		}
		for _, item := range step.Items {
			name := fmt.Sprintf("%s[%d]", step.ID, item.N)
			list = append(list, effect{name, step.Method, item.Status}, effect{"undo:" + name, step.Undo.Method, item.UndoState.Status})
		}
	}
	return list
}

// check compares the final state with the responses, and with the invariants that hold after any
// crash. It returns the final status of the run.
func check(v *user, a *aws) (string, error) {
	wrong := []error{checkPolicies(v)}
	for _, chat := range v.acked.chats {
		if _, err := v.client.get("/api/chats/" + chat); err != nil {
			wrong = append(wrong, fmt.Errorf("a chat that was answered is gone: %w", err))
		}
	}
	said := ""
	if v.chat != "" {
		messages, err := v.client.get("/api/chats/" + v.chat + "/messages?limit=200")
		wrong = append(wrong, err)
		said = string(messages.body)
	}
	for _, id := range v.acked.messages {
		if !strings.Contains(said, `"id":"`+id+`"`) {
			wrong = append(wrong, fmt.Errorf("message %s was answered, and is gone", id))
		}
	}
	if v.run == "" {
		wrong = append(wrong, a.waitUntilIdle(v))
		end := "answered"
		if len(v.acked.unknownReplies) > 0 {
			end = "in_doubt"
		}
		return end, errors.Join(wrong...)
	}
	for _, id := range v.acked.runs {
		_, err := v.client.get("/api/runs/" + id)
		wrong = append(wrong, err)
	}
	run, err := v.client.get("/api/runs/" + v.run)
	if err != nil {
		return "", errors.Join(append(wrong, err)...)
	}
	var s runView
	wrong = append(wrong, json.Unmarshal(run.body, &s), s.checkDecisions(v), s.checkChat(v, said), s.checkRequests(v, said), checkReceipt(v), a.waitUntilIdle(v), s.checkConclusion(v))
	return s.Status, errors.Join(wrong...)
}

// checkPolicies checks that no function made an AWS request that its role in the template does not
// allow.
func checkPolicies(v *user) error {
	log, err := os.ReadFile(filepath.Join(v.d.data(), process.LogFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // the first line creates it
		return err
	}
	for line := range strings.Lines(string(log)) {
		if strings.Contains(line, process.DeniedEvent) {
			return fmt.Errorf("on AWS this would fail: %s", line)
		}
	}
	return nil
}

// checkDecisions checks that acknowledged decisions took effect.
func (s runView) checkDecisions(v *user) error {
	switch {
	case !slices.Contains(terminal, s.Status):
		return fmt.Errorf("the run is %s", s.Status)
	case v.acked.confirmed && !slices.Contains([]string{"done", "error", "in_doubt", "cancelled"}, s.Status):
		return fmt.Errorf("its confirm was answered, and it is %s", s.Status)
	case v.acked.cancelled && s.Status == "done":
		return errors.New("its cancel was answered, and it did everything")
	case v.acked.decision != "" && s.Steps[1].Approval.Decision != v.acked.decision:
		return fmt.Errorf("%s was answered, and it is %q", v.acked.decision, s.Steps[1].Approval.Decision)
	case v.acked.resolved && s.Steps[1].Resolved.Outcome == "":
		return errors.New("what was resolved is not")
	}
	return nil
}

// checkChat checks that the chat is free, names the run, and has one final message.
func (s runView) checkChat(v *user, said string) error {
	chat, err := v.client.get("/api/chats/" + v.chat)
	if err != nil {
		return err
	}
	var wrong []error
	if chat.text("active_run_id") != "" || chat.text("pending_run_id") != "" {
		wrong = append(wrong, fmt.Errorf("the run ended, and its chat is not free: %s", chat))
	}
	ran := slices.Contains([]string{"done", "error", "in_doubt"}, s.Status) || v.acked.confirmed
	finals := strings.Count(said, `"kind":"final"`)
	if ran && (finals != 1 || strings.Count(said, `"id":"`+v.run+`#final"`) != 1 || chat.text("last_run_id") != v.run) || !ran && finals > 0 {
		wrong = append(wrong, fmt.Errorf("%d final messages of a run that is %s: %s %s", finals, s.Status, said, chat))
	}
	return errors.Join(wrong...)
}

// checkConclusion checks that the run has one conclusion. It has one, unless nothing was begun, or more than one
// process died. A job tells it itself.
func (s runView) checkConclusion(v *user) error {
	messages, err := v.client.get("/api/chats/" + v.chat + "/messages?limit=200")
	if err != nil {
		return err
	}
	deaths, err := v.d.deathCount()
	told := strings.Count(string(messages.body), `"id":"`+v.run+`#conclusion"`)
	must := v.job == "" && slices.Contains([]string{"done", "error", "in_doubt"}, s.Status) && deaths <= 1
	if told > 1 || must && told == 0 || v.job != "" && told > 0 {
		err = errors.Join(err, fmt.Errorf("what came of the run, which is %s, was told %d times after %d deaths: %s", s.Status, told, deaths, messages))
	}
	return err
}

// checkRequests checks that no unsafe request arrived twice, that each request that arrived is
// known, that each step that is done arrived, and that the chat mentions each step in doubt.
func (s runView) checkRequests(v *user, said string) error {
	got := v.service.got(v.run)
	var wrong []error
	for _, e := range s.effects() {
		r := got[e.name]
		delete(got, e.name)
		switch {
		case e.method == "GET":
		case r.times > 1 && r.method != "DELETE" && r.method != "PUT": // these may be repeated
			wrong = append(wrong, fmt.Errorf("the service got %s %d times", e.name, r.times))
		case r.times > 0 && !slices.Contains([]string{"done", "in_doubt", "error"}, e.status):
			wrong = append(wrong, fmt.Errorf("the service got %s, which is %q", e.name, e.status))
		case r.times == 0 && e.status == "done":
			wrong = append(wrong, fmt.Errorf("%s is done, and never reached the service", e.name))
		case e.status == "in_doubt" && !strings.Contains(said, "no se sabe si se aplicó"):
			wrong = append(wrong, fmt.Errorf("%s is in doubt, and the chat does not say so: %s", e.name, said))
		}
	}
	for name := range got {
		wrong = append(wrong, fmt.Errorf("the service got %s, which is no call of the run", name))
	}
	return errors.Join(wrong...)
}

// checkReceipt checks that the events are a chain without a gap and agree with the run.
func checkReceipt(v *user) error {
	r, err := readReceipt(v)
	if err != nil {
		return err
	}
	var wrong []error
	for i, e := range r.Events {
		if e.Seq != i+1 {
			wrong = append(wrong, fmt.Errorf("event %d has number %d", i+1, e.Seq))
		}
	}
	for _, p := range receipt.Verify(r) {
		wrong = append(wrong, fmt.Errorf("receipt: %s", p))
	}
	return errors.Join(append(wrong, waitUntilSigned(v, r))...)
}

// readReceipt reads the receipt of the run. The receipt of a run that ended is signed a moment after
// the end.
func readReceipt(v *user) (r receipt.Receipt, err error) {
	for until := time.Now().Add(soon); ; time.Sleep(50 * time.Millisecond) {
		raw, err := v.client.get("/api/runs/" + v.run + "/receipt")
		if err != nil {
			return r, err
		}
		r = receipt.Receipt{}
		if err := json.NewDecoder(bytes.NewReader(raw.body)).Decode(&r); err != nil {
			return r, err
		}
		if n := len(r.Events); r.Unsigned != receipt.Pending || n == 0 || r.Events[n-1].Type != plan.EventFinished || time.Now().After(until) {
			return r, nil
		}
	}
}

// waitUntilSigned repeats checkSigned until it succeeds, for as long as the sweep at a start may
// take.
func waitUntilSigned(v *user, r receipt.Receipt) (err error) {
	for until := time.Now().Add(soon); ; time.Sleep(50 * time.Millisecond) {
		if err = checkSigned(v, r); err == nil || time.Now().After(until) {
			return err
		}
	}
}

// checkSigned checks that the receipt and every other receipt of the account's chain are signed.
// The sweep signs later events, and the end of a draft, within a minute.
func checkSigned(v *user, r receipt.Receipt) error {
	if n := len(r.Events); r.Unsigned == receipt.Pending && n > 0 && r.Events[n-1].Type != plan.EventFinished {
		return nil
	}
	var keys struct{ Keys []receipt.Key }
	var chain struct{ Links []receipt.Link }
	for path, into := range map[string]any{"/api/keys": &keys, "/api/receipts": &chain} {
		raw, err := v.client.get(path)
		if err == nil {
			err = json.Unmarshal(raw.body, into)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	var wrong []error
	if err := r.SignedBy(keys.Keys); err != nil {
		wrong = append(wrong, fmt.Errorf("receipt: %w", err))
	}
	for _, p := range append(receipt.VerifyPlace(r, chain.Links), receipt.VerifyChain(chain.Links, keys.Keys)...) {
		wrong = append(wrong, fmt.Errorf("chain: %s", p))
	}
	return errors.Join(wrong...)
}

// checkLedger checks that the balance is the sum of the ledger, and that every session was paid
// once.
func checkLedger(v *user) error {
	var books struct {
		Balance  int64
		Sessions []struct {
			ID                 string `json:"session_id"`
			Tokens, Free, Used int
		}
	}
	var ledger struct {
		Entries []struct {
			Amount    int64
			SessionID string `json:"session_id"`
		}
	}
	raw, err := v.client.get("/ai/credits")
	if err != nil {
		return err
	}
	pages, err := v.client.get("/ai/ledger?limit=100")
	if err != nil {
		return err
	}
	if err := errors.Join(json.Unmarshal(raw.body, &books), json.Unmarshal(pages.body, &ledger)); err != nil {
		return err
	}
	sum, paid := int64(0), map[string]int{}
	for _, e := range ledger.Entries {
		sum += e.Amount
		if e.SessionID != "" {
			paid[e.SessionID]++
		}
	}
	var wrong []error
	if sum != books.Balance || sum < 0 {
		wrong = append(wrong, fmt.Errorf("the balance is %d and the ledger adds up to %d", books.Balance, sum))
	}
	for _, s := range books.Sessions {
		if s.Free < 0 || s.Free+s.Used > s.Tokens || paid[s.ID] != 1 {
			wrong = append(wrong, fmt.Errorf("session %+v was paid %d times", s, paid[s.ID]))
		}
		if s.Free+s.Used != s.Tokens { // without a hold, all tokens are either used or free
			wrong = append(wrong, fmt.Errorf("session %+v: tokens are neither free nor used", s))
		}
		delete(paid, s.ID)
	}
	if len(paid) > 0 {
		wrong = append(wrong, fmt.Errorf("sessions were paid that nobody has: %v", paid))
	}
	return errors.Join(wrong...)
}

// changesLeft counts the status changes of executions that are still to be delivered. The process
// must have stopped.
func changesLeft(folder string) (int, error) {
	// A process that is forked in the meantime, for another round, would hold the file's lock.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	store, err := disk.Open(filepath.Join(folder, "piloto.db"))
	if err != nil {
		return 0, err
	}
	left := 0
	err = store.View(func(tx *disk.Tx) error {
		left = 0
		return tx.Bucket([]byte("stepfunctions")).Bucket([]byte("outbox")).ForEach(func(_, _ []byte) error {
			left++
			return nil
		})
	})
	return left, errors.Join(err, store.Close())
}
