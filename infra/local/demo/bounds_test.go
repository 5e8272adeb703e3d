package demo

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// readLedger returns the lines of the ledger, and its size in bytes.
func readLedger(t *testing.T, s *Service) ([]struct{ Seq int }, int) {
	t.Helper()
	_, body := call(t, s, "GET /ledger", "", "")
	var out struct{ Items []struct{ Seq int } }
	if err := json.Unmarshal([]byte(body), &out); err != nil {
		t.Fatal(err)
	}
	return out.Items, len(body)
}

// mostBytes bounds the ledger and the file: each entry has a target and an answer of limited size.
const mostBytes = mostEntries * (maxTarget + 2<<10)

// TestServiceKeepsNewestRequests makes more requests than are kept, each of the largest size. The
// file, the ledger and the memory keep only the newest.
func TestServiceKeepsNewestRequests(t *testing.T) {
	if testing.Short() {
		t.Skip("thousands of requests")
	}
	path := filepath.Join(t.TempDir(), "demo.jsonl")
	s := newTestService(t, WithFile(path))
	call(t, s, "POST /reservations", "first", goodBody)
	query := strings.Repeat("x", maxTarget-100)
	for i := range mostEntries {
		s.state.apply(entry{Seq: i + 2, At: friday, Method: "GET", Path: "/rooms", Query: query, Status: 422})
	}
	const sent = 20
	for i := range sent {
		if status, body := call(t, s, fmt.Sprintf("GET /rooms?%s=%d", query, i), "", ""); status != 422 {
			t.Fatal(status, body)
		}
	}
	kept, size := readLedger(t, s)
	if len(kept) != mostEntries || size > mostBytes || kept[len(kept)-1].Seq != mostEntries+sent+1 {
		t.Errorf("%d entries in %d bytes, the last is %d", len(kept), size, kept[len(kept)-1].Seq)
	}
	if info, err := os.Stat(path); err != nil || info.Size() > mostBytes {
		t.Errorf("the file has %d bytes: %v", info.Size(), err)
	}
	again := newTestService(t, WithFile(path))
	if after, _ := readLedger(t, again); fmt.Sprint(after) != fmt.Sprint(kept) {
		t.Errorf("after a restart %d entries, the last %v", len(after), after[len(after)-1:])
	}
	if _, body := call(t, again, "GET /reservations", "", ""); !strings.Contains(body, `"r-1"`) {
		t.Errorf("a reservation went with its entry: %s", body)
	}
	if _, body := call(t, again, "POST /reservations", "", strings.Replace(goodBody, "norte", "sur", 1)); !strings.Contains(body, `"id":"r-2"`) {
		t.Errorf("an id is used again: %s", body)
	}
}

func TestServiceKeepsNewestKeys(t *testing.T) {
	s := newTestService(t)
	for i := range mostEntries + 50 {
		call(t, s, "DELETE /reservations/r-9", fmt.Sprintf("key-%d", i), "")
	}
	if len(s.state.Recent) != mostEntries {
		t.Errorf("%d entries are kept", len(s.state.Recent))
	}
	last := fmt.Sprintf("key-%d", mostEntries+49)
	call(t, s, "DELETE /reservations/r-9", last, "")
	if _, body := call(t, s, "GET /ledger?idempotency_key="+last, "", ""); !strings.Contains(body, `"replayed":true`) {
		t.Errorf("the newest key is forgotten: %s", body)
	}
}

// TestServiceLimitsReservations: over the limit, nothing is reserved until one is deleted.
func TestServiceLimitsReservations(t *testing.T) {
	s := newTestService(t)
	book := func(i int) (int, string) {
		return call(t, s, "POST /reservations", "", fmt.Sprintf(`{"room_id":"norte","date":"%04d-11-24","start":"10:00","people":6}`, 2000+i))
	}
	for i := range mostReservations {
		if status, body := book(i); status != 201 {
			t.Fatal(i, status, body)
		}
	}
	if status, body := book(mostReservations); status != 409 || !strings.Contains(body, `"full"`) {
		t.Errorf("%d %s", status, body)
	}
	if status, body := call(t, s, "PATCH /reservations/r-1", "", `{"people":2}`); status != 200 {
		t.Errorf("one that is there cannot be changed: %d %s", status, body)
	}
	call(t, s, "DELETE /reservations/r-1", "", "")
	if status, body := book(mostReservations); status != 201 {
		t.Errorf("after a deletion: %d %s", status, body)
	}
}

// TestServiceRefusesLongTargetOrKey: such a request is kept neither in memory nor on disk.
func TestServiceRefusesLongTargetOrKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "demo.jsonl")
	s := newTestService(t, WithFile(path))
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("q", 60<<10)
	for _, target := range []string{"GET /rooms?x=" + long, "GET /rooms/" + long, "GET /ledger?idempotency_key=" + long} {
		if status, _ := call(t, s, target, "", ""); status != http.StatusRequestURITooLong {
			t.Errorf("%.30s: %d", target, status)
		}
	}
	if status, _ := call(t, s, "POST /reservations", strings.Repeat("k", maxKey+1), ""); status != http.StatusUnprocessableEntity {
		t.Errorf("a long key: %d", status)
	}
	if kept, _ := readLedger(t, s); len(kept) != 0 {
		t.Errorf("%d entries", len(kept))
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the file is %.200s, %v", after, err)
	}
}
