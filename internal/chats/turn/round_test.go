package turn_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"piloto/infra/local/fixture"
	"piloto/internal/access/auth"
	"piloto/internal/chats/agent"
	"piloto/internal/chats/job"
	"piloto/internal/chats/turn"
	"piloto/internal/conversation"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/locale"
	"piloto/internal/models/eligibility"
	"piloto/internal/models/llm"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
	"piloto/internal/tools/tool"
)

// jobWorld is a world with a service of jobs, whose executions are driven by the test.
type jobWorld struct {
	*world
	jobs    *job.Service
	started []string
	woken   []string
	state   run.Execution // of every execution; "": it runs
	tried   int           // orders of roundorder_test.go
}

func newJobWorld(t testing.TB, answers ...any) *jobWorld {
	return newJobWorldOf(t, newLookWorld(t, answers...))
}

func newJobWorldOf(t testing.TB, of *world) *jobWorld {
	t.Helper()
	w := &jobWorld{world: of}
	w.service.Jobs = w.Store.Jobs
	w.jobs = &job.Service{
		Store: w.Store.Jobs, Chats: w.Store.Chats, Agents: shipped{}, Runs: w.Store.Runs, Executions: executions{w}, IDs: w.IDs, Now: w.Clock,
		Log: slog.New(slog.DiscardHandler),
	}
	return w
}

// shipped has no agents but those that are shipped.
type shipped struct{}

func (shipped) AgentChange(context.Context, ids.Account, string) (agent.Change, error) {
	return agent.Change{}, nil
}

// executions notes what was started and woken.
type executions struct{ w *jobWorld }

func (e executions) StartJob(_ context.Context, _ ids.Account, id string) error {
	e.w.started = append(e.w.started, id)
	return nil
}

func (e executions) Wake(_ context.Context, token string) error {
	e.w.woken = append(e.w.woken, token)
	return nil
}

func (e executions) ExecutionOf(context.Context, string) (run.Execution, error) {
	return cmp.Or(e.w.state, run.ExecutionRunning), nil
}

