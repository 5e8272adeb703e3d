package step

import (
	"bytes"
	"encoding/json"
	"sync"

	"piloto/internal/runs/plan"
)

// digestCache remembers plans whose digest was verified, as JSON, so that the next step of the same run compares bytes
// instead of computing the digest again. It always compares the whole plan.
type digestCache struct {
	mu    sync.Mutex
	plans map[plan.Digest][]byte
	size  int
}

// maxCachedPlans is the greatest size of the cache, in bytes; a full cache is emptied.
const maxCachedPlans = 4 << 20

// check reports whether digest is the digest of the plan.
func (n *digestCache) check(p plan.Plan, digest plan.Digest) bool {
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
	if n.plans == nil || n.size+len(raw) > maxCachedPlans {
		n.plans, n.size = map[plan.Digest][]byte{}, 0
	}
	n.size += len(raw) - len(n.plans[digest])
	n.plans[digest] = raw
	return true
}
