package turn_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"piloto/infra/local/fixture"
	"piloto/internal/access/auth"
	"piloto/internal/chats/job"
	"piloto/internal/chats/turn"
	"piloto/internal/conversation"
	"piloto/internal/ground/locale"
	"piloto/internal/models/llm"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
	"piloto/internal/runs/step"
	"piloto/internal/workspace/files"
)

var someFiles = map[string]string{"precios.csv": "sala,precio\nnorte,20\n", "notas/hoy.txt": "nada\n"}

// newFileWorld returns a world with jobs, whose chats have files.
func newFileWorld(t testing.TB, answers ...any) (*jobWorld, fixture.Files) {
	t.Helper()
	w := newJobWorld(t, answers...)
	w.Store.Runs.Jobs = w.jobs
	f := w.GiveFiles(t, someFiles)
	w.service.Files = f.Service
	return w, f
}

func withFiles(t testing.TB, w *jobWorld) {
	t.Helper()
	if err := w.Store.Chats.MarkFiles(t.Context(), fixture.Account, "", w.Chat.ID); err != nil {
		t.Fatal(err)
	}
}

func edit(path, old, now string) string {
	raw, _ := json.Marshal(map[string]string{"path": path, "old_str": old, "new_str": now})
	return string(raw)
}

func changesOf(t *testing.T, r plan.Run) plan.ChangesBody {
	t.Helper()
	var b plan.ChangesBody
	if len(r.Plan.Steps) != 1 || r.Plan.Steps[0].Tool != "apply_changes" {
		t.Fatalf("%+v", r.Plan.Steps)
	}
	if err := json.Unmarshal(r.Plan.Steps[0].Body, &b); err != nil {
		t.Fatal(err)
	}
	return b
}

// TestTurnReadsAndProposesChanges: reads are answered in the turn, writes are one step with its diff, confirmed, and undone.
func TestTurnReadsAndProposesChanges(t *testing.T) {
	w, f := newFileWorld(t,
		calls("read_file", `{"path":"precios.csv"}`), calls("edit_file", edit("precios.csv", "norte,20", "norte,25"), "write_file", `{"path":"nuevo.txt","content":"hola\n"}`),
		text("Los he preparado."))
	withFiles(t, w)
	reply := w.send(t, "Sube la sala norte a 25")
	if reply.Kind != turn.KindPlan || reply.Run == nil {
		t.Fatalf("%+v", reply)
	}
	if first := w.model.asked[0]; !strings.Contains(fmt.Sprint(first.Messages), "precios.csv") {
		t.Error("the prompt does not name the files")
	}
	if !strings.Contains(fmt.Sprint(w.model.asked[1].Messages), "norte,20") {
		t.Error("the model did not read the file")
	}
	if m := reply.Message; len(m.Sources) != 1 || m.Sources[0].MCPID != "files" || m.Sources[0].Tool != "read_file" || m.Sources[0].AnswerHash == "" {
		t.Errorf("%+v", m.Sources)
	}
	body := changesOf(t, *reply.Run)
	if len(body.Changes) != 2 || !strings.Contains(body.Diff, "-norte,20\n+norte,25\n") || !strings.Contains(body.Diff, "+hola\n") {
		t.Errorf("%+v", body)
	}
	if title := reply.Run.Plan.Steps[0].Title; title != "Aplica 2 cambios (+2 −1)" {
		t.Errorf("%q", title)
	}
	if diff := cmp.Diff(someFiles, f.Content(t)); diff != "" {
		t.Errorf("changed before anybody confirmed: %s", diff)
	}
	if err := w.Confirm(*reply.Run); err != nil {
		t.Fatal(err)
	}
	w.Execute(reply.Run.ID)
	if got := f.Content(t); got["precios.csv"] != "sala,precio\nnorte,25\n" || got["nuevo.txt"] != "hola\n" {
		t.Fatalf("%v: %+v", got, w.Read(reply.Run.ID).Steps)
	}
	undo, err := w.Runs.Reverse(t.Context(), run.Again{Account: fixture.Account, User: "ana", RunID: reply.Run.ID, Locale: locale.Spanish})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Confirm(undo.Run); err != nil {
		t.Fatal(err)
	}
	w.Execute(undo.Run.ID)
	if diff := cmp.Diff(someFiles, f.Content(t)); diff != "" {
		t.Errorf("undone: %s, %+v", diff, w.Read(undo.Run.ID).Steps)
	}
}

