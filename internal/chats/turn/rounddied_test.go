package turn_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"piloto/infra/local/fixture"
	"piloto/internal/chats/agent"
	"piloto/internal/chats/job"
	"piloto/internal/chats/turn"
	"piloto/internal/conversation"
	"piloto/internal/models/credit"
	"piloto/internal/models/llm"
)

// stride is how far apart the writes are at which something dies: each of them, but with -short.
func stride(short int) int {
	if testing.Short() {
		return short
	}
	return 1
}

func TestJobThatDiesAtAnyWriteIsNeitherLostNorAnsweredTwice(t *testing.T) {
	for name, c := range map[string]struct {
		order               job.Order
		then                string // the tool that is called after the look; "": none
		status              job.Status
		posts, calls, least int // least: writes, counted before and after
		once                string
	}{
		"to its end":                 {job.Order{}, "", job.Success, 1, 3, 20, "looked proposed resumed ended"},
		"judged":                     {job.Order{Eval: agent.EvalFull}, "", job.Success, 1, 6, 38, "proposed resumed ended"},
		"to its bounds":              {job.Order{MaxSteps: 1}, "", job.Partial, 0, 2, 14, "looked ended"},
		"after a question":           {job.Order{}, "ask_person", job.Success, 1, 4, 30, "asked replied looked proposed ended"},
		"after a call of its client": {job.Order{Tools: []job.Tool{notes}}, notes.Name, job.Success, 1, 4, 30, "called told looked proposed ended"},
	} {
		t.Run(name, func(t *testing.T) {
			after := 1
			for ; ; after += stride(5) {
				w := newJobWorld(t)
				thinks := &thinker{w: w, then: c.then}
				w.service.Paid.Models = providers{thinks}
				id := w.start(t, "build", c.order).ID
				dying := &dyingJobs{Store: w.Store.Jobs, left: after}
				w.service.Jobs, w.jobs.Store = dying, dying
				w.driveDying(t, id, dying)
				j, posts, answers := w.job(t, id), 0, 0
				for _, r := range w.Requests() {
					if r.Method == "POST" {
						posts++
					}
				}
				for _, m := range w.Messages() {
					if m.ID == conversation.AnswerID(j.MessageID) {
						answers++
					}
				}
				if j.Status != c.status || j.Lost > 1 || posts != c.posts || answers != 1 || thinks.calls > c.calls+j.Lost {
					t.Fatalf("after %d writes: %d requests, %d answers, %d calls: %+v", after, posts, answers, thinks.calls, j)
				}
				happened := strings.Fields(w.events(t, id))
				for kind := range strings.FieldsSeq(c.once) {
					if slices.Index(happened, kind) < 0 || slices.Contains(happened[slices.Index(happened, kind)+1:], kind) {
						t.Fatalf("after %d writes: not one %s in %v", after, kind, happened)
					}
				}
				if asks := w.questions(); c.then == "ask_person" && asks != 1 {
					t.Fatalf("after %d writes: the question is %d times in the chat", after, asks)
				}
				if spent, charged := w.spent(t, id), w.charged(t); j.Micros == 0 || j.Micros != spent || j.Micros != charged {
					t.Fatalf("after %d writes: it cost %d, its events say %d, and %d were charged", after, j.Micros, spent, charged)
				}
				if !dying.died {
					break // it had fewer writes than that
				}
			}
			if after <= c.least {
				t.Errorf("a job has only %d writes", after-1)
			}
		})
	}
}

// driveDying makes the steps of a job to its end. An invocation that dies is followed by another one, and its plan is
// confirmed.
func (w *jobWorld) driveDying(t testing.TB, id string, dying *dyingJobs) {
	t.Helper()
	for range 30 {
		next, err := w.service.Round(t.Context(), fixture.Account, id)
		if err == nil && next == job.NextClose {
			next, err = job.NextEnd, w.service.CloseJob(t.Context(), fixture.Account, id, false)
		}
		switch {
		case errors.Is(err, errDied):
			w.Pass(2 * time.Second) // the next invocation comes later
		case err != nil:
			t.Fatal(err)
		case next == job.NextWait && w.reacts(t, w.job(t, id)):
		case next == job.NextWait:
			if err := w.Confirm(w.Read(w.job(t, id).RunID)); err != nil {
				t.Fatal(err)
			}
			w.Execute(w.job(t, id).RunID)
		case next == job.NextEnd:
			return
		}
	}
	t.Fatal("it does not end")
}

