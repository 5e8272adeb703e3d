package rate

// Kept is how many quotas are kept.
func (m *Memory) Kept() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for _, quotas := range m.quotas {
		n += len(quotas)
	}
	return n
}
