package rate

import (
	"maps"
	"sync"
	"time"
)

// most is how many quotas of a class a process keeps. When there are more, the whole ones are
// forgotten, which changes nothing. When none is whole, all are forgotten.
const most = 1 << 16

// mostRefused is how many accounts a process counts the refusals of.
const mostRefused = 1 << 12

// Memory counts within one process. It is safe for concurrent use.
type Memory struct {
	mu      sync.Mutex
	quotas  map[Class]map[Who]time.Time
	refusal map[string]map[Class]int64
}

// NewMemory returns an empty Memory.
func NewMemory() *Memory {
	return &Memory{quotas: map[Class]map[Who]time.Time{}, refusal: map[string]map[Class]int64{}}
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

func (m *Memory) refused(c Class, who Who) {
	m.mu.Lock()
	defer m.mu.Unlock()
	counts := m.refusal[who.account]
	if counts == nil {
		if len(m.refusal) >= mostRefused {
			clear(m.refusal)
		}
		counts = map[Class]int64{}
		m.refusal[who.account] = counts
	}
	counts[c]++
}

func (m *Memory) whole(c Class, who Who) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.quotas[c][who]
}

func (m *Memory) set(c Class, who Who, whole time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.put(c, who, whole, whole)
}

// charge takes one part of a quota and returns when it is whole again. Without room it takes
// nothing.
func (m *Memory) charge(c Class, who Who, at time.Time, q Quota) (time.Time, bool) {
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

func (m *Memory) put(c Class, who Who, whole, at time.Time) {
	quotas := m.quotas[c]
	if quotas == nil {
		quotas = map[Who]time.Time{}
		m.quotas[c] = quotas
	}
	if _, there := quotas[who]; !there && len(quotas) >= most {
		maps.DeleteFunc(quotas, func(_ Who, whole time.Time) bool { return !whole.After(at) })
		if len(quotas) >= most/2 { // or each that is new would look at all again
			clear(quotas)
		}
	}
	quotas[who] = whole
}