// start starts a job of an agent in the world's chat.
func (w *jobWorld) start(t testing.TB, name string, with job.Order) job.Job {
	t.Helper()
	at := w.Clock()
	with.ID, with.At, with.Agent, with.ChatID, with.Locale = w.IDs.New(at), at, name, w.Chat.ID, locale.Spanish
	with.Principal = auth.Principal{Account: fixture.Account, User: "ana"}
	if with.Prompt == "" {
		with.Prompt = "¿Qué salas hay? Reserva una."
	}
	j, err := w.jobs.Start(t.Context(), with)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// drive makes the steps of a job as its state machine does, until it waits or ended.
func (w *jobWorld) drive(t testing.TB, id string) job.Job {
	t.Helper()
	for range 500 {
		next, err := w.service.Round(t.Context(), fixture.Account, id)
		if err != nil {
			t.Fatal(err)
		}
		switch next {
		case job.NextWait:
			if err := w.jobs.Await(t.Context(), fixture.Account, id, "token-"+id); err != nil {
				t.Fatal(err)
			}
			return w.job(t, id)
		case job.NextClose:
			if err := w.service.CloseJob(t.Context(), fixture.Account, id, false); err != nil {
				t.Fatal(err)
			}
			return w.job(t, id)
		case job.NextEnd:
			return w.job(t, id)
		}
	}
	t.Fatal("it does not end")
	return job.Job{}
}

func (w *jobWorld) job(t testing.TB, id string) job.Job {
	t.Helper()
	j, err := w.Store.Jobs.Job(t.Context(), fixture.Account, id)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func (w *jobWorld) events(t testing.TB, id string) string {
	t.Helper()
	list, err := w.Store.Jobs.JobEvents(t.Context(), fixture.Account, id, 0, 500)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for i, e := range list {
		if e.Seq != i+1 {
			t.Errorf("event %d has the number %d", i+1, e.Seq)
		}
		kinds = append(kinds, strings.TrimPrefix(e.Type, "job."))
	}
	return strings.Join(kinds, " ")
}

func (w *jobWorld) last(t testing.TB) conversation.Message {
	t.Helper()
	list := w.Messages()
	return list[len(list)-1]
}

func TestJobLooksProposesWaitsAndGoesOn(t *testing.T) {
	w := newJobWorld(t)
	w.Store.Runs.Jobs = w.jobs
	w.model.answers = []any{
		calls("look", lookAt(w.Server.ID, "/rooms")), calls("mcp_request", w.request("POST", "/bookings", `,"body":{"room":"n1"}`)), text("Hecho: Sala Norte."),
	}
	j := w.drive(t, w.start(t, "build", job.Order{}).ID)
	if j.Status != job.Waiting || j.Rounds != 2 || j.Reads != 1 || j.RunID == "" {
		t.Fatalf("%+v", j)
	}
	r := w.Read(j.RunID)
	if r.Status != plan.Draft || r.JobID != j.ID || len(r.Plan.Steps) != 1 || r.Plan.Steps[0].Method != "POST" || w.ChatNow().PendingRunID != r.ID {
		t.Fatalf("%+v", r)
	}
	if again, err := w.service.Round(t.Context(), fixture.Account, j.ID); again != job.NextWait || err != nil || len(w.model.asked) != 2 {
		t.Errorf("woken for nothing: %s %v after %d calls", again, err, len(w.model.asked))
	}
	if err := w.Confirm(r); err != nil {
		t.Fatal(err)
	}
	w.Execute(r.ID)
	if fmt.Sprint(w.woken) != "[token-"+j.ID+"]" {
		t.Errorf("woken: %v", w.woken)
	}
	if j = w.drive(t, j.ID); j.Status != job.Success || j.StopReason != "" || j.Output != "Hecho: Sala Norte." || j.Rounds != 3 || j.RunID != "" {
		t.Errorf("%+v", j)
	}
	if got := w.model.lastTool(); !strings.Contains(got, `"status":"done"`) || !strings.Contains(got, "n1") {
		t.Errorf("the model was told %s", got)
	}
	if m := w.last(t); m.Content != j.Output || m.By == nil || m.By.Agent != "build" || len(m.Sources) != 2 || m.Sources[1].AnswerHash == "" || m.ID != conversation.AnswerID(j.MessageID) {
		t.Errorf("%+v", m)
	}
	if got, want := w.events(t, j.ID), "started round looked round proposed resumed round ended"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestJobHearsOfEveryEndOfItsPlan(t *testing.T) {
	for name, end := range map[string]func(w *jobWorld, r plan.Run) error{
		"cancelled": func(w *jobWorld, r plan.Run) error {
			_, err := w.Runs.Cancel(context.Background(), run.Cancellation{Account: fixture.Account, User: "ana", RunID: r.ID, Reason: "mejor otra"})
			return err
		},
		"superseded": func(w *jobWorld, _ plan.Run) error {
			w.model.answers = append([]any{calls("mcp_request", w.request("POST", "/bookings", `,"body":{"room":"n2"}`))}, w.model.answers...)
			_, err := w.try("Reserva la n2")
			return err
		},
		"expired": func(w *jobWorld, _ plan.Run) error {
			w.Pass(25 * time.Hour)
			_, err := w.Runs.Sweep(context.Background())
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newJobWorld(t)
			w.Store.Runs.Jobs = w.jobs
			w.model.answers = []any{calls("mcp_request", w.request("POST", "/bookings", `,"body":{"room":"n1"}`)), text("No se ha reservado.")}
			j := w.drive(t, w.start(t, "build", job.Order{}).ID)
			if err := end(w, w.Read(j.RunID)); err != nil {
				t.Fatal(err)
			}
			if len(w.woken) != 1 {
				t.Errorf("woken %v", w.woken)
			}
			want := map[bool]job.Status{true: job.Partial, false: job.Success}[name == "cancelled"] // a person refused it
			if j = w.drive(t, j.ID); j.Status != want || !strings.Contains(w.model.lastTool(), `"status":"`+name+`"`) {
				t.Errorf("%+v, told %s", j, w.model.lastTool())
			}
		})
	}
}

// TestAPlanThatWasNotDoneWholeIsOnRecord: the job is no success, whatever its model says. When nothing of it was done, another plan may
// take its place.
func TestAPlanThatWasNotDoneWholeIsOnRecord(t *testing.T) {
	const goal = "Reserva la n1"
	for name, c := range map[string]struct {
		statuses []int // of the answers to the steps
		then     bool  // another plan is done after it
		refused  string
		unknown  []string
	}{
		"none of it":                {[]int{422}, false, goal + ": failed", nil},
		"none of it, then another":  {[]int{422}, true, "", nil},
		"a part of it":              {[]int{201, 422}, false, goal + ": unfinished", nil},
		"a part of it, and another": {[]int{201, 422}, true, goal + ": unfinished", nil},
		"nobody knows":              {[]int{500}, false, "", []string{goal}},
		"nobody knows, and another": {[]int{500}, true, "", []string{goal}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newJobWorld(t)
			w.Store.Runs.Jobs = w.jobs
			propose := func(goal string, steps int) any {
				var list []string
				for i := range steps {
					list = append(list, fmt.Sprintf(`{"id":"s%d","title":"Reserva","mcp_id":"%s","method":"POST","path":"/bookings","body":{"room":"%s %d"}}`, i+1, w.Server.ID, goal, i))
				}
				return calls("propose_plan", `{"goal":"`+goal+`","steps":[`+strings.Join(list, ",")+`]}`)
			}
			answers := slices.Clone(c.statuses)
			w.model.answers = []any{propose(goal, len(answers)), text("Hecho."), text("Hecho.")}
			if c.then {
				w.model.answers = slices.Insert(w.model.answers, 1, propose("Otra", 1))
				answers = append(answers, 201)
			}
			w.Answer(func(tool.Request) (tool.Answer, error) {
				status := answers[0]
				answers = answers[1:]
				return tool.Answer{Status: status, Body: []byte(`{"id":"n1"}`)}, nil
			})
			j := w.drive(t, w.start(t, "build", job.Order{}).ID)
			for !j.Status.Terminal() {
				r := w.Read(j.RunID)
				if err := w.Confirm(r); err != nil {
					t.Fatal(err)
				}
				w.Execute(r.ID)
				j = w.drive(t, j.ID)
			}
			want := job.Partial
			if c.refused == "" && c.unknown == nil {
				want = job.Success
			}
			var got []string
			for _, f := range j.Record.Refused {
				got = append(got, f.What+": "+string(f.Code))
			}
			if j.Status != want || strings.Join(got, ", ") != c.refused || !slices.Equal(j.Record.Unknown, c.unknown) {
				t.Errorf("%s, refused %q, unknown %q", j.Status, got, j.Record.Unknown)
			}
		})
	}
}

// TestAPlanThatFailedReplacesNoRefusal: only one that was done does.
func TestAPlanThatFailedReplacesNoRefusal(t *testing.T) {
	for status, want := range map[plan.Status]string{plan.Done: "", plan.Failed: "Uno: person, Dos: failed", plan.InDoubt: "Uno: person"} {
		var r job.Record
		r.RefusePlan("Uno")
		r.Ran("Dos", status, false)
		var got []string
		for _, f := range r.Refused {
			got = append(got, f.What+": "+string(f.Code))
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%s: %q", status, got)
		}
	}
}

func TestJobIsEndedForAReason(t *testing.T) {
	forever := func(w *jobWorld) {
		for i := range 60 {
			w.model.answers = append(w.model.answers, calls("look", lookAt(w.Server.ID, fmt.Sprintf("/bookings/%d", i))))
		}
	}
	for name, c := range map[string]struct {
		order  job.Order
		set    func(w *jobWorld)
		status job.Status
		reason conversation.StopReason
		calls  int // of the model, with the last one
		says   string
	}{
		"looks for ever":        {job.Order{MaxSteps: 4}, forever, job.Partial, conversation.StopSteps, 5, "search"},
		"no time":               {job.Order{TimeoutS: 5}, func(w *jobWorld) { forever(w); w.model.each = func() { w.Pass(3 * time.Second) } }, job.Partial, conversation.StopTime, 3, ""},
		"a budget of one token": {job.Order{BudgetMicros: 1}, forever, job.Partial, conversation.StopBudget, 0, "El presupuesto es de 0,000001 USD: van 0,00 USD gastados, y esta llamada puede costar hasta 0,"},
		"a model that is down":  {job.Order{}, func(w *jobWorld) { w.model.answers = []any{llm.ErrUnreachable, llm.ErrUnreachable} }, job.Failed, conversation.StopModel, 2, "no responde"},
		"a prompt without room": {job.Order{Prompt: strings.Repeat("áéíóú", 3200)}, func(w *jobWorld) {
			d := smallWindow("gpt-3.5-turbo", "llama-3.1-8b-instant")
			w.service.Paid.Eligibility = w.Eligibility(d, "openai", "groq")
		}, job.Partial, conversation.StopContext, 0, "ya no cabe en el modelo"},
		"a text that nobody sees":   {job.Order{}, func(w *jobWorld) { w.model.answers = []any{text("\u200b\u2060"), text("\u3164")} }, job.Failed, conversation.StopModel, 2, "no responde"},
		"a model that says nothing": {job.Order{}, func(w *jobWorld) { w.model.answers = []any{text(""), text("")} }, job.Failed, conversation.StopModel, 2, "no responde"},
		"nothing after a look": {job.Order{}, func(w *jobWorld) {
			w.model.answers = []any{w.looksAt(0), text("\n"), text("Hay una reserva.")}
		}, job.Partial, conversation.StopModel, 3, "Hay una reserva."},
		"no such tool": {job.Order{}, func(w *jobWorld) { w.model.answers = []any{calls("fly", `{}`), text("vale")} }, job.Partial, "", 2, "vale"},
		"bad arguments": {job.Order{}, func(w *jobWorld) {
			w.model.answers = []any{calls("look", `{"mcp_id":7`), calls("look", `[]`), calls("look", `{}`), calls("look", `{}`), text("vale")}
		}, job.Success, "", 5, "vale"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newJobWorld(t)
			c.set(w)
			j := w.drive(t, w.start(t, "build", c.order).ID)
			if j.Status != c.status || j.StopReason != c.reason || len(w.model.asked) != c.calls || c.says != "" && c.says != "search" && !strings.Contains(j.Output, c.says) {
				t.Errorf("%s %s after %d calls: %s", j.Status, j.StopReason, len(w.model.asked), j.Output)
			}
			if j.Output == "" || w.last(t).Content != j.Output {
				t.Errorf("its output is %q, the chat says %q", j.Output, w.last(t).Content)
			}
			if job.Graceful(c.reason) && c.calls > 0 {
				if asked := w.model.asked[len(w.model.asked)-1]; !asked.NoCalls {
					t.Error("the last call may call a tool")
				}
			}
			if again, err := w.service.Round(t.Context(), fixture.Account, j.ID); again != job.NextEnd || err != nil {
				t.Errorf("an ended job goes on: %s %v", again, err)
			}
		})
	}
}

