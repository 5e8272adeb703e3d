package run_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"piloto/infra/local/fixture"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/receipt"
	"piloto/internal/runs/run"
	"piloto/internal/runs/step"
	"piloto/internal/tools/schema"
	"piloto/internal/tools/tool"
)

// period is the time between two sweeps.
const period = time.Minute

// mortal is a process that dies at one of its external effects: a write to the table, the start or
// wake-up of an execution, or a request to a service. The effect happens and nothing after it, so a
// death after one effect is a death before the next. Only the external state survives: the table,
// the state machine and the service.
type mortal struct {
	aws.HTTPClient
	*fixture.World
	signer *receipt.Local
	sealer *receipt.Sealer

	dieAt int // number of the effect before which it dies; below zero: never
	n     int
	names []string

	accepted []string // the executions, each name once, as in Step Functions
	ended    bool     // the executions have ended without a result
	woken    map[string]bool
	rooms    map[string]bool // booked rooms
	posts    map[string]int  // number of requests by Idempotency-Key
}

// reach is called before each effect.
func (m *mortal) reach(name string) {
	at := m.n
	m.n++
	m.names = append(m.names, name)
	if at == m.dieAt {
		m.dieAt = -1
		runtime.Goexit()
	}
}

// Do implements aws.HTTPClient.
func (m *mortal) Do(r *http.Request) (*http.Response, error) {
	_, op, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	if m.World != nil && (op == "TransactWriteItems" || op == "PutItem" || op == "UpdateItem" || op == "DeleteItem" || op == "BatchWriteItem") {
		m.reach(op)
	}
	return m.HTTPClient.Do(r)
}

// StartExecution implements run.Executions.
func (m *mortal) StartExecution(_ context.Context, k run.Key) error {
	m.reach("start")
	if !slices.Contains(m.accepted, k.RunID) {
		m.accepted = append(m.accepted, k.RunID)
	}
	return nil
}

// Wake implements run.Executions.
func (m *mortal) Wake(_ context.Context, token string) error {
	m.reach("wake")
	m.woken[token] = true
	return nil
}

// ExecutionOf implements run.Executions.
func (m *mortal) ExecutionOf(_ context.Context, runID string) (run.Execution, error) {
	switch {
	case !slices.Contains(m.accepted, runID):
		return run.ExecutionNone, nil
	case m.ended:
		return run.ExecutionEnded, nil
	}
	return run.ExecutionRunning, nil
}

// Send implements step.Sender: the service books rooms and removes bookings, and refuses one room.
func (m *mortal) Send(_ context.Context, r tool.Request, _ tool.Keys, _ int64) (tool.Answer, error) {
	m.reach("send " + r.Method)
	status, body := 200, `{"items":[{"room":"a"},{"room":"b"},{"room":"c"}]}`
	switch r.Method {
	case "POST":
		var in struct{ Room string }
		_ = json.Unmarshal(r.Body, &in)
		m.posts[r.Header["Idempotency-Key"]]++
		status, body = 201, fmt.Sprintf(`{"id":%q}`, in.Room)
		if in.Room == "taken" {
			status, body = 409, `{}`
			break
		}
		m.rooms[in.Room] = true
	case "DELETE":
		status, body = 204, ""
		delete(m.rooms, r.URL[strings.LastIndex(r.URL, "/")+1:])
	}
	return tool.Answer{Status: status, Body: []byte(body), Bytes: len(body)}, nil
}

// propose drafts a plan with every kind of step at which a process can die: a read, a change that
// can be undone, one for each element, one that waits for an approval, and one that is refused, so
// that the others are undone.
func (m *mortal) propose() plan.Run {
	body := func(room string) json.RawMessage { return json.RawMessage(`{"room":"` + room + `"}`) }
	undo := func(path string) *plan.Call { return &plan.Call{Method: "DELETE", Path: path} }
	return m.Draft(plan.Proposal{Goal: "Reservar", Steps: []plan.ProposedStep{
		readingStep("Mirar"),
		{Method: "POST", Path: "/bookings", Body: body("norte"), Undo: undo("/bookings/${s2.body.id}")},
		{Method: "POST", Path: "/bookings", Body: body("${item.room}"), ForEach: "${s1.body.items}", Undo: undo("/bookings/${s3.body.id}")},
		{Method: "DELETE", Path: "/bookings/7"},
		{Method: "POST", Path: "/bookings", Body: body("taken")},
	}})
}

