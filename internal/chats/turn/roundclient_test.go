package turn_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"piloto/infra/local/fixture"
	"piloto/internal/chats/job"
	"piloto/internal/chats/toolset"
	"piloto/internal/conversation"
	"piloto/internal/models/llm"
)

// handTools are tools of a client.
var handTools = []job.Tool{
	{Name: "read_file", Description: "Read a file.", Schema: json.RawMessage(`{"type":"object"}`)},
	{Name: "write_file", Description: "Write a file.", Schema: json.RawMessage(`{"type":"object"}`), Writes: true},
}

func (w *jobWorld) tell(t testing.TB, id string, told ...job.ToolResult) (job.Job, error) {
	t.Helper()
	return w.jobs.Tell(t.Context(), fixture.Account, "ana", id, told)
}

// TestJobLeavesCallsToItsClient: the job waits for the client's answers and for nobody else, and goes on with them.
func TestJobLeavesCallsToItsClient(t *testing.T) {
	w := newJobWorld(t, calls("read_file", `{"path":"a.go"}`), text("Hecho."))
	j := w.drive(t, w.start(t, "build", job.Order{Tools: handTools, Context: "a.go <b>"}).ID)
	if !j.AwaitsClient() || len(j.Open) != 1 || j.Open[0] != (job.OpenCall{ID: "1.0", Name: "read_file", Arguments: `{"path":"a.go"}`}) {
		t.Fatalf("%+v", j)
	}
	if list := w.waiting(t); len(list) != 0 {
		t.Errorf("it is said to wait for a person: %+v", list)
	}
	asked := w.model.asked[0]
	if prompt := asked.Messages[0].Content; !strings.Contains(prompt, "<workspace>\na.go ‹b›\n</workspace>") {
		t.Error("the prompt has no workspace")
	}
	names := ""
	for _, tool := range asked.Tools {
		names += tool.Name + " "
	}
	if !strings.Contains(names, "read_file write_file") {
		t.Errorf("its tools are %s", names)
	}
	if next, err := w.service.Round(t.Context(), fixture.Account, j.ID); next != job.NextWait || err != nil {
		t.Errorf("without an answer: %s %v", next, err)
	}
	for range 2 { // the answer to the first request may have been lost
		if _, err := w.tell(t, j.ID, job.ToolResult{ID: "1.0", Output: "package a"}); err != nil {
			t.Fatal(err)
		}
	}
	if j = w.drive(t, j.ID); j.Status != job.Success || j.Output != "Hecho." || len(j.Open)+len(j.Results) != 0 || w.model.lastTool() != "package a" {
		t.Errorf("%+v, told %s", j, w.model.lastTool())
	}
	if got := w.events(t, j.ID); got != "started round called told resumed round ended" {
		t.Error(got)
	}
}