func TestStopEndsAJobWithoutAnotherCall(t *testing.T) {
	w := newJobWorld(t)
	w.model.answers = []any{calls("mcp_request", w.request("POST", "/bookings", `,"body":{"room":"n1"}`))}
	j := w.drive(t, w.start(t, "build", job.Order{}).ID)
	if _, err := w.jobs.Stop(t.Context(), fixture.Account, j.ID); err != nil {
		t.Fatal(err)
	}
	if len(w.woken) != 1 {
		t.Errorf("woken %v", w.woken)
	}
	j = w.drive(t, j.ID)
	if j.Status != job.Partial || j.StopReason != conversation.StopPerson || len(w.model.asked) != 1 || !strings.Contains(j.Output, "espera tu confirmación") {
		t.Errorf("%+v", j)
	}
	if r := w.Read(w.ChatNow().PendingRunID); r.Status != plan.Draft {
		t.Errorf("its plan is %s", r.Status)
	}
	if _, err := w.jobs.Stop(t.Context(), fixture.Account, j.ID); !errors.Is(err, job.ErrEnded) {
		t.Errorf("stopped again: %v", err)
	}
}

func TestAgentsThatOnlyLookProposeNothing(t *testing.T) {
	for _, name := range []string{"plan", "resume", "review"} {
		w := newJobWorld(t)
		w.model.answers = []any{calls("mcp_request", w.request("POST", "/bookings", `,"body":{"room":"n1"}`)), calls("propose_plan", `{}`), text("No puedo.")}
		j := w.drive(t, w.start(t, name, job.Order{}).ID)
		if j.Status != job.Partial || w.ChatNow().PendingRunID != "" || !strings.Contains(w.model.lastTool(), "there is no tool") {
			t.Errorf("%s: %+v after %s", name, j, w.model.lastTool())
		}
	}
}

