package turn_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"piloto/infra/local/fixture"
	"piloto/internal/chats/job"
	"piloto/internal/conversation"
	"piloto/internal/models/llm"
	"piloto/internal/runs/rule"
)

// machineTools are those of a client with a folder and a shell.
var machineTools = append(slices.Clone(handTools), job.Tool{Name: "run_command", Description: "Run.", Schema: json.RawMessage(`{"type":"object"}`), Writes: true})

var (
	editedA      = job.Deed{Kind: job.DeedChange, Name: "a.go", Added: 3, Removed: 1, AllAdded: 3, AllRemoved: 1, Before: strings.Repeat("a", 64)}
	madeB        = job.Deed{Kind: job.DeedChange, Name: "b.go", Added: 2, AllAdded: 2, Made: true}
	npmTest      = job.Deed{Kind: job.DeedCommand, Name: "npm test", ExitCode: 1}
	readA        = job.Deed{Kind: job.DeedRead, Name: "a.go"}
	listed       = job.Deed{Kind: job.DeedCommand, Name: "ls", Safe: true}
	notEdited    = job.Deed{Kind: job.DeedChange, Name: "a.go", Refused: job.RefusedNobody}
	notRun       = job.Deed{Kind: job.DeedCommand, Name: "git commit -am x", Refused: job.RefusedNobody}
	couldNot     = job.Deed{Kind: job.DeedChange, Name: "a.go", Failed: true}
	couldNotRun  = job.Deed{Kind: job.DeedCommand, Name: "npm test", Failed: true}
	couldNotRead = job.Deed{Kind: job.DeedRead, Name: "a.go", Failed: true}
	writesA      = calls("write_file", `{"path":"a.go","content":"x"}`)
	writesAll    = llm.Reply{Calls: slices.Concat(writesA.Calls, calls("write_file", `{"path":"b.go"}`).Calls, calls("run_command", `{"command":"npm test"}`).Calls)}
	errGone      = errors.New("the model is gone")
)

func ran(line string, code int) job.Deed {
	return job.Deed{Kind: job.DeedCommand, Name: line, ExitCode: code}
}

// workAt drives a job whose calls come to deeds, each call to one, until it ends.
func (w *jobWorld) workAt(t *testing.T, deeds ...job.Deed) job.Job {
	t.Helper()
	return w.workAs(t, "build", deeds...)
}

func (w *jobWorld) workAs(t *testing.T, agent string, deeds ...job.Deed) job.Job {
	t.Helper()
	j := w.drive(t, w.start(t, agent, job.Order{Tools: machineTools}).ID)
	for ; j.AwaitsClient(); j = w.drive(t, j.ID) {
		var told []job.ToolResult
		for _, c := range j.OpenCalls() {
			told = append(told, job.ToolResult{ID: c.ID, Output: "ok", Did: deeds[:1]})
			deeds = deeds[1:]
		}
		if _, err := w.tell(t, j.ID, told...); err != nil {
			t.Fatal(err)
		}
	}
	return j
}