// TestJobAppliesItsChanges: the job reads its own changes, they are proposed when it is done, and it goes on.
func TestJobAppliesItsChanges(t *testing.T) {
	w, f := newFileWorld(t,
		calls("edit_file", edit("precios.csv", "norte,20", "norte,25")), calls("read_file", `{"path":"precios.csv"}`), text("Listo."), text("Aplicado: la norte cuesta 25."))
	j := w.drive(t, w.start(t, "build", job.Order{}).ID)
	if j.Status != job.Waiting || j.RunID == "" || j.Changes.Set == "" {
		t.Fatalf("%+v", j)
	}
	if !strings.Contains(w.model.lastTool(), "norte,25") {
		t.Errorf("it does not read its own change: %s", w.model.lastTool())
	}
	r := w.Read(j.RunID)
	changesOf(t, r)
	if err := w.Confirm(r); err != nil {
		t.Fatal(err)
	}
	w.Execute(r.ID)
	if j = w.drive(t, j.ID); j.Status != job.Success || j.Output != "Aplicado: la norte cuesta 25." || j.Changes != (job.Changes{}) {
		t.Errorf("%+v", j)
	}
	if !strings.Contains(w.model.lastTool(), `"status":"done"`) || f.Content(t)["precios.csv"] != "sala,precio\nnorte,25\n" {
		t.Errorf("told %s; %v", w.model.lastTool(), f.Content(t))
	}
}

// TestJobHearsOfAConflict: a file changed after the job had read it. Nothing is applied, and the job changes it again.
func TestJobHearsOfAConflict(t *testing.T) {
	w, f := newFileWorld(t,
		calls("edit_file", edit("precios.csv", "norte,20", "norte,25"), "write_file", `{"path":"otro.txt","content":"x\n"}`), text("Listo."),
		calls("edit_file", edit("precios.csv", "norte,22", "norte,25")), text("Ahora sí."), text("Hecho."))
	j := w.drive(t, w.start(t, "build", job.Order{}).ID)
	r := w.Read(j.RunID)
	f.Put(t, "precios.csv", "sala,precio\nnorte,22\n")
	if err := w.Confirm(r); err != nil {
		t.Fatal(err)
	}
	w.Execute(r.ID)
	if got := w.Read(r.ID); got.Status != plan.Failed || !strings.Contains(got.Steps[0].Error.Message, "precios.csv") || got.Steps[0].Error.Code != "workspace.moved" {
		t.Errorf("%s %+v", got.Status, got.Steps[0].Error)
	}
	if f.Content(t)["otro.txt"] != "" {
		t.Error("a part of it was applied")
	}
	if j = w.drive(t, j.ID); j.Status != job.Waiting || j.RunID == r.ID {
		t.Fatalf("%+v", j)
	}
	if all := fmt.Sprint(w.model.asked[len(w.model.asked)-1].Messages); !strings.Contains(all, "changes of them are dropped: precios.csv") {
		t.Error("the model was not told of the conflict")
	}
	r = w.Read(j.RunID)
	if body := changesOf(t, r); len(body.Changes) != 2 {
		t.Errorf("%+v", body.Changes)
	}
	if err := w.Confirm(r); err != nil {
		t.Fatal(err)
	}
	w.Execute(r.ID)
	if j = w.drive(t, j.ID); j.Status != job.Success || f.Content(t)["precios.csv"] != "sala,precio\nnorte,25\n" || f.Content(t)["otro.txt"] != "x\n" {
		t.Errorf("%+v, %v", j, f.Content(t))
	}
}

// TestJobWhoseChangesAreRefusedEnds: they are not proposed again as they were.
func TestJobWhoseChangesAreRefusedEnds(t *testing.T) {
	w, f := newFileWorld(t, calls("edit_file", edit("precios.csv", "20", "25")), text("Listo."), text("De acuerdo: no se cambia."))
	j := w.drive(t, w.start(t, "build", job.Order{}).ID)
	if _, err := w.Runs.Cancel(context.Background(), run.Cancellation{Account: fixture.Account, User: "ana", RunID: j.RunID}); err != nil {
		t.Fatal(err)
	}
	if j = w.drive(t, j.ID); j.Status != job.Partial || j.StopReason != "" || len(j.Record.Refused) != 1 || !strings.Contains(w.model.lastTool(), "not applied") {
		t.Errorf("%+v, told %s", j, w.model.lastTool())
	}
	if diff := cmp.Diff(someFiles, f.Content(t)); diff != "" {
		t.Error(diff)
	}
}