// What a job read in an earlier round counts: a look at a service of another circle is proposed, and its outcome counts, too.
func TestCirclesHoldOverTheRoundsOfAJob(t *testing.T) {
	w := newJobWorld(t)
	shop := w.register(t)
	w.reads(t, shop.ID, tool.ReadsOn, "")
	w.model.answers = []any{calls("look", lookAt(w.Server.ID, "/rooms")), calls("look", lookAt(shop.ID, "/orders/1"))}
	j := w.drive(t, w.start(t, "build", job.Order{}).ID)
	if j.Status != job.Waiting || len(w.Requests()) != 1 {
		t.Fatalf("%+v after %v", j, w.Requests())
	}
	r := w.Read(j.RunID)
	if len(r.Plan.Steps) != 1 || r.Plan.Steps[0].MCPID != shop.ID || r.Plan.Steps[0].Method != "GET" {
		t.Fatalf("%+v", r.Plan)
	}
	if err := w.Confirm(r); err != nil {
		t.Fatal(err)
	}
	w.Execute(r.ID)
	sent := len(w.Requests())
	w.model.answers = []any{calls("look", lookAt(w.Server.ID, "/bookings/9"))}
	if j = w.drive(t, j.ID); j.Status != job.Waiting || len(w.Requests()) != sent {
		t.Errorf("it read on: %s %d of %d requests, told %s", j.Status, len(w.Requests()), sent, w.model.lastTool())
	}
}

