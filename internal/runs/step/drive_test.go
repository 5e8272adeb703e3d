package step_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"piloto/infra/local/fixture"
	"piloto/internal/conversation"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/ref"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/rule"
	"piloto/internal/runs/run"
	"piloto/internal/runs/step"
	"piloto/internal/tools/tool"
)

// counting is a store that counts the transactions of runs, and those that were lost.
type counting struct {
	step.Moves
	mu         sync.Mutex
	made, lost int
}

func (c *counting) MoveRun(ctx context.Context, r plan.Run, moves ...run.Move) (plan.Run, error) {
	next, err := c.Moves.MoveRun(ctx, r, moves...)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		c.made++
	} else if errors.Is(err, fault.ErrMoved) {
		c.lost++
	}
	return next, err
}

// driveOnce calls Drive once. It returns the outcome with its items, or the name of the error.
func driveOnce(t *testing.T, w *fixture.World, r plan.Run) string {
	t.Helper()
	done, err := w.Steps.Drive(t.Context(), step.Task{Account: fixture.Account, RunID: r.ID})
	var e *step.Error
	switch {
	case errors.As(err, &e):
		return e.Name
	case err != nil:
		t.Fatal(err)
	case done.Items == nil:
		t.Fatal("the items are null")
	}
	raw, err := json.Marshal(done.Items)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(string(done.Outcome)+" "+string(raw), " []")
}

func chain(n int) []plan.ProposedStep {
	var steps []plan.ProposedStep
	for i := range n {
		s := newStep(fmt.Sprintf("s%d", i+1), "POST", "/bookings", `{"room":"norte"}`)
		if i > 0 {
			s = newStep(fmt.Sprintf("s%d", i+1), "POST", "/bookings", fmt.Sprintf(`{"room":"${s%d.body.id}"}`, i))
		}
		steps = append(steps, s)
	}
	return steps
}

func abreast(n int) []plan.ProposedStep {
	var steps []plan.ProposedStep
	for i := range n {
		steps = append(steps, newStep(fmt.Sprintf("s%d", i+1), "POST", "/bookings", `{"room":"norte"}`))
	}
	return steps
}

// TestRunTakesFewTransactions: a run begins with its first intent and ends with its last result. An
// invocation that goes on writes a result with the next intent. No intent is written after its call.
func TestRunTakesFewTransactions(t *testing.T) {
	for name, c := range map[string]struct {
		steps  []plan.ProposedStep
		shared int // steps an invocation
		drives []string

		least, most int // transactions
	}{
		"one step":                 {chain(1), 1, []string{"done"}, 2, 2},
		"five, an invocation each": {chain(5), 1, []string{"next", "next", "next", "next", "done"}, 10, 10},
		"five, two an invocation":  {chain(5), 2, []string{"next", "next", "done"}, 8, 8},
		"five in one":              {chain(5), 50, []string{"done"}, 6, 6},
		"eight abreast in one":     {abreast(8), 50, []string{"done"}, 2, 16}, // what waits is written together
	} {
		t.Run(name, func(t *testing.T) {
			w, r := newRun(t, nil, c.steps...)
			store := &counting{Moves: w.Steps.Moves}
			w.Steps.Moves, w.Steps.Steps = store, c.shared
			w.Answer(func(q tool.Request) (tool.Answer, error) {
				open := 0
				for _, st := range w.Read(r.ID).Steps {
					if st.Last.Open && st.Attempts == 1 {
						open++
					}
				}
				if open == 0 {
					t.Errorf("%s %s was sent before its intent was written", q.Method, q.Body)
				}
				return tool.Answer{Status: 201, Body: []byte(`{"id":"r-1"}`), Bytes: 12}, nil
			})
			var drives []string
			for range c.drives {
				drives = append(drives, driveOnce(t, w, r))
			}
			checkEqual(t, "drives", drives, c.drives)
			if store.made < c.least || store.made > c.most || store.lost != 0 {
				t.Errorf("%d transactions, want %d to %d; %d were lost", store.made, c.least, c.most, store.lost)
			}
			if now := w.Read(r.ID); now.Status != plan.Done || len(w.Requests()) != len(c.steps) {
				t.Errorf("the run is %s, after %d requests", now.Status, len(w.Requests()))
			}
			all, err := w.Store.Runs.Events(t.Context(), fixture.Account, r.ID, 0, 100)
			if err != nil {
				t.Fatal(err)
			}
			if n := len(all); n != 4+2*len(c.steps) || all[2].Type != plan.EventStarted || all[n-1].Type != plan.EventFinished {
				t.Errorf("events %v", kinds(all))
			}
			if driveOnce(t, w, r) != "done" || len(w.Requests()) != len(c.steps) {
				t.Error("an ended run was driven again")
			}
		})
	}
}

