package webui

import (
	"slices"

	"piloto/internal/ground/render"
	"piloto/internal/runs/plan"
)

// stepRow is a step of a card, or several steps that are alike.
type stepRow struct {
	Step  *cardStep
	Group *stepGroup
}

// stepGroup is a number of steps of a draft that follow each other, make the same call, and differ in some values only: they
// are read as a table.
type stepGroup struct {
	Key         string
	First, Last int // numbers of steps
	Like        *cardStep
	Same        []saidValue   // values that all of them have
	Names       []render.HTML // of the values that differ
	Rows        []groupRow
	Steps       []*cardStep
}

type groupRow struct {
	Number int
	Title  render.HTML
	Values []saidValue
}

// fewestAlike is the least number of steps that are read as a table.
const fewestAlike = 3

// rowsOf groups the steps of a draft that are alike.
func (a cardBuilder) rowsOf(steps []cardStep) (rows []stepRow) {
	for i := 0; i < len(steps); {
		n := 1
		for a.card.Draft && i+n < len(steps) && a.alike(i, i+n) {
			n++
		}
		if n < fewestAlike {
			n = 1
			rows = append(rows, stepRow{Step: &steps[i]})
		} else {
			rows = append(rows, stepRow{Group: groupOf(steps[i : i+n])})
		}
		i += n
	}
	return rows
}

// alike reports whether two steps of a plan differ in their values only, and everything of them is in their sentences.
func (a cardBuilder) alike(i, j int) bool {
	s, t, v, w := a.run.Plan.Steps[i], a.run.Plan.Steps[j], a.card.Steps[i], a.card.Steps[j]
	b, _ := a.run.Plan.Binding(s.ID)
	c, _ := a.run.Plan.Binding(t.ID)
	plainStep := func(s plan.Step) bool { return s.When == nil && s.ForEach == "" && s.Verify == nil && s.Ask == nil }
	return plainStep(s) && plainStep(t) && !v.Request && !w.Request && v.Risk == w.Risk && (s.Undo == nil) == (t.Undo == nil) &&
		s.Tool == t.Tool && s.Method == t.Method && s.MCPID == t.MCPID && b.Template == c.Template && b.BaseURL == c.BaseURL &&
		slices.Equal(s.Needs, t.Needs) && slices.Equal(v.Needs, w.Needs) &&
		slices.EqualFunc(v.Says.Values, w.Says.Values, func(x, y saidValue) bool { return x.Name == y.Name }) &&
		slices.EqualFunc(v.Says.Things, w.Says.Things, saidThing.isSame)
}

func groupOf(steps []cardStep) *stepGroup {
	first, last := &steps[0], &steps[len(steps)-1]
	g := &stepGroup{Key: first.Key, First: first.Number, Last: last.Number, Like: first, Rows: make([]groupRow, len(steps))}
	for i := range steps {
		g.Rows[i] = groupRow{Number: steps[i].Number, Title: steps[i].Title}
		g.Steps = append(g.Steps, &steps[i])
	}
	for n, v := range first.Says.Values {
		if !slices.ContainsFunc(steps, func(s cardStep) bool { return s.Says.Values[n].Value != v.Value || s.Says.Values[n].Sent != v.Sent }) {
			g.Same = append(g.Same, v)
			continue
		}
		g.Names = append(g.Names, v.Name)
		for i := range steps {
			g.Rows[i].Values = append(g.Rows[i].Values, steps[i].Says.Values[n])
		}
	}
	return g
}