// notes is a tool of the client.
var notes = job.Tool{Name: "read_notes", Description: "Reads the notes.", Schema: json.RawMessage(`{"type":"object"}`)}

// reacts gives a job that asks its answer, as a person or as its client, and again when that died. It reports false when the
// job waits for its plan.
func (w *jobWorld) reacts(t testing.TB, j job.Job) bool {
	t.Helper()
	for range 5 {
		var err error
		switch {
		case j.AsksPerson():
			_, err = w.jobs.Reply(t.Context(), fixture.Account, j.ID, "01KANSWER", "la más barata")
		case j.AwaitsClient():
			_, err = w.jobs.Tell(t.Context(), fixture.Account, j.User, j.ID, []job.ToolResult{{ID: j.Open[0].ID, Output: "la más barata"}})
		default:
			return false
		}
		if !errors.Is(err, errDied) {
			if err != nil {
				t.Fatal(err)
			}
			return true
		}
		w.Pass(2 * time.Second)
	}
	t.Fatal("nobody answers")
	return false
}

func (w *jobWorld) questions() (n int) {
	for _, m := range w.Messages() {
		if strings.Contains(m.Content, "¿Cuál?") {
			n++
		}
	}
	return n
}

// thinker is a model that answers by what it was told: it looks, proposes, and says that it is done. Its first answer is
// not good enough for it.
type thinker struct {
	w     *jobWorld
	then  string // the tool that it calls after it looked; "": none
	calls int
}

func (k *thinker) Complete(_ context.Context, r llm.Request) (llm.Reply, error) {
	k.calls++
	reply := text("fin")
	better := slices.ContainsFunc(r.Messages, func(m llm.Message) bool { return strings.Contains(m.Content, "falta el precio") })
	switch last := r.Messages[len(r.Messages)-1]; {
	case r.Format != nil:
		reply = verdictOf(better, 1, `"falta el precio"`)
	case better:
	case last.Role != llm.ToolRole:
		reply = calls("look", lookAt(k.w.Server.ID, "/rooms"))
	case strings.Contains(last.Content, `"l1"`) && k.then != "":
		reply = calls(k.then, map[string]string{"ask_person": `{"question":"¿Cuál?"}`, notes.Name: "{}"}[k.then])
	case strings.Contains(last.Content, `"l1"`), strings.Contains(last.Content, "la más barata"):
		reply = calls("mcp_request", k.w.request("POST", "/bookings", `,"body":{"room":"n1"}`))
	}
	reply.Usage = llm.Usage{Input: 11, Output: 7}
	return reply, nil
}

var errDied = errors.New("the process died")

// dyingJobs loses the process before or after its n-th write, once.
type dyingJobs struct {
	job.Store
	left int
	died bool
}

func (d *dyingJobs) dies() bool {
	d.left--
	d.died = d.died || d.left == 0
	return d.left == 0
}

func (d *dyingJobs) write(f func() error) error {
	if d.dies() {
		return errDied
	}
	if err := f(); err != nil {
		return err
	}
	if d.dies() {
		return errDied
	}
	return nil
}

func (d *dyingJobs) SaveJob(ctx context.Context, j job.Job, rounds []job.Round, events ...job.Event) (saved job.Job, err error) {
	err = d.write(func() (err error) { saved, err = d.Store.SaveJob(ctx, j, rounds, events...); return err })
	return saved, err
}

func (d *dyingJobs) AskRound(ctx context.Context, j job.Job, r job.Round) error {
	return d.write(func() error { return d.Store.AskRound(ctx, j, r) })
}

func (d *dyingJobs) AnswerRound(ctx context.Context, j job.Job, r job.Round) error {
	return d.write(func() error { return d.Store.AnswerRound(ctx, j, r) })
}

// What a lost call may have cost is counted as spent, once, and held by no one.
func TestLostCallIsChargedAsHeld(t *testing.T) {
	w := newJobWorld(t)
	id := w.start(t, "build", job.Order{}).ID
	j := w.job(t, id)
	lost := job.Round{N: 1, Attempt: 1, Asked: w.Clock(), Held: 700, Provider: "test", Model: "m"}
	if err := w.Store.Jobs.AskRound(t.Context(), j, lost); err != nil {
		t.Fatal(err)
	}
	w.model.answers = []any{text("aquí está")}
	j = w.drive(t, id)
	if j.Status != job.Success || j.Micros < 700 || j.Lost != 1 || len(w.model.asked) != 1 {
		t.Errorf("%+v after %d calls", j, len(w.model.asked))
	}
	if got := w.events(t, id); got != "started lost round ended" {
		t.Error(got)
	}
	if total := w.charged(t); total != j.Micros {
		t.Errorf("%d are recorded, and %d were spent", total, j.Micros)
	}
}