// TestDriveBeginsNothingAfterWhatHappensDuringACall: a stop, a rule, and an approval that is needed.
func TestDriveBeginsNothingAfterWhatHappensDuringACall(t *testing.T) {
	for name, c := range map[string]struct {
		during func(t *testing.T, w *fixture.World, r plan.Run)
		drive  string
		second string
	}{
		"a stop": {stop, step.Cancelled, "cancelled step.cancelled"},
		"a rule that denies": {func(t *testing.T, w *fixture.World, _ plan.Run) {
			setRules(t, w, rule.Rule{ID: "r1", Effect: rule.Deny, Path: "/bookings", Reason: "Hoy no."})
		}, step.Rejected, "error step.denied"},
		"a rule that asks": {func(t *testing.T, w *fixture.World, _ plan.Run) {
			setRules(t, w, rule.Rule{ID: "r1", Effect: rule.Ask, Path: "/bookings", Reason: "Se mira antes."})
		}, "approval", "pending"},
	} {
		t.Run(name, func(t *testing.T) {
			w, r := newRun(t, nil, chain(3)...)
			w.Steps.Steps = 50
			w.Answer(func(tool.Request) (tool.Answer, error) {
				c.during(t, w, r)
				return tool.Answer{Status: 201, Body: []byte(`{"id":"r-1"}`), Bytes: 12}, nil
			})
			if got := driveOnce(t, w, r); got != c.drive {
				t.Errorf("drive ended %s, want %s", got, c.drive)
			}
			if status(w, r, "s1") != "done" || status(w, r, "s2") != c.second || len(w.Requests()) != 1 {
				t.Errorf("%s, %s, %d requests", status(w, r, "s1"), status(w, r, "s2"), len(w.Requests()))
			}
		})
	}
}

// TestDriveHandsOverWhatIsToBeRepeated: the state machine repeats an attempt, with its own pauses.
func TestDriveHandsOverWhatIsToBeRepeated(t *testing.T) {
	w, r := newRun(t, nil, chain(2)...)
	w.Steps.Steps = 50
	refused := true
	w.Answer(func(q tool.Request) (tool.Answer, error) {
		if refused && strings.Contains(string(q.Body), "r-1") {
			return tool.Answer{}, tool.ErrNotSent
		}
		return tool.Answer{Status: 201, Body: []byte(`{"id":"r-1"}`), Bytes: 12}, nil
	})
	if got := driveOnce(t, w, r); got != "next" {
		t.Errorf("the first invocation ended %s", got)
	}
	if got := driveOnce(t, w, r); got != step.Transient {
		t.Errorf("the second ended %s", got)
	}
	refused = false
	if got := driveOnce(t, w, r); got != "done" || w.Read(r.ID).State(plan.EffectOf("s2")).Attempts != 3 {
		t.Errorf("the third ended %s, %+v", got, w.Read(r.ID).State(plan.EffectOf("s2")))
	}
}

