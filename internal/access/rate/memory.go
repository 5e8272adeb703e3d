package rate

import (
	"maps"
	"sync"
	"time"

	"piloto/internal/ground/ids"
)

// maxQuotas bounds the quotas of a class in a process. When there are more, full quotas are
// dropped, which changes nothing. When that frees too little, all are dropped.
const maxQuotas = 1 << 16

// maxRefusals bounds the accounts whose refusals a process counts.
const maxRefusals = 1 << 12

// Memory stores quotas within one process. It is safe for concurrent use.
type Memory struct {
	mu      sync.Mutex
	quotas  map[Class]map[Subject]time.Time
	refusal map[ids.Account]map[Class]int64
}

// NewMemory returns an empty Memory.
func NewMemory() *Memory {
	return &Memory{quotas: map[Class]map[Subject]time.Time{}, refusal: map[ids.Account]map[Class]int64{}}
}

// Refused returns the number of refused requests of an account since the process started, by
// class. The account "" holds those of addresses.
func (m *Meter) Refused(account ids.Account) map[Class]int64 {
	counts := map[Class]int64{}
	if m == nil {
		return counts
	}
	m.Own.mu.Lock()
	defer m.Own.mu.Unlock()
	maps.Copy(counts, m.Own.refusal[account])
	return counts
}

func (m *Memory) countRefusal(c Class, who Subject) {
	m.mu.Lock()
	defer m.mu.Unlock()
	counts := m.refusal[who.account]
	if counts == nil {
		if len(m.refusal) >= maxRefusals {
			clear(m.refusal)
		}
		counts = map[Class]int64{}
		m.refusal[who.account] = counts
	}
	counts[c]++
}

func (m *Memory) wholeAt(c Class, who Subject) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.quotas[c][who]
}

func (m *Memory) set(c Class, who Subject, whole time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.put(c, who, whole, whole)
}

// charge takes one part of a quota and returns when it is full again. Without room it takes
// nothing.
func (m *Memory) charge(c Class, who Subject, at time.Time, q Quota) (time.Time, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	whole := m.quotas[c][who]
	next, ok := q.Take(whole, at)
	if !ok {
		return whole, false
	}
	m.put(c, who, next, at)
	return next, true
}

func (m *Memory) put(c Class, who Subject, whole, at time.Time) {
	quotas := m.quotas[c]
	if quotas == nil {
		quotas = map[Subject]time.Time{}
		m.quotas[c] = quotas
	}
	if _, there := quotas[who]; !there && len(quotas) >= maxQuotas {
		maps.DeleteFunc(quotas, func(_ Subject, whole time.Time) bool { return !whole.After(at) })
		if len(quotas) >= maxQuotas/2 { // otherwise each new quota would scan all of them again
			clear(quotas)
		}
	}
	quotas[who] = whole
}
