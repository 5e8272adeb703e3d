package business

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// Service is the studio as an HTTP service. It may be called concurrently.
type Service struct {
	mu     sync.Mutex
	state  State
	writes []Write
	mux    *http.ServeMux
}

// Write is a request that changed the data.
type Write struct {
	Method, Path string
	Body         json.RawMessage // empty: none
}

// New returns the service with the data of the beginning.
func New() *Service {
	s := &Service{state: Fresh(), mux: http.NewServeMux()}
	s.mux.HandleFunc("GET /openapi.json", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(document) })
	for _, r := range routes {
		s.mux.HandleFunc(r.pattern, func(w http.ResponseWriter, req *http.Request) { s.serve(w, req, r) })
	}
	return s
}

// ServeHTTP implements http.Handler.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// State returns a copy of the present data.
func (s *Service) State() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	var copied State
	raw, err := json.Marshal(s.state)
	if err == nil {
		err = json.Unmarshal(raw, &copied)
	}
	if err != nil { // it came from JSON
		panic(err)
	}
	return copied
}

// Writes returns the writes that were served, in order.
func (s *Service) Writes() []Write {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.writes)
}

// route is one operation.
type route struct {
	pattern string // of http.ServeMux
	created bool   // the answer is 201
	do      func(s *State, r *http.Request, body []byte) (any, error)
}

// withBody returns the operation that reads a body of a type.
func withBody[T any](do func(s *State, r *http.Request, body T) (any, error)) func(*State, *http.Request, []byte) (any, error) {
	return func(s *State, r *http.Request, raw []byte) (any, error) {
		var body T
		decoder := json.NewDecoder(bytes.NewReader(raw))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&body); err != nil {
			return nil, invalid("the body is wrong: %v", err)
		}
		return do(s, r, body)
	}
}

// withID returns the operation that has one id in its path and no body.
func withID[T any](do func(s *State, id string) (T, error)) func(*State, *http.Request, []byte) (any, error) {
	return func(s *State, r *http.Request, _ []byte) (any, error) { return do(s, r.PathValue("id")) }
}

// filtered returns the operation that lists records under a name. One of the filters that it needs has to be there.
func filtered[T any](name string, of func(*State) []T, holds func(r T, query func(string) string) bool, needs ...string) func(*State, *http.Request, []byte) (any, error) {
	return func(s *State, r *http.Request, _ []byte) (any, error) {
		list := []T{}
		if len(needs) > 0 && !slices.ContainsFunc(needs, r.URL.Query().Has) {
			return nil, invalid("give %s", strings.Join(needs, " or "))
		}
		for _, record := range of(s) {
			if holds(record, r.URL.Query().Get) {
				list = append(list, record)
			}
		}
		return map[string]any{name: list}, nil
	}
}

// is reports whether a filter is absent or has a value.
func is(filter, value string) bool { return filter == "" || filter == value }