// TestSomeChangesAreProposedFirst: the others stay with the job.
func TestSomeChangesAreProposedFirst(t *testing.T) {
	w, f := newFileWorld(t,
		calls("write_file", `{"path":"a.txt","content":"a\n"}`, "write_file", `{"path":"b.txt","content":"b\n"}`, "apply_changes", `{"goal":"Primero a","paths":["a.txt"]}`),
		text("Ahora lo demás."), text("Todo hecho."))
	j := w.drive(t, w.start(t, "build", job.Order{}).ID)
	for i, want := range []string{"a.txt", "b.txt"} {
		r := w.Read(j.RunID)
		if body := changesOf(t, r); len(body.Changes) != 1 || body.Changes[0].Name != want || i == 0 && r.Plan.Goal != "Primero a" {
			t.Fatalf("%d: %+v, %q", i, body.Changes, r.Plan.Goal)
		}
		if err := w.Confirm(r); err != nil {
			t.Fatal(err)
		}
		w.Execute(r.ID)
		j = w.drive(t, j.ID)
	}
	if got := f.Content(t); j.Status != job.Success || got["a.txt"] != "a\n" || got["b.txt"] != "b\n" {
		t.Errorf("%+v, %v", j, got)
	}
}

// TestNobodyEditsTheChangesOfAPlan: the card would show another diff than the one that is applied.
func TestNobodyEditsTheChangesOfAPlan(t *testing.T) {
	w, _ := newFileWorld(t, calls("edit_file", edit("precios.csv", "20", "25")), text("Listo."))
	withFiles(t, w)
	r := *w.send(t, "Sube el precio").Run
	same := plan.ProposedStep{ID: "s1", Title: "Otro título", MCPID: "files", Tool: "apply_changes", Body: r.Plan.Steps[0].Body, Undo: &r.Plan.Steps[0].Undo.Call}
	who := auth.Principal{Account: fixture.Account, User: "ana"}
	next, err := w.service.Revise(t.Context(), turn.Edit{Principal: who, RunID: r.ID, Digest: r.Digest, Steps: []plan.ProposedStep{same}, Locale: locale.Spanish})
	if err != nil || next.Plan.Steps[0].Title != "Otro título" || next.Plan.Steps[0].Method != "PUT" {
		t.Fatalf("another title: %v", err)
	}
	for name, change := range map[string]func(b *plan.ChangesBody){
		"diff": func(b *plan.ChangesBody) { b.Diff = "" },
		"set":  func(b *plan.ChangesBody) { b.Set = strings.Repeat("0", 64) },
	} {
		body := changesOf(t, next)
		change(&body)
		other := same
		if other.Body, err = json.Marshal(body); err != nil {
			t.Fatal(err)
		}
		_, err := w.service.Revise(t.Context(), turn.Edit{Principal: who, RunID: r.ID, Digest: next.Digest, Steps: []plan.ProposedStep{other}, Locale: locale.Spanish})
		if err == nil {
			t.Errorf("%s was edited", name)
		}
	}
}

// TestModelCannotProposeASetByHand: only what the file tools changed becomes a step.
func TestModelCannotProposeASetByHand(t *testing.T) {
	w, f := newFileWorld(t, calls("mcp_request", `{"mcp_id":"files","tool":"apply_changes","body":{"set":"`+strings.Repeat("a", 64)+`","changes":[],"diff":""}}`), text("Nada."))
	withFiles(t, w)
	if reply := w.send(t, "Cambia los precios"); reply.Run != nil {
		t.Errorf("%+v", reply.Run.Plan)
	}
	if diff := cmp.Diff(someFiles, f.Content(t)); diff != "" {
		t.Error(diff)
	}
}

