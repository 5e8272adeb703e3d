package webui

import (
	"piloto/internal/ground/render"
	"piloto/internal/runs/plan"
)

// droppedPlan is a draft that another one replaced, and its steps that are gone.
type droppedPlan struct {
	Goal  render.HTML
	Steps []droppedStep
	More  int // steps that are gone, too
}

type droppedStep struct{ Title, Called, Server render.HTML }

func (w pen) dropped(d plan.Dropped) *droppedPlan {
	v := &droppedPlan{Goal: w.show(d.Goal), More: d.More}
	for _, s := range d.Steps {
		v.Steps = append(v.Steps, droppedStep{w.show(s.Title), w.show(s.Called), w.show(s.Server)})
	}
	return v
}
