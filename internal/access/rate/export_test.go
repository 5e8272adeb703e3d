package rate

// CountQuotas returns the number of stored quotas.
func (m *Memory) CountQuotas() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for _, quotas := range m.quotas {
		n += len(quotas)
	}
	return n
}