// TestWhatWasReadOfFilesGoesIntoNoReadUnseen: a look after it is proposed (I31).
func TestWhatWasReadOfFilesGoesIntoNoReadUnseen(t *testing.T) {
	w, _ := newFileWorld(t)
	w.model.answers = []any{calls("read_file", `{"path":"precios.csv"}`), calls("look", lookAt(w.Server.ID, "/rooms")), text("…")}
	withFiles(t, w)
	reply := w.send(t, "¿Qué salas hay?")
	if reply.Kind != turn.KindPlan || len(w.Requests()) != 0 {
		t.Errorf("%s, %d requests", reply.Kind, len(w.Requests()))
	}
}

// TestChatsWithoutFilesHaveNoFileTools, and neither have those of a deployment without a bucket.
func TestChatsWithoutFilesHaveNoFileTools(t *testing.T) {
	w, _ := newFileWorld(t, text("Hola."), calls("read_file", `{"path":"x"}`), text("No hay."))
	w.send(t, "Hola")
	for _, tool := range w.model.asked[0].Tools {
		if tool.Name == "read_file" || tool.Name == "apply_changes" {
			t.Errorf("it has %s", tool.Name)
		}
	}
	w.send(t, "Lee x")
	if got := w.model.lastTool(); !strings.Contains(got, "there is no tool") {
		t.Errorf("%s", got)
	}
}

// TestAnAgentThatOnlyLooksChangesNothing of the files.
func TestAnAgentThatOnlyLooksChangesNothing(t *testing.T) {
	w, f := newFileWorld(t, calls("read_file", `{"path":"precios.csv"}`), calls("write_file", `{"path":"x","content":"x"}`), text("No puedo."))
	withFiles(t, w)
	j := w.drive(t, w.start(t, "review", job.Order{}).ID)
	if j.Status != job.Partial || !strings.Contains(w.model.lastTool(), "there is no tool") {
		t.Errorf("%+v, told %s", j, w.model.lastTool())
	}
	if diff := cmp.Diff(someFiles, f.Content(t)); diff != "" {
		t.Error(diff)
	}
}

// appender is a model that adds a line to a file in each of two rounds, proposes that, and is done.
type appender struct{}

func (appender) Complete(_ context.Context, r llm.Request) (llm.Reply, error) {
	results := 0
	for _, m := range r.Messages {
		if m.Role == llm.ToolRole {
			results++
		}
	}
	line := func(s string) string { return `{"path":"log.txt","content":"` + s + `\n","mode":"append"}` }
	reply := text("fin")
	switch results {
	case 0:
		reply = calls("write_file", line("uno"), "write_file", `{"path":"otro.txt","content":"x\n"}`)
	case 2:
		reply = calls("write_file", line("dos"), "apply_changes", `{"paths":["log.txt"]}`)
	}
	reply.Usage = llm.Usage{Input: 11, Output: 7}
	return reply, nil
}

// TestJobWithFilesThatDiesAtAnyWriteChangesThemOnce: a line that is added twice would stand in the file twice.
func TestJobWithFilesThatDiesAtAnyWriteChangesThemOnce(t *testing.T) {
	for after := 1; ; after += stride(3) {
		w, f := newFileWorld(t)
		w.service.Paid.Models = providers{appender{}}
		id := w.start(t, "build", job.Order{}).ID
		dying := &dyingJobs{Store: w.Store.Jobs, left: after}
		w.service.Jobs = dying
		w.driveDying(t, id, dying)
		got, j := f.Content(t), w.job(t, id)
		if spent, charged := w.spent(t, id), w.charged(t); j.Micros != spent || j.Micros != charged {
			t.Fatalf("after %d writes: it cost %d, its events say %d, and %d were charged", after, j.Micros, spent, charged)
		}
		if got["log.txt"] != "uno\ndos\n" || got["otro.txt"] != "x\n" || j.Status != job.Success || j.Changes != (job.Changes{}) || j.Next != nil {
			t.Fatalf("after %d writes: %v, %+v", after, got, j)
		}
		if !dying.died {
			if after < 20 {
				t.Errorf("a job has only %d writes", after-1)
			}
			return
		}
	}
}

// lossy loses the first answer of Apply, after or before it changed the files.
type lossy struct {
	files.Workspace
	after bool
	calls int
}

func (l *lossy) Apply(ctx context.Context, p files.Place, set string) (files.Applied, error) {
	if l.calls++; l.calls > 1 {
		return l.Workspace.Apply(ctx, p, set)
	}
	if l.after {
		if _, err := l.Workspace.Apply(ctx, p, set); err != nil {
			return files.Applied{}, err
		}
	}
	return files.Applied{}, errDied
}