// A call that would have changed something and is not made is on record, whoever answers it, until it is made well.
func TestACallThatIsNotMadeIsOnRecord(t *testing.T) {
	lost := `{"path":"a.go","content":"x` // it was cut
	many := `{"files":[{"path":"./a.go","content":"\"path\":\"c.go\""},{"path":"b.go"}]}`
	for name, c := range map[string]struct {
		tool, arguments string
		looks           bool // the agent may only look
		then            []job.Deed
		want            []string
	}{
		"a tool that is not there":       {"write_files", many, false, nil, []string{"write_files a.go: tool", "write_files b.go: tool"}},
		"one without a thing":            {"deploy", `{}`, false, nil, []string{"deploy: tool"}},
		"one that sends":                 {"send_email", `{"to":"x"}`, false, nil, []string{"send_email: tool"}},
		"one that finds and replaces":    {"find_and_replace", `{"path":"a.go"}`, false, nil, []string{"find_and_replace a.go: tool"}},
		"one that reads":                 {"list_files", `{"path":"."}`, false, nil, nil},
		"one that reads elsewhere":       {"read_database", `{}`, false, nil, nil},
		"one that reads and more":        {"list_and_purge", `{}`, false, nil, []string{"list_and_purge: tool"}},
		"another that reads":             {"ReadFile", `{"path":"a.go"}`, false, nil, nil},
		"arguments that were cut":        {"write_file", lost, false, nil, []string{"write_file a.go: failed"}},
		"arguments that are none":        {"write_file", `x`, false, nil, []string{"write_file: failed"}},
		"a write of one that only looks": {"write_file", `{"path":"a.go","content":"x"}`, true, nil, []string{"write_file a.go: tool"}},
		"a command of one that looks":    {"run_command", `{"command":"rm -rf x"}`, true, nil, []string{"run_command rm -rf x: tool"}},
		"a plan of one that only looks":  {"propose_plan", `{"goal":"x","steps":[]}`, true, nil, []string{"propose_plan: tool"}},
		"a plan that is wrong":           {"propose_plan", `{"goal":"x","steps":[]}`, false, nil, []string{"x: failed"}},
		"a plan that cannot be read":     {"propose_plan", `x`, false, nil, []string{"propose_plan: failed"}},
		"a call of an unknown service":   {"mcp_request", `{"mcp_id":"nope","method":"POST","path":"/zzz"}`, false, nil, []string{"POST /zzz: failed"}},
		"a read of an unknown service":   {"mcp_request", `{"mcp_id":"nope","method":"GET","path":"/zzz"}`, false, nil, nil},
		"wrong, and a file then":         {"propose_plan", `{"goal":"x","steps":[]}`, false, []job.Deed{editedA}, []string{"x: failed"}},
		"written with the right tool":    {"write_files", many, false, []job.Deed{editedA, madeB}, nil},
		"only one of two":                {"write_files", many, false, []job.Deed{editedA}, []string{"write_files b.go: tool"}},
		"cut, and written then":          {"write_file", lost, false, []job.Deed{editedA}, nil},
		"cut, and another written":       {"write_file", lost, false, []job.Deed{madeB}, []string{"write_file a.go: failed"}},
		"a deletion, and edited then":    {"delete_file", `{"path":"a.go"}`, false, []job.Deed{editedA}, []string{"delete_file a.go: tool"}},
		"another act, and edited then":   {"deploy_site", `{"path":"a.go"}`, false, []job.Deed{editedA}, []string{"deploy_site a.go: tool"}},
		"moved, and edited then":         {"move_file", `{"path":"a.go","to":"c.go"}`, false, []job.Deed{editedA}, []string{"move_file a.go: tool"}},
		"called well then":               {"write_file", `x`, false, []job.Deed{madeB}, nil},
		"called well then, and failed":   {"write_file", `x`, false, []job.Deed{couldNot}, []string{"write_file: failed", "a.go: failed"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newJobWorld(t)
			agent := "build"
			if c.looks {
				agent = "plan"
			}
			w.model.answers = append(w.model.answers, calls(c.tool, c.arguments))
			for range c.then {
				w.model.answers = append(w.model.answers, writesA)
			}
			w.model.answers = append(w.model.answers, text("He mirado la carpeta."), text("He mirado la carpeta."))
			j := w.workAs(t, agent, c.then...)
			var got []string
			for _, f := range j.Record.Refused {
				got = append(got, f.What+": "+string(f.Code))
			}
			want := job.Success
			if len(c.want) > 0 {
				want = job.Partial
			}
			if !slices.Equal(got, c.want) || j.Status != want || j.StopReason != "" {
				t.Errorf("%s %s: %q", j.Status, j.StopReason, got)
			}
		})
	}
}

