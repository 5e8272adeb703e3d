package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"piloto/infra/local/process"
	"piloto/infra/shop/business"
	"piloto/infra/shop/meter"
	"piloto/infra/shop/task"
	"piloto/internal/ground/ids"
	"piloto/internal/models/secrets"
)

// provider answers as the model.
type provider struct {
	handler http.Handler
	key     string
	model   string
}

// longestTurn is how long the model may take for a turn, in seconds: the most that Piloto takes.
const longestTurn = "600"

// piloto is a Piloto in this process, with a fresh data folder, a studio that it may read, and a chat for one customer.
type piloto struct {
	ctx           context.Context
	origin, token string
	language      string
	chat          string
	studio        *business.Service
	calls         *meter.Recorder
	closing       []func() error // in the reverse order
}

// open starts everything for a task, in a folder that is removed at the end.
func open(ctx context.Context, from provider, t task.Task) (p *piloto, err error) {
	p = &piloto{ctx: ctx, token: ids.Secret(), language: t.Language, studio: business.New(), calls: meter.NewRecorder(from.handler)}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.close())
		}
	}()
	folder, err := os.MkdirTemp("", "shop")
	if err != nil {
		return p, err
	}
	p.closing = append(p.closing, func() error { return os.RemoveAll(folder) })
	studio, model := httptest.NewServer(p.studio), httptest.NewServer(p.calls)
	p.closing = append(p.closing, func() error { studio.Close(); model.Close(); return nil })
	if err := p.serve(filepath.Join(folder, "data"), process.Settings{
		Token: p.token, Key: secrets.Key(from.key), BaseURL: model.URL, Model: from.model, Parameters: parameters(),
	}); err != nil {
		return p, err
	}
	return p, p.furnish(studio.URL, business.Policy(t.Language))
}

func parameters() map[string]string {
	all := process.Unlimited()
	all["ModelTimeoutSeconds"] = longestTurn
	return all
}

// serve starts the deployment. Its clock begins when that of the studio stands.
func (p *piloto) serve(data string, settings process.Settings) error {
	ctx, stop := context.WithCancel(p.ctx)
	began, ready, ended := time.Now(), make(chan process.Address, 1), make(chan error, 1)
	options := process.Options{
		Addr: "127.0.0.1:0", Data: data, Log: io.Discard, Ready: func(a process.Address) { ready <- a },
		Clock: func() time.Time { return business.Now().UTC().Add(time.Since(began)).Truncate(time.Millisecond) },
	}
	go func() {
		ended <- process.Serve(ctx, options, settings, io.Discard)
		close(ended)
	}()
	p.closing = append(p.closing, func() error { stop(); return <-ended })
	select {
	case a := <-ready:
		p.origin = a.Origin
		return nil
	case err := <-ended:
		return cmp.Or(err, errors.New("the process ended at once"))
	}
}

// furnish registers the studio, and makes a project with its rules and a chat in it.
func (p *piloto) furnish(studio, rules string) error {
	var service struct {
		ID     string `json:"mcp_id"`
		Status string `json:"status"`
	}
	if err := p.post("/api/mcps", fields{"url": studio, "name": "Barro y Luna", "reads": fields{"mode": "on"}}, &service); err != nil {
		return err
	}
	if service.Status != "online" {
		return fmt.Errorf("the studio is %q", service.Status)
	}
	var project struct {
		ID string `json:"project_id"`
	}
	if err := p.post("/api/projects", fields{"name": "Barro y Luna", "context": rules, "mcp_ids": []string{service.ID}}, &project); err != nil {
		return err
	}
	var chat struct {
		ID string `json:"chat_id"`
	}
	err := p.post("/api/chats", fields{"project_id": project.ID}, &chat)
	p.chat = chat.ID
	return err
}

// close ends everything.
func (p *piloto) close() (err error) {
	for i := len(p.closing) - 1; i >= 0; i-- {
		err = errors.Join(err, p.closing[i]())
	}
	p.closing = nil
	return err
}

type fields map[string]any

func (p *piloto) get(path string, out any) error { return p.call(http.MethodGet, path, nil, out) }

func (p *piloto) post(path string, body, out any) error {
	return p.call(http.MethodPost, path, body, out)
}

// call sends a request, and reads its answer into out, unless that is nil.
func (p *piloto) call(method, path string, body, out any) error {
	raw, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(p.ctx, method, p.origin+path, bytes.NewReader(raw))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+p.token)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept-Language", p.language)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	if answer.StatusCode >= http.StatusBadRequest {
		return fmt.Errorf("%s %s: %d %s", method, path, answer.StatusCode, text)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(text, out)
}

// message is a message of the chat.
type message struct {
	ID      string `json:"id"`
	Role    string `json:"role"`
	Kind    string `json:"kind"`
	Content string `json:"content"`
	Asks    bool   `json:"asks"`
	Notes   []struct {
		Code string `json:"code"`
	} `json:"notes"`
}

// messages returns the newest messages of the chat, the oldest first: more than a conversation has.
func (p *piloto) messages() ([]message, error) {
	var list struct {
		Messages []message `json:"messages"`
	}
	err := p.get("/api/chats/"+p.chat+"/messages?limit=200", &list)
	return list.Messages, err
}

// plan is a plan, or its run.
type plan struct {
	ID        string `json:"run_id"`
	Digest    string `json:"digest"`
	Status    string `json:"status"`
	Concludes bool   `json:"concludes"`
	Steps     []struct {
		ID       string `json:"id"`
		Method   string `json:"method"`
		Path     string `json:"path"`
		Body     any    `json:"body"`
		Risk     string `json:"risk"`
		ForEach  string `json:"for_each"`
		Status   string `json:"status"`
		Approval struct {
			Digest string `json:"request_digest"`
		} `json:"approval"`
		Items []struct {
			Status string `json:"status"`
		} `json:"items"`
	} `json:"steps"`
}

// card returns the requests of a plan, as a person reads them.
func (r plan) card() (steps []task.Step) {
	for _, s := range r.Steps {
		steps = append(steps, task.Step{ID: s.ID, Method: s.Method, Path: s.Path, Body: s.Body, Destroys: s.Risk == "destructive", ForEach: s.ForEach != ""})
	}
	return steps
}

// done returns the requests that were done: those of a step for each element as often as it had one.
func (r plan) done() (steps []task.Step) {
	for i, s := range r.card() {
		times := 0
		if r.Steps[i].Status == "done" {
			times = 1
		}
		if s.ForEach {
			times = 0
			for _, item := range r.Steps[i].Items {
				if item.Status == "done" {
					times++
				}
			}
		}
		for range times {
			steps = append(steps, s)
		}
	}
	return steps
}

func (p *piloto) run(id, query string) (r plan, err error) {
	err = p.get("/api/runs/"+url.PathEscape(id)+query, &r)
	return r, err
}