// has reports whether a filter is absent or each of its words stands in a text, in any letter case.
func has(filter, text string) bool {
	text = strings.ToLower(text)
	for _, word := range strings.Fields(strings.ToLower(filter)) {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

var routes = []route{
	{"GET /customers", false, filtered("customers", func(s *State) []Customer { return s.Customers }, func(c Customer, query func(string) string) bool {
		return has(plain(query("name")), plain(c.Name)) && (query("email") == "" || strings.EqualFold(query("email"), c.Email)) && is(digits(query("phone")), digits(c.Phone))
	}, "name", "email", "phone")},
	{"GET /customers/{id}", false, withID((*State).customer)},
	{"PATCH /customers/{id}", false, withBody(func(s *State, r *http.Request, b change) (any, error) {
		return s.changeCustomer(r.PathValue("id"), b)
	})},
	{"GET /products", false, filtered("products", func(s *State) []Product { return s.Products }, func(p Product, query func(string) string) bool {
		return is(query("kind"), p.Kind) && has(plain(query("name")), plain(p.Name.ES+" "+p.Name.EN))
	})},
	{"GET /products/{id}", false, withID((*State).product)},
	{"GET /orders", false, filtered("orders", func(s *State) []Order { return s.Orders }, func(o Order, query func(string) string) bool {
		return is(query("customer_id"), o.CustomerID) && is(query("status"), o.Status)
	}, "customer_id")},
	{"GET /orders/{id}", false, withID((*State).order)},
	{"POST /orders", true, withBody(func(s *State, _ *http.Request, b basket) (any, error) { return s.createOrder(b) })},
	{"PUT /orders/{id}/lines/{product}", false, withBody(func(s *State, r *http.Request, b struct {
		Quantity *int `json:"quantity"`
	},
	) (any, error) {
		if b.Quantity == nil {
			return nil, invalid("quantity is missing")
		}
		return s.setLine(r.PathValue("id"), r.PathValue("product"), *b.Quantity)
	})},
	{"PUT /orders/{id}/delivery", false, withBody(func(s *State, r *http.Request, b struct {
		Delivery string `json:"delivery"`
	},
	) (any, error) {
		return s.setDelivery(r.PathValue("id"), b.Delivery)
	})},
	{"POST /orders/{id}/cancel", false, withID((*State).cancelOrder)},
	{"POST /orders/{id}/pay", true, withBody(func(s *State, r *http.Request, b struct {
		Method string `json:"method"`
	},
	) (any, error) {
		return s.pay(r.PathValue("id"), b.Method)
	})},
	{"GET /payments", false, filtered("payments", func(s *State) []Payment { return s.Payments }, func(p Payment, query func(string) string) bool {
		return is(query("customer_id"), p.CustomerID) && is(query("order_id"), p.OrderID)
	}, "customer_id", "order_id")},
	{"POST /payments/{id}/refund", false, withBody(func(s *State, r *http.Request, b struct {
		AmountCents int    `json:"amount_cents"`
		To          string `json:"to"`
	},
	) (any, error) {
		return s.refund(r.PathValue("id"), b.AmountCents, b.To)
	})},
	{"GET /sessions", false, filtered("sessions", func(s *State) []Session { return s.Sessions }, func(Session, func(string) string) bool { return true })},
	{"GET /sessions/{id}/free", false, func(s *State, r *http.Request, _ []byte) (any, error) {
		return s.freeTimes(r.PathValue("id"), r.URL.Query().Get("date"))
	}},
	{"GET /bookings", false, filtered("bookings", func(s *State) []Booking { return s.Bookings }, func(b Booking, query func(string) string) bool {
		return is(query("customer_id"), b.CustomerID)
	}, "customer_id")},
	{"POST /bookings", true, withBody(func(s *State, _ *http.Request, b Booking) (any, error) { return s.book(b) })},
	{"PATCH /bookings/{id}", false, withBody(func(s *State, r *http.Request, b move) (any, error) { return s.changeBooking(r.PathValue("id"), b) })},
	{"DELETE /bookings/{id}", false, withID((*State).cancelBooking)},
	{"POST /notices", true, withBody(func(s *State, _ *http.Request, n Notice) (any, error) { return s.askForNotice(n) })},
	{"POST /messages", true, withBody(func(s *State, _ *http.Request, m Message) (any, error) { return s.leaveMessage(m) })},
}

// plain returns a text without the accents of its vowels.
func plain(text string) string {
	return strings.NewReplacer("á", "a", "é", "e", "í", "i", "ó", "o", "ú", "u", "Á", "A", "É", "E", "Í", "I", "Ó", "O", "Ú", "U").Replace(text)
}

// digits returns the digits of a text.
func digits(text string) string {
	return strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, text)
}

// mostBody bounds the body of a request, in bytes.
const mostBody = 64 << 10

// serve serves one request of an operation. A request that is refused changes nothing.
func (s *Service) serve(w http.ResponseWriter, r *http.Request, of route) {
	w.Header().Set("Content-Type", "application/json")
	var raw bytes.Buffer
	_, err := raw.ReadFrom(http.MaxBytesReader(w, r.Body, mostBody))
	var answer any
	if err == nil {
		s.mu.Lock()
		answer, err = of.do(&s.state, r, raw.Bytes())
		var copied json.RawMessage
		if err == nil {
			copied, err = json.Marshal(answer)
			answer = copied
		}
		if err == nil && r.Method != http.MethodGet {
			s.writes = append(s.writes, Write{r.Method, r.URL.Path, raw.Bytes()})
		}
		s.mu.Unlock()
	}
	var refused *Refusal
	switch {
	case errors.As(err, &refused):
		w.WriteHeader(refused.Status)
		answer = map[string]string{"error": refused.Why}
	case err != nil:
		w.WriteHeader(http.StatusBadRequest)
		answer = map[string]string{"error": err.Error()}
	case of.created:
		w.WriteHeader(http.StatusCreated)
	}
	_ = json.NewEncoder(w).Encode(answer)
}
