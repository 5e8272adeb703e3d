package demo

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

//go:embed openapi.json
var document []byte

const (
	maxBody   = 64 << 10
	maxTarget = 2 << 10 // bytes of a path with its query
	maxKey    = 200
)

// Service is the demonstration service. Its state is in memory and, with WithFile, in a file. Both
// are bounded, for any number and size of requests.
type Service struct {
	mux     *http.ServeMux
	english atomic.Bool // the language of its answers
	now     func() time.Time

	mu    sync.Mutex // held from reading the state to writing the file
	state state
	file  string // "" for none
}

// Option changes how NewService builds a service.
type Option func(*Service) error

// WithFile keeps reservations and ledger in the file at path, with mode 0600. A request is in it
// before its answer.
func WithFile(path string) Option {
	return func(s *Service) error {
		s.file = path
		return errors.Join(s.state.load(path), s.state.save(path))
	}
}

// WithClock sets the source of created_at and of the ledger's times.
func WithClock(now func() time.Time) Option {
	return func(s *Service) error { s.now = now; return nil }
}

// NewService returns the service with its rooms, and with the contents of the file of WithFile. It
// fails only when that file cannot be read or opened.
func NewService(options ...Option) (*Service, error) {
	s := &Service{mux: http.NewServeMux(), now: time.Now}
	for _, option := range options {
		if err := option(s); err != nil {
			return nil, err
		}
	}
	s.mux.HandleFunc("GET /openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		text := document
		if s.english.Load() {
			text = englishDocument()
		}
		answer(w, reply{Status: http.StatusOK, Body: text})
	})
	s.mux.HandleFunc("GET /ledger", s.ledger)
	for pattern, act := range map[string]action{
		"GET /rooms":                {listRooms, "capacity free_on start end"},
		"GET /rooms/{id}":           {getRoom, ""},
		"GET /reservations":         {listReservations, "date room_id"},
		"POST /reservations":        {createReservation, "date* people* room_id* start* end title"},
		"GET /reservations/{id}":    {getReservation, ""},
		"PATCH /reservations/{id}":  {updateReservation, "date people room_id start end title"},
		"DELETE /reservations/{id}": {deleteReservation, ""},
	} {
		s.mux.HandleFunc(pattern, s.serve(act))
	}
	s.mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		s.answer(w, problem(http.StatusNotFound, "not_found", "No existe esa dirección. El contrato está en /openapi.json."))
	})
	return s, nil
}

func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if len(r.URL.RequestURI()) > maxTarget {
		s.answer(w, problem(http.StatusRequestURITooLong, "too_long", "La dirección supera 2 KiB."))
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	s.mux.ServeHTTP(w, r)
}

// action computes the answer to a request and its effect. It must not change the state. It takes the
// values with these names, from the query or from the body; a star marks a required one.
type action struct {
	do    func(st *state, r request) (reply, effect)
	takes string
}

// request holds the values that an action may read.
type request struct {
	method string
	url    *url.URL
	id     string            // of the room or reservation in the path
	given  map[string]string // the values that the action takes
	body   []byte
	key    string // the idempotency key
	at     time.Time
}

// reply is a response before it is written: a status and a JSON body, if any.
type reply struct {
	Status int             `json:"status"`
	Body   json.RawMessage `json:"body,omitempty"`
}

// serve returns the handler of an action.
func (s *Service) serve(act action) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			s.answer(w, problem(http.StatusRequestEntityTooLarge, "too_large", "El cuerpo supera 64 KiB."))
			return
		}
		key := r.Header.Get("Idempotency-Key")
		if r.Method == http.MethodGet {
			key = ""
		}
		if len(key) > maxKey {
			s.answer(w, invalid(field{"Idempotency-Key", "no puede superar 200 caracteres"}))
			return
		}
		out, err := s.perform(act, request{method: r.Method, url: r.URL, id: r.PathValue("id"), body: body, key: key})
		if err != nil {
			out = problem(http.StatusInternalServerError, "storage", "No se pudo guardar la petición.")
		}
		s.answer(w, out)
	}
}

// perform answers a known key again, or acts. It writes the new state before it takes it over.
func (s *Service) perform(act action, r request) (reply, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.at = s.now().UTC()
	e := entry{Seq: s.state.Seq + 1, At: r.at, Method: r.method, Path: r.url.EscapedPath(), Query: r.url.RawQuery, Key: r.key}
	if r.key != "" {
		sum := sha256.Sum256(append([]byte(r.method+" "+r.url.RequestURI()+"\n"), bytes.TrimSpace(r.body)...))
		e.Print = hex.EncodeToString(sum[:8])
	}
	out := reply{}
	before := slices.IndexFunc(s.state.Recent, func(e entry) bool { return e.Final && e.Key == r.key })
	switch {
	case before >= 0 && s.state.Recent[before].Print != e.Print:
		out = problem(http.StatusUnprocessableEntity, "idempotency_mismatch", "Esa Idempotency-Key ya se usó con otra petición.")
	case before >= 0:
		out, e.Replayed = s.state.Recent[before].Reply, true
	default:
		if bad := r.read(act.takes); len(bad) > 0 {
			out = invalid(bad...)
		} else {
			out, e.Effect = act.do(&s.state, r)
		}
		if e.Final = r.key != "" && out.Status < 500; e.Final {
			e.Reply = out
		}
	}
	e.Status = out.Status
	next := s.state
	next.apply(e)
	if s.file != "" {
		if err := next.save(s.file); err != nil {
			return reply{}, err
		}
	}
	s.state = next
	return out, nil
}

// ledger lists the newest requests, or those with one key.
func (s *Service) ledger(w http.ResponseWriter, r *http.Request) {
	type line struct {
		Seq      int       `json:"seq"`
		At       time.Time `json:"at"`
		Method   string    `json:"method"`
		Path     string    `json:"path"`
		Query    string    `json:"query,omitempty"`
		Key      string    `json:"idempotency_key,omitempty"`
		Status   int       `json:"status"`
		Replayed bool      `json:"replayed,omitempty"`
	}
	var items []line
	key := r.URL.Query().Get("idempotency_key")
	s.mu.Lock()
	for _, e := range s.state.Recent {
		if key == "" || e.Key == key {
			items = append(items, line{e.Seq, e.At, e.Method, e.Path, e.Query, e.Key, e.Status, e.Replayed})
		}
	}
	s.mu.Unlock()
	answer(w, list(items))
}

// answer answers in the language of the service. The stored text is Spanish.
func (s *Service) answer(w http.ResponseWriter, out reply) {
	if s.english.Load() {
		out.Body = json.RawMessage(englishAnswers().Replace(string(out.Body)))
	}
	answer(w, out)
}

func answer(w http.ResponseWriter, out reply) {
	if len(out.Body) > 0 {
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
	}
	w.WriteHeader(out.Status)
	_, _ = w.Write(out.Body)
}

func encode(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // only this package's own plain values are encoded
	}
	return raw
}

func list[T any](items []T) reply {
	return reply{Status: http.StatusOK, Body: encode(map[string]any{"items": append([]T{}, items...), "count": len(items)})}
}

// field names a value of a request that was refused.
type field struct {
	Name    string `json:"name"`
	Message string `json:"message"`
}

func problem(status int, code, message string, fields ...field) reply {
	return reply{Status: status, Body: encode(struct {
		Code    string  `json:"code"`
		Message string  `json:"message"`
		Fields  []field `json:"fields,omitempty"`
	}{code, message, fields})}
}

func invalid(fields ...field) reply {
	return problem(http.StatusUnprocessableEntity, "invalid", "Hay datos que no son válidos.", fields...)
}
