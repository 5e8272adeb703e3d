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
			target := strings.NewReplacer("{room_id}", "norte", "{reservation_id}", "r-9").Replace(path)
			if status, body := call(t, s, method+" "+target, "", "{}"); strings.Contains(body, `"not_found"`) || status == http.StatusMethodNotAllowed {
				t.Errorf("%s %s is in the document but not served: %d %s", method, path, status, body)
			}
		}
	}
	if operations != 8 {
		t.Errorf("document has %d operations, want 8", operations)
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

func TestFileKeepsReservationsLedgerAndKeys(t *testing.T) {
	path := filepath.Join(t.TempDir(), "demo.jsonl")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	first := newTestService(t, WithFile(path))
	call(t, first, "POST /reservations", "k1", goodBody)
	call(t, first, "POST /reservations", "", strings.Replace(goodBody, "norte", "sur", 1))
	call(t, first, "DELETE /reservations/r-2", "", "")
	_, before := call(t, first, "GET /ledger", "", "")
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatal(info.Mode(), err)
	}
	s := newTestService(t, WithFile(path))
	if _, after := call(t, s, "GET /ledger", "", ""); after != before {
		t.Errorf("ledger\n%s, want\n%s", after, before)
	}
	if status, body := call(t, s, "POST /reservations", "k1", goodBody); status != 201 || !strings.Contains(body, `"id":"r-1"`) {
		t.Errorf("key forgotten: %d %s", status, body)
	}
	if _, body := call(t, s, "POST /reservations", "", strings.Replace(goodBody, "norte", "sur", 1)); !strings.Contains(body, `"id":"r-3"`) {
		t.Errorf("id used again: %s", body)
	}
	if names, err := os.ReadDir(filepath.Dir(path)); err != nil || len(names) != 1 {
		t.Errorf("%v beside the file, %v", names, err)
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

func TestFileDetectsFlippedBits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "demo.jsonl")
	first := newTestService(t, WithFile(path))
	call(t, first, "POST /reservations", "k1", goodBody)
	call(t, first, "POST /reservations", "", strings.Replace(goodBody, "norte", "sur", 1))
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
				for _, query := range []string{"", "?x=1", "?x=" + long, "?idempotency_key=k"} {
					target := strings.NewReplacer("{room_id}", id, "{reservation_id}", id).Replace(path) + query
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
