package main

import (
	"errors"
	"sync"
	"time"
)

// scenario is what somebody does, and in which deployment.
type scenario struct {
	name string
	says string   // what happens, for the table
	env  []string // of its processes
	// setup makes the folder that every round begins with, once; or each time, when until
	// names a moment at which its process dies, to leave something behind. off is how long
	// the machine is off then.
	setup func(v *visit) error
	until string
	off   time.Duration
	drive func(v *visit) error
	holds func(v *visit) error // what must hold besides, once it is over
	limit time.Duration        // how long its end is waited for; endLimit when it does not say
	// slow: who dies in it is waited for, for half a minute. It dies once at each moment, not
	// each time it passes it, and others do not wait for it.
	slow bool
	// random: it dies at random moments only; what it passes is passed by the others too.
	random bool
}

// one does one thing after the other.
func one(steps ...func(v *visit) error) func(v *visit) error {
	return func(v *visit) error {
		for _, step := range steps {
			if err := step(v); err != nil {
				return err
			}
		}
		return nil
	}
}

func propose(name string) func(*visit) error {
	return one((*visit).opens, func(v *visit) error { return v.proposed(name) })
}

func end(v *visit) error {
	_, err := v.ends()
	return err
}

// decide waits until the run waits, and says something to it. One that is in doubt
// before never waits.
func decide(decision string) func(*visit) error {
	return func(v *visit) error {
		if status, err := v.until("waiting", "in_doubt"); err != nil || status == "in_doubt" {
			return err
		}
		return v.approves(decision)
	}
}

// crowd is three people at once, each with a plan of their own.
func crowd(v *visit) error {
	var wg sync.WaitGroup
	errs := make([]error, 3)
	for i, does := range []func(*visit) error{
		one(propose("three"), (*visit).confirms, end), one(propose("three"), (*visit).types, end), one(propose("undo"), (*visit).confirms, end),
	} {
		who := v
		if i > 0 {
			who = &visit{client: v.client, service: v.service, model: v.model, tools: v.tools, d: v.d}
			v.others = append(v.others, who)
		}
		wg.Go(func() { errs[i] = does(who) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// midway cancels while the second step is at the service, if it ever is.
func midway(v *visit) error {
	for deadline := time.Now().Add(slowly); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if v.service.got(v.run)["s2"].times > 0 {
			break
		}
	}
	defer v.service.release(v.run)
	return v.cancels()
}

// doubt settles what is in doubt once the run ended.
func doubt(v *visit) error {
	status, err := v.ends()
	if err != nil || status != "in_doubt" {
		return err
	}
	return v.settles("s2", "done")
}

// paid has turns cost credits.
func paid(v *visit) error {
	for _, c := range [][3]string{
		{"200", "/ai/terms", `{"policy":{"session_cost":1,"session_tokens":4000,"session_minutes":600},"limits":{"day_micros":0,"month_micros":0,"run_micros":0}}`},
	} {
		if _, err := v.again(200, "PUT", c[1], c[2]); err != nil {
			return err
		}
	}
	_, err := v.again(201, "POST", "/ai/ledger", `{"kind":"grant","amount":100,"reason":"for the test"}`)
	return err
}

var credits = []string{"PILOTO_CREDITS=on", "OPENAI_API_KEY=sk-crash-0123456789abcdef"}

// scenarios are all of them.
var scenarios = []scenario{
	{name: "plan", says: "propose, confirm, three steps one of which is unsafe, finish", drive: one(propose("three"), (*visit).confirms, end)},
	{name: "typed", says: "the same, confirmed in words", drive: one(propose("three"), (*visit).types, end)},
	{name: "replaced", says: "a draft in the place of another, cancelled", drive: one(propose("three"), func(v *visit) error { return v.proposed("drop") }, (*visit).cancels, end)},
	{name: "stopped", says: "cancelled while its second step is at the service; what was done is undone", drive: one(propose("slow"), (*visit).confirms, midway, end)},
	{name: "approved", says: "a step that destroys waits, and is approved", drive: one(propose("drop"), (*visit).confirms, decide("approve"), end)},
	{name: "refused", says: "a step that destroys waits, and is refused; what was done is undone", drive: one(propose("drop"), (*visit).confirms, decide("refuse"), end)},
	{name: "undone", says: "the third step is refused by the service; the two before it are undone", drive: one(propose("undo"), (*visit).confirms, end)},
	{name: "each", says: "a step for each of three", drive: one(propose("each"), (*visit).confirms, end)},
	{name: "lost", says: "the service applies an unsafe request and drops the answer; a person settles it", drive: one(propose("lost"), (*visit).confirms, doubt)},
	{name: "credits", says: "a turn in words and a plan, both paid for", env: credits, setup: paid, drive: one((*visit).opens, (*visit).talks, func(v *visit) error { return v.proposed("three") }, (*visit).confirms, end)},
	{name: "crowd", says: "three people at once", drive: crowd, random: true},
	{name: "expired", says: "a draft whose time was over while the machine was off", setup: propose("three"), off: 25 * time.Hour, drive: end},
	{name: "unstarted", says: "the sweep starts a run that was confirmed and never started", setup: one(propose("three"), (*visit).confirms), until: "stepfn.start.before#1", off: away, drive: end},
	{name: "unwoken", says: "the sweep wakes a run that was approved and never woken", setup: one(propose("drop"), (*visit).confirms, decide("approve")), until: "stepfn.wake.before#1", off: away, drive: end},
	{name: "unsettled", says: "the sweep releases what a turn held that never ended", env: credits, setup: one(paid, (*visit).opens, (*visit).talks), until: "turn.model.after#1", off: time.Hour, drive: func(*visit) error { return nil }},
	{name: "tools", says: "three tools of a server that speaks MCP, of which it says that one reads and one may be repeated", setup: equipped, drive: one(propose("tools"), (*visit).confirms, end), holds: holdsTools},
	{name: "checked", says: "the answer of an unsafe request is lost; what was done is looked for, and found", drive: one(propose("found"), (*visit).confirms, end), holds: holdsOrder(false), limit: pauses},
	{name: "edited", says: "a draft is edited and confirmed; what was shown before is void", drive: one(propose("three"), (*visit).edits, (*visit).refusesDraft, (*visit).confirms, end, (*visit).refusesEnded), holds: holdsEdit},
	{name: "retried", says: "a request that may be repeated is answered with 503 twice, then done", drive: one(propose("again"), (*visit).confirms, end), holds: holdsRetry},
	{name: "routed", says: "two messages for the router, answered by an agent over MCP, each under a key", setup: staffed, drive: (*visit).routes, holds: holdsRoute, slow: true},
	{name: "watched", says: "a socket is told of a plan while it is proposed, confirmed and run", drive: one((*visit).opens, (*visit).watches, func(v *visit) error { return v.proposed("three") }, (*visit).confirms, end), holds: holdsWatch},
	{name: "unfound", says: "the same, and it was never done: it is looked for a third time, in vain", setup: one(propose("never"), (*visit).confirms, inVain), off: away, drive: end, holds: holdsOrder(true), limit: pauses},
}