func TestAnswersOfAClientAreChecked(t *testing.T) {
	w := newJobWorld(t, llm.Reply{Calls: append(calls("read_file", `{}`).Calls, calls("read_file", `{}`).Calls...)}, text("Hecho."))
	j := w.drive(t, w.start(t, "build", job.Order{Tools: handTools}).ID)
	one, two := job.ToolResult{ID: "1.0", Output: ""}, job.ToolResult{ID: "1.1", Output: "b"}
	long := job.ToolResult{ID: "1.1", Output: strings.Repeat("x", 17<<10)}
	for name, c := range map[string]struct {
		told []job.ToolResult
		want error
	}{
		"of another round": {[]job.ToolResult{one, {ID: "2.1"}}, job.ErrNoCalls},
		"the same twice":   {[]job.ToolResult{one, one}, job.ErrNoCalls}, "too long": {[]job.ToolResult{one, long}, job.ErrHasResult},
		"more": {[]job.ToolResult{one, two, two}, job.ErrNoCalls},
	} {
		if _, err := w.tell(t, j.ID, c.told...); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := w.jobs.Tell(t.Context(), fixture.Account, "eva", j.ID, []job.ToolResult{one, two}); !errors.Is(err, job.ErrAnother) {
		t.Errorf("another person: %v", err)
	}
	if _, err := w.tell(t, j.ID, one, two); err != nil {
		t.Fatal(err)
	}
	if j = w.drive(t, j.ID); j.Status != job.Success {
		t.Errorf("%+v", j)
	}
	if _, err := w.tell(t, j.ID, one, two); !errors.Is(err, job.ErrEnded) {
		t.Errorf("after the end: %v", err)
	}
}

// TestNothingIsProposedBesideCallsOfAClient: their answers may change what is to be proposed.
func TestNothingIsProposedBesideCallsOfAClient(t *testing.T) {
	both := llm.Reply{Calls: append(calls("read_file", `{}`).Calls, calls("ask_person", askFor).Calls...)}
	w := newAskWorld(t, both, text("Hecho."))
	j := w.drive(t, w.start(t, "build", job.Order{Tools: handTools}).ID)
	if !j.AwaitsClient() || j.Question != "" || len(j.Open) != 1 {
		t.Fatalf("%+v", j)
	}
	if _, err := w.tell(t, j.ID, job.ToolResult{ID: "1.0", Output: "a"}); err != nil {
		t.Fatal(err)
	}
	if j = w.drive(t, j.ID); j.Status != job.Success || !strings.Contains(w.model.lastTool(), "it was not asked") {
		t.Errorf("%+v, told %s", j, w.model.lastTool())
	}
}

func TestDryRunWritesNothingAtTheClient(t *testing.T) {
	w := newJobWorld(t, calls("write_file", `{}`), calls("read_file", `{}`), text("Hecho."))
	j := w.drive(t, w.start(t, "build", job.Order{Tools: handTools, DryRun: true}).ID)
	if !j.AwaitsClient() || j.Open[0].Name != "read_file" || !strings.Contains(w.model.lastTool(), "dry run") {
		t.Errorf("%+v, told %s", j, w.model.lastTool())
	}
}

// TestAgentThatOnlyLooksWritesNothingAtTheClient: the shipped agent plan names the tools that it has.
func TestAgentThatOnlyLooksWritesNothingAtTheClient(t *testing.T) {
	w := newJobWorld(t, calls("write_file", `{}`), text("Hecho."))
	if j := w.drive(t, w.start(t, "plan", job.Order{Tools: handTools}).ID); j.Status != job.Partial || !strings.Contains(w.model.lastTool(), "there is no tool") {
		t.Errorf("%+v, told %s", j, w.model.lastTool())
	}
}

// TestClientThatIsGoneEndsTheJob: it waits an hour.
func TestClientThatIsGoneEndsTheJob(t *testing.T) {
	w := newJobWorld(t, calls("read_file", `{}`), text("No llegué a más."))
	j := w.drive(t, w.start(t, "build", job.Order{Tools: handTools}).ID)
	w.Pass(59 * time.Minute)
	if next, err := w.service.Round(t.Context(), fixture.Account, j.ID); next != job.NextWait || err != nil {
		t.Errorf("before: %s %v", next, err)
	}
	w.Pass(2 * time.Minute)
	if swept, err := w.jobs.Sweep(t.Context()); swept.Woken != 1 || err != nil {
		t.Errorf("%+v %v", swept, err)
	}
	if j = w.drive(t, j.ID); j.Status != job.Partial && j.Status != job.Failed || j.StopReason != conversation.StopExpired {
		t.Errorf("%+v", j)
	}
}

// TestAClientThatFallsSilentEndsTheJob: one that said that it is there, and was killed. What was left to it is told as unknown, and not
// asked for again.
func TestAClientThatFallsSilentEndsTheJob(t *testing.T) {
	w := newJobWorld(t, calls("write_file", `{"path":"a.go"}`))
	j := w.start(t, "build", job.Order{Tools: handTools})
	here := func() (job.Job, error) { return w.jobs.Tell(t.Context(), fixture.Account, "ana", j.ID, nil) }
	if _, err := here(); err != nil { // before the first call
		t.Fatal(err)
	}
	j = w.drive(t, j.ID)
	for range 10 {
		w.Pass(time.Minute)
		if _, err := here(); err != nil {
			t.Fatal(err)
		}
		if swept, err := w.jobs.Sweep(t.Context()); swept != (job.Swept{}) || err != nil {
			t.Fatalf("while it is there: %+v %v", swept, err)
		}
	}
	seen := w.Clock().UTC().Format("15:04 UTC")
	w.Pass(91 * time.Second)
	if swept, err := w.jobs.Sweep(t.Context()); swept.Woken != 1 || err != nil {
		t.Errorf("%+v %v", swept, err)
	}
	asked := len(w.model.asked)
	if j = w.drive(t, j.ID); j.Status != job.Partial || j.StopReason != conversation.StopClient || !slices.Equal(j.Record.Unknown, []string{"write_file a.go"}) || len(w.model.asked) != asked {
		t.Errorf("%+v", j)
	}
	if m := w.last(t); !strings.Contains(m.Content, "no da señales desde") || !strings.Contains(m.Content, seen) || !strings.Contains(m.Content, "No se sabe si se hizo: write_file a.go") {
		t.Error(m.Content)
	}
	if _, err := here(); !errors.Is(err, job.ErrEnded) {
		t.Error(err)
	}
	if j, err := w.tell(t, j.ID, job.ToolResult{ID: "1.0", Output: "ok", Did: []job.Deed{editedA}}); err != nil || len(j.Record.Unknown) != 0 || len(j.Record.Changes) != 1 {
		t.Errorf("what it tells when it is back: %+v %v", j.Record, err)
	}
	if _, err := w.jobs.Tell(t.Context(), fixture.Account, "another", j.ID, nil); !errors.Is(err, job.ErrAnother) {
		t.Error(err)
	}
}

// TestAJobWhoseProcessEndedWaitsForItsClient: the client may have been a part of that process, and what goes on without it
// asks the model of whoever comes next.
func TestAJobWhoseProcessEndedWaitsForItsClient(t *testing.T) {
	for name, c := range map[string]struct {
		said    bool          // the client said that it is there, before the process ended
		back    bool          // and says so again
		between time.Duration // from the last sign to the next process
		later   time.Duration // and from there to the next look
		waits   bool
		status  job.Status
		reason  conversation.StopReason
	}{
		"it never said so":          {between: time.Second, status: job.Success},
		"it comes back":             {said: true, back: true, between: time.Second, waits: true, status: job.Success},
		"it comes back late":        {said: true, back: true, between: time.Second, later: 80 * time.Second, waits: true, status: job.Success},
		"it does not come back":     {said: true, between: time.Second, later: 91 * time.Second, waits: true, status: job.Partial, reason: conversation.StopClient},
		"the process was away long": {said: true, back: true, between: 91 * time.Second, later: 80 * time.Second, waits: true, status: job.Success},
		"both have been gone":       {said: true, between: 91 * time.Second, later: 91 * time.Second, waits: true, status: job.Partial, reason: conversation.StopClient},
	} {
		t.Run(name, func(t *testing.T) {
			w := newJobWorld(t, text("Hecho."))
			j := w.start(t, "build", job.Order{Tools: handTools})
			here := func() {
				if _, err := w.jobs.Tell(t.Context(), fixture.Account, "ana", j.ID, nil); err != nil {
					t.Fatal(err)
				}
			}
			if c.said {
				here()
			}
			w.Pass(c.between)
			w.service.AloneSince, w.jobs.AloneSince = w.Clock(), w.Clock()
			w.Pass(time.Millisecond)
			j = w.drive(t, j.ID)
			if j.AwaitsClient() != c.waits || c.waits && (len(w.model.asked) > 0 || j.WaitsForPerson()) {
				t.Fatalf("%+v, the model was asked %d times", j, len(w.model.asked))
			}
			w.Pass(c.later)
			switch {
			case c.back:
				here()
			case c.waits:
				if swept, err := w.jobs.Sweep(t.Context()); swept.Woken != 1 || err != nil {
					t.Errorf("%+v %v", swept, err)
				}
			}
			if c.waits && len(w.woken) != 1 {
				t.Errorf("woken %q", w.woken)
			}
			if j = w.drive(t, j.ID); j.Status != c.status || j.StopReason != c.reason {
				t.Errorf("%+v", j)
			}
			if c.reason != "" && (len(w.model.asked) > 0 || !strings.Contains(w.last(t).Content, "no da señales desde")) {
				t.Errorf("asked %d times: %s", len(w.model.asked), w.last(t).Content)
			}
		})
	}
}

// TestAJobWhosePlanRanGoesOnWithoutItsClient: who ends the command leaves the plan to the page.
func TestAJobWhosePlanRanGoesOnWithoutItsClient(t *testing.T) {
	w := newJobWorld(t)
	w.model.answers = []any{calls("mcp_request", w.request("POST", "/bookings", `,"body":{"room":"n1"}`)), text("Reservada.")}
	j := w.start(t, "build", job.Order{Tools: handTools})
	if _, err := w.jobs.Tell(t.Context(), fixture.Account, "ana", j.ID, nil); err != nil {
		t.Fatal(err)
	}
	j = w.drive(t, j.ID)
	w.Pass(time.Hour)
	w.service.AloneSince, w.jobs.AloneSince = w.Clock(), w.Clock()
	r := w.Read(j.RunID)
	if err := w.Confirm(r); err != nil {
		t.Fatal(err)
	}
	w.Execute(r.ID)
	if j = w.drive(t, j.ID); j.Status != job.Success || j.Output != "Reservada." {
		t.Errorf("%+v", j)
	}
}

// TestFilesOfAPersonGoIntoNoReadUnseen: what was read on the machine of the client may not leave by the query of a look.
func TestFilesOfAPersonGoIntoNoReadUnseen(t *testing.T) {
	w := newJobWorld(t)
	w.model.answers = []any{calls("read_file", `{}`), calls("look", lookAt(w.Server.ID, "/rooms")), text("Hecho.")}
	j := w.drive(t, w.start(t, "build", job.Order{Tools: handTools}).ID)
	if _, err := w.tell(t, j.ID, job.ToolResult{ID: "1.0", Output: "secreto"}); err != nil {
		t.Fatal(err)
	}
	if j = w.drive(t, j.ID); j.Status != job.Waiting || j.RunID == "" || j.Reads != 0 || len(w.Requests()) != 0 {
		t.Errorf("the read was not proposed: %+v, %d requests", j, len(w.Requests()))
	}
}

func TestToolsOfAClientAreChecked(t *testing.T) {
	good := handTools[0]
	for name, c := range map[string]struct {
		change func(*job.Tool)
		ok     bool
	}{
		"as it is":        {func(*job.Tool) {}, true},
		"a name of ours":  {func(t *job.Tool) { t.Name = "look" }, false},
		"no name":         {func(t *job.Tool) { t.Name = "Read File" }, false},
		"nothing is said": {func(t *job.Tool) { t.Description = "" }, false},
		"no schema":       {func(t *job.Tool) { t.Schema = nil }, false},
		"another schema":  {func(t *job.Tool) { t.Schema = json.RawMessage(`{"type":"array"}`) }, false},
		"too large a one": {func(t *job.Tool) {
			t.Schema = json.RawMessage(`{"type":"object","x":"` + strings.Repeat("x", 5000) + `"}`)
		}, false},
		"too long a text":  {func(t *job.Tool) { t.Description = strings.Repeat("x", 2001) }, false},
		"one that is no …": {func(t *job.Tool) { t.Schema = json.RawMessage(`{`) }, false},
	} {
		tool := good
		c.change(&tool)
		if wrong := job.CheckTools([]job.Tool{tool}, toolset.OfServices); (len(wrong) == 0) != c.ok {
			t.Errorf("%s: %+v", name, wrong)
		}
	}
	if len(job.CheckTools([]job.Tool{good, good}, toolset.OfServices)) == 0 {
		t.Error("two have one name")
	}
}

// TestThePromptSaysWhatTheToolsOfAClientDo: it names those that the agent has, says that they need no plan, and keeps that for services.
func TestThePromptSaysWhatTheToolsOfAClientDo(t *testing.T) {
	for agent, names := range map[string]string{"build": "(read_file, write_file)", "review": "(read_file)"} {
		w := newJobWorld(t, text("Hecho."))
		w.drive(t, w.start(t, agent, job.Order{Tools: handTools, Context: "a.go"}).ID)
		prompt := w.model.asked[0].Messages[0].Content
		for _, part := range []string{
			"Your other tools " + names + " work on the person's machine, of which <workspace> tells. They need no plan",
			"What changes something at a service is proposed", "Only what an <event> or a result of the tools of the person's machine says is done",
		} {
			if !strings.Contains(prompt, part) {
				t.Errorf("%s: no %q in %s", agent, part, prompt)
			}
		}
	}
	w := newJobWorld(t, text("Hecho."))
	w.drive(t, w.start(t, "build", job.Order{}).ID)
	if prompt := w.model.asked[0].Messages[0].Content; strings.Contains(prompt, "machine") || !strings.Contains(prompt, "What changes something is proposed") {
		t.Error(prompt)
	}
}