// TestAJobEndsAsItsRecordSays has a row for each end.
func TestAJobEndsAsItsRecordSays(t *testing.T) {
	for name, c := range map[string]struct {
		deeds  []job.Deed
		breaks bool // the model gives no answer any more
		want   job.Status
	}{
		"all was done":                    {[]job.Deed{editedA}, false, job.Success},
		"a command that fails":            {[]job.Deed{npmTest}, false, job.Success},
		"changed, and its tests fail":     {[]job.Deed{editedA, npmTest}, false, job.Partial},
		"its tests fail, changed then":    {[]job.Deed{npmTest, editedA}, false, job.Partial},
		"its tests fail, and pass then":   {[]job.Deed{editedA, npmTest, editedA, ran("npm test", 0)}, false, job.Success},
		"its tests fail, and it builds":   {[]job.Deed{editedA, npmTest, ran("npm run build", 0)}, false, job.Partial},
		"its build fails":                 {[]job.Deed{editedA, ran("make", 2)}, false, job.Partial},
		"its tests have no time":          {[]job.Deed{editedA, {Kind: job.DeedCommand, Name: "pytest", TimedOut: true}}, false, job.Partial},
		"nothing was found":               {[]job.Deed{editedA, ran("grep -rn test .", 1)}, false, job.Success},
		"another command fails":           {[]job.Deed{editedA, ran("diff a b", 1)}, false, job.Success},
		"an edit was refused":             {[]job.Deed{notEdited}, false, job.Partial},
		"a command was refused":           {[]job.Deed{notRun}, false, job.Partial},
		"refused, and done then":          {[]job.Deed{notEdited, editedA}, false, job.Success},
		"one of two was refused":          {[]job.Deed{editedA, notRun}, false, job.Partial},
		"it could not be done":            {[]job.Deed{couldNot}, false, job.Partial},
		"it failed, and was done then":    {[]job.Deed{couldNot, editedA}, false, job.Success},
		"it failed, and another was done": {[]job.Deed{couldNot, madeB}, false, job.Partial},
		"a command could not be run":      {[]job.Deed{couldNotRun}, false, job.Partial},
		"a read failed":                   {[]job.Deed{couldNotRead}, false, job.Success},
		"changed, and then it failed":     {[]job.Deed{editedA}, true, job.Partial},
		"a command ran, and it failed":    {[]job.Deed{npmTest}, true, job.Partial},
		"refused, and then it failed":     {[]job.Deed{notRun}, true, job.Partial},
		"only read, and then it failed":   {[]job.Deed{readA}, true, job.Failed},
		"only listed, and then it failed": {[]job.Deed{listed}, true, job.Failed},
		"nothing could be done, it fails": {[]job.Deed{couldNot}, true, job.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			w := newJobWorld(t)
			for range c.deeds {
				w.model.answers = append(w.model.answers, writesA)
			}
			if w.model.answers = append(w.model.answers, text("Hecho.")); c.breaks {
				w.model.answers = append(w.model.answers[:len(c.deeds)], errGone, errGone, errGone, errGone, errGone)
			}
			j := w.workAt(t, c.deeds...)
			if j.Status != c.want || (j.StopReason == "") == c.breaks {
				t.Errorf("%s %s: %+v", j.Status, j.StopReason, j.Record)
			}
			if m := w.last(t); (m.Status == conversation.Status(j.Status)) != (j.Status != job.Success) {
				t.Errorf("its message is %q", m.Status)
			}
			if nothing := "No se ha ejecutado nada"; strings.Contains(j.Output, nothing) != (c.want == job.Failed && c.deeds[0] == readA) {
				t.Errorf("%s", j.Output)
			}
		})
	}
}

