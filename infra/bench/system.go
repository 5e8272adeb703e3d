package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"localaws/disk"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"piloto/infra/local/process"
)

const token = "the-token-of-the-benchmark-of-piloto"

// system is the deployment under test, with its model and its service.
type system struct {
	caller caller
	origin string
	data   string // its data file
	model  *model
	echo   *echo

	agent *concierge

	modelURL, echoURL, agentURL, shelfURL string

	countersURL string // of a deployment in a process of its own

	units *units // counts the calls of the embedded engines, which then go over HTTP; nil: it measures time

	mcp    string  // id of the registered service
	filled []*chat // that fillChat filled

	stop      func() error // ends the deployment; nil: there is none
	stopParts []func()
}

// newSystem starts the model and the service; the deployment is not started yet.
func newSystem(ctx context.Context) (*system, error) {
	s := &system{
		caller: newCaller(ctx, token),
		model:  &model{answers: map[string][][]byte{}, asked: map[string][]byte{}},
		echo:   &echo{watched: map[string]*watch{}},
		agent:  newConcierge(),
	}
	for _, part := range []struct {
		url     *string
		handler http.Handler
	}{{&s.modelURL, s.model}, {&s.echoURL, s.echo}, {&s.agentURL, s.agent}, {&s.shelfURL, shelf{}}} {
		origin, stop, err := listen(part.handler)
		if err != nil {
			return nil, errors.Join(err, s.close())
		}
		*part.url, s.stopParts = origin, append(s.stopParts, stop)
	}
	return s, nil
}

// close ends everything.
func (s *system) close() error {
	err := s.undeploy()
	for _, stop := range s.stopParts {
		stop()
	}
	return err
}

// undeploy ends the deployment. It can be started again, in the same folder.
func (s *system) undeploy() error {
	stop := s.stop
	if stop == nil {
		return nil
	}
	s.stop, s.origin = nil, ""
	return stop()
}

// logName is the file of the deployment's logs.
const logName = "log.jsonl"

// deployment returns how a deployment is started in a folder.
func deployment(folder, template, model string, parameters map[string]string) (process.Options, process.Settings) {
	return process.Options{Addr: "127.0.0.1:0", Data: filepath.Join(folder, "data"), Template: template},
		process.Settings{Token: token, BaseURL: model, Model: "script", LogLevel: "info", Parameters: parameters}
}

// deploy starts the whole deployment in a folder. When turns are paid for, the account has credits for a million.
func (s *system) deploy(folder, template string, parameters map[string]string, paid bool) error {
	s.data = filepath.Join(folder, "data", "piloto.db")
	log, err := os.Create(filepath.Join(folder, logName))
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(s.caller.ctx)
	out, in := io.Pipe()
	options, settings := deployment(folder, template, s.modelURL+"/v1", parameters)
	options.Log = log
	if s.units != nil {
		options.Calls = s.units.over
	}
	if settings.Credits = paid; paid {
		settings.Key = "sk-bench-0123456789abcdef"
	}
	ended := make(chan error, 1)
	go func() {
		err := process.Serve(ctx, options, settings, in)
		ended <- err
		_ = in.CloseWithError(err)
	}()
	s.stop = func() error {
		stop()
		return errors.Join(<-ended, log.Close())
	}
	lines := bufio.NewScanner(out)
	for s.origin == "" && lines.Scan() {
		_, s.origin, _ = strings.Cut(lines.Text(), readyOn)
	}
	if s.origin == "" {
		return errors.New("the system did not start")
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	if !paid {
		return nil
	}
	return s.caller.post(s.origin+"/ai/ledger", map[string]any{"kind": "grant", "amount": 1_000_000, "reason": "bench"}, nil)
}

// inFolder calls f with a new folder in dir, and removes the folder afterwards.
func inFolder(dir, name string, f func(folder string) error) (err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	folder, err := os.MkdirTemp(dir, name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	return f(folder)
}

// withSystem calls f with a system that is not deployed yet, and closes it afterwards.
func withSystem(ctx context.Context, f func(*system) error) error {
	sys, err := newSystem(ctx)
	if err != nil {
		return err
	}
	return errors.Join(f(sys), sys.close())
}

// withDeployment calls f with a system that is deployed in a folder of its own.
func withDeployment(ctx context.Context, o options, d deployed, f func(folder string, sys *system) error) error {
	return inFolder(o.dir, "run-", func(folder string) error {
		return withSystem(ctx, func(sys *system) error {
			sys.units = d.units
			if err := sys.deploy(folder, o.template, d.parameters, d.paid); err != nil {
				return err
			}
			return f(folder, sys)
		})
	})
}

// deployed says how a system is deployed.
type deployed struct {
	parameters map[string]string
	paid       bool
	units      *units
}

// register registers the service and the agent, and returns the id of the service.
func (s *system) register() (string, error) {
	var server struct {
		ID     string `json:"mcp_id"`
		Status string `json:"status"`
	}
	err := s.caller.post(s.origin+"/api/mcps", map[string]any{"url": s.echoURL, "name": "Orders"}, &server)
	if err == nil && server.Status != "online" {
		err = fmt.Errorf("the service is %q", server.Status)
	}
	if err == nil {
		err = s.caller.post(s.origin+"/api/mcps", map[string]any{"url": s.agentURL, "name": agentName, "role": "agent"}, nil)
	}
	return server.ID, err
}

// route sends one message of a session to the router, which an agent answers.
func (s *system) route(session string, sc scenario) error {
	var answer struct {
		Agent string `json:"agent_used"`
	}
	err := s.caller.post(s.origin+"/api/agent/chat", map[string]any{
		"message": promptFor(sc.kind), "session_id": session, "config": map[string]any{"id_empresa": 1},
	}, &answer)
	if err == nil && answer.Agent != agentName {
		err = fmt.Errorf("a turn was answered by %q", answer.Agent)
	}
	return err
}

// newChat creates a chat whose runs have no conclusion.
func (s *system) newChat() (string, error) {
	id, err := s.newTellingChat()
	if err == nil {
		err = s.caller.do(http.MethodPatch, s.origin+"/api/chats/"+id, []byte(`{"conclude":"off"}`), nil)
	}
	return id, err
}

// chatsOf returns the function that creates the chats of a scenario.
func (s *system) chatsOf(sc scenario) func() (string, error) {
	if sc.told {
		return s.newTellingChat
	}
	return s.newChat
}

// newTellingChat creates a chat as it is by default.
func (s *system) newTellingChat() (string, error) {
	var chat struct {
		ID string `json:"chat_id"`
	}
	err := s.caller.post(s.origin+"/api/chats", map[string]any{}, &chat)
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
	err := s.caller.post(s.origin+"/api/send", map[string]any{"chat_id": chat, "message": promptFor(sc.kind)}, &answer)
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
	err := s.caller.post(s.origin+"/api/runs/"+d.run+"/confirm", map[string]any{"digest": d.digest}, nil)
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
		if err := s.caller.get(s.origin+"/api/runs/"+d.run+"?wait=25", &run); err != nil {
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
