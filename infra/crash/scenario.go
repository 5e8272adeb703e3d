package main

import (
	"errors"
	"sync"
	"time"
)

// scenario is the behaviour of a user, and the deployment for it.
type scenario struct {
	name string
	says string   // the description in the table
	env  []string // of its processes
	// setup creates the initial folder of the scenario's rounds, once. If until names a failpoint,
	// setup runs for each round, and its process dies at that failpoint and leaves unfinished work.
	// off is the time for which the machine is off then.
	setup func(v *user) error
	until string
	off   time.Duration
	drive func(v *user) error
	check func(v *user) error // a further check at the end
	limit time.Duration       // how long the end is waited for; endLimit when zero
	// slow scenarios wait up to half a minute after a death. They die once at each failpoint, not each
	// time that they pass it, and run beside the others.
	slow bool
	// random scenarios die at random times only, because other scenarios pass the same failpoints.
	random bool
}

// sequence runs steps one after the other.
func sequence(steps ...func(v *user) error) func(v *user) error {
	return func(v *user) error {
		for _, step := range steps {
			if err := step(v); err != nil {
				return err
			}
		}
		return nil
	}
}

func propose(name string) func(*user) error {
	return sequence((*user).openChat, func(v *user) error { return v.propose(name) })
}

func awaitEnd(v *user) error {
	_, err := v.waitForEnd()
	return err
}

// decideStep waits until the run waits, and sends a decision. A run that is in doubt earlier never
// waits.
func decideStep(decision string) func(*user) error {
	return func(v *user) error {
		if status, err := v.waitFor("waiting", "in_doubt"); err != nil || status == "in_doubt" {
			return err
		}
		return v.approve(decision)
	}
}

