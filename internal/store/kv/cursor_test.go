package kv

import "testing"

// TestCursorEqualsGoldenCursor holds the text of a cursor: a client that reads a list while
// the program is replaced goes on with it.
func TestCursorEqualsGoldenCursor(t *testing.T) {
	const golden = "AUPmS4aQ_xVgTSMwMUtKUFdENk0w"
	if got := WriteCursor("messages\x00acme\x00c", "M#01KJPWD6M0"); got != golden {
		t.Errorf("%q", got)
	}
	if position, err := ReadCursor("messages\x00acme\x00c", golden); err != nil || position != "M#01KJPWD6M0" {
		t.Errorf("%q %v", position, err)
	}
}
