package run_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"piloto/infra/local/fixture"
	"piloto/internal/ground/locale"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/receipt"
	"piloto/internal/runs/run"
	"piloto/internal/runs/step"
	"piloto/internal/tools/schema"
	"piloto/internal/tools/tool"
)

// period is how often the sweep runs.
const period = time.Minute

// mortal is a process that dies at one of its effects on the world: a write to the
// table, the start or the waking of an execution, a request to a service. What was
// done is done, and nothing after it is: to die after one effect is to die before the
// next. Between two lives only the world is left: the table, the state machine, the
// service.
type mortal struct {
	aws.HTTPClient
	*fixture.World
	signer *receipt.Local
	sealer *receipt.Sealer

	dieAt int // the number of the effect before which it dies; below zero: never
	n     int
	names []string

	accepted []string // executions, each name once, as Step Functions has it
	over     bool     // the executions have ended without a word
	woken    map[string]bool
	rooms    map[string]bool // that are booked
	posts    map[string]int  // by Idempotency-Key
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
func (m *mortal) StartExecution(_ context.Context, _, runID string) error {
	m.reach("start")
	if !slices.Contains(m.accepted, runID) {
		m.accepted = append(m.accepted, runID)
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
	case m.over:
		return run.ExecutionEnded, nil
	}
	return run.ExecutionRunning, nil
}

// Send implements step.Sender: the service books rooms and removes bookings, and
// refuses one room.
func (m *mortal) Send(_ context.Context, r tool.Request, _ *tool.Credential, _ int64) (tool.Answer, error) {
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

// story is a plan with everything in it that a process can die of: a read, a change
// that can be undone, one for each element, one that waits for an approval, and one
// that is refused, so that the others are undone.
func (m *mortal) story() plan.Run {
	body := func(room string) json.RawMessage { return json.RawMessage(`{"room":"` + room + `"}`) }
	undo := func(path string) *plan.Call { return &plan.Call{Method: "DELETE", Path: path} }
	return m.Draft(plan.Proposal{Goal: "Reservar", Steps: []plan.ProposedStep{
		reading("Mirar"),
		{Method: "POST", Path: "/bookings", Body: body("norte"), Undo: undo("/bookings/${s2.body.id}")},
		{Method: "POST", Path: "/bookings", Body: body("${item.room}"), ForEach: "${s1.body.items}", Undo: undo("/bookings/${s3.body.id}")},
		{Method: "DELETE", Path: "/bookings/7"},
		{Method: "POST", Path: "/bookings", Body: body("taken")},
	}})
}

// live is one life of the process: people confirm and approve, and the state machine
// invokes what it is at, as often as it takes. It returns when nothing goes on by
// itself, or when the process dies.
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
		m.goOn(id)
		if m.Read(id).State("s4").Status == plan.StepWaiting {
			if _, err := m.Runs.Approve(context.Background(), run.Approval{
				Account: fixture.Account, User: "eva", MayApprove: true, RunID: id, StepID: "s4", Locale: locale.Spanish,
			}); err != nil {
				t.Error(err)
				return
			}
		}
		m.goOn(id)
	}()
	<-done
}

// goOn has the state machine go on, if it has begun and waits for nobody to wake it.
func (m *mortal) goOn(id string) {
	r := m.Read(id)
	a := r.State("s4").Approval
	asleep := a != nil && a.Decision != "" && !m.woken[a.Token]
	if r.Status.Active() && slices.Contains(m.accepted, id) && !m.over && !asleep {
		m.Execute(id)
	}
}

// sweeps has the sweep run as often as given, a period apart. It may die of it too.
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
	m.sealed()
	return m
}

// begin is the story in a chat of its own, in a process that will die.
func (m *mortal) begin(dieAt int) plan.Run {
	m.dieAt = -1
	m.Chat = m.NewChat()
	r := m.story()
	m.reborn()
	m.over, m.rooms, m.posts = false, map[string]bool{}, map[string]int{}
	m.n, m.names, m.dieAt = 0, nil, dieAt
	return r
}