// crowd runs three users at once, each with a plan of their own.
func crowd(v *user) error {
	var wg sync.WaitGroup
	errs := make([]error, 3)
	for i, does := range []func(*user) error{
		sequence(propose("three"), (*user).confirm, awaitEnd), sequence(propose("three"), (*user).confirmByText, awaitEnd), sequence(propose("undo"), (*user).confirm, awaitEnd),
	} {
		who := v
		if i > 0 {
			who = &user{client: v.client, service: v.service, model: v.model, tools: v.tools, d: v.d}
			v.others = append(v.others, who)
		}
		wg.Go(func() { errs[i] = does(who) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// cancelMidway cancels while the second step is at the service, if it gets there.
func cancelMidway(v *user) error {
	for deadline := time.Now().Add(stopDelay); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if v.service.got(v.run)["s2"].times > 0 {
			break
		}
	}
	defer v.service.release(v.run)
	return v.cancel()
}

// resolveDoubt resolves the step in doubt after the end of the run.
func resolveDoubt(v *user) error {
	status, err := v.waitForEnd()
	if err != nil || status != "in_doubt" {
		return err
	}
	return v.resolve("s2", "done")
}

// chargeTurns makes turns cost credits.
func chargeTurns(v *user) error {
	for _, c := range [][3]string{
		{"200", "/ai/terms", `{"policy":{"session_cost":1,"session_tokens":4000,"session_minutes":600},"limits":{"day_micros":0,"month_micros":0,"run_micros":0}}`},
	} {
		if _, err := v.client.again(200, "PUT", c[1], c[2]); err != nil {
			return err
		}
	}
	_, err := v.client.again(201, "POST", "/ai/ledger", `{"kind":"grant","amount":100,"reason":"for the test"}`)
	return err
}

var credits = []string{"PILOTO_CREDITS=on", "OPENAI_API_KEY=sk-crash-0123456789abcdef"}

// small is an account of Lambda with room for two functions of runs at once. A third one is refused.
var small = append([]string{"PILOTO_CONCURRENCY=2"}, apart...)

// apart is how a run is executed on AWS, if nobody changes it.
var apart = []string{"PILOTO_STEPS_PER_INVOCATION=1"}

// scenarios lists all scenarios.
var scenarios = []scenario{
	{name: "plan", says: "propose, confirm, three steps one of which is unsafe, finish", drive: sequence(propose("three"), (*user).confirm, awaitEnd)},
	{name: "typed", says: "the same, confirmed in words", drive: sequence(propose("three"), (*user).confirmByText, awaitEnd)},
	{name: "replaced", says: "a draft in the place of another, cancelled", drive: sequence(propose("three"), func(v *user) error { return v.propose("drop") }, (*user).cancel, awaitEnd)},
	{name: "stopped", says: "cancelled while its second step is at the service; the finished steps are undone", drive: sequence(propose("slow"), (*user).confirm, cancelMidway, awaitEnd)},
	{name: "approved", says: "a step that destroys waits, and is approved", drive: sequence(propose("drop"), (*user).confirm, decideStep("approve"), awaitEnd)},
	{name: "refused", says: "a step that destroys waits, and is refused; the finished steps are undone", drive: sequence(propose("drop"), (*user).confirm, decideStep("refuse"), awaitEnd)},
	{name: "undone", says: "the third step is refused by the service; the two before it are undone", drive: sequence(propose("undo"), (*user).confirm, awaitEnd)},
	{name: "each", says: "a step for each of three", drive: sequence(propose("each"), (*user).confirm, awaitEnd)},
	{name: "apart", says: "the same, and every effect in an invocation of its own", env: apart, drive: sequence(propose("each"), (*user).confirm, awaitEnd)},
	{name: "wave", says: "three steps side by side, every one in an invocation of its own, while a socket listens", env: apart, drive: sequence((*user).openChat, (*user).listen, func(v *user) error { return v.propose("wave") }, (*user).confirm, awaitEnd), check: checkWatch},
	{name: "halted", says: "the same, cancelled while the second step is at the service; the finished steps are undone", env: apart, drive: sequence(propose("halt"), (*user).confirm, cancelMidway, awaitEnd)},
	{name: "throttled", says: "three steps side by side where Lambda has room for two; the one that it refuses is tried again", env: small, drive: sequence(propose("wave"), (*user).confirm, awaitEnd)},
	{name: "lost", says: "the service applies an unsafe request and drops the answer; a person resolves it", drive: sequence(propose("lost"), (*user).confirm, resolveDoubt)},
	{name: "credits", says: "a turn in words and a plan, both paid for", env: credits, setup: chargeTurns, drive: sequence((*user).openChat, (*user).converse, func(v *user) error { return v.propose("three") }, (*user).confirm, awaitEnd)},
	{name: "crowd", says: "three people at once", drive: crowd, random: true},
	{name: "expired", says: "a draft whose time was over while the machine was off", setup: propose("three"), off: 25 * time.Hour, drive: awaitEnd},
	{name: "unstarted", says: "the sweep starts a run that was confirmed and never started", setup: sequence(propose("three"), (*user).confirm), until: "stepfn.start.before#1", off: away, drive: awaitEnd},
	{name: "unwoken", says: "the sweep wakes a run that was approved and never woken", setup: sequence(propose("drop"), (*user).confirm, decideStep("approve")), until: "stepfn.wake.before#1", off: away, drive: awaitEnd},
	{name: "unsettled", says: "the sweep releases what a turn held that never ended", env: credits, setup: sequence(chargeTurns, (*user).openChat, (*user).converse), until: "turn.model.after#1", off: time.Hour, drive: func(*user) error { return nil }},
	{name: "tools", says: "three tools of a server that speaks MCP, which declares that one reads and one may be repeated", setup: registerTools, drive: sequence(propose("tools"), (*user).confirm, awaitEnd), check: checkTools},
	{name: "checked", says: "the answer of an unsafe request is lost; a check looks for the effect and finds it", drive: sequence(propose("found"), (*user).confirm, awaitEnd), check: checkOrder(false), limit: pauses},
	{name: "barred", says: "the same, and the check is refused: it decides nothing, and the order is in doubt", drive: sequence(propose("barred"), (*user).confirm, awaitEnd), check: checkUndecided, limit: pauses},
	{name: "edited", says: "a draft is edited and confirmed; the earlier card confirms nothing", drive: sequence(propose("three"), (*user).edit, (*user).refuseDraft, (*user).confirm, awaitEnd, (*user).refuseEnded), check: checkEdit},
	{name: "retried", says: "a request that may be repeated is answered with 503 twice, then done", drive: sequence(propose("again"), (*user).confirm, awaitEnd), check: checkRetry},
	{name: "routed", says: "two messages for the router, answered by an agent over MCP, each under a key", setup: registerAgent, drive: (*user).route, check: checkRoute, slow: true},
	{name: "watched", says: "a socket receives a plan while it is proposed, confirmed and run", drive: sequence((*user).openChat, (*user).listen, func(v *user) error { return v.propose("three") }, (*user).confirm, awaitEnd), check: checkWatch},
	{name: "looked", says: "a turn looks at the service, and then proposes", setup: allowReads, drive: sequence(propose("book"), (*user).confirm, awaitEnd), check: checkLook},
	{name: "job", says: "an agent looks, proposes, waits, hears what came of its plan, and ends; it is paid for", env: credits, setup: sequence(chargeTurns, allowReads), drive: sequence(startJob, awaitProposal, (*user).confirm, awaitEnd, awaitJobEnd), check: checkJob("success", "", 3, 0)},
	{name: "dismissed", says: "the same, started under a key, and stopped while it waits; its plan is rejected", env: credits, setup: sequence(chargeTurns, allowReads), drive: sequence((*user).startJobOnce, awaitProposal, (*user).stopJob, awaitJobEnd, (*user).cancel, awaitEnd), check: checkJob("partial", "user_interrupt", 2, 0), slow: true},
	{name: "judged", says: "a job whose answer is judged, given again and judged again", env: credits, setup: sequence(chargeTurns, allowReads), drive: sequence(func(v *user) error { return v.startJob("book", "eval", "full") }, awaitProposal, (*user).confirm, awaitEnd, awaitJobEnd), check: checkJob("success", "", 6, 0)},
	{name: "unanswered", says: "a job whose process died before the answer of its model was stored: the model is asked again", env: credits, setup: sequence(chargeTurns, allowReads, startJob), until: "round.model.after#1", drive: sequence((*user).findJob, awaitProposal, (*user).confirm, awaitEnd, awaitJobEnd), check: checkJob("success", "", 3, 1)},
	{name: "asked", says: "a job that asks a person in its chat, is answered by their next message, and goes on", env: credits, setup: sequence(chargeTurns, allowReads), drive: sequence(func(v *user) error { return v.startJob("ask") }, (*user).answerJob, awaitProposal, (*user).confirm, awaitEnd, awaitJobEnd), check: sequence(checkJob("success", "", 4, 0), checkAsked)},
	{name: "called", says: "a job that has its client make a call on its own machine, is told the result, and goes on", env: credits, setup: sequence(chargeTurns, allowReads), drive: sequence(func(v *user) error { return v.startJob("notes", "tools", clientTools) }, (*user).tellJob, awaitProposal, (*user).confirm, awaitEnd, awaitJobEnd), check: checkJob("success", "", 4, 0)},
	{name: "unfound", says: "the same, without an effect: a third check does not find it", setup: sequence(propose("never"), (*user).confirm, awaitTwoChecks), off: away, drive: awaitEnd, check: checkOrder(true), limit: pauses},
}
