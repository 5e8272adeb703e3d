package rate

import (
	"maps"
	"sync"
	"time"
)

// maxQuotas is how many quotas of a class a process keeps. When there are more, the whole ones are
// forgotten, which changes nothing. When none is whole, all are forgotten.
const maxQuotas = 1 << 16

// maxRefusals is how many accounts a process counts the refusals of.
const maxRefusals = 1 << 12

// Memory counts within one process. It is safe for concurrent use.
type Memory struct {
	mu      sync.Mutex
	quotas  map[Class]map[Subject]time.Time
	refusal map[string]map[Class]int64
}

// NewMemory returns an empty Memory.
func NewMemory() *Memory {
	return &Memory{quotas: map[Class]map[Subject]time.Time{}, refusal: map[string]map[Class]int64{}}
}

// Refused returns how many requests of an account were refused since the process began, by
// class. The account "" has those of addresses.
func (m *Meter) Refused(account string) map[Class]int64 {
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

// charge takes one part of a quota and returns when it is whole again. Without room it takes
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
		if len(quotas) >= maxQuotas/2 { // or each that is new would look at all again
			clear(quotas)
		}
	}
	quotas[who] = whole
}
