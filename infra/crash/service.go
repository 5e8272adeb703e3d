package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// document is what the service says of itself.
const document = `{"openapi":"3.1.0","info":{"title":"Tienda","version":"1"},"paths":{
"/rooms":{"get":{"operationId":"listRooms","summary":"Lista las salas","responses":{"200":{"description":"Las salas"}}}},
"/bookings":{"post":{"operationId":"book","summary":"Reserva una sala","requestBody":{"required":true,"content":{"application/json":{"schema":{"type":"object","required":["room"],"properties":{"room":{"type":"string"}}}}}},
 "responses":{"201":{"description":"La reserva","content":{"application/json":{"schema":{"type":"object","properties":{"id":{"type":"string"}}}}}}}}},
"/bookings/{id}":{"parameters":[{"name":"id","in":"path","required":true,"schema":{"type":"string"}}],
 "get":{"operationId":"readBooking","summary":"Muestra una reserva","responses":{"200":{"description":"La reserva"}}},
 "delete":{"operationId":"dropBooking","summary":"Anula una reserva","responses":{"204":{"description":"Anulada"}}}},
"/mail":{"post":{"operationId":"mail","summary":"Envía un correo","requestBody":{"required":true,"content":{"application/json":{"schema":{"type":"object"}}}},"responses":{"202":{"description":"Enviado"}}}},
"/invoices":{"post":{"operationId":"invoice","summary":"Emite una factura","requestBody":{"required":true,"content":{"application/json":{"schema":{"type":"object"}}}},"responses":{"201":{"description":"La factura"}}}}}}`

// request is what reached the service under one Idempotency-Key.
type request struct {
	method, path string
	times        int
}

// service is what the plans of all rounds act on. It notes each request before it
// does anything else, in a process that nobody kills: what it noted is what reached it.
type service struct {
	url    string
	server *http.Server

	mu      sync.Mutex
	applied int
	ledger  map[string]*request // by Idempotency-Key, which begins with the run
	unkeyed int                 // unsafe requests without one
	slow    map[string]chan struct{}
}

// slowest is how long a slow request waits for its release.
const slowest = time.Second

func newService() (*service, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &service{url: "http://" + l.Addr().String(), ledger: map[string]*request{}, slow: map[string]chan struct{}{}}
	s.server = &http.Server{Handler: s, ReadHeaderTimeout: time.Minute}
	go func() { _ = s.server.Serve(l) }()
	return s, nil
}

func (s *service) close() { _ = s.server.Close() }

// got returns what reached the service of a run, by the name of the effect.
func (s *service) got(run string) map[string]request {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := map[string]request{}
	for key, r := range maps.All(s.ledger) {
		if effect, ok := strings.CutPrefix(key, run+":"); ok {
			found[effect] = *r
		}
	}
	return found
}

// release answers the slow request of a run, now or when it comes.
func (s *service) release(run string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ch := s.held(run)
	select {
	case <-ch:
	default:
		close(ch)
	}
}

// held is closed once a run's slow request may be answered; the caller holds mu.
func (s *service) held(run string) chan struct{} {
	if s.slow[run] == nil {
		s.slow[run] = make(chan struct{})
	}
	return s.slow[run]
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		s.read(w, r)
		return
	}
	body, _ := io.ReadAll(r.Body)
	key := r.Header.Get("Idempotency-Key")
	run, _, _ := strings.Cut(key, ":")
	s.mu.Lock()
	s.applied++
	n := s.applied
	if key == "" {
		s.unkeyed++
	} else if s.ledger[key] == nil {
		s.ledger[key] = &request{method: r.Method, path: r.URL.Path, times: 1}
	} else {
		s.ledger[key].times++
	}
	held := s.held(run)
	s.mu.Unlock()
	said := string(body)
	switch {
	case strings.Contains(said, `"lost"`): // applied, and the answer is dropped
		panic(http.ErrAbortHandler)
	case strings.Contains(said, `"slow"`):
		select {
		case <-held:
		case <-time.After(slowest):
		}
	}
	switch {
	case r.URL.Path == "/invoices":
		answer(w, http.StatusUnprocessableEntity, map[string]any{"error": "no hay nada que facturar"})
	case r.Method == http.MethodDelete:
		w.WriteHeader(http.StatusNoContent)
	default:
		answer(w, http.StatusCreated, map[string]any{"id": fmt.Sprintf("b-%d", n)})
	}
}

func (s *service) read(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == "/openapi.json":
		_, _ = io.WriteString(w, document)
	case r.URL.Path == "/rooms":
		answer(w, http.StatusOK, map[string]any{"items": []any{
			map[string]any{"id": "norte"}, map[string]any{"id": "sur"}, map[string]any{"id": "este"},
		}})
	case strings.HasPrefix(r.URL.Path, "/bookings/"):
		answer(w, http.StatusOK, map[string]any{"id": strings.TrimPrefix(r.URL.Path, "/bookings/")})
	default:
		http.NotFound(w, r)
	}
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}
