package plan

import (
	"fmt"
	"slices"
	"strings"
)

// Waves returns the ids of the steps in the order of execution. The steps of a wave run at once, at
// most MaxParallel of them, and a wave begins after the one before it. Among the steps that fit in
// a wave, those that stand first in the plan are taken. If steps need each other in a circle, the
// error names them.
func Waves(steps []Step) ([][]EffectID, error) {
	missing := make([]int, len(steps))
	needers := map[string][]int{}
	for i, s := range steps {
		missing[i] = len(s.Needs)
		for _, n := range s.Needs {
			needers[n] = append(needers[n], i)
		}
	}
	var waves [][]EffectID
	for left := len(steps); left > 0; {
		var wave []EffectID
		for i, s := range steps {
			if missing[i] == 0 && len(wave) < MaxParallel {
				wave = append(wave, s.ID)
				missing[i] = -1
			}
		}
		if len(wave) == 0 {
			return nil, fmt.Errorf("the steps need each other in a circle: %s", circle(steps, missing))
		}
		for _, id := range wave {
			for _, i := range needers[id.Step()] {
				missing[i]--
			}
		}
		left -= len(wave)
		waves = append(waves, wave)
	}
	return waves, nil
}

// RiskBefore returns the highest risk of the steps that a step needs, directly or through others; Read when there are none.
func (p Plan) RiskBefore(s Step) Risk {
	highest := Read
	seen := map[string]bool{}
	next := slices.Clone(s.Needs)
	for len(next) > 0 {
		id := next[0]
		next = next[1:]
		needed, ok := p.Step(EffectOf(id))
		if !ok || seen[id] {
			continue
		}
		seen[id] = true
		next = append(next, needed.Needs...)
		switch {
		case needed.Risk == Destructive:
			return Destructive
		case needed.Risk != Read:
			highest = Write
		}
	}
	return highest
}

// circle returns steps that need each other: "s1 → s2 → s1", each before the one that it needs.
// Each step with an unmet need has a need that is unmet too, so following them leads back to a step
// that was already visited.
func circle(steps []Step, missing []int) string {
	at := map[string]int{}
	for i, s := range steps {
		if missing[i] > 0 {
			at[s.ID.Step()] = i
		}
	}
	i := slices.IndexFunc(missing, func(n int) bool { return n > 0 })
	var walked []string
	for i >= 0 {
		id := steps[i].ID.Step()
		if seen := slices.Index(walked, id); seen >= 0 {
			return strings.Join(append(walked[seen:], id), " → ")
		}
		walked = append(walked, id)
		next := -1
		for _, n := range steps[i].Needs {
			if at, stuck := at[n]; stuck {
				next = at
				break
			}
		}
		i = next
	}
	return strings.Join(walked, " → ") // the last one needs a step that is not in the plan
}