func TestDryRunProposesNothing(t *testing.T) {
	w := newJobWorld(t)
	w.model.answers = []any{calls("mcp_request", w.request("POST", "/bookings", `,"body":{"room":"n1"}`)), text("Reservaría la n1.")}
	j := w.drive(t, w.start(t, "build", job.Order{DryRun: true}).ID)
	if j.Status != job.Success || j.Output != "Reservaría la n1." || w.ChatNow().PendingRunID != "" || !strings.Contains(w.model.lastTool(), "dry run") {
		t.Errorf("%+v, told %s", j, w.model.lastTool())
	}
}

func TestReadResultReachesTheWholeAnswerInALaterRound(t *testing.T) {
	w := newJobWorld(t)
	w.Answer(func(r tool.Request) (tool.Answer, error) {
		var rows []string
		for i := range 3000 {
			rows = append(rows, fmt.Sprintf(`{"id":"n%d","name":"Sala número %d"}`, i, i))
		}
		body := []byte("[" + strings.Join(rows, ",") + "]")
		return tool.Answer{Status: 200, Body: body, Bytes: len(body)}, nil
	})
	w.model.answers = []any{
		calls("look", lookAt(w.Server.ID, "/rooms")), calls("read_result", `{"id":"l1","from":2900,"lines":10}`), text("fin"),
	}
	j := w.drive(t, w.start(t, "plan", job.Order{}).ID)
	var got struct{ Part []struct{ Name string } }
	if err := json.Unmarshal([]byte(w.model.lastTool()), &got); err != nil || len(got.Part) != 10 || got.Part[0].Name != "Sala número 2899" || j.Status != job.Success {
		t.Errorf("%v %s", err, w.model.lastTool())
	}
}