// TestDriveEndsInTime: after a slow effect, the next one begins in another invocation.
func TestDriveEndsInTime(t *testing.T) {
	w, r := newRun(t, nil, chain(2)...)
	w.Steps.Steps = 50
	w.Answer(func(tool.Request) (tool.Answer, error) {
		w.Pass(time.Minute)
		return tool.Answer{Status: 201, Body: []byte(`{"id":"r-1"}`), Bytes: 12}, nil
	})
	if first, second := driveOnce(t, w, r), driveOnce(t, w, r); first != "next" || second != "done" {
		t.Errorf("%s, %s", first, second)
	}
}

// TestDriveBeginsNothingWhileTheProcessStops: the effect under way ends, and the next one is another process's.
func TestDriveBeginsNothingWhileTheProcessStops(t *testing.T) {
	w, r := newRun(t, nil, chain(2)...)
	stopping := false
	w.Steps.Steps, w.Steps.Stopping = 50, func() bool { return stopping }
	w.Answer(func(tool.Request) (tool.Answer, error) {
		stopping = true
		return tool.Answer{Status: 201, Body: []byte(`{"id":"r-1"}`), Bytes: 12}, nil
	})
	if got := driveOnce(t, w, r); got != "next" || status(w, r, "s1") != "done" || status(w, r, "s2") != "pending" {
		t.Errorf("%s: s1 %s, s2 %s", got, status(w, r, "s1"), status(w, r, "s2"))
	}
}

// TestWaveIsHandedOutUnlessInvocationCarriesItAll drives steps side by side, of which one fails: the
// others end, and no step follows.
func TestWaveIsHandedOutUnlessInvocationCarriesItAll(t *testing.T) {
	for most, first := range map[int]string{1: `wave ["s1","s2","s3"]`, 2: `wave ["s1","s2","s3"]`, 3: step.Rejected} {
		last := newStep("s4", "GET", "/rooms", "", "s1", "s2", "s3")
		w, r := newRun(t, nil, append(abreast(3), last)...)
		w.Steps.Steps = most
		upstream(w, map[string]string{"POST /bookings": "#409"})
		if got := driveOnce(t, w, r); got != first {
			t.Errorf("at most %d: %s, want %s", most, got, first)
		}
		for _, id := range []string{"s1", "s2", "s3"} {
			drive(t, w, r, id)
		}
		if got := driveOnce(t, w, r); got != step.Rejected || len(w.Requests()) != 3 || status(w, r, "s4") != "pending" {
			t.Errorf("at most %d: then %s, %d requests", most, got, len(w.Requests()))
		}
	}
}

// TestApprovalsOfAWaveAreAskedTogether: two steps wait with one token. The one that is approved goes
// on while the other waits.
func TestApprovalsOfAWaveAreAskedTogether(t *testing.T) {
	for _, most := range []int{1, 50} {
		w, r := newRun(t, nil, newStep("s1", "DELETE", "/bookings/1", ""), newStep("s2", "DELETE", "/bookings/2", ""), newStep("s3", "GET", "/rooms", ""))
		w.Steps.Steps = most
		await := func(token string) {
			t.Helper()
			if err := w.Steps.Await(t.Context(), step.Task{Account: fixture.Account, RunID: r.ID}, token); err != nil {
				t.Fatal(err)
			}
		}
		got := driveOnce(t, w, r)
		if most == 1 {
			if got != `wave ["s1","s2","s3"]` {
				t.Errorf("%s", got)
			}
			for _, id := range []string{"s1", "s2", "s3"} {
				drive(t, w, r, id)
			}
		} else if got != "approval" {
			t.Errorf("%s", got)
		}
		await("first")
		now := w.Read(r.ID)
		for _, id := range []string{"s1", "s2"} {
			if a := now.State(plan.EffectOf(id)).Approval; a == nil || a.Token != "first" {
				t.Fatalf("%s waits with %+v", id, a)
			}
		}
		if status(w, r, "s3") != "done" || now.Status != plan.Waiting || len(w.Woken()) != 0 {
			t.Errorf("s3 is %s, the run %s", status(w, r, "s3"), now.Status)
		}
		approve(t, w, r, "s2", "berta", false)
		if !slices.Equal(w.Woken(), []string{"first"}) {
			t.Errorf("woken %v", w.Woken())
		}
		for got = "next"; got == "next"; {
			got = driveOnce(t, w, r)
		}
		if got != "approval" || status(w, r, "s2") != "done" || status(w, r, "s1") != "waiting" {
			t.Errorf("%s, s2 is %s, s1 %s", got, status(w, r, "s2"), status(w, r, "s1"))
		}
		await("second")
		if a := w.Read(r.ID).State(plan.EffectOf("s1")).Approval; a.Token != "second" {
			t.Errorf("s1 waits with %s", a.Token)
		}
		approve(t, w, r, "s1", "berta", false)
		await("third") // an invocation that was late
		if woken := w.Woken(); !slices.Equal(woken, []string{"first", "second", "third"}) {
			t.Errorf("woken %v", woken)
		}
		if got := driveOnce(t, w, r); got != "done" || w.Read(r.ID).Status != plan.Done {
			t.Errorf("%s", got)
		}
	}
}

