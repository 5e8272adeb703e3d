package registry

import (
	"strings"
	"testing"
)

func TestMemoIsBounded(t *testing.T) {
	var m memo
	const size = maxMemo/8 - 4
	for _, key := range []string{"r001", "r002", "r003", "r004", "r005", "r006", "r007", "r008"} {
		m.put(key, key, size)
	}
	if v, ok := m.get("r001"); !ok || v != "r001" || m.size != maxMemo {
		t.Fatalf("%d bytes are held, and r001 is %v", m.size, v)
	}
	m.put("r001", "r001", size) // again: it is there already
	if m.size != maxMemo || len(m.held) != 8 {
		t.Errorf("%d values of %d bytes are held", len(m.held), m.size)
	}
	m.put("r009", "r009", size)
	if _, ok := m.get("r009"); !ok || len(m.held) != 1 || m.size != size+4 {
		t.Errorf("%d values of %d bytes are held", len(m.held), m.size)
	}
	m.put("large", strings.Repeat("x", 8), maxMemo/2)
	if _, ok := m.get("large"); ok {
		t.Error("one value takes more than its share")
	}
}