// TestTheRecordIsTold: the last text that the program makes has what the client did.
func TestTheRecordIsTold(t *testing.T) {
	w := newJobWorld(t, writesAll, calls("run_command", `{"command":"git commit -am x"}`), errGone, errGone, errGone, errGone)
	j := w.workAt(t, editedA, madeB, npmTest, notRun)
	for _, line := range []string{"Editado: a.go +3 −1", "Creado: b.go +2 −0", "Ejecutado: npm test → 1", "No se hizo: Ejecuta git commit -am x: hay que confirmarlo, y no había nadie"} {
		if !strings.Contains(j.Output, "\n"+line) {
			t.Errorf("%q is missing in\n%s", line, j.Output)
		}
	}
	events, err := w.Store.Jobs.JobEvents(t.Context(), fixture.Account, j.ID, 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`write_file b.go`, `run_command npm test`} {
		if !strings.Contains(string(eventOf(t, events, job.EventCalled).Data), part) {
			t.Errorf("no %s", part)
		}
	}
	if told := string(eventOf(t, events, job.EventToolResult).Data); !strings.Contains(told, `"name":"npm test","exit_code":1`) || !strings.Contains(told, `"added":3`) {
		t.Error(told)
	}
}

func eventOf(t *testing.T, events []job.Event, kind string) job.Event {
	t.Helper()
	i := slices.IndexFunc(events, func(e job.Event) bool { return e.Type == kind })
	if i < 0 {
		t.Fatalf("no %s", kind)
	}
	return events[i]
}

// TestAnswersMayComeOneByOne: what a client did before it was killed is on record.
func TestAnswersMayComeOneByOne(t *testing.T) {
	w := newJobWorld(t, writesAll, text("Hecho."))
	j := w.drive(t, w.start(t, "build", job.Order{Tools: machineTools}).ID)
	for range 2 { // repeated, it changes nothing
		var err error
		if j, err = w.tell(t, j.ID, job.ToolResult{ID: "1.0", Output: "ok", Did: []job.Deed{editedA}}); err != nil {
			t.Fatal(err)
		}
	}
	if !j.AwaitsClient() || len(j.OpenCalls()) != 2 || len(j.Record.Changes) != 1 || len(w.woken) != 0 {
		t.Fatalf("%+v, woken %v", j, w.woken)
	}
	if j = w.drive(t, j.ID); !j.AwaitsClient() {
		t.Fatalf("it went on: %+v", j)
	}
	if _, err := w.jobs.Stop(t.Context(), fixture.Account, j.ID); err != nil { // the client is gone
		t.Fatal(err)
	}
	j = w.drive(t, j.ID)
	if j.Status != job.Partial || strings.Contains(j.Output, "No se ha ejecutado nada") || !strings.Contains(j.Output, "Editado: a.go +3 −1") ||
		!strings.Contains(j.Output, "No se sabe si se hizo: run_command npm test") || strings.Contains(j.Output, "write_file a.go") {
		t.Errorf("%s\n%s", j.Status, j.Output)
	}
	j, err := w.tell(t, j.ID, job.ToolResult{ID: "1.2", Output: "1", Did: []job.Deed{npmTest}}) // it was alive
	if err != nil || len(j.Record.Commands) != 1 || len(j.Record.Unknown) != 1 || j.Status != job.Partial {
		t.Errorf("%+v %v", j.Record, err)
	}
	if _, err := w.tell(t, j.ID, job.ToolResult{ID: "1.2"}); !errors.Is(err, job.ErrEnded) {
		t.Errorf("again: %v", err)
	}
}

// TestAClientThatIsGoneLeavesItsRecord: the job ends an hour later, in part.
func TestAClientThatIsGoneLeavesItsRecord(t *testing.T) {
	w := newJobWorld(t, writesA, writesA, errGone, errGone, errGone)
	j := w.drive(t, w.start(t, "build", job.Order{Tools: machineTools}).ID)
	if _, err := w.tell(t, j.ID, job.ToolResult{ID: "1.0", Output: "ok", Did: []job.Deed{editedA}}); err != nil {
		t.Fatal(err)
	}
	j = w.drive(t, j.ID)
	w.Pass(61 * time.Minute)
	if j = w.drive(t, j.ID); j.Status != job.Partial || j.StopReason != conversation.StopExpired || !strings.Contains(j.Output, "Editado: a.go +3 −1") || !strings.Contains(j.Output, "No se sabe si se hizo: write_file a.go") {
		t.Errorf("%s %s\n%s", j.Status, j.StopReason, j.Output)
	}
	j, err := w.tell(t, j.ID, job.ToolResult{ID: "2.0", Output: "ok", Did: []job.Deed{editedA}})
	if err != nil || strings.Contains(j.Output, "No se sabe") || len(j.Record.Unknown) > 0 || !strings.Contains(j.Output, "Editado: a.go +3 −1") {
		t.Errorf("told behind its end: %v\n%s", err, j.Output)
	}
}