// TestChangesWhoseAnswerIsLostAreAppliedOnce: a repetition finds what was done, so the step is never in doubt.
func TestChangesWhoseAnswerIsLostAreAppliedOnce(t *testing.T) {
	for _, after := range []bool{false, true} {
		w, f := newFileWorld(t, calls("write_file", `{"path":"log.txt","content":"uno\n","mode":"append"}`), text("Listo."))
		withFiles(t, w)
		w.Steps.Files = &lossy{Workspace: f.Service, after: after}
		r := *w.send(t, "Apunta uno").Run
		if err := w.Confirm(r); err != nil {
			t.Fatal(err)
		}
		var failed *step.Error
		if _, err := w.Steps.Drive(t.Context(), step.Task{Account: fixture.Account, RunID: r.ID}); !errors.As(err, &failed) || failed.Name != step.Transient {
			t.Fatalf("%v: %v", after, err)
		}
		w.Execute(r.ID)
		if got := w.Read(r.ID); got.Status != plan.Done || f.Content(t)["log.txt"] != "uno\n" {
			t.Errorf("%v: %s, %v", after, got.Status, f.Content(t))
		}
	}
}

// TestChangesOfAJobThatIsEndedAreProposed: a person may want them, and the job does not wait.
func TestChangesOfAJobThatIsEndedAreProposed(t *testing.T) {
	for reason, order := range map[string]job.Order{"max_steps": {MaxSteps: 1}, "dry": {MaxSteps: 1, DryRun: true}} {
		w, f := newFileWorld(t, calls("edit_file", edit("precios.csv", "20", "25")), text("No me dio tiempo."))
		j := w.drive(t, w.start(t, "build", order).ID)
		pending := w.ChatNow().PendingRunID
		if j.Status != job.Partial || (pending != "") != (reason == "max_steps") {
			t.Fatalf("%s: %+v, %q", reason, j, pending)
		}
		if m := w.last(t); m.Content != j.Output {
			t.Errorf("%s: the last message is %q", reason, m.Content)
		}
		if pending == "" {
			continue
		}
		r := w.Read(pending)
		changesOf(t, r)
		if err := w.Confirm(r); err != nil {
			t.Fatal(err)
		}
		w.Execute(r.ID)
		if f.Content(t)["precios.csv"] != "sala,precio\nnorte,25\n" {
			t.Errorf("%v", f.Content(t))
		}
	}
}

// TestChangesOfAJobWhoseModelIsDownAreProposed: nobody can be asked for a last text.
func TestChangesOfAJobWhoseModelIsDownAreProposed(t *testing.T) {
	w, _ := newFileWorld(t, calls("edit_file", edit("precios.csv", "20", "25")), llm.ErrUnreachable, llm.ErrUnreachable, llm.ErrUnreachable, llm.ErrUnreachable)
	j := w.drive(t, w.start(t, "build", job.Order{}).ID)
	if pending := w.ChatNow().PendingRunID; !j.Status.Terminal() || pending == "" {
		t.Fatalf("%+v, %q", j, pending)
	}
	changesOf(t, w.Read(w.ChatNow().PendingRunID))
}

// TestAnAgentHasTheFileToolsThatItNames, and then it can propose what they change.
func TestAnAgentHasTheFileToolsThatItNames(t *testing.T) {
	w, _ := newFileWorld(t, calls("edit_file", edit("precios.csv", "20", "25")), text("Listo."))
	withFiles(t, w)
	w.choose(t, "editor", `{"prompt":"Edita.","tools":["read_file","edit_file"]}`)
	reply := w.send(t, "Sube el precio")
	if reply.Run == nil {
		t.Fatalf("%+v, told %s", reply, w.model.lastTool())
	}
	if got := toolsOf(w.model.asked[0]); got != "ask_person read_file edit_file apply_changes" {
		t.Errorf("it has %s", got)
	}
}

