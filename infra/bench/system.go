package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"localaws/disk"
	"os"
	"path/filepath"
	"strings"
	"time"

	"piloto/infra/local/process"
)

const token = "the-token-of-the-benchmark-of-piloto"

// system is the deployment under test, with its model and its service.
type system struct {
	caller
	origin string
	data   string // its data file
	model  *model
	echo   *echo

	agent *concierge

	modelURL, echoURL, agentURL string

	units *units // counts the calls of the embedded engines, which then go over HTTP; nil: it measures time

	close func() error
}

// newSystem starts the model and the service; the deployment is not started yet.
func newSystem(ctx context.Context) (*system, error) {
	s := &system{
		caller: newCaller(ctx, token),
		model:  &model{answers: map[string][]byte{}, asked: map[string][]byte{}},
		echo:   &echo{watched: map[string]*watch{}},
		agent:  newConcierge(),
	}
	var stopModel, stopEcho, stopAgent func()
	var err error
	if s.modelURL, stopModel, err = listen(s.model); err != nil {
		return nil, err
	}
	if s.echoURL, stopEcho, err = listen(s.echo); err != nil {
		stopModel()
		return nil, err
	}
	if s.agentURL, stopAgent, err = listen(s.agent); err != nil {
		stopModel()
		stopEcho()
		return nil, err
	}
	s.close = func() error {
		stopModel()
		stopEcho()
		stopAgent()
		return nil
	}
	return s, nil
}

// deploy starts the whole deployment in a folder. When turns are paid for, the account has credits for a million.
func (s *system) deploy(folder, template string, parameters map[string]string, paid bool) error {
	s.data = filepath.Join(folder, "data", "piloto.db")
	log, err := os.Create(filepath.Join(folder, "log.jsonl"))
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(s.ctx)
	out, in := io.Pipe()
	options := process.Options{Addr: "127.0.0.1:0", Data: filepath.Join(folder, "data"), Template: template, Log: log}
	if s.units != nil {
		options.Calls = s.units.over
	}
	settings := process.Settings{Token: token, BaseURL: s.modelURL + "/v1", Model: "script", LogLevel: "info", Parameters: parameters, Credits: paid}
	if paid {
		settings.Key = "sk-bench-0123456789abcdef"
	}
	ended := make(chan error, 1)
	go func() {
		err := process.Serve(ctx, options, settings, in)
		ended <- err
		_ = in.CloseWithError(err)
	}()
	closeParts := s.close
	s.close = func() error {
		stop()
		return errors.Join(<-ended, closeParts(), log.Close())
	}
	lines := bufio.NewScanner(out)
	for s.origin == "" && lines.Scan() {
		_, s.origin, _ = strings.Cut(lines.Text(), "piloto ready on ")
	}
	if s.origin == "" {
		return errors.New("the system did not start")
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	if !paid {
		return nil
	}
	return s.post(s.origin+"/ai/ledger", map[string]any{"kind": "grant", "amount": 1_000_000, "reason": "bench"}, nil)
}

// register registers the service and the agent, and returns the id of the service.
func (s *system) register() (string, error) {
	var server struct {
		ID     string `json:"mcp_id"`
		Status string `json:"status"`
	}
	err := s.post(s.origin+"/api/mcps", map[string]any{"url": s.echoURL, "name": "Orders"}, &server)
	if err == nil && server.Status != "online" {
		err = fmt.Errorf("the service is %q", server.Status)
	}
	if err == nil {
		err = s.post(s.origin+"/api/mcps", map[string]any{"url": s.agentURL, "name": agentName, "role": "agent"}, nil)
	}
	return server.ID, err
}

// route sends one message of a session to the router, which an agent answers.
func (s *system) route(session string, sc scenario) error {
	var answer struct {
		Agent string `json:"agent_used"`
	}
	err := s.post(s.origin+"/api/agent/chat", map[string]any{
		"message": promptFor(sc.kind), "session_id": session, "config": map[string]any{"id_empresa": 1},
	}, &answer)
	if err == nil && answer.Agent != agentName {
		err = fmt.Errorf("a turn was answered by %q", answer.Agent)
	}
	return err
}

// newChat creates a chat.
func (s *system) newChat() (string, error) {
	var chat struct {
		ID string `json:"chat_id"`
	}
	err := s.post(s.origin+"/api/chats", map[string]any{}, &chat)
	return chat.ID, err
}

// draft is a proposed plan.
type draft struct{ chat, run, digest string }

// say sends one message and returns the resulting draft, if any.
func (s *system) say(chat string, sc scenario) (draft, error) {
	var answer struct {
		Kind string `json:"kind"`
		Run  struct {
			ID     string     `json:"run_id"`
			Digest string     `json:"digest"`
			Steps  []struct{} `json:"steps"`
		} `json:"run"`
	}
	err := s.post(s.origin+"/api/send", map[string]any{"chat_id": chat, "message": promptFor(sc.kind)}, &answer)
	want := "message"
	if sc.steps > 0 {
		want = "plan"
	}
	if err == nil && (answer.Kind != want || len(answer.Run.Steps) != sc.steps) {
		err = fmt.Errorf("a turn answered %q with %d steps, want %q with %d", answer.Kind, len(answer.Run.Steps), want, sc.steps)
	}
	return draft{chat, answer.Run.ID, answer.Run.Digest}, err
}

const runLimit = time.Minute // maximum duration of a run

// execute confirms a draft and returns when the run is done.
func (s *system) execute(d draft, steps int) error {
	seen, began := s.echo.watch(d.run, steps), time.Now()
	err := s.post(s.origin+"/api/runs/"+d.run+"/confirm", map[string]any{"digest": d.digest}, nil)
	if err != nil {
		return err
	}
	select {
	case <-seen.over:
	case <-time.After(runLimit):
		return fmt.Errorf("run %s: %d calls are missing after %v", d.run, s.echo.forget(d.run), runLimit)
	}
	var run struct {
		Status string `json:"status"`
	}
	for run.Status == "" || run.Status == "queued" || run.Status == "running" {
		if time.Since(began) > runLimit {
			return fmt.Errorf("run %s has not ended after %v", d.run, runLimit)
		}
		if err := s.get(s.origin+"/api/runs/"+d.run+"?wait=25", &run); err != nil {
			return err
		}
	}
	if left := s.echo.forget(d.run); left != 0 || run.Status != "done" {
		return fmt.Errorf("run %s ended %q, with %d calls missing", d.run, run.Status, left)
	}
	return nil
}

// commits returns the number of the newest commit in the log of the data file.
func (s *system) commits() (int, error) {
	newest, err := disk.NewestCommit(s.data)
	return int(newest), err
}
