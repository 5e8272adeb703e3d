package e2e

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// service is a service to act on. It serves its OpenAPI document. It records every other request before it does
// anything else, so that each received request is recorded. Without a behaviour it answers 200 (a POST 201) with
// the request and an id.
type service struct {
	addr   string
	server *http.Server

	mu         sync.Mutex
	document   string
	place      string // of the document: /openapi.json or /openapi.yaml
	applied    int    // requests so far, which number the ids
	requests   []received
	behaviours map[string][]behaviour // by "METHOD /path"
	held       chan struct{}          // closed to release the held requests
}

// behaviour defines the answer to one request.
type behaviour struct {
	kind  string
	value string
}

// The kinds of behaviour, with the meaning of their value.
const (
	behaveDrop     = "drop"     // applied, then the connection ends without an answer
	behaveDelay    = "delay"    // duration: answered late
	behaveHold     = "hold"     // applied, then answered when it is released
	behaveStatus   = "status"   // code: applied, then answered with it
	behaveBody     = "body"     // JSON: the answer
	behaveRedirect = "redirect" // URL: 302
	behaveThrottle = "throttle" // seconds: 429 with Retry-After
	behaveHuge     = "huge"     // bytes: a JSON text of that size
)

func newService(addr, place, document string) *service {
	return &service{addr: addr, place: place, document: document, behaviours: map[string][]behaviour{}, held: make(chan struct{})}
}

func (s *service) url() string { return "http://" + s.addr }

func (s *service) start() error {
	l, err := listenOn(s.addr)
	if err != nil {
		return err
	}
	s.server = &http.Server{Handler: s}
	go func() { _ = s.server.Serve(l) }()
	return nil
}

func (s *service) stop() {
	if s.server != nil {
		_ = s.server.Close()
	}
}

func (s *service) describe(document string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.document = document
}

// behave adds behaviours of an operation, each for one request; the last stays.
func (s *service) behave(operation string, list ...behaviour) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.behaviours[operation] = list
}

// release answers the held requests. A request that was to be held and comes later passes, because a running step
// may still send it.
func (s *service) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.held)
	s.held = make(chan struct{})
	for operation, list := range s.behaviours {
		s.behaviours[operation] = slices.DeleteFunc(slices.Clone(list), func(b behaviour) bool { return b.kind == behaveHold })
	}
}

// got returns the requests of an operation ("POST /orders"); all for "".
func (s *service) got(operation string) []received {
	s.mu.Lock()
	defer s.mu.Unlock()
	if operation == "" {
		return slices.Clone(s.requests)
	}
	return slices.DeleteFunc(slices.Clone(s.requests), func(r received) bool { return r.Method+" "+r.Path != operation })
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	place, document := s.place, s.document
	s.mu.Unlock()
	if r.Method == http.MethodGet && r.URL.Path == place {
		_, _ = io.WriteString(w, document)
		return
	}
	if strings.HasSuffix(r.URL.Path, ".json") || strings.HasSuffix(r.URL.Path, "-docs") {
		http.NotFound(w, r) // a search for the document
		return
	}
	got := record(r)
	s.mu.Lock()
	s.requests = append(s.requests, got)
	s.applied++
	id := s.applied
	var how behaviour
	held := s.held
	key := got.Method + " " + got.Path
	if list := s.behaviours[key]; len(list) > 0 {
		how = list[0]
		if len(list) > 1 {
			s.behaviours[key] = list[1:]
		}
	}
	s.mu.Unlock()
	if how.kind == behaveHold {
		select {
		case <-held:
		case <-r.Context().Done():
		}
	}
	how.write(w, r, got, id)
}

func (b behaviour) write(w http.ResponseWriter, r *http.Request, got received, id int) {
	w.Header().Set("Content-Type", "application/json")
	body := object("id", "o-"+strconv.Itoa(id), "received", got.Body)
	if len(got.Body) == 0 || string(got.Body) == `""` {
		body = object("id", "o-"+strconv.Itoa(id))
	}
	status := http.StatusOK
	if r.Method == http.MethodPost {
		status = http.StatusCreated
	}
	switch b.kind {
	case behaveDrop:
		panic(http.ErrAbortHandler)
	case behaveDelay:
		wait, _ := time.ParseDuration(b.value)
		select {
		case <-time.After(wait):
		case <-r.Context().Done():
		}
	case behaveStatus:
		status, _ = strconv.Atoi(b.value)
	case behaveBody:
		body = b.value
	case behaveRedirect:
		w.Header().Set("Location", b.value)
		status = http.StatusFound
	case behaveThrottle:
		w.Header().Set("Retry-After", b.value)
		status = http.StatusTooManyRequests
	case behaveHuge:
		n, _ := strconv.Atoi(b.value)
		body = `"` + strings.Repeat("x", n-2) + `"`
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

// readBehaviours parses the behaviours of a script: kinds with their values, such as "throttle=1", "drop"; "ok"
// means none.
func readBehaviours(args []string) ([]behaviour, error) {
	kinds := []string{behaveDrop, behaveDelay, behaveHold, behaveStatus, behaveBody, behaveRedirect, behaveThrottle, behaveHuge, "ok"}
	var list []behaviour
	for _, arg := range args {
		kind, value, _ := strings.Cut(arg, "=")
		if !slices.Contains(kinds, kind) {
			return nil, fmt.Errorf("no such behaviour: %s", kind)
		}
		list = append(list, behaviour{kind, value})
	}
	return list, nil
}
