package step

import (
	"bytes"
	"encoding/json"
	"sync"

	"piloto/internal/runs/plan"
)

// intact remembers plans whose digest was computed and found right, as the JSON
// that the digest is made of, so that the next step of the same run compares
// bytes instead of computing it again. What was read is always looked at whole.
type intact struct {
	mu    sync.Mutex
	plans map[plan.Digest][]byte
	size  int
}

// maxIntact bounds what is remembered, in bytes; when it is full it begins anew.
const maxIntact = 4 << 20

// check reports whether the plan still is the one that the digest names.
func (n *intact) check(p plan.Plan, digest plan.Digest) bool {
	raw, err := json.Marshal(p)
	if err != nil {
		return false
	}
	n.mu.Lock()
	known := n.plans[digest]
	n.mu.Unlock()
	if known != nil && bytes.Equal(known, raw) {
		return true
	}
	if now, err := p.Digest(); err != nil || now != digest {
		return false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.plans == nil || n.size+len(raw) > maxIntact {
		n.plans, n.size = map[plan.Digest][]byte{}, 0
	}
	n.size += len(raw) - len(n.plans[digest])
	n.plans[digest] = raw
	return true
}
