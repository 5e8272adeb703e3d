package demo

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
)

var friday = time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)

func newTestService(t *testing.T, options ...Option) *Service {
	t.Helper()
	s, err := NewService(append(options, WithClock(func() time.Time { return friday }))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// call sends one request ("METHOD /path") and returns status and body.
func call(t *testing.T, h http.Handler, target, key, body string) (int, string) {
	t.Helper()
	method, path, _ := strings.Cut(target, " ")
	r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

const goodBody = `{"room_id":"norte","date":"2026-11-24","start":"10:00","people":6}`

func TestDocumentIsValidAndServedInFull(t *testing.T) {
	s := newTestService(t)
	_, raw := call(t, s, "GET /openapi.json", "", "")
	doc, err := openapi3.NewLoader().LoadFromData([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(t.Context()); err != nil {
		t.Fatal(err)
	}
	operations := 0
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			operations++
			if op.Summary == "" || op.OperationID == "" {
				t.Errorf("%s %s has no summary or id", method, path)
			}
			target := strings.NewReplacer("{room_id}", "norte", "{reservation_id}", "r-9", "/slow", "/slow?seconds=0").Replace(path)
			if status, body := call(t, s, method+" "+target, "", "{}"); strings.Contains(body, `"not_found"`) || status == http.StatusMethodNotAllowed {
				t.Errorf("%s %s is in the document but not served: %d %s", method, path, status, body)
			}
		}
	}
	if operations != 10 {
		t.Errorf("document has %d operations, want 10", operations)
	}
}

func TestServiceAnswers(t *testing.T) {
	for _, tc := range []struct {
		target, body string
		status       int
		contains     string
	}{
		{"GET /rooms", "", 200, `"count":6`},
		{"GET /rooms?capacity=6", "", 200, `{"count":4,"items":[{"id":"norte"`},
		{"GET /rooms?capacity=6&free_on=2026-11-25", "", 200, `[{"id":"sur"`},
		{"GET /rooms?capacity=6&free_on=2026-11-25&start=10:00", "", 200, `[{"id":"norte"`},
		{"GET /rooms?capacity=6&free_on=2026-11-25&start=09:30&end=10:00", "", 200, `[{"id":"sur"`},
		{"GET /rooms?capacity=six", "", 422, `"capacity"`},
		{"GET /rooms?free_on=mañana", "", 422, `"free_on"`},
		{"GET /rooms?start=10:00", "", 422, `"free_on"`},
		{"GET /rooms?color=red", "", 422, `"color"`},
		{"GET /rooms/norte", "", 200, `"Sala Norte"`},
		{"GET /rooms/none", "", 404, `"room_not_found"`},
		{"GET /reservations", "", 200, `"count":1`},
		{"GET /reservations?date=2026-11-24", "", 200, `"count":0`},
		{"GET /reservations/r-1", "", 200, `"room_id":"norte"`},
		{"GET /reservations/r-2", "", 404, `"reservation_not_found"`},
		{"POST /reservations", goodBody, 201, `"id":"r-2","room_id":"norte","room_name":"Sala Norte","date":"2026-11-24","start":"10:00","end":"11:00"`},
		{"POST /reservations", `{"room_id":"norte","date":"2026-11-25","start":"09:30","people":2}`, 409, `"room_taken"`},
		{"POST /reservations", `{"room_id":"norte","date":"2026-11-25","start":"10:00","people":7}`, 422, `6 plazas`},
		{"POST /reservations", `{"room_id":"void","date":"2026-11-25","start":"10:00","people":7}`, 404, `"room_not_found"`},
		{"POST /reservations", `{}`, 422, `"date","message":"es obligatorio"},{"name":"people"`},
		{"POST /reservations", `{"room_id":"norte","date":"2026-02-30","start":"10:00","people":1}`, 422, `"date"`},
		{"POST /reservations", `{"room_id":"norte","date":"2026-11-25","start":"25:00","people":1}`, 422, `"start"`},
		{"POST /reservations", `{"room_id":"norte","date":"2026-11-25","start":"10:00","end":"09:00","people":1}`, 422, `"end"`},
		{"POST /reservations", `{"room_id":"norte","date":"2026-11-25","start":"10:00","people":"1"}`, 422, `"people"`},
		{"POST /reservations", `{"roomid":"norte"}`, 422, `"roomid"`},
		{"POST /reservations", `not json`, 422, `objeto JSON`},
		{"POST /reservations", goodBody + `{}`, 422, `un solo objeto`},
		{"PATCH /reservations/r-1", `{"start":"12:30"}`, 200, `"start":"12:30","end":"13:30"`},
		{"PATCH /reservations/r-1", `{"people":9}`, 422, `6 plazas`},
		{"PATCH /reservations/r-1", `{}`, 422, `no cambia nada`},
		{"PATCH /reservations/r-7", `{"people":1}`, 404, `"reservation_not_found"`},
		{"GET /reservations/1", "", 200, `"id":"r-1"`},
		{"DELETE /reservations/r-1", ``, 204, ``},
		{"DELETE /reservations/1", ``, 204, ``},
		{"DELETE /reservations/r-7", ``, 404, `"reservation_not_found"`},
		{"GET /slow?seconds=21", "", 422, `"seconds"`},
		{"GET /slow?seconds=NaN", "", 422, `"seconds"`},
		{"POST /flaky", `{"failures":9}`, 422, `"failures"`},
		{"POST /flaky", `{"failures":0}`, 200, `"attempts":1`},
		{"GET /nowhere", "", 404, `"not_found"`},
		{"POST /reservations", `"` + strings.Repeat("x", maxBody) + `"`, 413, `"too_large"`},
	} {
		s := newTestService(t)
		if status, body := call(t, s, "POST /reservations", "seed", `{"room_id":"norte","date":"2026-11-25","start":"09:00","people":6}`); status != 201 {
			t.Fatal(status, body)
		}
		status, body := call(t, s, tc.target, "", tc.body)
		if status != tc.status || !strings.Contains(body, tc.contains) {
			t.Errorf("%s %.80s: %d %s; want %d with %s", tc.target, tc.body, status, body, tc.status, tc.contains)
		}
	}
}

func TestIdempotencyKeyTakesEffectOnce(t *testing.T) {
	s := newTestService(t)
	const racers = 50
	answers := make([]string, racers)
	start, done := make(chan struct{}), sync.WaitGroup{}
	for i := range racers {
		done.Go(func() {
			<-start
			_, answers[i] = call(t, s, "POST /reservations", "run-1:s2", goodBody)
		})
	}
	close(start)
	done.Wait()
	for _, body := range answers {
		if body != answers[0] || !strings.Contains(body, `"id":"r-1"`) {
			t.Fatalf("answers differ: %s / %s", answers[0], body)
		}
	}
	if _, body := call(t, s, "GET /reservations", "", ""); !strings.Contains(body, `"count":1`) {
		t.Errorf("reservations: %s", body)
	}
	_, body := call(t, s, "GET /ledger?idempotency_key=run-1:s2", "", "")
	if strings.Count(body, `"replayed":true`) != racers-1 || !strings.Contains(body, fmt.Sprintf(`"count":%d`, racers)) {
		t.Errorf("ledger: %s", body)
	}
	if status, body := call(t, s, "POST /reservations", "run-1:s2", `{}`); status != 422 || !strings.Contains(body, "idempotency_mismatch") {
		t.Errorf("same key, other request: %d %s", status, body)
	}
	for range 2 { // a repeated deletion is the same deletion
		if status, _ := call(t, s, "DELETE /reservations/r-1", "run-2:s1", ""); status != 204 {
			t.Errorf("delete: %d", status)
		}
	}
}

func TestFlakyFailsThenAnswersPerKey(t *testing.T) {
	s := newTestService(t)
	for _, key := range []string{"a", "b"} {
		for attempt, want := range []int{503, 503, 200, 200} {
			status, body := call(t, s, "POST /flaky", key, "")
			if status != want {
				t.Errorf("key %s, attempt %d: %d %s", key, attempt+1, status, body)
			}
		}
	}
}

func TestSlowAnswersLateAndIsRecordedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestService(t)
		begin := time.Now()
		finished := make(chan time.Duration)
		go func() {
			call(t, s, "GET /slow?seconds=5", "", "")
			finished <- time.Since(begin)
		}()
		synctest.Wait()
		if _, body := call(t, s, "GET /ledger", "", ""); !strings.Contains(body, `"path":"/slow"`) {
			t.Errorf("ledger before the answer: %s", body)
		}
		if took := <-finished; took != 5*time.Second {
			t.Errorf("answered after %s", took)
		}
	})
}

