package step

import (
	"slices"
	"testing"

	"piloto/infra/local/fixture/reach"
	"piloto/infra/local/fixture/reach/planned"
	"piloto/internal/ground/ref"
	"piloto/internal/runs/plan"
)

// TestEveryReferenceOfAStepIsReadBefore: a preview reads what any call of a change refers to.
func TestEveryReferenceOfAStepIsReadBefore(t *testing.T) {
	steps, without := planned.Referring()
	steps.Check(t, reach.Reader[plan.Step]{
		Name: "the reads of a preview (allReferencesOf in internal/runs/step/preview.go)", Without: without,
		Read: func(s plan.Step) any {
			return slices.ContainsFunc(allReferencesOf(s), func(r ref.Reference) bool { return r.Step == "s9" })
		},
	})
}
