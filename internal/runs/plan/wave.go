package plan

import (
	"fmt"
	"slices"
	"strings"
)

// Waves returns the ids of the steps in the order they may run: all of a wave
// at once, a wave after the one before it, at most MaxParallel to a wave. Of those
// that could be in a wave the first of the plan are. Steps that need each other in
// a circle are an error that names them.
func Waves(steps []Step) ([][]string, error) {
	missing := make([]int, len(steps))
	needers := map[string][]int{}
	for i, s := range steps {
		missing[i] = len(s.Needs)
		for _, n := range s.Needs {
			needers[n] = append(needers[n], i)
		}
	}
	var waves [][]string
	for left := len(steps); left > 0; {
		var wave []string
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
			for _, i := range needers[id] {
				missing[i]--
			}
		}
		left -= len(wave)
		waves = append(waves, wave)
	}
	return waves, nil
}

// circle names steps that need each other: "s1 → s2 → s1", each before the one that
// it needs. Every step that still misses a need misses one that misses one too, so
// following them comes back to a step that was seen.
func circle(steps []Step, missing []int) string {
	at := map[string]int{}
	for i, s := range steps {
		if missing[i] > 0 {
			at[s.ID] = i
		}
	}
	i := slices.IndexFunc(missing, func(n int) bool { return n > 0 })
	var walked []string
	for i >= 0 {
		id := steps[i].ID
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
	return strings.Join(walked, " → ") // the last needs a step that is not there
}
