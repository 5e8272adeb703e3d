package demo

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"
)

//go:embed openapi.json
var document []byte

const (
	maxBody     = 64 << 10
	maxTarget   = 2 << 10 // bytes of a path with its query
	maxKey      = 200
	maxSlow     = 20 * time.Second
	maxFlaky    = 5
	usualSlow   = 3 * time.Second
	usualFlaky  = 2
	jsonContent = "application/json; charset=utf-8"
)

// Service is the demonstration service. Its state is in memory and, with WithFile, in a file. Both
// are bounded, for any number and size of requests.
type Service struct {
	mux *http.ServeMux
	now func() time.Time

	mu    sync.Mutex // held from reading the state to writing the journal
	state state
	log   *journal
}

// Option changes how NewService builds a service.
type Option func(*Service) error

// WithFile keeps reservations and ledger in the file at path (created with mode 0600), one JSON
// line per request, each on disk before its answer. A file that has grown too large is replaced by
// one line with the equivalent state.
func WithFile(path string) Option {
	return func(s *Service) error {
		log, err := openJournal(path, s.state.apply)
		if err != nil {
			return err
		}
		s.log = log
		if log.size > mostFile {
			return log.compact(s.state.snapshot())
		}
		return nil
	}
}

// WithClock sets the source of created_at and of the ledger's times.
func WithClock(now func() time.Time) Option {
	return func(s *Service) error { s.now = now; return nil }
}

// NewService returns the service with its rooms, and with the contents of the file of WithFile. It
// fails only when that file cannot be read or opened.
func NewService(options ...Option) (*Service, error) {
	s := &Service{mux: http.NewServeMux(), now: time.Now, state: newState()}
	for _, option := range options {
		if err := option(s); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	s.mux.HandleFunc("GET /openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", jsonContent)
		_, _ = w.Write(document)
	})
	s.mux.HandleFunc("GET /ledger", s.ledger)
	s.mux.HandleFunc("GET /slow", s.slow)
	for pattern, act := range map[string]action{
		"GET /rooms":                            listRooms,
		"GET /rooms/{room_id}":                  getRoom,
		"GET /reservations":                     listReservations,
		"POST /reservations":                    createReservation,
		"GET /reservations/{reservation_id}":    getReservation,
		"PATCH /reservations/{reservation_id}":  updateReservation,
		"DELETE /reservations/{reservation_id}": deleteReservation,
		"POST /flaky":                           flaky,
	} {
		s.mux.HandleFunc(pattern, s.record(act))
	}
	s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		answer(w, problem(http.StatusNotFound, "not_found", "No existe esa dirección. El contrato está en /openapi.json."))
	})
	return s, nil
}

// Close releases the file. Requests after it fail with 500.
func (s *Service) Close() error {
	if s.log == nil {
		return nil
	}
	return s.log.Close()
}

func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if len(r.URL.RequestURI()) > maxTarget {
		answer(w, problem(http.StatusRequestURITooLong, "too_long", "La dirección supera 2 KiB."))
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	s.mux.ServeHTTP(w, r)
}

// action computes the answer to a request and, in entry, its effect. It must
// not change the state: the effect is applied once it is in the journal.
type action func(st *state, r request) (reply, effect)

// request holds the values that an action may read.
type request struct {
	*http.Request
	body []byte
	at   time.Time
	key  string
}

// reply is a response before it is written: a status and a JSON body, if any.
type reply struct {
	Status int             `json:"status"`
	Body   json.RawMessage `json:"body,omitempty"`
	Retry  int             `json:"-"` // seconds, for Retry-After
}

// record returns a handler that runs act under the lock: answer a known key again, else act, write
// the journal, apply, answer.
func (s *Service) record(act action) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			answer(w, problem(http.StatusRequestEntityTooLarge, "too_large", "El cuerpo supera 64 KiB."))
			return
		}
		key := r.Header.Get("Idempotency-Key")
		if r.Method == http.MethodGet {
			key = ""
		}
		if len(key) > maxKey {
			answer(w, invalid(field{"Idempotency-Key", "no puede superar 200 caracteres"}))
			return
		}
		s.mu.Lock()
		out, err := s.performOnce(act, request{Request: r, body: body, at: s.now().UTC(), key: key})
		s.mu.Unlock()
		if err != nil {
			answer(w, problem(http.StatusInternalServerError, "storage", "No se pudo guardar la petición."))
			return
		}
		answer(w, out)
	}
}