// An invocation died after it stored an answer, and before it charged the call.
func TestAnswerOfADeadInvocationIsCountedOnce(t *testing.T) {
	for name, c := range map[string]struct {
		stop   bool
		status job.Status
		calls  []job.Call
		events string
	}{
		"it was the last":        {false, job.Success, nil, "started round ended"},
		"the job was stopped":    {true, job.Partial, []job.Call{{ID: "c", Name: "look", Arguments: "{}"}}, "started stopping round ended"},
		"the stop came too late": {true, job.Partial, nil, "started stopping round ended"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newJobWorld(t)
			id := w.start(t, "build", job.Order{}).ID
			r := job.Round{N: 1, Attempt: 1, Asked: w.Clock(), Held: 700, Provider: "test", Model: "m"}
			if err := w.Store.Jobs.AskRound(t.Context(), w.job(t, id), r); err != nil {
				t.Fatal(err)
			}
			r.Answered, r.Text, r.Calls, r.Micros = w.Clock(), "aquí está", c.calls, 70
			r.Used = &credit.Turn{ID: w.IDs.New(w.Clock()), At: w.Clock(), User: "ana", ChatID: w.Chat.ID, Outcome: string(turn.KindRound), Micros: 70}
			if err := w.Store.Jobs.AnswerRound(t.Context(), w.job(t, id), r); err != nil {
				t.Fatal(err)
			}
			if c.stop {
				if _, err := w.jobs.Stop(t.Context(), fixture.Account, id); err != nil {
					t.Fatal(err)
				}
			}
			j := w.drive(t, id)
			if j.Status != c.status || j.Rounds != 1 || j.Micros != 70 || w.charged(t) != 70 || len(w.model.asked) != 0 {
				t.Errorf("%+v, charged %d, after %d calls", j, w.charged(t), len(w.model.asked))
			}
			if got := w.events(t, id); got != c.events {
				t.Errorf("%s, want %s", got, c.events)
			}
		})
	}
}

// A person stops a job whose call was lost with its invocation: what it may have cost counts.
func TestLostCallOfAStoppedJobIsCounted(t *testing.T) {
	w := newJobWorld(t)
	id := w.start(t, "build", job.Order{}).ID
	if err := w.Store.Jobs.AskRound(t.Context(), w.job(t, id), job.Round{N: 1, Attempt: 1, Asked: w.Clock(), Held: 700, Provider: "test", Model: "m"}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.jobs.Stop(t.Context(), fixture.Account, id); err != nil {
		t.Fatal(err)
	}
	j := w.drive(t, id)
	if j.Status != job.Partial || j.Lost != 1 || j.Micros != 700 || w.charged(t) != 700 || len(w.model.asked) != 0 {
		t.Errorf("%+v, charged %d", j, w.charged(t))
	}
}

// charged returns what the account's records of usage cost, in millionths of a US dollar.
func (w *jobWorld) charged(t testing.TB) (sum int64) {
	t.Helper()
	for _, one := range w.usage(t) {
		sum += one.Micros
	}
	return sum
}

// usage returns the records of calls.
func (w *jobWorld) usage(t testing.TB) []credit.Turn {
	t.Helper()
	var list []credit.Turn
	err := w.Store.Wallet.Turns(t.Context(), fixture.Account, w.Clock().Add(-time.Hour), w.Clock().Add(time.Hour), func(c credit.Turn) bool {
		list = append(list, c)
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// spent returns what the calls of a job cost by its events.
func (w *jobWorld) spent(t testing.TB, id string) (sum int64) {
	t.Helper()
	list, err := w.Store.Jobs.JobEvents(t.Context(), fixture.Account, id, 0, 500)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		var data struct {
			Cost int64 `json:"cost_micros"`
		}
		if e.Type != job.EventEnded && json.Unmarshal(e.Data, &data) == nil {
			sum += data.Cost
		}
	}
	return sum
}