// sealed signs what ended, as a new process does.
func (m *mortal) sealed() {
	m.sealer = &receipt.Sealer{Store: m.Store, Signer: m.signer, Now: m.Clock}
	m.Runs.Sealer = m.sealer
}

// reborn gives the process an executor that remembers nothing.
func (m *mortal) reborn() {
	m.sealed()
	was := m.Steps
	m.Steps = &step.Executor{Store: was.Store, Schemas: schema.Compiler{}, Sender: m, Waker: m, IDs: was.IDs, Now: was.Now, Log: was.Log}
}

// TestACrashAnywhereStartsOnceEndsAndFreesTheChat (guarantees I02 and I10) enumerates
// every effect of a run's life and has the process die before each, so also after each:
// around the confirm and the start, the wait and its approval and the waking, in every
// attempt of a step, between elements, and in the middle of the undos. Then either the
// executions go on, or they have ended without a word; and every other time the sweep
// dies too.
func TestACrashAnywhereStartsOnceEndsAndFreesTheChat(t *testing.T) {
	m := newMortal(t)
	m.live(t, m.begin(-1).ID) // the key that signs is kept once, at the first end there is
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
		if testing.Short() && at%3 > 0 {
			continue
		}
		for i, after := range []string{"the executions go on", "the executions are over"} {
			again := (at+i)%2 == 1 // every other time the sweep that comes next dies too
			r := m.begin(at)
			m.live(t, r.ID)
			if m.dieAt >= 0 {
				t.Fatalf("it did not reach moment %d", at)
			}
			m.reborn()
			m.over = i == 1
			confirmed := m.Read(r.ID).Status != plan.Draft
			if again {
				m.n, m.dieAt = 0, 0
			}
			m.sweeps(t, 2)
			if confirmed && !again && !slices.Contains(m.accepted, r.ID) {
				t.Errorf("%d (%s), %s: it stays queued for two periods", at, effect, after)
			}
			m.dieAt = -1
			m.sweeps(t, 3) // what asked not to be looked at meanwhile, and a call that may still be made, are over
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
	m.signed(t)
	t.Logf("they ended %v", ends)
	if ends[plan.Failed] == 0 || ends[plan.InDoubt] == 0 {
		t.Error("every end is the same: the moments show nothing")
	}
}

// check holds what is there at the end against what must be.
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
		if !st.Status.Terminal() && (r.UndoAt != nil || !plan.ParseEffect(st.StepID).Undo) || st.Last.Open {
			t.Errorf("%s: %s is %s, open %v", when, st.StepID, st.Status, st.Last.Open)
		}
	}
	for key, n := range m.posts {
		if n > 1 {
			t.Errorf("%s: %s was sent %d times", when, key, n)
		}
	}
	if r.Status == plan.Failed && !m.over && len(m.rooms) != 0 {
		t.Errorf("%s: %v stay booked, and nothing is in doubt", when, m.rooms)
	}
	gapFree(t, m.World, r)
	l, err := m.Store.Link(context.Background(), fixture.Account, r.Link)
	if err != nil || l.RunID != r.ID || l.Events != r.EventSeq || l.Signature == nil {
		t.Errorf("%s: its receipt is link %d: %+v, %v", when, r.Link, l, err)
	}
	return r.Status
}

// signed checks that every link of the account's chain is signed, and that none is missing.
func (m *mortal) signed(t *testing.T) {
	t.Helper()
	ctx := context.Background()
	keys, err := m.Store.SigningKeys(ctx)
	must(t, err)
	links, err := m.Store.Links(ctx, fixture.Account, 0, 10_000)
	must(t, err)
	for _, p := range receipt.VerifyChain(links, keys) {
		t.Errorf("the chain: %s", p)
	}
}