// live runs one life of the process: users confirm and approve, and the state machine invokes the
// functions as often as needed. It returns when nothing continues by itself, or when the process
// dies.
func (m *mortal) live(t *testing.T, id string) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		if m.Read(id).Status == plan.Draft {
			if err := m.Confirm(m.Read(id)); err != nil {
				t.Error(err)
				return
			}
		}
		m.advance(id)
		if m.Read(id).State(plan.EffectOf("s4")).Status == plan.StepWaiting {
			if _, err := m.Runs.Approve(context.Background(), run.Approval{
				Account: fixture.Account, User: "eva", MayApprove: true, RunID: id, StepID: plan.EffectOf("s4"), Request: requestOf(m.Read(id), "s4"),
			}); err != nil {
				t.Error(err)
				return
			}
		}
		m.advance(id)
	}()
	<-done
}

// advance continues the state machine, if it has begun and does not wait for a wake-up.
func (m *mortal) advance(id string) {
	r := m.Read(id)
	a := r.State(plan.EffectOf("s4")).Approval
	asleep := a != nil && a.Decision != "" && !m.woken[a.Token]
	if r.Status.Active() && slices.Contains(m.accepted, id) && !m.ended && !asleep {
		m.Execute(id)
	}
}

// sweeps runs the sweep the given number of times, one period apart. The process may die in it.
func (m *mortal) sweeps(t *testing.T, times int) {
	for range times {
		m.Pass(period)
		done := make(chan struct{})
		go func() {
			defer close(done)
			if _, err := m.Runs.Sweep(context.Background()); err != nil {
				t.Error(err)
			}
			if _, err := m.sealer.Sweep(context.Background()); err != nil {
				t.Error(err)
			}
		}()
		<-done
	}
}

func newMortal(t *testing.T) *mortal {
	m := &mortal{dieAt: -1, woken: map[string]bool{}}
	table, _, _ := fixture.Raw(t, func(c aws.HTTPClient) aws.HTTPClient { m.HTTPClient = c; return m })
	m.World = fixture.NewWorldOver(t, table)
	m.Runs.Executions = m
	text, err := receipt.NewPrivate()
	if err == nil {
		m.signer, err = receipt.NewLocal(text)
	}
	must(t, err)
	m.newSealer()
	return m
}

// begin proposes the plan in a chat of its own, in a process that will die.
func (m *mortal) begin(dieAt int) plan.Run {
	m.dieAt = -1
	m.Chat = m.NewChat()
	r := m.propose()
	m.restart()
	m.ended, m.rooms, m.posts = false, map[string]bool{}, map[string]int{}
	m.n, m.names, m.dieAt = 0, nil, dieAt
	return r
}

// newSealer gives the process a new sealer, as after a start.
func (m *mortal) newSealer() {
	m.sealer = &receipt.Sealer{Store: m.Store.Receipts, Signer: m.signer, Now: m.Clock, Log: slog.New(slog.DiscardHandler)}
	m.Runs.Sealer = m.sealer
}

// restart gives the process a new executor without memory.
func (m *mortal) restart() {
	m.newSealer()
	was := m.Steps
	m.Steps = &step.Executor{Stores: was.Stores, Moves: was.Moves, Schemas: schema.Compiler{}, Sender: m, Waker: m, IDs: was.IDs, Now: was.Now, Log: was.Log}
}

