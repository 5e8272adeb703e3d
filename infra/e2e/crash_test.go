package e2e

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"
)

var (
	crashRounds = flag.Int("crash.rounds", 6, "how often the process is killed at a random moment; four times as often in the night")
	crashSeed   = flag.Uint64("crash.seed", 0, "of the moments; 0: another each time")
)

const crashPeople = 3 // the people who use the process at the moment of the kill

// TestKillAtAnyMomentLosesNothing: people request the demonstration's plan of three steps and confirm it, and the
// process is killed meanwhile. It is restarted on the same folder. Then every answered request has its effect;
// every confirmed run ends and frees its chat, with one final message and events without a gap; no unsafe request
// reached the service twice; and the credits of the turns add up.
func TestKillAtAnyMomentLosesNothing(t *testing.T) {
	t.Parallel()
	seed := *crashSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-crash.seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	d, c := startDemonstration(t)
	askToRead(t, c)
	charge(t, d, c)
	span := uninterruptedTime(t, c)
	outcomes := map[string]int{}
	var waiting []*person // the sweep will start their run, when it is due
	rounds := *crashRounds
	if every {
		rounds *= 4
	}
	for round := range rounds {
		people := gather(c, random, round)
		after := time.Duration(random.Int64N(int64(span)))
		// Every third time the kill directly follows a confirm.
		liveThrough(d, people, after, round%3 == 2)
		d.mustStart(t)
		for _, p := range people {
			if p.check(t) == "queued" {
				waiting = append(waiting, p)
				continue
			}
			outcomes[p.outcome]++
		}
		if t.Failed() {
			t.Fatalf("round %d, killed after %s\n%s", round, after, tail(d.log.String()))
		}
	}
	for _, p := range waiting { // confirmed, but killed before the start: found again when it is due
		if err := eventually(patience, func() error {
			if time.Since(p.killed) < 16*time.Second {
				return fmt.Errorf("it is not due yet")
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	if len(waiting) > 0 {
		d.kill()
		d.mustStart(t) // each start runs a sweep
		for _, p := range waiting {
			if p.check(t) == "queued" {
				t.Errorf("run %s was never started", p.run)
			}
			outcomes["late "+p.outcome]++
		}
	}
	t.Logf("what became of them: %v", outcomes)
	audit(t, c)
	if outcomes["done"] == 0 {
		t.Error("no run ended well: the kills come too early to show anything")
	}
}

// gather returns the people of a round.
func gather(c *client, random *rand.Rand, round int) []*person {
	people := make([]*person, crashPeople)
	for i := range people {
		day := time.Date(2027, 1, 1+round*crashPeople+i, 0, 0, 0, 0, time.UTC)
		people[i] = &person{client: c, typed: random.IntN(2) == 0, day: day.Format(time.DateOnly)}
	}
	return people
}

// uninterruptedTime returns how long people take without a kill, from the first request to the end of the last run. The
// kills are drawn from this time.
func uninterruptedTime(t *testing.T, c *client) time.Duration {
	t.Helper()
	people := gather(c, rand.New(rand.NewPCG(1, 1)), -1)
	began := time.Now()
	var wg sync.WaitGroup
	for _, p := range people {
		wg.Go(func() {
			if err := p.live(); err != nil {
				t.Error(err)
				return
			}
			if a, err := c.waitEnded(p.run); err != nil || a.text("status") != "done" {
				t.Errorf("%v %s", err, a)
			}
		})
	}
	wg.Wait()
	span := time.Since(began)
	t.Logf("undisturbed, it takes %s", span.Round(time.Millisecond))
	return span
}

// liveThrough has people use the process until it is killed.
func liveThrough(d *deployment, people []*person, after time.Duration, atConfirm bool) {
	confirmed := make(chan struct{}, len(people))
	var wg sync.WaitGroup
	for _, p := range people {
		wg.Go(func() {
			if p.live() == nil {
				confirmed <- struct{}{}
			}
		})
	}
	if atConfirm {
		select {
		case <-confirmed:
		case <-time.After(10 * time.Second):
		}
	} else {
		<-time.After(after)
	}
	d.kill()
	killed := time.Now()
	wg.Wait()
	for _, p := range people {
		p.killed = killed
	}
}

// person requests a plan and confirms it, and records the answers.
type person struct {
	client *client
	typed  bool   // confirms in words
	day    string // of their reservation: no two people use the same

	chat, run, digest string
	messages          []string // ids in answers
	confirmed         bool     // and the answer arrived
	killed            time.Time
	outcome           string
}

func (p *person) live() error {
	a, err := p.client.do("POST", "/api/chats", "{}")
	if err != nil {
		return err
	}
	p.chat = a.text("chat_id")
	a, err = p.client.do("POST", "/api/send", object("chat_id", p.chat, "message",
		"Reserva una sala para 4 el "+p.day+" a las 10 y enséñame la reserva"))
	if err != nil || a.text("kind") != "plan" {
		return fmt.Errorf("no plan: %w %s", err, a)
	}
	p.run, p.digest = a.text("run.run_id"), a.text("run.digest")
	p.messages = append(p.messages, a.text("message.id"))
	if p.typed {
		a, err = p.client.do("POST", "/api/send", object("chat_id", p.chat, "message", "confirmo"))
	} else {
		a, err = p.client.do("POST", "/api/runs/"+p.run+"/confirm", object("digest", p.digest), "Idempotency-Key", p.run)
	}
	if err != nil || a.status != 200 && a.status != 202 {
		return fmt.Errorf("no confirm: %w %s", err, a)
	}
	p.confirmed = true
	if p.typed {
		p.messages = append(p.messages, a.text("message.id"))
	}
	return nil
}

// check compares the state after the restart with the answers before the kill. It returns queued for a run that
// waits for the sweep.
func (p *person) check(t *testing.T) string {
	t.Helper()
	if p.chat == "" {
		p.outcome = "killed before the chat"
		return p.outcome
	}
	c := p.client
	chat := c.must(t, 200, "GET", "/api/chats/"+p.chat, "")
	run := p.run
	if run == "" { // the answer was lost; the plan may exist or not
		for _, at := range []string{"pending_run_id", "active_run_id", "last_run_id"} {
			run += chat.text(at)
		}
	}
	if run == "" {
		p.outcome = "killed before the plan"
		return p.outcome
	}
	status := c.must(t, 200, "GET", "/api/runs/"+run, "").text("status")
	switch {
	case status == "draft" && p.confirmed:
		t.Errorf("run %s: its confirm was answered, and it is a draft", run)
		return ""
	case status == "draft":
		if chat.text("pending_run_id") != run {
			t.Errorf("run %s is a draft, and its chat does not say so: %s", run, chat)
		}
		p.outcome = "killed before the confirm"
		return p.outcome
	case status == "queued" && !p.confirmed && p.outcome == "" && !moves(c, run):
		p.outcome = "queued"
		return p.outcome
	}
	ended, err := c.waitEnded(run)
	if err != nil {
		t.Error(err)
		return ""
	}
	p.outcome = ended.text("status")
	p.checkRun(t, run, ended)
	return p.outcome
}

// moves reports whether a queued run proceeds within a moment: its execution may have been started before the kill.
func moves(c *client, run string) bool {
	return eventually(time.Second, func() error {
		if a, err := c.do("GET", "/api/runs/"+run, ""); err != nil || a.text("status") == "queued" {
			return fmt.Errorf("it is still queued")
		}
		return nil
	}) == nil
}

func (p *person) checkRun(t *testing.T, run string, ended answer) {
	t.Helper()
	c := p.client
	chat := c.must(t, 200, "GET", "/api/chats/"+p.chat, "")
	if chat.text("active_run_id") != "" || chat.text("pending_run_id") != "" || chat.text("last_run_id") != run {
		t.Errorf("run %s ended, and its chat is not free: %s", run, chat)
	}
	messages := c.must(t, 200, "GET", "/api/chats/"+p.chat+"/messages?limit=200", "")
	for _, id := range p.messages {
		if !strings.Contains(string(messages.body), `"id":"`+id+`"`) {
			t.Errorf("message %s was answered, and is gone", id)
		}
	}
	if n := strings.Count(string(messages.body), `"id":"`+run+`#final"`); n != 1 || strings.Count(string(messages.body), `"kind":"final"`) != 1 {
		t.Errorf("run %s has %d final messages: %s", run, n, messages)
	}
	events := c.must(t, 200, "GET", "/api/runs/"+run+"/events?limit=500", "")
	for i := 0; events.text(fmt.Sprintf("events.%d", i)) != ""; i++ {
		if seq := events.text(fmt.Sprintf("events.%d.seq", i)); seq != fmt.Sprint(i+1) {
			t.Errorf("run %s: event %d has number %s", run, i+1, seq)
		}
	}
	sent := c.must(t, 200, "GET", "/demo/rooms/ledger?idempotency_key="+run+":s2", "").text("count")
	switch step := ended.text("steps.1.status"); {
	case ended.text("status") == "done" && step == "done" && sent == "1":
	case ended.text("status") == "in_doubt" && step == "in_doubt" && (sent == "0" || sent == "1"):
		if !strings.Contains(string(messages.body), "no se sabe si se aplicó") {
			t.Errorf("run %s is in doubt, and the chat does not say so: %s", run, messages)
		}
	default:
		t.Errorf("the reservation of run %s reached the service %s times: %s", run, sent, ended)
	}
}
