package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"piloto/infra/local/process"
)

// growth is something that grows, and the operations that should not notice it.
type growth struct {
	name         string
	small, grown int
	folder       func(ctx context.Context, folder, template string, n int) error // fills the folder that is then deployed
	parts        func(s *system, n int)                                          // prepares what the deployment calls
	fill         func(s *system, n int) error                                    // fills the deployment
	operations   []operation
}

// operation is measured in the small and in the grown deployment.
type operation struct {
	of    scenario
	begin func(s *system, of scenario) subject
	moves bool // the bytes that grow: its times are not held to the aim
}

// The scenarios of the growth table.
var (
	text    = scenario{name: "turn, text", kind: "text"}
	planned = scenario{name: "turn, plan of 1", kind: "one", steps: 1}
	ranFive = scenario{name: "run of 5", kind: "five", run: true, steps: 5}
	fifty   = scenario{name: "run of 50", kind: "fifty", run: true, steps: 50}
	listed  = scenario{name: "list of 10 chats", kind: "list"}
)

// growths lists what grows.
var growths = []growth{
	{name: "messages of the chat", small: 10, grown: 3000, fill: fillChat, operations: []operation{
		{of: text, begin: inFilledChat}, {of: planned, begin: inFilledChat},
	}},
	{name: "chats", small: 10, grown: 10_000, fill: fillChats, operations: []operation{
		{of: text, begin: inNewChat}, {of: planned, begin: inNewChat}, {of: listed, begin: inList},
	}},
	{name: "runs", small: 32, grown: 2000, fill: fillRuns},
	{name: "operations", small: 5, grown: 5000, parts: describeMore, operations: []operation{
		{of: text, begin: inNewChat}, {of: planned, begin: inNewChat}, {of: ranFive, begin: inRun},
	}},
	{name: "KB of each result", small: 1, grown: 198, parts: answerMore, operations: []operation{
		{of: fifty, begin: inRun, moves: true},
	}},
	{name: "MB of the data file", small: 10, grown: 1000, folder: fillFolder, operations: []operation{
		{of: text, begin: inNewChat}, {of: planned, begin: inNewChat}, {of: ranFive, begin: inRun}, {of: listed, begin: inList},
	}},
}

// mostGrowth is the aim of the growth table: an operation takes at most this times as much.
const mostGrowth = 1.2

// mostResident are the aims of the processes, in bytes: of one that wrote and listed 10,000 chats, and of one in which 32
// clients confirmed 2,000 runs of five steps.
var mostResident = map[string]int64{"chats": 120_000_000, "runs": 130_000_000}

// runGrowth measures and prints how operations grow.
func runGrowth(ctx context.Context, o options, out io.Writer) error {
	r, err := measureGrowth(ctx, o)
	switch {
	case err != nil:
		return err
	case o.json:
		return r.json(out)
	}
	return r.table(out)
}

// measureGrowth measures how the operations grow that o selects.
func measureGrowth(ctx context.Context, o options) (growthReport, error) {
	began := time.Now()
	var r growthReport
	for _, g := range growths {
		if !o.only.MatchString(g.name) {
			continue
		}
		g.grown /= o.smaller
		if err := o.measureOne(ctx, g, &r); err != nil {
			return r, fmt.Errorf("%s: %w", g.name, err)
		}
	}
	r.Took = time.Since(began).Seconds()
	return r, nil
}

// measureOne measures the operations of a growth in two deployments.
func (o options) measureOne(ctx context.Context, g growth, r *growthReport) error {
	sides := []*side{{n: g.small}, {n: g.grown}}
	return inFolder(o.dir, "growth-", func(folder string) error {
		for i, s := range sides {
			s.folder = filepath.Join(folder, fmt.Sprint(i))
			if err := os.Mkdir(s.folder, 0o700); err != nil {
				return err
			}
		}
		return withSystem(ctx, func(small *system) error {
			return withSystem(ctx, func(grown *system) error {
				sides[0].sys, sides[1].sys = small, grown
				return o.measureSides(g, sides, r)
			})
		})
	})
}

// side is the small or the grown deployment.
type side struct {
	sys    *system
	n      int
	folder string
}

// measureSides fills both sides, measures the operations in turn, each side in a process of its own, and counts their
// units afterwards.
func (o options) measureSides(g growth, sides []*side, r *growthReport) error {
	filled := growthProcess{Name: g.name}
	for i, s := range sides {
		p, err := o.fill(g, s)
		if err != nil {
			return err
		}
		filled.Of[i] = p
	}
	var rows []growthRow
	for _, op := range g.operations {
		used, err := inTurn(sides, op, o.latency)
		if err != nil {
			return fmt.Errorf("%s: %w", op.of.name, err)
		}
		rows = append(rows, growthRow{Name: g.name, Operation: op.of.name, Small: g.small, Grown: g.grown, Moves: op.moves, Of: used})
	}
	for i, s := range sides {
		if err := s.sys.undeploy(); err != nil {
			return err
		}
		if err := o.count(g, s, i, rows); err != nil {
			return err
		}
	}
	r.Processes, r.Rows = append(r.Processes, filled), append(r.Rows, rows...)
	return nil
}

