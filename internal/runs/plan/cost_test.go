package plan

import (
	"fmt"
	"slices"
	"testing"

	"piloto/infra/local/fixture/cost"
)

// TestWavesCostIsTheSameForEveryShapeOfNeeds orders steps that have many needs: the same need many
// times, needs in a circle, and needs that are not in the plan.
func TestWavesCostIsTheSameForEveryShapeOfNeeds(t *testing.T) {
	if testing.Short() {
		t.Skip("large plans")
	}
	const steps, needs = 50, 20_000
	plan := func(need func(i int) []string) []Step {
		all := make([]Step, steps)
		for i := range all {
			all[i] = Step{ID: EffectOf(fmt.Sprint("s", i)), Needs: need(i)}
		}
		return all
	}
	many := func(id string) []string { return slices.Repeat([]string{id}, needs) }
	read := func(all []Step) { _, _ = Waves(all) }
	cost.Alike(t, "the order", read, plan(func(i int) []string {
		return slices.Repeat([]string{fmt.Sprint("s", max(0, i-8))}, needs*min(i, 1))
	}), map[string][]Step{
		"a chain":         plan(func(i int) []string { return slices.Repeat([]string{fmt.Sprint("s", i-1)}, needs*min(i, 1)) }),
		"the other way":   plan(func(i int) []string { return slices.Repeat([]string{fmt.Sprint("s", i+1)}, needs*min(steps-1-i, 1)) }),
		"one circle":      plan(func(i int) []string { return many(fmt.Sprint("s", (i+1)%steps)) }),
		"itself":          plan(func(i int) []string { return many(fmt.Sprint("s", i)) }),
		"nobody":          plan(func(int) []string { return many("x") }),
		"all that is so":  plan(func(i int) []string { return slices.Repeat([]string{"s0", "s1", fmt.Sprint("s", i)}, needs/3) }),
		"a circle behind": plan(func(i int) []string { return many(fmt.Sprint("s", min(i+1, steps-2))) }),
	})
}