// TestElementsAreCarriedOutByDrive: the elements of a list are handed out, or carried out here, beside
// a step that does not need them.
func TestElementsAreCarriedOutByDrive(t *testing.T) {
	for _, most := range []int{1, 50} {
		steps := forEach()
		steps = append(steps[:2:2], newStep("s3", "DELETE", "/bookings/9", "", "s1"))
		w, r := newRun(t, nil, steps...)
		w.Steps.Steps = most
		upstream(w, map[string]string{"GET /rooms": roomsOf(3), "POST /bookings": `{"id":"b"}`, "DELETE /bookings/9": "{}"})
		var outcomes []string
		for range 10 {
			got := driveOnce(t, w, r)
			outcomes = append(outcomes, got)
			switch {
			case strings.HasPrefix(got, "wave "):
				for _, id := range []string{"s2[0]", "s2[1]", "s2[2]", "s3"} {
					drive(t, w, r, id)
				}
			case got == "approval":
				if err := w.Steps.Await(t.Context(), step.Task{Account: fixture.Account, RunID: r.ID}, "token"); err != nil {
					t.Fatal(err)
				}
				approve(t, w, r, "s3", "berta", false)
			}
			if got == "done" {
				break
			}
		}
		if now := w.Read(r.ID); now.Status != plan.Done || len(w.Requests()) != 5 || now.State(plan.EffectOf("s2")).Attempts != 1 {
			t.Errorf("at most %d: %q, the run is %s after %d requests", most, outcomes, now.Status, len(w.Requests()))
		}
	}
}

// TestUndosAreDrivenNewestFirst: one that fails does not keep the older ones from being undone.
func TestUndosAreDrivenNewestFirst(t *testing.T) {
	for _, most := range []int{1, 50} {
		first, second := booking(), booking()
		first.ID, second.ID = "s1", "s2"
		second.Undo.Path = "/bookings/8"
		failing := newStep("s3", "POST", "/bookings", `{"room":"sur"}`, "s1", "s2")
		second.Needs = &[]string{"s1"}
		w, r := newRun(t, nil, first, second, failing)
		w.Steps.Steps = most
		w.Answer(func(q tool.Request) (tool.Answer, error) {
			status := 200
			if strings.Contains(string(q.Body), "sur") || strings.HasSuffix(q.URL, "/8") {
				status = 409
			}
			return tool.Answer{Status: status, Body: []byte(`{"id":"7"}`), Bytes: 10}, nil
		})
		w.Execute(r.ID)
		now := w.Read(r.ID)
		if now.Status != plan.Failed || status(w, r, "undo:s1") != "done" || status(w, r, "undo:s2") != "error step.rejected_because" && status(w, r, "undo:s2") != "error step.rejected" {
			t.Errorf("at most %d: the run is %s, undos %s and %s", most, now.Status, status(w, r, "undo:s2"), status(w, r, "undo:s1"))
		}
		sent := sentRequests(w)
		if n := len(sent); n != 5 || sent[3] != "DELETE /bookings/8" {
			t.Errorf("%q", sent)
		}
	}
}