// The sweep repairs what a process that died left of a job: at its time, or at once when no other process can be at it.
func TestSweepRepairsJobsThatADeadProcessLeft(t *testing.T) {
	for name, c := range map[string]struct {
		state   run.Execution
		waits   bool // its plan ended, and nobody woke it
		after   time.Duration
		repairs func(w *jobWorld, j job.Job) bool
	}{
		"never started": {run.ExecutionNone, false, 6 * time.Second, func(w *jobWorld, _ job.Job) bool { return len(w.started) == 2 }},
		"never woken":   {run.ExecutionRunning, true, 16 * time.Minute, func(w *jobWorld, _ job.Job) bool { return len(w.woken) == 1 }},
		"its execution ended": {run.ExecutionEnded, false, 6 * time.Second, func(w *jobWorld, j job.Job) bool {
			return j.Status == job.Failed && w.last(t).Content == j.Output && j.Output != ""
		}},
	} {
		for _, alone := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", alone: ", alone), func(t *testing.T) {
				w := newJobWorld(t)
				w.model.answers = []any{calls("mcp_request", w.request("POST", "/bookings", `,"body":{"room":"n1"}`))}
				id := w.start(t, "build", job.Order{}).ID
				if c.waits {
					if err := w.Confirm(w.Read(w.drive(t, id).RunID)); err != nil {
						t.Fatal(err)
					}
					w.Execute(w.job(t, id).RunID)
				}
				w.state = c.state
				sweep := func() {
					t.Helper()
					if swept, err := w.jobs.Sweep(t.Context()); err != nil || swept.Failed > 0 {
						t.Fatalf("%+v %v", swept, err)
					}
				}
				if sweep(); c.repairs(w, w.job(t, id)) {
					t.Fatal("repaired at once, although another process may be at it")
				}
				if alone {
					w.Pass(time.Second)
					w.jobs.AloneSince = w.Clock()
				} else {
					w.Pass(c.after)
				}
				for range 2 { // and not again
					if sweep(); !c.repairs(w, w.job(t, id)) {
						t.Errorf("started %d, woken %d: %+v", len(w.started), len(w.woken), w.job(t, id))
					}
				}
			})
		}
	}
}

func TestJobThatIsStartedAgainIsTheSame(t *testing.T) {
	w := newJobWorld(t)
	first := w.start(t, "build", job.Order{})
	again, err := w.jobs.Start(t.Context(), job.Order{
		ID: first.ID, At: first.CreatedAt, Principal: auth.Principal{Account: fixture.Account, User: "ana"}, Locale: locale.Spanish, Agent: "build",
		Prompt: first.Prompt, ChatID: first.ChatID,
	})
	if err != nil || again.ID != first.ID || w.events(t, first.ID) != "started" {
		t.Errorf("%v %+v %s", err, again, w.events(t, first.ID))
	}
}

func TestBlockedJobSaysWhy(t *testing.T) {
	w := newJobWorld(t)
	w.service.Paid.Eligibility = w.Eligibility(eligibility.Deployment{Providers: []eligibility.Platform{{Name: "test"}}, Assistant: fixture.Assistant("test", "m")})
	j := w.drive(t, w.start(t, "build", job.Order{}).ID)
	if j.Status != job.Failed || j.StopReason != conversation.StopBlocked || !strings.Contains(j.Output, "clave") {
		t.Errorf("%+v", j)
	}
}

// The plan of a job has what the job read: a turn of the same chat takes it to no other circle. So does its last message.
func TestWhatAJobWritesKeepsItsCircle(t *testing.T) {
	w := newJobWorld(t)
	shop := w.register(t)
	w.reads(t, shop.ID, tool.ReadsOn, "")
	w.model.answers = []any{calls("look", lookAt(w.Server.ID, "/rooms")), calls("mcp_request", w.request("POST", "/bookings", `,"body":{"room":"n1"}`))}
	if j := w.drive(t, w.start(t, "build", job.Order{}).ID); j.Status != job.Waiting {
		t.Fatalf("%+v", j)
	}
	w.model.answers = []any{calls("look", lookAt(shop.ID, "/orders/n1"))}
	if reply := w.send(t, "¿y pedidos?"); reply.Kind != turn.KindPlan || len(w.Requests()) != 1 {
		t.Errorf("%+v after %+v", reply.Message, w.Requests())
	}
	w.Chat = w.NewChat()
	w.model.answers = []any{calls("look", lookAt(w.Server.ID, "/rooms")), text("La Sala Norte.")}
	w.send(t, "¿salas?")
	w.model.answers = []any{text("La Sala Norte, n1.")}
	w.drive(t, w.start(t, "build", job.Order{}).ID)
	if m := w.last(t); m.Content != "La Sala Norte, n1." || fmt.Sprint(m.ReadFrom) != "["+w.Server.ID+"]" {
		t.Errorf("%+v", m)
	}
}

