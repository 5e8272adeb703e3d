package llm

import (
	"sync"
	"unicode/utf8"
)

// Characters of a request that make one token.
const (
	FirstRatio = 3.5 // of a model that has not answered yet
	leastRatio = 0.8 // of Chinese text one character is often more than a token
	mostRatio  = 6.0

	leastLearned = 200 // tokens of the smallest request that is learned from: in a smaller one the frames count too much
	mostRatios   = 256 // models that are known, bounded because accounts choose the names of models
)

// Ratios are the characters that make one token, for each model, as its own usage showed them. The zero value is ready,
// and may be used by several goroutines.
type Ratios struct {
	mu    sync.Mutex
	known map[string]float64
}

// Of returns the characters per token of a model, from 0.8 to 6; FirstRatio before its first answer.
func (k *Ratios) Of(model string) float64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	if ratio, ok := k.known[model]; ok {
		return ratio
	}
	return FirstRatio
}

// Learn moves the ratio of a model half of the way to that of a request whose usage the provider counted.
func (k *Ratios) Learn(model string, r Request, u Usage) {
	if u.Estimated || u.Input < leastLearned {
		return
	}
	seen := min(max(float64(r.chars())/float64(u.Input), leastRatio), mostRatio)
	k.mu.Lock()
	defer k.mu.Unlock()
	before, ok := k.known[model]
	if !ok {
		before = FirstRatio
	}
	if k.known == nil || !ok && len(k.known) >= mostRatios { // a full table is emptied
		k.known = map[string]float64{}
	}
	k.known[model] = (before + seen) / 2
}

// chars returns the characters of all texts of the request.
func (r Request) chars() int {
	return r.sum(utf8.RuneCountInString) - r.sum(func(string) int { return 0 })
}