// breaking is a store that fails, or panics, where something is prepared to be written with a result.
type breaking struct {
	rule.Reader
	conversation.ChatReader
	rules, chat func() error
}

func (b *breaking) Rules(ctx context.Context, account ids.Account) (rule.Set, error) {
	if err := b.rules(); err != nil {
		return rule.Set{}, err
	}
	return b.Reader.Rules(ctx, account)
}

func (b *breaking) Chat(ctx context.Context, account ids.Account, id string) (conversation.Chat, error) {
	if err := b.chat(); err != nil {
		return conversation.Chat{}, err
	}
	return b.ChatReader.Chat(ctx, account, id)
}

// breakingSchemas is a compiler that panics when check does.
type breakingSchemas struct {
	tool.Compiler
	check func() error
}

func (b *breakingSchemas) Compile(raw json.RawMessage) (tool.Schema, bool) {
	_ = b.check()
	return b.Compiler.Compile(raw)
}

// TestAResultIsWrittenWhateverFollowsFromIt: what prevents the next step from beginning, or the run from ending, does
// not leave a call whose answer was received in doubt.
func TestAResultIsWrittenWhateverFollowsFromIt(t *testing.T) {
	fails := func() error { return errors.New("the store is away") }
	panics := func() error { panic("poison") }
	none := func() error { return nil }
	for name, c := range map[string]struct {
		rules, schema, chat func() error
		steps               int
	}{
		"the rules of the next step cannot be read": {fails, none, none, 2},
		"the next step panics":                      {none, panics, none, 2},
		"the chat cannot be read":                   {none, none, fails, 1},
		"the end of the run panics":                 {none, none, panics, 1},
	} {
		t.Run(name, func(t *testing.T) {
			w, r := newRun(t, nil, chain(c.steps)...)
			from := &w.Steps.Stores
			store := &breaking{Reader: from.Catalogue.Rules, ChatReader: from.Chats, rules: none, chat: none}
			schemas := &breakingSchemas{w.Steps.Schemas, none}
			from.Catalogue.Rules, from.Chats, w.Steps.Schemas, w.Steps.Steps = store, store, schemas, 50
			w.Answer(func(tool.Request) (tool.Answer, error) {
				store.rules, schemas.check, store.chat = c.rules, c.schema, c.chat
				return tool.Answer{Status: 201, Body: []byte(`{"id":"r-1"}`), Bytes: 12}, nil
			})
			func() {
				defer func() { _ = recover() }()
				_, _ = w.Steps.Drive(t.Context(), step.Task{Account: fixture.Account, RunID: r.ID})
			}()
			if got := status(w, r, "s1"); got != "done" || len(w.Requests()) != 1 {
				t.Errorf("s1 is %s after %d requests", got, len(w.Requests()))
			}
			w.Answer(answers(201))
			from.Catalogue.Rules, from.Chats, w.Steps.Schemas = store.Reader, store.ChatReader, schemas.Compiler
			w.Execute(r.ID)
			if now := w.Read(r.ID); now.Status != plan.Done {
				t.Errorf("then the run is %s: %s", now.Status, status(w, r, "s2"))
			}
		})
	}
}

// TestElementsBeginInTime: those that do not begin within the time of one invocation get invocations of their own.
func TestElementsBeginInTime(t *testing.T) {
	for name, slow := range map[string]func(*fixture.World, *atomic.Bool){
		"time is over":      func(w *fixture.World, _ *atomic.Bool) { w.Pass(time.Minute) },
		"the process stops": func(_ *fixture.World, stopping *atomic.Bool) { stopping.Store(true) },
	} {
		t.Run(name, func(t *testing.T) {
			var stopping atomic.Bool
			w, r := newRun(t, nil, forEach()[:2]...)
			w.Steps.Steps, w.Steps.Stopping = 50, stopping.Load
			w.Answer(func(q tool.Request) (tool.Answer, error) {
				body := roomsOf(20)
				if q.Method == "POST" {
					slow(w, &stopping)
					body = `{"id":"b"}`
				}
				return tool.Answer{Status: 200, Body: []byte(body), Bytes: len(body)}, nil
			})
			got := driveOnce(t, w, r)
			if n := len(w.Requests()) - 1; !strings.HasPrefix(got, "wave ") || n < 1 || n > 8 || strings.Count(got, "s2[") != 20-n {
				t.Errorf("%d were sent, then %s", n, got)
			}
		})
	}
}