// TestClaimsAreComparedWithWhatTheClientDid: the model is asked once more where it may be, and a line stands by its text.
func TestClaimsAreComparedWithWhatTheClientDid(t *testing.T) {
	for _, c := range []struct {
		says  string
		deed  job.Deed
		lacks bool
	}{
		{"He editado a.go.", editedA, false},
		{"He editado a.go.", notEdited, true},
		{"He editado a.go.", readA, true},
		{"Todas pasan, he hecho el commit.", editedA, true},
		{"He hecho el commit.", notRun, true},
		{"Las pruebas pasan.", npmTest, true},
		{"He ejecutado las pruebas: falla una.", npmTest, false},
	} {
		w := newJobWorld(t, writesA, text(c.says), text(c.says))
		j := w.workAt(t, c.deed)
		noted := slices.ContainsFunc(j.Notes, func(n conversation.Note) bool { return n.Code == conversation.NoteNothingDone })
		if noted != c.lacks {
			t.Errorf("%q after %+v: %+v", c.says, c.deed, j.Notes)
		}
	}
}

// TestDeedsAreChecked: a client is not trusted.
func TestDeedsAreChecked(t *testing.T) {
	w := newJobWorld(t, writesA, text("Hecho."))
	j := w.drive(t, w.start(t, "build", job.Order{Tools: machineTools}).ID)
	for name, d := range map[string]job.Deed{
		"no kind": {Name: "a"}, "another kind": {Kind: "plan", Name: "a"}, "no name": {Kind: job.DeedRead}, "a long name": {Kind: job.DeedRead, Name: strings.Repeat("x", 5000)},
		"no UTF-8": {Kind: job.DeedRead, Name: "\xff"}, "NUL": {Kind: job.DeedRead, Name: "a\x00"}, "another reason": {Kind: job.DeedRead, Name: "a", Refused: "why not"},
		"fewer than no lines": {Kind: job.DeedChange, Name: "a", Added: -1}, "too many lines": {Kind: job.DeedChange, Name: "a", AllRemoved: 1 << 40},
		"no version": {Kind: job.DeedChange, Name: "a", Before: "; rm -rf ~"}, "no exit code": {Kind: job.DeedCommand, Name: "a", ExitCode: 1 << 40},
	} {
		if _, err := w.tell(t, j.ID, job.ToolResult{ID: "1.0", Did: []job.Deed{d}}); !errors.Is(err, job.ErrHasResult) {
			t.Errorf("%s: %v", name, err)
		}
	}
	many := slices.Repeat([]job.Deed{readA}, 101)
	if _, err := w.tell(t, j.ID, job.ToolResult{ID: "1.0", Did: many}); !errors.Is(err, job.ErrHasResult) {
		t.Errorf("many: %v", err)
	}
}

