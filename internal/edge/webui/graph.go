package webui

import (
	"fmt"
	"time"

	"piloto/internal/runs/plan"
)

// graph is a drawing of the steps and of which needs which, from left to right. Steps of one level are a column, or
// several. The list of steps says the same in words, so the drawing is hidden from screen readers.
type graph struct {
	Width, Height int
	Nodes         []graphNode
	Edges         []string // paths of SVG
	Dots          bool     // there are too many nodes for numbers
}

type graphNode struct {
	X, Y, Number int
	State        plan.StepStatus
	Undone       bool
	Title        string
}

// Sizes of a graph, in units of its drawing.
const (
	nodeGap    = 64
	rowGap     = 34
	columnGap  = 34 // between the columns of a level
	mostRows   = 6  // of a column
	graphEdge  = 16
	mostLevels = 12 // with numbers
)

// graphOf draws the steps of a card; nil when there is nothing to see in it.
func graphOf(steps []cardStep) *graph {
	if len(steps) < 2 {
		return nil
	}
	level, row := make([]int, len(steps)), make([]int, len(steps))
	var rows []int // of each level
	for i, s := range steps {
		for _, n := range s.Needs {
			if n-1 < i { // a step needs earlier ones only
				level[i] = max(level[i], level[n-1]+1)
			}
		}
		for len(rows) <= level[i] {
			rows = append(rows, 0)
		}
		row[i] = rows[level[i]]
		rows[level[i]]++
	}
	tall := mostRows
	if len(rows) == 1 { // nothing needs anything: as few rows as they need
		tall = (len(steps) + mostLevels - 1) / mostLevels
	}
	tallest, x := 0, graphEdge
	left := make([]int, len(rows)) // of each level
	for l, n := range rows {
		tallest, left[l] = max(tallest, min(n, tall)), x
		x += (n-1)/tall*columnGap + nodeGap
	}
	g := &graph{Width: x - nodeGap + graphEdge, Height: (tallest-1)*rowGap + 2*graphEdge, Dots: len(rows) > mostLevels}
	for i, s := range steps {
		column := row[i] / tall
		high := min(rows[level[i]]-column*tall, tall) // its column
		node := graphNode{
			X: left[level[i]] + column*columnGap, Number: s.Number, State: s.State, Undone: s.Undone.isDone(), Title: plainTitle(s),
			Y: g.Height/2 - (high-1)*rowGap/2 + row[i]%tall*rowGap,
		}
		for _, n := range s.Needs {
			if n-1 < i {
				from, half := g.Nodes[n-1], (node.X-g.Nodes[n-1].X)/2
				g.Edges = append(g.Edges, fmt.Sprintf("M%d %dC%d %d %d %d %d %d", from.X, from.Y, from.X+half, from.Y, node.X-half, node.Y, node.X, node.Y))
			}
		}
		g.Nodes = append(g.Nodes, node)
	}
	return g
}

func plainTitle(s cardStep) string { return itoa(s.Number) + ". " + s.Plain }

// remaining returns about how long the rest of a run takes: as long for each step as for those that are done. "" when
// none is.
func (a cardBuilder) remaining() string {
	var took time.Duration
	done := 0
	for _, s := range a.run.Plan.Steps {
		if t := a.times[s.ID]; !t.began.IsZero() && !t.ended.IsZero() && a.run.State(s.ID).Status == plan.StepDone {
			took += t.ended.Sub(t.began)
			done++
		}
	}
	left := a.card.Total - a.card.Completed
	if done == 0 || left <= 0 {
		return ""
	}
	return a.pen.words.took(took / time.Duration(done) * time.Duration(left))
}
