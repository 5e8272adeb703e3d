package plan

import "piloto/internal/ground/clip"

import "piloto/internal/ground/jcs"

// Bounds of the description of a superseded plan.
const (
	mostDropped = 20 // steps that are named
	droppedName = 80 // characters of a title, and of a call
)

// Dropped is a waiting draft that another plan superseded. Its texts are on one line each.
type Dropped struct {
	RunID string        `json:"run_id"`
	Goal  string        `json:"goal"`
	Steps []DroppedStep `json:"steps,omitempty" nullable:"false" doc:"its steps that the new plan does not have, at most 20"`
	More  int           `json:"more,omitempty" doc:"how many such steps are not named"`
}

// DroppedStep names a step of a plan that was replaced.
type DroppedStep struct {
	Title  string `json:"title"`
	Called string `json:"called" doc:"its method and path, or its tool"`
	Server string `json:"server" doc:"the server's name"`
}

// DroppedFor describes a draft that a plan supersedes, with the steps that the plan lacks; nil without a draft.
func DroppedFor(old *Run, next Plan) *Dropped {
	if old == nil {
		return nil
	}
	d := &Dropped{RunID: old.ID, Goal: clip.Line(old.Plan.Goal)}
	kept := map[string]int{} // how many steps make the same call
	for _, s := range next.Steps {
		kept[sentOf(s)]++
	}
	for _, s := range old.Plan.Steps {
		call := sentOf(s)
		if kept[call]--; kept[call] >= 0 {
			continue
		}
		if len(d.Steps) == mostDropped {
			d.More++
			continue
		}
		d.Steps = append(d.Steps, old.Plan.named(s))
	}
	return d
}

// named returns the names of a step.
func (p Plan) named(s Step) DroppedStep {
	b, _ := p.Binding(s.ID)
	short := func(name string) string { return clip.Runes(clip.Line(name), droppedName) }
	return DroppedStep{Title: short(s.Title), Called: short(s.Called()), Server: short(b.ServerName)}
}

// sentOf returns the request of a step and its conditions in canonical form, with its undo and its check.
func sentOf(s Step) string {
	form, err := jcs.Canonical([]any{s.MCPID, s.Tool, s.Method, s.Path, s.Query, s.Headers, s.Body, s.ForEach, s.When, s.Undo, s.Verify})
	if err != nil { // a step that cannot be compared is like no other
		return s.ID.String()
	}
	return string(form)
}
