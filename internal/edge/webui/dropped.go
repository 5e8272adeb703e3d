package webui

import (
	"piloto/internal/ground/render"
	"piloto/internal/runs/plan"
)

// droppedPlan is a draft in whose place another came, and its steps that are gone.
type droppedPlan struct {
	Goal  render.HTML
	Steps []droppedStep
	More  int // steps that are gone, too
}

type droppedStep struct{ Title, Called, Server render.HTML }

func (a cardBuilder) dropped(d plan.Dropped) *droppedPlan {
	v := &droppedPlan{Goal: a.show(d.Goal), More: d.More}
	for _, s := range d.Steps {
		v.Steps = append(v.Steps, droppedStep{a.show(s.Title), a.show(s.Called), a.show(s.Server)})
	}
	return v
}
