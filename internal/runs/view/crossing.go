package view

import (
	"slices"

	"piloto/internal/ground/origin"
	"piloto/internal/ground/ref"
	"piloto/internal/runs/plan"
)

// Crossing is data of one service that a call sends to a service of another origin. It has the base addresses of both.
type Crossing struct{ From, To string }

// Crossings returns the crossings of a step, of its undo or of its check, each origin of the data once. The data of an element
// is that of its list.
func Crossings(p plan.Plan, id plan.EffectID) (list []Crossing) {
	own, _ := p.Step(plan.EffectOf(id.Step()))
	sent := own.Call()
	switch {
	case id.Undo() && own.Undo != nil:
		sent = own.Undo.Call
	case id.Check() && own.Verify != nil:
		sent = own.Verify.Call
	}
	to, _ := p.Binding(id)
	refs, _ := sent.References() // a call with another reference is not sent
	if slices.ContainsFunc(refs, func(r ref.Reference) bool { return r.Step == plan.ItemName }) {
		elements, _ := ref.InText(own.ForEach)
		refs = append(refs, elements...)
	}
	for _, r := range refs {
		from, ok := p.Binding(plan.EffectOf(r.Step))
		isListed := slices.ContainsFunc(list, func(c Crossing) bool { return origin.Same(c.From, from.BaseURL) })
		if ok && !isListed && from.BaseURL != to.BaseURL && !origin.Same(from.BaseURL, to.BaseURL) {
			list = append(list, Crossing{from.BaseURL, to.BaseURL})
		}
	}
	return list
}