func (s *Service) performOnce(act action, r request) (reply, error) {
	e := entry{
		Seq: s.state.seq + 1, At: r.at, Method: r.Method, Path: r.URL.EscapedPath(), Query: r.URL.RawQuery,
		Key: r.key, Print: fingerprint(r),
	}
	out := reply{}
	known, again := s.state.answers[r.key]
	switch {
	case r.key != "" && again && known.Print != e.Print:
		out = problem(http.StatusUnprocessableEntity, "idempotency_mismatch", "Esa Idempotency-Key ya se usó con otra petición.")
	case r.key != "" && again:
		out, e.Replayed = known.Reply, true
	default:
		out, e.Effect = act(&s.state, r)
		e.Final = r.key != "" && out.Status < 500
	}
	e.Status = out.Status
	if e.Final {
		e.Reply = out
	}
	if s.log != nil {
		if err := s.log.append(e); err != nil {
			return reply{}, err
		}
	}
	s.state.apply(e)
	if s.log != nil && s.log.size > mostFile {
		_ = s.log.compact(s.state.snapshot()) // a failed compaction leaves the file unchanged; the next request tries again
	}
	return out, nil
}

// fingerprint returns a hash that is equal for equal requests with one key.
func fingerprint(r request) string {
	if r.key == "" {
		return ""
	}
	sum := sha256.Sum256(append([]byte(r.Method+" "+r.URL.RequestURI()+"\n"), bytes.TrimSpace(r.body)...))
	return hex.EncodeToString(sum[:8])
}

// slow answers late. The request is in the ledger when it arrives, so that a caller that gave up
// can see that it reached the service.
func (s *Service) slow(w http.ResponseWriter, r *http.Request) {
	wait := usualSlow
	if text := r.URL.Query().Get("seconds"); text != "" {
		seconds, err := strconv.ParseFloat(text, 64)
		if err != nil || !(seconds >= 0 && seconds <= maxSlow.Seconds()) {
			s.record(func(*state, request) (reply, effect) {
				return invalid(field{"seconds", "debe ser un número entre 0 y 20"}), effect{}
			})(w, r)
			return
		}
		wait = time.Duration(seconds * float64(time.Second))
	}
	late := &delayed{ResponseWriter: w, ctx: r.Context(), wait: wait}
	s.record(func(*state, request) (reply, effect) {
		return reply{Status: http.StatusOK, Body: encode(map[string]float64{"seconds": wait.Seconds()})}, effect{}
	})(late, r)
}

// delayed delays the first byte of a response.
type delayed struct {
	http.ResponseWriter
	ctx  context.Context
	wait time.Duration
}

func (d *delayed) WriteHeader(status int) {
	timer := time.NewTimer(d.wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-d.ctx.Done():
	}
	d.ResponseWriter.WriteHeader(status)
}

func (s *Service) ledger(w http.ResponseWriter, r *http.Request) {
	items := []line{}
	key := r.URL.Query().Get("idempotency_key")
	s.mu.Lock()
	for _, e := range s.state.recent {
		if key == "" || e.Key == key {
			items = append(items, line{e.Seq, e.At, e.Method, e.Path, e.Query, e.Key, e.Status, e.Replayed})
		}
	}
	s.mu.Unlock()
	answer(w, list(items))
}

func answer(w http.ResponseWriter, out reply) {
	if out.Retry > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(out.Retry))
	}
	if len(out.Body) > 0 {
		w.Header().Set("Content-Type", jsonContent)
	}
	w.WriteHeader(out.Status)
	_, _ = w.Write(out.Body)
}

func encode(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // only this package's own plain structs are encoded
	}
	return raw
}

func list[T any](items []T) reply {
	return reply{Status: http.StatusOK, Body: encode(map[string]any{"items": items, "count": len(items)})}
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
