package registry

import "sync"

// memo keeps values that can never change, by the key they are stored under: the
// pieces of one revision of an allowlist are written before any server names the
// revision, and no revision's name is used twice. Which revision is in force is
// never kept here; that is read with the server each time.
//
// It is bounded: when it is full, it is emptied.
type memo struct {
	mu   sync.Mutex
	held map[string]any
	size int // bytes that the values were decoded from
}

// maxMemo bounds the values of one Store, in bytes of JSON. One value takes at most half of it: the largest allowlist,
// of 10,000 operations, is kept, too.
const maxMemo = 16 << 20

func (m *memo) get(key string) (any, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v, ok := m.held[key]
	return v, ok
}

// put keeps a value that was decoded from size bytes. The value, and the values that it points to,
// must not be changed afterwards.
func (m *memo) put(key string, v any, size int) {
	if size += len(key); size > maxMemo/2 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.held[key]; ok {
		return
	}
	if m.held == nil || m.size+size > maxMemo {
		m.held, m.size = map[string]any{}, 0
	}
	m.held[key] = v
	m.size += size
}