// TestJobEndsWhenItsChatIsDeleted: nobody can decide about its plan there, or answer its question.
func TestJobEndsWhenItsChatIsDeleted(t *testing.T) {
	for name, asks := range map[string]llm.Reply{
		"a plan": {}, "a question": calls("ask_person", `{"question":"¿Para cuántas personas?"}`),
	} {
		t.Run(name, func(t *testing.T) {
			w := newJobWorld(t)
			w.service.Questions = w.jobs
			if w.model.answers = []any{asks}; len(asks.Calls) == 0 {
				w.model.answers = []any{calls("mcp_request", w.request("POST", "/bookings", `,"body":{"room":"n1"}`))}
			}
			j := w.drive(t, w.start(t, "build", job.Order{}).ID)
			if err := w.jobs.Await(t.Context(), fixture.Account, j.ID, "token"); err != nil || j.Status != job.Waiting {
				t.Fatal(j.Status, err)
			}
			if err := w.Store.Chats.DeleteChat(t.Context(), conversation.Key{Account: fixture.Account, ChatID: j.ChatID}); err != nil {
				t.Fatal(err)
			}
			w.state = run.ExecutionRunning
			if swept, err := w.jobs.Sweep(t.Context()); err != nil || len(w.woken) != 1 {
				t.Fatalf("%+v, %v: it is woken %d times", swept, err, len(w.woken))
			}
			if j = w.drive(t, j.ID); j.Status != job.Failed || j.StopReason != conversation.StopBlocked || len(w.Requests()) != 0 || !strings.Contains(j.Output, "su conversación se borró") || strings.Contains(j.Output, "espera tu confirmación") {
				t.Errorf("%+v", j)
			}
		})
	}
}

// TestJobIsGivenUpWhenNothingHasRoomForIt: its last text says why, and the model is not blamed.
func TestJobIsGivenUpWhenNothingHasRoomForIt(t *testing.T) {
	w := newJobWorld(t)
	w.model.answers = []any{llm.ErrUnreachable}
	j := w.start(t, "build", job.Order{})
	for range 2 {
		if err := w.service.CloseJob(t.Context(), fixture.Account, j.ID, true); err != nil {
			t.Fatal(err)
		}
	}
	j, err := w.service.Jobs.Job(t.Context(), fixture.Account, j.ID)
	if err != nil || j.Status != job.Failed || j.StopReason != conversation.StopNoRoom || !strings.Contains(j.Output, "no hubo sitio") || w.last(t).Content != j.Output {
		t.Errorf("%+v, %v", j, err)
	}
}

// restless is a store whose jobs always change between a read and a write.
type restless struct {
	job.Store
	saves int
}

func (r *restless) SaveJob(ctx context.Context, j job.Job, rounds []job.Round, events ...job.Event) (job.Job, error) {
	if r.saves++; r.saves > 100 {
		return r.Store.SaveJob(ctx, j, rounds, events...)
	}
	return j, fault.ErrMoved
}

// TestAJobThatAlwaysMovesIsNotSavedForEver: the invocation fails, and the state machine calls again.
func TestAJobThatAlwaysMovesIsNotSavedForEver(t *testing.T) {
	if testing.Short() {
		t.Skip("its pauses take some seconds")
	}
	w := newJobWorld(t)
	w.model.answers = []any{text("vale")}
	j := w.start(t, "build", job.Order{})
	moves := &restless{Store: w.Store.Jobs}
	w.service.Jobs = moves
	if err := w.service.CloseJob(t.Context(), fixture.Account, j.ID, false); err == nil || errors.Is(err, fault.ErrMoved) || moves.saves > 64 {
		t.Errorf("after %d writes: %v", moves.saves, err)
	}
}