// TestChangesThatCannotBeShownEndTheJobWithItsText: they are not proposed again and again.
func TestChangesThatCannotBeShownEndTheJobWithItsText(t *testing.T) {
	large, err := json.Marshal(map[string]string{"path": "grande.txt", "content": strings.Repeat("una línea más\n", 8_000)})
	if err != nil {
		t.Fatal(err)
	}
	w, f := newFileWorld(t, calls("write_file", string(large)), text("Listo."), text("Es demasiado grande para un plan."))
	j := w.drive(t, w.start(t, "build", job.Order{}).ID)
	if j.Status != job.Partial || len(j.Record.Refused) != 1 || j.Output != "Es demasiado grande para un plan." || j.Rounds != 3 || !strings.Contains(fmt.Sprint(w.model.asked[2].Messages), "a card shows") {
		t.Errorf("%+v", j)
	}
	if f.Content(t)["grande.txt"] != "" {
		t.Error("it was written")
	}
}

// TestNothingIsProposedBesideACallThatFailed: the plan would lack what the model wanted in it.
func TestNothingIsProposedBesideACallThatFailed(t *testing.T) {
	w, _ := newFileWorld(t, calls("write_file", `{"path":"a.txt","content":"a\n"}`, "edit_file", edit("precios.csv", "no está", "x"), "apply_changes", "{}"), text("Listo."))
	j := w.drive(t, w.start(t, "build", job.Order{}).ID)
	if got := w.model.lastTool(); !strings.Contains(got, "another call of this reply failed") {
		t.Errorf("%s", got)
	}
	if body := changesOf(t, w.Read(j.RunID)); len(body.Changes) != 1 { // when it was done
		t.Errorf("%+v", body.Changes)
	}
}

// TestReadsBesideAProposalAreAnswered when the job goes on.
func TestReadsBesideAProposalAreAnswered(t *testing.T) {
	w, _ := newFileWorld(t, calls("write_file", `{"path":"a.txt","content":"a\n"}`, "read_file", `{"path":"precios.csv"}`, "apply_changes", "{}"), text("Hecho."))
	j := w.drive(t, w.start(t, "build", job.Order{}).ID)
	if err := w.Confirm(w.Read(j.RunID)); err != nil {
		t.Fatal(err)
	}
	w.Execute(j.RunID)
	w.drive(t, j.ID)
	var results []string
	for _, m := range w.model.asked[1].Messages {
		if m.Role == llm.ToolRole {
			results = append(results, m.Content)
		}
	}
	if len(results) != 3 || !strings.Contains(results[1], "norte,20") || !strings.Contains(results[2], `"status":"done"`) {
		t.Errorf("%q", results)
	}
}

// TestAnEditIsAReadOfTheFiles, because its answer has lines of the file (I31).
func TestAnEditIsAReadOfTheFiles(t *testing.T) {
	w, _ := newFileWorld(t)
	w.model.answers = []any{calls("edit_file", edit("precios.csv", "20", "25")), calls("look", lookAt(w.Server.ID, "/rooms")), text("…")}
	withFiles(t, w)
	if w.send(t, "Sube el precio y mira las salas"); len(w.Requests()) != 0 {
		t.Errorf("%d requests", len(w.Requests()))
	}
}

// TestAChatThatMovesLosesTheChangesOfItsJob: the model is told, and the job does not try them for ever.
func TestAChatThatMovesLosesTheChangesOfItsJob(t *testing.T) {
	w, _ := newFileWorld(t, calls("write_file", `{"path":"a.txt","content":"a\n"}`), calls("ask_person", askFor), text("Se perdieron los cambios."))
	w.service.Questions = w.jobs
	j := w.drive(t, w.start(t, "build", job.Order{}).ID)
	project := conversation.Project{ID: w.IDs.New(w.Clock()), Name: "Otro", All: true, CreatedAt: w.Clock(), UpdatedAt: w.Clock()}
	if err := w.Store.Chats.CreateProject(t.Context(), fixture.Account, project); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Store.Chats.UpdateChat(t.Context(), w.ChatKey(), conversation.ChatChange{ProjectID: &project.ID}, w.Clock()); err != nil {
		t.Fatal(err)
	}
	w.send(t, "Para seis")
	if j = w.drive(t, j.ID); j.Status != job.Success || j.Changes.Set != "" || !strings.Contains(fmt.Sprint(w.model.asked[len(w.model.asked)-1].Messages), "are gone, because the conversation has other files now") {
		t.Errorf("%+v", j)
	}
}