// TestCrashAnywhereStartsOnceEndsAndFreesChat (guarantees I02 and I10) enumerates every effect of a
// run's life and lets the process die before each, and therefore also after each: around the
// confirm and the start, the wait and its approval and the wake-up, in every attempt of a step,
// between elements, and in the middle of the undos. Then the executions either continue or have
// ended without a result. In every second case the process dies in the sweep too.
func TestCrashAnywhereStartsOnceEndsAndFreesChat(t *testing.T) {
	m := newMortal(t)
	m.live(t, m.begin(-1).ID) // the signing key is stored once, at the first end of a run
	whole := m.begin(-1)
	m.live(t, whole.ID)
	if r := m.Read(whole.ID); r.Status != plan.Failed || len(m.rooms) != 0 {
		t.Fatalf("undisturbed, it is %s, and %v are booked", r.Status, m.rooms)
	}
	effects := slices.Clone(m.names)
	t.Logf("%d moments: %v", len(effects), effects)
	if len(effects) < 40 || !slices.Contains(effects, "wake") || !slices.Contains(effects, "send DELETE") {
		t.Fatalf("the story has too few moments")
	}
	ends := map[plan.Status]int{}
	for at, effect := range effects {
		if testing.Short() && at%7 > 0 {
			continue
		}
		for i, after := range []string{"the executions go on", "the executions are over"} {
			again := (at+i)%2 == 1 // in every second case the process dies in the next sweep too
			r := m.begin(at)
			m.live(t, r.ID)
			if m.dieAt >= 0 {
				t.Fatalf("it did not reach moment %d", at)
			}
			m.restart()
			m.ended = i == 1
			confirmed := m.Read(r.ID).Status != plan.Draft
			if again {
				m.n, m.dieAt = 0, 0
			}
			m.sweeps(t, 2)
			if confirmed && !again && !slices.Contains(m.accepted, r.ID) {
				t.Errorf("%d (%s), %s: it stays queued for two periods", at, effect, after)
			}
			m.dieAt = -1
			m.sweeps(t, 3) // waits and calls that could still be in flight are over by now
			for range 2 {
				m.live(t, r.ID)
				m.sweeps(t, 3)
			}
			ends[m.check(t, r.ID, fmt.Sprintf("%d (%s), %s", at, effect, after))]++
			if t.Failed() {
				return
			}
		}
	}
	m.checkSigned(t)
	t.Logf("they ended %v", ends)
	if ends[plan.Failed] == 0 || ends[plan.InDoubt] == 0 {
		t.Error("every end is the same: the moments show nothing")
	}
}

// check compares the final state with the expected one.
func (m *mortal) check(t *testing.T, id, when string) plan.Status {
	t.Helper()
	r := m.Read(id)
	if !r.Status.Terminal() {
		t.Errorf("%s: it is %s", when, r.Status)
	}
	if c := m.ChatNow(); c.ActiveRunID != "" || c.PendingRunID != "" || c.LastRunID != id {
		t.Errorf("%s: the chat is not free: %+v", when, c)
	}
	if n := m.Finals(id); n != 1 {
		t.Errorf("%s: %d final messages", when, n)
	}
	if n := len(m.accepted); slices.Index(m.accepted, id) != n-1 {
		t.Errorf("%s: it was not started", when)
	}
	for _, st := range r.Steps {
		if !st.Status.Terminal() && (r.UndoAt != nil || !st.StepID.Undo()) || st.Last.Open {
			t.Errorf("%s: %s is %s, open %v", when, st.StepID, st.Status, st.Last.Open)
		}
	}
	for key, n := range m.posts {
		if n > 1 {
			t.Errorf("%s: %s was sent %d times", when, key, n)
		}
	}
	if r.Status == plan.Failed && !m.ended && len(m.rooms) != 0 {
		t.Errorf("%s: %v stay booked, and nothing is in doubt", when, m.rooms)
	}
	checkEvents(t, m.World, r)
	l, err := m.Store.Receipts.Link(context.Background(), fixture.Account, r.Link)
	if err != nil || l.RunID != r.ID || l.Events != r.EventSeq || l.Signature == nil {
		t.Errorf("%s: its receipt is link %d: %+v, %v", when, r.Link, l, err)
	}
	return r.Status
}

// checkSigned checks that every link of the account's chain is signed, and that none is missing.
func (m *mortal) checkSigned(t *testing.T) {
	t.Helper()
	ctx := context.Background()
	keys, err := m.Store.Receipts.SigningKeys(ctx)
	must(t, err)
	links, err := m.Store.Receipts.Links(ctx, fixture.Account, 0, 10_000)
	must(t, err)
	for _, p := range receipt.VerifyChain(links, keys) {
		t.Errorf("the chain: %s", p)
	}
}