// TestWhoWatchesHearsOfACallOfNoTool, when it is called.
func TestWhoWatchesHearsOfACallOfNoTool(t *testing.T) {
	w := newJobWorld(t, llm.Reply{Calls: slices.Concat(calls("deploy_site", `{"path":"a.go"}`).Calls, calls("list_things", `{}`).Calls)}, text("He mirado la carpeta."), text("He mirado la carpeta."))
	j := w.workAt(t)
	events, err := w.Store.Jobs.JobEvents(t.Context(), fixture.Account, j.ID, 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	if data := string(eventOf(t, events, job.EventAnswered).Data); !strings.Contains(data, `"did":[{"kind":"call","name":"deploy_site a.go","refused":"tool"}]`) {
		t.Error(data)
	}
}

// TestAProposalThatIsNotMadeIsOnRecord: what a rule denies stays; what was proposed wrongly is gone when a plan is proposed.
func TestAProposalThatIsNotMadeIsOnRecord(t *testing.T) {
	deny := rule.Rule{ID: "no", Effect: rule.Deny, Method: "DELETE", Reason: "Nunca."}
	for name, c := range map[string]struct {
		rule   rule.Rule
		before string // the arguments of the first proposal
		then   bool   // a good one is proposed and confirmed
		want   []string
	}{
		"a denied call":                 {deny, `"method":"DELETE","path":"/bookings/7"`, false, []string{"call DELETE /bookings/7: policy"}},
		"a denied call, and another":    {deny, `"method":"DELETE","path":"/bookings/7"`, true, []string{"call DELETE /bookings/7: policy"}},
		"a denied undo":                 {deny, `"method":"POST","path":"/bookings","body":{"room":"n1"},"undo":{"method":"DELETE","path":"/bookings/7"}`, false, []string{"plan g: failed"}},
		"a denied undo, and without it": {deny, `"method":"POST","path":"/bookings","body":{"room":"n1"},"undo":{"method":"DELETE","path":"/bookings/7"}`, true, nil},
		"wrong":                         {rule.Rule{}, `"method":"POST","path":"/nope"`, false, []string{"plan g: failed"}},
		"wrong, and proposed then":      {rule.Rule{}, `"method":"POST","path":"/nope"`, true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := newJobWorld(t)
			w.Store.Runs.Jobs = w.jobs
			if c.rule.ID != "" {
				w.setRules(t, c.rule)
			}
			bad := calls("propose_plan", fmt.Sprintf(`{"goal":"g","steps":[{"title":"a","mcp_id":%q,%s}]}`, w.Server.ID, c.before))
			w.model.answers = []any{bad, bad}
			if c.then {
				w.model.answers = append(w.model.answers, calls("mcp_request", w.request("POST", "/bookings", `,"body":{"room":"n1"}`)))
			}
			w.model.answers = append(w.model.answers, text("Se acabó."), text("Se acabó."))
			j := w.drive(t, w.start(t, "build", job.Order{}).ID)
			if c.then {
				if err := w.Confirm(w.Read(j.RunID)); err != nil {
					t.Fatal(err)
				}
				w.Execute(j.RunID)
				j = w.drive(t, j.ID)
			}
			var got []string
			for _, f := range j.Record.Refused {
				got = append(got, string(f.Kind)+" "+f.What+": "+string(f.Code))
			}
			if !slices.Equal(got, c.want) || !j.Status.Terminal() || (j.Status == job.Success) != (len(c.want) == 0) {
				t.Errorf("%s %s: %q", j.Status, j.StopReason, got)
			}
		})
	}
}

// TestWhoWatchesHearsWhatARoundIsAbout, also of a call that fails: the words, or the request and its service. What the client
// does has an event of its own.
func TestWhoWatchesHearsWhatARoundIsAbout(t *testing.T) {
	w := newJobWorld(t)
	w.model.answers = []any{
		llm.Reply{Calls: slices.Concat(calls("search_tools", `{"query":"alquilar"}`).Calls, calls("mcp_request", w.request("GET", "/nothing", "")).Calls, calls("read_file", `{"path":"a.go"}`).Calls)},
		text("No hay nada."), text("No hay nada."),
	}
	j := w.workAt(t, readA)
	events, err := w.Store.Jobs.JobEvents(t.Context(), fixture.Account, j.ID, 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	data := string(eventOf(t, events, job.EventAnswered).Data)
	if want := `"objects":["search_tools alquilar","mcp_request GET /nothing (` + w.Server.Name + `)","read_file"]`; !strings.Contains(data, want) {
		t.Errorf("%s lacks %s", data, want)
	}
}
