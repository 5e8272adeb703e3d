package main

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// scenario is one kind of operation.
type scenario struct {
	name    string
	kind    string        // the kind of answer that the model is asked for
	run     bool          // a confirmed run; else a turn
	routed  bool          // a turn of the router, which an agent answers
	paid    bool          // with credits; only its cost is counted
	told    bool          // and the model writes its conclusion
	telling time.Duration // that the model takes for that
	steps   int           // of the plan; 0: no plan
	wide    bool          // the steps do not depend on each other

	job     bool // a job of an agent; else a turn or a run
	looks   int  // that the model asks for before it answers, one in each reply
	refused bool // the looks are of no operation, so that nothing is sent
	ms      int  // that the service takes for each

	loads []int // concurrencies at which throughput is measured
	most  float64
	least map[int]float64 // aims: latency at most this times the floor's; throughput at least
}

var scenarios = []scenario{
	{name: "turn, text", kind: "text", most: 3},
	{name: "turn, plan of 1", kind: "one", steps: 1, loads: []int{16, 32}, most: 3, least: map[int]float64{16: 0.25}},
	{name: "turn, routed", kind: "routed", routed: true, loads: []int{16}, most: 3},
	{name: "run of 1", kind: "one", run: true, steps: 1, loads: []int{16}, most: 2.5},
	{name: "run of 5", kind: "five", run: true, steps: 5, loads: []int{16, 32}, most: 2, least: map[int]float64{32: 0.3}},
	{name: "run of 20", kind: "twenty", run: true, steps: 20, most: 2},
	{name: "run of 8 side by side", kind: "eight", run: true, steps: 8, wide: true},
}

// timedOnly are measured beside scenarios, and their cost is not counted. The final message of a run is written with its end, and
// waits for no model: the run takes no longer than any other.
var timedOnly = []scenario{
	{name: "run of 1, told by a model of 2 s", kind: "one", run: true, steps: 1, told: true, telling: 2 * time.Second, most: 2.5},
}

// jobScenarios are measured after the others, when the service that is read is registered.
var jobScenarios = []scenario{
	{name: "job of 1 round", kind: "job", job: true},
	{name: "job of 10 rounds", kind: "jobs", job: true, looks: 9, most: 4},
}

// paidScenarios are counted in a deployment whose turns cost credits.
var paidScenarios = []scenario{{name: "turn, text, with credits", kind: "text", paid: true}}

// toldScenarios are counted with the conclusion of the model.
var toldScenarios = []scenario{{name: "run of 1, and what came of it", kind: "one", run: true, steps: 1, told: true}}

// lookingScenarios are counted in a deployment with a service that is read.
var lookingScenarios = []scenario{{name: "turn, text, after a look", kind: "look", looks: 1}, jobScenarios[1]}

// subject is one of the compared programs.
type subject interface {
	// prepare prepares n operations; it is not timed.
	prepare(n int) error
	// operate does one operation. It may be called concurrently.
	operate() error
}

// turnsOfChat is the number of turns after which a new chat is used.
const turnsOfChat = 10

// turns runs turns of the system.
type turns struct {
	sys   *system
	of    scenario
	chats chan *chat // unused chats
	room  int        // turns left in all chats, between operations
}

type chat struct {
	id   string
	left int
}

func newTurns(sys *system, of scenario) *turns {
	return &turns{sys: sys, of: of, chats: make(chan *chat, 1<<16)}
}

// prepare makes sure that n turns have room, and that each client has a chat.
func (t *turns) prepare(n int) error {
	missing := max((n-t.room+turnsOfChat-1)/turnsOfChat, min(n, mostClients)-len(t.chats), 0)
	t.room += missing*turnsOfChat - n
	return runParallel(mostClients, missing, func() error {
		id, err := t.sys.newChat()
		t.chats <- &chat{id, turnsOfChat}
		return err
	})
}

func (t *turns) operate() error {
	c := <-t.chats
	_, err := t.sys.say(c.id, t.of)
	if c.left--; c.left > 0 {
		t.chats <- c
	}
	return err
}

// routes runs turns of the system's router, in sessions of turnsOfChat turns.
type routes struct {
	sys *system
	of  scenario
	n   atomic.Int64
}

func (r *routes) prepare(int) error { return nil }

func (r *routes) operate() error {
	return r.sys.route(fmt.Sprintf("session-%d", r.n.Add(1)/turnsOfChat), r.of)
}

// runs runs runs of the system.
type runs struct {
	sys    *system
	of     scenario
	drafts chan draft
}

func newRuns(sys *system, of scenario) *runs {
	return &runs{sys, of, make(chan draft, 1<<16)}
}

func (r *runs) prepare(n int) error {
	begin := r.sys.chatsOf(r.of)
	return runParallel(mostClients, n, func() error {
		id, err := begin()
		if err != nil {
			return err
		}
		d, err := r.sys.say(id, r.of)
		r.drafts <- d
		return err
	})
}

func (r *runs) operate() error { return r.sys.execute(<-r.drafts, r.of.steps) }

// floors runs operations of a floor.
type floors struct {
	floor *floor
	work  work
}

// newFloor returns a floor of a scenario with extra writes beyond the least.
func newFloor(f *floor, of scenario, extra int) *floors {
	return &floors{f, work{Kind: of.kind, Steps: of.steps, Wide: of.wide, Turn: !of.run, Routed: of.routed, Job: of.job, Looks: of.looks, Extra: extra}}
}

// apart returns the same floor with an fdatasync for each write.
func (f *floors) apart() *floors {
	w := f.work
	w.Apart = true
	return &floors{f.floor, w}
}

func (f *floors) prepare(int) error { return nil }

func (f *floors) operate() error { return f.floor.call(f.work) }

// mostClients is the largest concurrency.
const mostClients = 32

// runParallel calls f n times, up to width calls at once, until one call fails.
func runParallel(width, n int, f func() error) error {
	width = min(width, n)
	errs := make([]error, width)
	var begun atomic.Int64
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			for errs[i] == nil && begun.Add(1) <= int64(n) {
				errs[i] = f()
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}
