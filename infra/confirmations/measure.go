package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"piloto/infra/local/process"
	"piloto/internal/ground/ids"
)

// patience bounds the wait for the end of a run.
const patience = 30 * time.Second

// subject is a deployment, with the stand-ins of its services and its model.
type subject struct {
	origin, token string
	model         *script
}

// measure asks for everything, in a new deployment whose services may be read as mode says.
func measure(ctx context.Context, template, folder, mode string) (list []count, err error) {
	data, err := os.MkdirTemp("", "confirmations")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(data) }()
	s := &subject{token: ids.Secret(), model: newScript()}
	defer s.model.Close()
	s.model.reads = mode == "on"
	ctx, stop := context.WithCancel(ctx)
	ended, err := s.start(ctx, template, data)
	if err != nil {
		stop()
		return nil, err
	}
	defer func() { stop(); err = errors.Join(err, <-ended) }()
	for _, d := range documents {
		text, err := os.ReadFile(filepath.Join(folder, d.file))
		if err != nil {
			return nil, err
		}
		service := newService(d, text)
		defer service.Close()
		if err := s.register(ctx, d, service.URL, mode); err != nil {
			return nil, err
		}
	}
	return s.askAll(ctx)
}

// start runs the deployment until ctx ends. The channel then gets its error.
func (s *subject) start(ctx context.Context, template, data string) (<-chan error, error) {
	out, in := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- process.Serve(ctx, process.Options{Addr: "127.0.0.1:0", Data: data, Template: template, Log: io.Discard},
			process.Settings{Token: s.token, Key: "k", BaseURL: s.model.URL + "/v1", Model: "script"}, in)
		_ = in.Close()
	}()
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		return nil, <-ended
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	s.origin = strings.TrimPrefix(lines.Text(), "piloto ready on ")
	return ended, nil
}

func (s *subject) register(ctx context.Context, d document, url, mode string) error {
	var server struct {
		ID     string `json:"mcp_id"`
		Status string
	}
	err := s.call(ctx, "POST", "/api/mcps", fields{"url": url, "document_url": url + "/openapi.yaml", "name": d.name, "reads": fields{"mode": mode}}, &server)
	if err == nil && server.Status != "online" {
		err = fmt.Errorf("%s is %q", d.file, server.Status)
	}
	s.model.servers[d.name] = server.ID
	return err
}

// askAll asks for everything, one after the other, each in a chat of its own unless it follows.
func (s *subject) askAll(ctx context.Context) ([]count, error) {
	var list []count
	chat := ""
	for _, r := range requests {
		if !r.follows {
			var created struct {
				ID string `json:"chat_id"`
			}
			if err := s.call(ctx, "POST", "/api/chats", fields{}, &created); err != nil {
				return nil, err
			}
			chat = created.ID
		}
		n, err := s.ask(ctx, chat, r)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", r.says, err)
		}
		list = append(list, n)
	}
	return list, nil
}

// ask sends a request, confirms each plan, and asks to go on until all is done.
func (s *subject) ask(ctx context.Context, chat string, r request) (count, error) {
	s.model.begin(r)
	n, says := count{}, r.says
	for range 2 * (len(r.reads) + len(r.writes) + 1) {
		var reply struct {
			Kind    string
			Message struct {
				Content string
				Sources []struct {
					URL    string
					Status int
				}
			}
			Run struct {
				ID     string `json:"run_id"`
				Digest string
			}
		}
		n.messages++
		if err := s.call(ctx, "POST", "/api/send", fields{"chat_id": chat, "message": says}, &reply); err != nil {
			return n, err
		}
		switch reply.Kind {
		case "plan":
			times, err := s.confirm(ctx, reply.Run.ID, reply.Run.Digest)
			if n.confirmations += times; err != nil {
				return n, err
			}
		case "message":
		default:
			return n, fmt.Errorf("it is answered with %s: %s", reply.Kind, reply.Message.Content)
		}
		for _, read := range reply.Message.Sources {
			if read.Status != http.StatusOK {
				return n, fmt.Errorf("%s is answered with %d", read.URL, read.Status)
			}
		}
		if s.model.done() {
			return n, nil
		}
		says = map[string]string{"es": "Sigue.", "en": "Go on."}[r.language]
	}
	return n, fmt.Errorf("it is not done after %d messages", n.messages)
}

// confirm confirms a plan, approves each step that waits for it, and waits until the plan is done. It returns how often
// it said yes.
func (s *subject) confirm(ctx context.Context, run, digest string) (times int, err error) {
	if err := s.call(ctx, "POST", "/api/runs/"+run+"/confirm", fields{"digest": digest}, nil); err != nil {
		return 0, err
	}
	times = 1
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		var now struct {
			Status string
			Steps  []struct {
				ID, Status string
				Error      struct{ Message string }
				Approval   struct {
					Request string `json:"request_digest"`
				}
			}
		}
		if err := s.call(ctx, "GET", "/api/runs/"+run, nil, &now); err != nil {
			return times, err
		}
		switch {
		case now.Status == "done":
			return times, nil
		case now.Status == "waiting":
			for _, step := range now.Steps {
				if step.Status == "waiting" {
					times++
					if err := s.call(ctx, "POST", "/api/runs/"+run+"/approve", fields{"step_id": step.ID, "request_digest": step.Approval.Request}, nil); err != nil {
						return times, err
					}
				}
			}
		case now.Status != "queued" && now.Status != "running" || time.Now().After(deadline):
			return times, fmt.Errorf("its plan is %s: %+v", now.Status, now.Steps)
		}
	}
}

// call sends a request to the deployment, and reads its answer into out.
func (s *subject) call(ctx context.Context, method, path string, body, out any) error {
	raw, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, method, s.origin+path, bytes.NewReader(raw))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+s.token)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode >= http.StatusBadRequest {
		return fmt.Errorf("%s %s: %d %s", method, path, res.StatusCode, text)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(text, out)
}
