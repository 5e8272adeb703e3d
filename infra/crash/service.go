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

// document is the OpenAPI document of the service.
const document = `{"openapi":"3.1.0","info":{"title":"Tienda","version":"1"},"paths":{
"/rooms":{"get":{"operationId":"listRooms","summary":"Lista las salas","responses":{"200":{"description":"Las salas"}}}},
"/bookings":{"post":{"operationId":"book","summary":"Reserva una sala","requestBody":{"required":true,"content":{"application/json":{"schema":{"type":"object","required":["room"],"properties":{"room":{"type":"string"}}}}}},
 "responses":{"201":{"description":"La reserva","content":{"application/json":{"schema":{"type":"object","properties":{"id":{"type":"string"}}}}}}}}},
"/bookings/{id}":{"parameters":[{"name":"id","in":"path","required":true,"schema":{"type":"string"}}],
 "get":{"operationId":"readBooking","summary":"Muestra una reserva","responses":{"200":{"description":"La reserva"}}},
 "delete":{"operationId":"dropBooking","summary":"Anula una reserva","responses":{"204":{"description":"Anulada"}}}},
"/rooms/{id}":{"parameters":[{"name":"id","in":"path","required":true,"schema":{"type":"string"}}],
 "put":{"operationId":"holdRoom","summary":"Aparta una sala","requestBody":{"required":true,"content":{"application/json":{"schema":{"type":"object"}}}},"responses":{"200":{"description":"Apartada"}}}},
"/tickets":{"get":{"operationId":"ticket","summary":"Da un número","responses":{"200":{"description":"El número"}}}},
"/orders":{"post":{"operationId":"order","summary":"Hace un pedido","requestBody":{"required":true,"content":{"application/json":{"schema":{"type":"object"}}}},"responses":{"201":{"description":"El pedido"}}}},
"/orders/{id}":{"parameters":[{"name":"id","in":"path","required":true,"schema":{"type":"string"}}],
 "get":{"operationId":"findOrder","summary":"Busca un pedido","responses":{"200":{"description":"Los pedidos con ese número"}}}},
"/ledger/{id}":{"parameters":[{"name":"id","in":"path","required":true,"schema":{"type":"string"}}],
 "get":{"operationId":"readLedger","summary":"Muestra un asiento","responses":{"200":{"description":"El asiento"}}}},
"/mail":{"post":{"operationId":"mail","summary":"Envía un correo","requestBody":{"required":true,"content":{"application/json":{"schema":{"type":"object"}}}},"responses":{"202":{"description":"Enviado"}}}},
"/invoices":{"post":{"operationId":"invoice","summary":"Emite una factura","requestBody":{"required":true,"content":{"application/json":{"schema":{"type":"object"}}}},"responses":{"201":{"description":"La factura"}}}}}}`

// request holds the requests that reached the service under one Idempotency-Key.
type request struct {
	method, path string
	body         string // of the first request
	times        int
}

// service is the service that the plans of all rounds call. It records each request first, in a
// process that is never killed, so the record holds all requests that reached it.
type service struct {
	url    string
	server *http.Server

	mu      sync.Mutex
	applied int
	ledger  map[string]*request // by Idempotency-Key, which begins with the run's id
	orders  map[string]int      // how often each order was made, by its ticket
	unkeyed int                 // number of unsafe requests without a key
	slow    map[string]chan struct{}
}

// slowest is how long a slow request waits for its release.
const slowest = time.Second

func newService() (*service, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &service{url: "http://" + l.Addr().String(), ledger: map[string]*request{}, orders: map[string]int{}, slow: map[string]chan struct{}{}}
	s.server = &http.Server{Handler: s, ReadHeaderTimeout: time.Minute}
	go func() { _ = s.server.Serve(l) }()
	return s, nil
}

func (s *service) close() { _ = s.server.Close() }

// got returns the requests of a run, by the id of the effect.
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

// release answers the slow request of a run, now or when it arrives.
func (s *service) release(run string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ch := s.gate(run)
	select {
	case <-ch:
	default:
		close(ch)
	}
}

// gate returns a channel that is closed once a run's slow request may be answered; the caller holds
// mu.
func (s *service) gate(run string) chan struct{} {
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
	text := string(body)
	key := r.Header.Get("Idempotency-Key")
	run, _, _ := strings.Cut(key, ":")
	n, times := s.record(key, request{method: r.Method, path: r.URL.Path, body: text})
	s.mu.Lock()
	held := s.gate(run)
	s.mu.Unlock()
	switch {
	case strings.Contains(text, `"lost"`): // applied, and the response is dropped
		panic(http.ErrAbortHandler)
	case strings.Contains(text, `"slow"`):
		select {
		case <-held:
		case <-time.After(slowest):
		}
	}
	switch {
	case r.URL.Path == "/orders":
		s.order(body)
	case r.Method == http.MethodPut && times < 3:
		answer(w, http.StatusServiceUnavailable, map[string]any{"error": "un momento"})
	case r.URL.Path == "/invoices":
		answer(w, http.StatusUnprocessableEntity, map[string]any{"error": "no hay nada que facturar"})
	case r.Method == http.MethodDelete:
		w.WriteHeader(http.StatusNoContent)
	default:
		answer(w, http.StatusCreated, map[string]any{"id": fmt.Sprintf("b-%d", n)})
	}
}

// record records a request. It returns the number of all requests, and of those with its key.
func (s *service) record(key string, r request) (of, times int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.applied++
	if key == "" {
		s.unkeyed++
		return s.applied, 1
	}
	if s.ledger[key] == nil {
		s.ledger[key] = &r
	}
	s.ledger[key].times++
	return s.applied, s.ledger[key].times
}

// order makes an order, or loses it, and drops the response.
func (s *service) order(body []byte) {
	var in struct {
		Ticket string
		Kept   bool
	}
	if json.Unmarshal(body, &in) == nil && in.Kept {
		s.mu.Lock()
		s.orders[in.Ticket]++
		s.mu.Unlock()
	}
	panic(http.ErrAbortHandler)
}

// orderCount returns how often an order with a ticket was made.
func (s *service) orderCount(ticket string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.orders[ticket]
}

func (s *service) read(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == "/openapi.json":
		_, _ = io.WriteString(w, document)
	case r.URL.Path == "/rooms":
		answer(w, http.StatusOK, map[string]any{"items": []any{
			map[string]any{"id": "norte"}, map[string]any{"id": "sur"}, map[string]any{"id": "este"},
		}})
	case r.URL.Path == "/tickets":
		n, _ := s.record("ticket", request{})
		answer(w, http.StatusOK, map[string]any{"id": fmt.Sprintf("t-%d", n)})
	case strings.HasPrefix(r.URL.Path, "/orders/"):
		found := []any{}
		if ticket := strings.TrimPrefix(r.URL.Path, "/orders/"); s.orderCount(ticket) > 0 {
			found = append(found, map[string]any{"id": ticket})
		}
		answer(w, http.StatusOK, map[string]any{"items": found})
	case strings.HasPrefix(r.URL.Path, "/ledger/"): // it would have the order
		answer(w, http.StatusForbidden, map[string]any{"error": "este dato es de contabilidad"})
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
