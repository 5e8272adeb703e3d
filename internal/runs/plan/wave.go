package plan

import (
	"fmt"
	"slices"
	"strings"

	"piloto/internal/ground/ref"
)

// Waves returns the ids of the steps in the order of execution. The steps of a wave run at once, at most MaxParallel of
// them, and a wave begins after the one before it. Among the steps that fit in a wave, those that stand first in the plan
// are taken. The reads of lists come before every change that they do not need, because a list that is too long is then
// known before anything is changed. The error names the steps of a dependency cycle.
func Waves(steps []Step) ([][]EffectID, error) {
	first := readsOfLists(steps)
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
			if missing[i] == 0 && len(wave) < MaxParallel && (s.Risk == Read || len(first) == 0) {
				wave = append(wave, s.ID)
				missing[i] = -1
			}
		}
		if len(wave) == 0 {
			return nil, fmt.Errorf("the steps need each other in a circle: %s", cycle(steps, missing))
		}
		for _, id := range wave {
			delete(first, id.Step())
			for _, i := range needers[id.Step()] {
				missing[i]--
			}
		}
		left -= len(wave)
		waves = append(waves, wave)
	}
	return waves, nil
}

// readsOfLists returns the reads on which lists depend, if they need no change.
func readsOfLists(steps []Step) map[string]bool {
	p, reads := Plan{Steps: steps}, map[string]bool{}
	for _, s := range steps {
		refs, err := ref.InText(s.ForEach)
		if err != nil || len(refs) == 0 {
			continue
		}
		source, ok := p.Step(EffectOf(refs[0].Step))
		if !ok || source.Risk != Read || p.RiskBefore(source) != Read {
			continue
		}
		reads[source.ID.Step()] = true
		p.before(source, func(needed Step) { reads[needed.ID.Step()] = true })
	}
	return reads
}

// RiskBefore returns the highest risk of the steps that a step needs, directly or through others; Read when there are none.
func (p Plan) RiskBefore(s Step) Risk {
	highest := Read
	p.before(s, func(needed Step) {
		switch {
		case needed.Risk == Destructive, highest == Destructive:
			highest = Destructive
		case needed.Risk != Read:
			highest = Write
		}
	})
	return highest
}

// before calls visit with each step that a step needs, directly or through others.
func (p Plan) before(s Step, visit func(Step)) {
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
		visit(needed)
	}
}

// cycle returns a dependency cycle: "s1 → s2 → s1", each before the one that it needs. Each step with an unmet need has a
// need that is unmet too, so following them leads back to a step that was already visited.
func cycle(steps []Step, missing []int) string {
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