func TestFileKeepsReservationsLedgerAndKeysAcrossTornLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "demo.jsonl")
	first := newTestService(t, WithFile(path))
	call(t, first, "POST /reservations", "k1", goodBody)
	call(t, first, "POST /reservations", "", strings.Replace(goodBody, "norte", "sur", 1))
	call(t, first, "DELETE /reservations/r-2", "", "")
	call(t, first, "POST /flaky", "f", "")
	_, before := call(t, first, "GET /ledger", "", "")
	_ = first.Close()
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatal(info.Mode(), err)
	}
	whole, _ := os.ReadFile(path)
	for _, cut := range []int{0, 1, 20} { // a crash in the middle of a fifth line
		torn := append(append([]byte{}, whole...), whole[:cut]...)
		if err := os.WriteFile(path, torn, 0o600); err != nil {
			t.Fatal(err)
		}
		s := newTestService(t, WithFile(path))
		if _, after := call(t, s, "GET /ledger", "", ""); after != before {
			t.Errorf("cut %d: ledger\n%s, want\n%s", cut, after, before)
		}
		if status, body := call(t, s, "POST /reservations", "k1", goodBody); status != 201 || !strings.Contains(body, `"id":"r-1"`) {
			t.Errorf("cut %d: key forgotten: %d %s", cut, status, body)
		}
		if _, body := call(t, s, "POST /reservations", "", strings.Replace(goodBody, "norte", "sur", 1)); !strings.Contains(body, `"id":"r-3"`) {
			t.Errorf("cut %d: id used again: %s", cut, body)
		}
		if status, _ := call(t, s, "POST /flaky", "f", ""); status != 503 {
			t.Errorf("cut %d: attempts forgotten", cut)
		}
		if status, _ := call(t, s, "POST /flaky", "f", ""); status != 200 {
			t.Errorf("cut %d: attempts forgotten", cut)
		}
		_ = s.Close()
	}
}

func TestFileDamagedInTheMiddleIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "demo.jsonl")
	if err := os.WriteFile(path, []byte("{broken\n{\"seq\":2}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := NewService(WithFile(path)); err == nil {
		t.Error("a damaged file was accepted", s)
	}
}

// TestFileDetectsFlippedBits also flips the bits of the last line.
func TestFileDetectsFlippedBits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "demo.jsonl")
	first := newTestService(t, WithFile(path))
	call(t, first, "POST /reservations", "k1", goodBody)
	call(t, first, "POST /reservations", "", strings.Replace(goodBody, "norte", "sur", 1))
	_ = first.Close()
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range whole {
		bit := byte(1) << (i % 8)
		whole[i] ^= bit
		if err := os.WriteFile(path, whole, 0o600); err != nil {
			t.Fatal(err)
		}
		if s, err := NewService(WithFile(path)); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("byte %d of %d: it was accepted: %v %v", i, len(whole), s, err)
		}
		whole[i] ^= bit
	}
}

// TestDocumentListsEveryAnswer also checks responses to requests that are refused early, and that a
// key is required.
func TestDocumentListsEveryAnswer(t *testing.T) {
	doc, err := openapi3.NewLoader().LoadFromData(document)
	if err != nil {
		t.Fatal(err)
	}
	if len(doc.Security) != 1 || doc.Components.SecuritySchemes["key"].Value.Scheme != "bearer" {
		t.Errorf("the document asks for %v", doc.Security)
	}
	long := strings.Repeat("q", maxTarget)
	missing := map[string]bool{}
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			if op.Responses.Status(http.StatusUnauthorized) == nil {
				t.Errorf("%s %s does not say what is answered without the key", method, path)
			}
			for _, id := range []string{"1", "r-9", "norte", "x", long} {
				for _, query := range []string{"", "?x=1", "?x=" + long, "?seconds=0", "?seconds=x", "?idempotency_key=k"} {
					target := strings.NewReplacer("{room_id}", id, "{reservation_id}", id).Replace(path) + query
					if strings.HasPrefix(target, "/slow") && !strings.Contains(target, "seconds=") {
						continue
					}
					for _, body := range []string{"", "{}", "x", goodBody, `{"people":2}`, `"` + strings.Repeat("x", maxBody) + `"`} {
						for _, key := range []string{"", "k", strings.Repeat("k", maxKey+1)} {
							s := newTestService(t)
							if status, answer := call(t, s, method+" "+target, key, body); op.Responses.Status(status) == nil && !missing[fmt.Sprint(method, path, status)] {
								missing[fmt.Sprint(method, path, status)] = true
								t.Errorf("%s %.60s with key %.5q and %.20q is answered %d: %.100s", method, target, key, body, status, answer)
							}
						}
					}
				}
			}
		}
	}
}

// TestAnswersMatchTheDocument checks the schemas of the responses.
func TestAnswersMatchTheDocument(t *testing.T) {
	s := newTestService(t)
	call(t, s, "POST /reservations", "k", goodBody)
	doc, err := openapi3.NewLoader().LoadFromData(document)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(s)
	defer server.Close()
	for path, schema := range map[string]string{
		"/rooms": "RoomList", "/rooms/norte": "Room", "/reservations": "ReservationList",
		"/reservations/r-1": "Reservation", "/ledger": "Ledger", "/rooms/none": "Error",
	} {
		res, err := http.Get(server.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		raw, _ := io.ReadAll(res.Body)
		_ = res.Body.Close()
		var value any
		if err := json.Unmarshal(raw, &value); err != nil {
			t.Fatal(path, err)
		}
		if err := doc.Components.Schemas[schema].Value.VisitJSON(value); err != nil {
			t.Errorf("%s is no %s: %v", path, schema, err)
		}
	}
}