// TestAPanicSideBySideIsAnError: what other runs do in the process goes on.
func TestAPanicSideBySideIsAnError(t *testing.T) {
	w, r := newRun(t, nil, abreast(3)...)
	w.Steps.Steps = 50
	w.Answer(func(tool.Request) (tool.Answer, error) { panic("poison") })
	if _, err := w.Steps.Drive(t.Context(), step.Task{Account: fixture.Account, RunID: r.ID}); err == nil || !strings.Contains(err.Error(), "poison") {
		t.Errorf("%v", err)
	}
}

// TestSkippedStepsAreDriven: a condition that does not hold ends a step without a call, and what follows goes on.
func TestSkippedStepsAreDriven(t *testing.T) {
	for _, most := range []int{1, 50} {
		skipped := newStep("s2", "POST", "/bookings", `{"room":"norte"}`, "s1")
		skipped.When = &ref.Condition{Value: "${s1.body.free}", Is: ref.Equal, To: json.RawMessage("1")}
		w, r := newRun(t, nil, newStep("s1", "GET", "/rooms", ""), skipped, newStep("s3", "GET", "/rooms", "", "s2"))
		w.Steps.Steps = most
		upstream(w, map[string]string{"GET /rooms": `{"free":0}`})
		w.Execute(r.ID)
		if now := w.Read(r.ID); now.Status != plan.Done || status(w, r, "s2") != "skipped" || len(w.Requests()) != 2 {
			t.Errorf("the run is %s, s2 %s", now.Status, status(w, r, "s2"))
		}
	}
}

// cancelled counts the transactions that the table cancelled.
type cancelled struct {
	aws.HTTPClient
	n atomic.Int64
}

func (c *cancelled) Do(r *http.Request) (*http.Response, error) {
	answer, err := c.HTTPClient.Do(r)
	if err == nil && answer.StatusCode == http.StatusBadRequest {
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			return nil, err
		}
		if bytes.Contains(body, []byte("TransactionCanceledException")) {
			c.n.Add(1)
		}
		answer.Body = io.NopCloser(bytes.NewReader(body))
	}
	return answer, err
}

// TestEffectsOfOneInvocationLoseNoTransaction: the table cancels transactions on one row at the same time, as DynamoDB
// does. Effects side by side in one invocation have one writer.
func TestEffectsOfOneInvocationLoseNoTransaction(t *testing.T) {
	count := &cancelled{}
	store := fixture.Conflicting(t, func(c aws.HTTPClient) aws.HTTPClient { count.HTTPClient = c; return count }, 3*time.Millisecond)
	w := fixture.NewWorldOver(t, store)
	w.Steps.Steps = 50
	w.Answer(func(tool.Request) (tool.Answer, error) {
		return tool.Answer{Status: 201, Body: []byte(`{"id":"r-1"}`), Bytes: 12}, nil
	})
	r := w.Draft(plan.Proposal{Goal: "Reservar", Steps: abreast(8)})
	if err := w.Confirm(r); err != nil {
		t.Fatal(err)
	}
	before := count.n.Load() // the world's own first writes
	if driveOnce(t, w, r) != "done" || w.Read(r.ID).Status != plan.Done || len(w.Requests()) != 8 {
		t.Errorf("the run is %s, after %d requests", w.Read(r.ID).Status, len(w.Requests()))
	}
	if n := count.n.Load() - before; n != 0 {
		t.Errorf("%d transactions were cancelled", n)
	}
}