// fill deploys a side and fills it.
func (o options) fill(g growth, s *side) (f filled, err error) {
	if g.folder != nil {
		if err := g.folder(s.sys.caller.ctx, s.folder, o.template, s.n); err != nil {
			return f, err
		}
	}
	if g.parts != nil {
		g.parts(s.sys, s.n)
	}
	ready, err := s.sys.deployApart(s.folder, o.template)
	if err != nil {
		return f, err
	}
	if s.sys.mcp, err = s.sys.register(); err != nil {
		return f, err
	}
	began := time.Now()
	if g.fill != nil {
		if err := g.fill(s.sys, s.n); err != nil {
			return f, err
		}
	}
	c, err := s.sys.counters()
	return filled{Ready: ready.Seconds(), Took: time.Since(began).Seconds(), Resident: c.Resident, Peak: c.Peak}, err
}

// inTurn does an operation on both sides alternately, until the budget is used.
func inTurn(sides []*side, op operation, budget time.Duration) (used [2]operationUse, err error) {
	const least = 5
	var subjects [2]subject
	var took [2][]time.Duration
	var sums [2]counters
	for i, s := range sides {
		if subjects[i], err = s.start(op); err != nil {
			return used, err
		}
		if _, _, err := usedBy(s.sys, subjects[i]); err != nil { // fills the caches
			return used, err
		}
	}
	order := []int{0, 1}
	for began := time.Now(); time.Since(began) < budget || len(took[1]) < least; slices.Reverse(order) {
		for _, i := range order {
			d, c, err := usedBy(sides[i].sys, subjects[i])
			if err != nil {
				return used, err
			}
			took[i] = append(took[i], d)
			sums[i].add(c)
		}
	}
	for i := range sides {
		n := float64(len(took[i]))
		used[i] = operationUse{
			N: len(took[i]), P50: micros(quantile(took[i], 0.5)), CPU: micros(sums[i].CPU) / n,
			Allocated: float64(sums[i].Allocated) / n, Written: float64(sums[i].Written) / n,
		}
	}
	return used, nil
}

// start prepares the model for an operation.
func (s *side) start(op operation) (subject, error) {
	err := s.sys.model.script(op.of, s.sys.mcp)
	return op.begin(s.sys, op.of), err
}

// usedBy does one operation. It returns the time that it took, and what it and the work right after it used.
func usedBy(sys *system, s subject) (time.Duration, counters, error) {
	if err := s.prepare(1); err != nil {
		return 0, counters{}, err
	}
	time.Sleep(3 * pause)
	before, err := sys.counters()
	if err != nil {
		return 0, counters{}, err
	}
	from := time.Now()
	if err := s.operate(); err != nil {
		return 0, counters{}, err
	}
	took := time.Since(from)
	time.Sleep(3 * pause)
	after, err := sys.counters()
	return took, after.minus(before), err
}

// count deploys a side again, in this process, and counts the units of the operations and the bytes of their prompts.
func (o options) count(g growth, s *side, at int, rows []growthRow) error {
	s.sys.units = &units{}
	defer func() { s.sys.units = nil }()
	if err := s.sys.deploy(s.folder, o.template, process.Unlimited(), false); err != nil {
		return err
	}
	for i, op := range g.operations {
		sub, err := s.start(op)
		if err != nil {
			return err
		}
		u := &rows[i].Of[at]
		used, err := s.sys.leastUnits(sub)
		if err != nil {
			return fmt.Errorf("%s: %w", op.of.name, err)
		}
		u.Writes, u.Reads = used.writes, used.reads
		u.Prompt = len(s.sys.model.last(op.of.kind))
	}
	return s.sys.undeploy()
}

// leastUnits counts an operation several times, after one that fills the caches, and returns the least of each: what
// else happens in the process is no part of it.
func (s *system) leastUnits(sub subject) (least usage, err error) {
	for n := range 2*counted + 1 {
		if err := sub.prepare(1); err != nil {
			return usage{}, err
		}
		time.Sleep(10 * pause)
		used, err := s.units.count(func() error {
			err := sub.operate()
			time.Sleep(10 * pause) // the end of a run
			return err
		})
		switch {
		case err != nil:
			return usage{}, err
		case n == 1:
			least = used
		case n > 1:
			least = least.least(used)
		}
	}
	return least, nil
}
