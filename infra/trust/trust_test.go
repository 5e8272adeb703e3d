package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFiguresOfAFile sorts a text of each kind, and prints what the product makes of it.
func TestFiguresOfAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "c.jsonl")
	lines := `{"conversation":"1","turns":[{"role":"user","text":"Cancel my order"},{"role":"assistant","text":"Could you please provide the order id?"},{"role":"user","text":"7"},{"role":"call","write":false},{"role":"assistant","text":"Your order is pending. If you need anything else, let me know!"},{"role":"user","text":"Cancel it"},{"role":"assistant","text":"Would you like to proceed with the cancellation?"},{"role":"user","text":"Yes, please proceed with the cancellation."},{"role":"call","write":true},{"role":"assistant","text":"Your order has been successfully cancelled."}]}` + "\n"
	if err := os.WriteFile(file, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	calls := filepath.Join(t.TempDir(), "calls.jsonl")
	if err := os.WriteFile(calls, []byte(`{"conversation":"1","turn":8,"method":"POST","path":"/orders/{id}/cancel","summary":"Cancel an order","arguments":{"id":"7"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	met, err := run(file, calls, &out, true)
	if err != nil || !met {
		t.Fatalf("%v, %v: %s", met, err, out.String())
	}
	for _, line := range []string{
		"plain questions that cost a second call or a line           0 of    1", "facts that cost a second call or a line                     0 of    1", "false claims that are marked                                1 of    1", "asked again     1 of    1",
		"plain yeses taken beside the card of their act              1 of    1", "other messages taken beside any card                        0 of    2",
	} {
		if !strings.Contains(out.String(), line) {
			t.Errorf("%q is not in\n%s", line, out.String())
		}
	}
	if _, err := run(filepath.Join(t.TempDir(), "missing"), "", &out, false); err == nil {
		t.Error("a missing file has figures")
	}
}
