package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"piloto/infra/local/process"
)

const token = "piloto-benchmark-token"

// system is the deployment under test, with the model and the service it uses.
type system struct {
	caller
	origin string
	data   string // its data file
	model  *model
	echo   *echo

	modelURL, echoURL string
	close             func() error
}

// startSystem starts the whole deployment in a folder and registers the service.
func startSystem(ctx context.Context, folder, template string) (s *system, err error) {
	s = &system{
		caller: newCaller(ctx, token), data: filepath.Join(folder, "data", "piloto.db"),
		model: &model{answers: map[string][]byte{}, asked: map[string][]byte{}},
		echo:  &echo{watched: map[string]*watch{}},
	}
	var stops []func()
	defer func() {
		if err != nil {
			for _, stop := range stops {
				stop()
			}
		}
	}()
	for _, part := range []struct {
		url *string
		h   http.Handler
	}{{&s.modelURL, s.model}, {&s.echoURL, s.echo}} {
		origin, stop, err := listen(part.h)
		if err != nil {
			return nil, err
		}
		*part.url, stops = origin, append(stops, stop)
	}
	log, err := os.Create(filepath.Join(folder, "log.jsonl"))
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	stops = append(stops, cancel)
	out, in := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := process.Serve(ctx, process.Options{
			Addr: "127.0.0.1:0", Data: filepath.Join(folder, "data"), Template: template, Log: log,
		}, process.Settings{Token: token, BaseURL: s.modelURL + "/v1", Model: "script", LogLevel: "info"}, in)
		ended <- err
		_ = in.CloseWithError(err)
	}()
	s.close = func() error {
		for _, stop := range stops {
			stop()
		}
		return errors.Join(<-ended, log.Close())
	}
	lines := bufio.NewScanner(out)
	for s.origin == "" && lines.Scan() {
		_, s.origin, _ = strings.Cut(lines.Text(), "piloto ready on ")
	}
	if s.origin == "" {
		return nil, fmt.Errorf("the system did not start: %w", errors.Join(lines.Err(), <-ended))
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	return s, nil
}

// register registers the service and returns its id.
func (s *system) register() (string, error) {
	var server struct {
		ID     string `json:"mcp_id"`
		Status string `json:"status"`
	}
	err := s.post(s.origin+"/api/mcps", map[string]any{"url": s.echoURL, "name": "Orders"}, &server)
	if err == nil && server.Status != "online" {
		err = fmt.Errorf("the service is %q", server.Status)
	}
	return server.ID, err
}

// newChat makes a chat.
func (s *system) newChat() (string, error) {
	var chat struct {
		ID string `json:"chat_id"`
	}
	err := s.post(s.origin+"/api/chats", map[string]any{}, &chat)
	return chat.ID, err
}

// draft is a plan that was proposed.
type draft struct{ chat, run, digest string }

// say sends one message and returns the draft that came of it, if any.
func (s *system) say(chat string, sc scenario) (draft, error) {
	var answer struct {
		Kind string `json:"kind"`
		Run  struct {
			ID     string     `json:"run_id"`
			Digest string     `json:"digest"`
			Steps  []struct{} `json:"steps"`
		} `json:"run"`
	}
	err := s.post(s.origin+"/api/send", map[string]any{"chat_id": chat, "message": saying(sc.kind)}, &answer)
	want := "message"
	if sc.steps > 0 {
		want = "plan"
	}
	if err == nil && (answer.Kind != want || len(answer.Run.Steps) != sc.steps) {
		err = fmt.Errorf("a turn answered %q with %d steps, want %q with %d", answer.Kind, len(answer.Run.Steps), want, sc.steps)
	}
	return draft{chat, answer.Run.ID, answer.Run.Digest}, err
}

const (
	runLimit  = time.Minute // within which a run must be done
	lookEvery = 25          // a chat is read again after this part of the time so far
)

// execute confirms a draft and returns when its chat says that it is done.
func (s *system) execute(d draft, steps int) error {
	seen, began := s.echo.watch(d.run, steps), time.Now()
	err := s.post(s.origin+"/api/runs/"+d.run+"/confirm", map[string]any{"digest": d.digest}, nil)
	if err != nil {
		return err
	}
	limit := time.After(runLimit)
	select {
	case <-seen.over:
	case <-limit:
		return fmt.Errorf("run %s: %d calls are missing after %v", d.run, s.echo.forget(d.run), runLimit)
	}
	var chat struct {
		Last   string `json:"last_run_id"`
		Status string `json:"last_run_status"`
	}
	for chat.Last != d.run {
		time.Sleep(max(time.Millisecond, time.Since(began)/lookEvery))
		if err := s.get(s.origin+"/api/chats/"+d.chat, &chat); err != nil {
			return err
		}
		select {
		case <-limit:
			return fmt.Errorf("run %s has not ended after %v", d.run, runLimit)
		default:
		}
	}
	if left := s.echo.forget(d.run); left != 0 || chat.Status != "done" {
		return fmt.Errorf("run %s ended %q, with %d calls missing", d.run, chat.Status, left)
	}
	return nil
}

// commits is how many transactions the data file has seen. bbolt keeps the
// number in its two first pages, of which the newer one counts.
func (s *system) commits() (int, error) {
	file, err := os.Open(s.data)
	if err != nil {
		return 0, err
	}
	defer func() { _ = file.Close() }()
	const (
		header = 16 // of a page
		magic  = 0xED0CDAED
	)
	head := make([]byte, 64<<10)
	if _, err := io.ReadFull(file, head); err != nil {
		return 0, err
	}
	newest := uint64(0)
	size := int(binary.LittleEndian.Uint32(head[header+8:]))
	for _, at := range []int{0, size} {
		if at+header+64 > len(head) || binary.LittleEndian.Uint32(head[at+header:]) != magic {
			return 0, errors.New("the data file is no bbolt database")
		}
		newest = max(newest, binary.LittleEndian.Uint64(head[at+header+48:]))
	}
	return int(newest), nil
}
