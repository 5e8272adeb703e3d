package turn_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"piloto/infra/local/fixture"
	"piloto/internal/access/auth"
	"piloto/internal/chats/turn"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/locale"
	"piloto/internal/models/llm"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/rule"
	"piloto/internal/runs/run"
	"piloto/internal/tools/tool"
)

// edit returns ana's change of a draft. Its steps are a JSON list, in which SERVER is the
// world's.
func (w *world) edit(t testing.TB, r plan.Run, goal, steps string) turn.Edit {
	t.Helper()
	e := turn.Edit{
		Principal: auth.Principal{Account: fixture.Account, User: "ana"}, RunID: r.ID, Digest: r.Digest, Goal: goal, Locale: locale.Spanish,
	}
	if err := json.Unmarshal([]byte(strings.ReplaceAll(steps, "SERVER", w.Server.ID)), &e.Steps); err != nil {
		t.Fatal(err)
	}
	return e
}

const bookNorth = `[{"mcp_id":"SERVER","method":"POST","path":"/bookings","body":{"room":"norte"}}]`

func (w *world) proposeDraft(t testing.TB, steps string) plan.Run {
	t.Helper()
	w.model.answers = []any{calls("propose_plan", `{"goal":"Reservar","steps":`+strings.ReplaceAll(steps, "SERVER", w.Server.ID)+`}`)}
	reply := w.send(t, "quiero una reserva")
	if reply.Run == nil {
		t.Fatalf("%+v", reply.Message)
	}
	return *reply.Run
}

func (w *world) lastEvent(t testing.TB, runID string) (plan.Event, map[string]any) {
	t.Helper()
	events, err := w.Store.Runs.Events(context.Background(), fixture.Account, runID, 0, 100)
	if err != nil || len(events) == 0 {
		t.Fatal(err)
	}
	last := events[len(events)-1]
	var data map[string]any
	if err := json.Unmarshal(last.Data, &data); err != nil {
		t.Fatal(err)
	}
	return last, data
}

func TestEditMakesRevisionAndVoidsOldDigest(t *testing.T) {
	w := newWorld(t)
	first := w.proposeDraft(t, bookNorth)
	w.Pass(time.Hour)
	second, err := w.service.Revise(t.Context(), w.edit(t, first, "", strings.ReplaceAll(bookNorth, "norte", "sur")))
	if err != nil {
		t.Fatal(err)
	}
	stored := w.Read(first.ID)
	if second.ID != first.ID || second.Plan.Revision != 2 || second.Digest == first.Digest || second.Plan.Replaces != first.Digest ||
		second.Plan.ID != first.Plan.ID || !second.Plan.ExpiresAt.After(first.Plan.ExpiresAt) || second.Plan.Goal != "Reservar" ||
		stored.Digest != second.Digest || stored.Status != plan.Draft {
		t.Errorf("%+v", second)
	}
	if d, _ := stored.Plan.Digest(); d != stored.Digest {
		t.Error("the digest is not that of the plan")
	}
	said := w.Messages()
	if got := said[len(said)-1]; !strings.HasPrefix(got.Content, "Plan cambiado (revisión 2): room: norte → sur.\n") || got.RunID != first.ID {
		t.Errorf("%q", got.Content)
	}
	event, data := w.lastEvent(t, first.ID)
	if event.Type != plan.EventRevised || data["before"] != string(first.Digest) || data["digest"] != string(second.Digest) || data["by"] != "ana" ||
		data["revision"] != 2.0 || !strings.Contains(string(event.Data), `"field":"body/room"`) {
		t.Errorf("%s %s", event.Type, event.Data)
	}
	list, err := w.Store.Runs.Revisions(t.Context(), stored)
	if err != nil || len(list) != 2 || list[0].Digest != first.Digest || list[1].By != "ana" || list[1].Model != "" {
		t.Errorf("%+v %v", list, err)
	}
	if err := w.Confirm(first); !errors.Is(err, plan.ErrStale) {
		t.Errorf("the old digest: %v", err)
	}
	if err := w.Confirm(second); err != nil {
		t.Error(err)
	}
}

func TestEditWithoutChangeMakesNoRevision(t *testing.T) {
	w := newWorld(t)
	first := w.proposeDraft(t, bookNorth)
	for _, same := range []string{
		bookNorth,
		`[{"id":"s1","title":"","mcp_id":"SERVER","method":"post","path":" /bookings","query":{},"needs":[],"body":"{\"room\": \"norte\"}"}]`,
	} {
		got, err := w.service.Revise(t.Context(), w.edit(t, first, "Reservar", same))
		if err != nil || got.Plan.Revision != 1 || got.Digest != first.Digest || got.EventSeq != first.EventSeq {
			t.Errorf("%s: %+v %v", same, got, err)
		}
	}
}

func TestEditPassesSameChecksAsProposal(t *testing.T) {
	w := newWorld(t)
	first := w.proposeDraft(t, bookNorth)
	if err := w.Store.Runs.SetRules(t.Context(), fixture.Account, 0, rule.Set{Rules: []rule.Rule{
		{ID: "r1", Effect: rule.Deny, Method: "DELETE", Reason: "Aquí nadie borra"},
	}}); err != nil {
		t.Fatal(err)
	}
	before := w.Read(first.ID)
	for name, c := range map[string]struct{ steps, loc, says string }{
		"none":               {`[]`, "body steps", "at least one"},
		"a circle":           {`[{"id":"a","needs":["b"],"mcp_id":"SERVER","method":"GET","path":"/rooms"},{"id":"b","needs":["a"],"mcp_id":"SERVER","method":"GET","path":"/rooms"}]`, "body steps", ""},
		"a foreign step":     {`[{"mcp_id":"SERVER","method":"GET","path":"/bookings/${s9.body.id}"}]`, "body steps 0 path", "s9"},
		"no server":          {`[{"mcp_id":"SERVER","method":"GET","path":"/rooms"},{"mcp_id":"none","method":"GET","path":"/rooms"}]`, "body steps 1 mcp_id", "no server"},
		"no operation":       {`[{"mcp_id":"SERVER","method":"PUT","path":"/bookings"}]`, "body steps 0 path", "no operation"},
		"a wrong body":       {`[{"mcp_id":"SERVER","method":"POST","path":"/bookings","body":{"room":7}}]`, "body steps 0 body room", "string"},
		"a wrong undo":       {`[{"mcp_id":"SERVER","method":"POST","path":"/bookings","body":{"room":"a"},"undo":{"method":"DELETE","path":"/rooms"}}]`, "body steps 0 undo path", "no operation"},
		"a check that acts":  {`[{"mcp_id":"SERVER","method":"POST","path":"/bookings","body":{"room":"a"},"verify":{"method":"DELETE","path":"/bookings/7","expect":{"value":"${check.status}","is":"equal","to":200}}}]`, "body steps 0 verify", ""},
		"what a rule denies": {`[{"mcp_id":"SERVER","method":"DELETE","path":"/bookings/7"}]`, "body steps 0", "denied: Aquí nadie borra"},
		"an undo as denied":  {`[{"mcp_id":"SERVER","method":"POST","path":"/bookings","body":{"room":"a"},"undo":{"method":"DELETE","path":"/bookings/${s1.body.id}"}}]`, "body steps 0 undo", "denied: Aquí nadie borra"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := w.service.Revise(t.Context(), w.edit(t, first, "", c.steps))
			fields := fault.Of(err).Fields
			if !errors.Is(err, plan.ErrInvalid) || len(fields) == 0 {
				t.Fatalf("%v", err)
			}
			if !strings.HasPrefix(withSpace(fields[0].Loc), c.loc) || !strings.Contains(fields[0].Msg, c.says) {
				t.Errorf("%+v", fields)
			}
		})
	}
	if after := w.Read(first.ID); after.Digest != before.Digest || after.EventSeq != before.EventSeq {
		t.Error("something was changed")
	}
}

func withSpace(loc []any) string {
	var parts []string
	for _, l := range loc {
		parts = append(parts, fmt.Sprint(l))
	}
	return strings.Join(parts, " ")
}

func TestEditRefusesStaleDigest(t *testing.T) {
	w := newWorld(t)
	first := w.proposeDraft(t, bookNorth)
	other := strings.ReplaceAll(bookNorth, "norte", "sur")
	try := func(name string, e turn.Edit, want error) {
		t.Helper()
		was := w.Read(first.ID)
		if _, err := w.service.Revise(t.Context(), e); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
		if now := w.Read(first.ID); now.EventSeq != was.EventSeq {
			t.Errorf("%s: something was written", name)
		}
	}
	stale := w.edit(t, first, "", other)
	stale.Digest = plan.Digest(strings.Repeat("a", 64))
	try("another digest", stale, plan.ErrStale)
	foreign := w.edit(t, first, "", other)
	foreign.Principal.Account = "other"
	try("another account", foreign, plan.ErrRunNotFound)
	missing := w.edit(t, first, "", other)
	missing.RunID = "nope"
	try("no run", missing, plan.ErrRunNotFound)

	second := w.proposeDraft(t, bookNorth)
	try("a superseded one", w.edit(t, first, "", other), plan.ErrStale)
	w.Pass(25 * time.Hour)
	try("one whose time is over", w.edit(t, second, "", other), plan.ErrExpired)
	third := w.proposeDraft(t, bookNorth)
	if err := w.Confirm(third); err != nil {
		t.Fatal(err)
	}
	try("one that runs", w.edit(t, third, "", other), plan.ErrAlreadyRunning)
	w.Execute(third.ID)
	try("one that is done", w.edit(t, third, "", other), plan.ErrNotPending)
}

// TestEditAndConfirmNeverBothWin starts both at a barrier: the confirmed plan is the one that
// was seen.
func TestEditAndConfirmNeverBothWin(t *testing.T) {
	w := newWorld(t)
	for range 10 {
		r := w.proposeDraft(t, bookNorth)
		const edits = 4
		errs := make([]error, edits)
		var confirmed error
		barrier := make(chan struct{})
		var wg sync.WaitGroup
		for i := range edits {
			e := w.edit(t, r, "", strings.ReplaceAll(bookNorth, "norte", fmt.Sprint("sala ", i)))
			wg.Go(func() { <-barrier; _, errs[i] = w.service.Revise(context.Background(), e) })
		}
		wg.Go(func() { <-barrier; confirmed = w.Confirm(r) })
		close(barrier)
		wg.Wait()
		won := 0
		for _, err := range errs {
			if err == nil {
				won++
			} else if !errors.Is(err, plan.ErrStale) && !errors.Is(err, plan.ErrAlreadyRunning) {
				t.Fatal(err)
			}
		}
		now := w.Read(r.ID)
		switch {
		case confirmed == nil && (won != 0 || now.Digest != r.Digest || now.Status != plan.Queued):
			t.Fatalf("confirmed, and %d edits won: %s", won, now.Status)
		case confirmed != nil && (won != 1 || now.Plan.Revision != 2 || !errors.Is(confirmed, plan.ErrStale)):
			t.Fatalf("not confirmed (%v), and %d edits won: revision %d", confirmed, won, now.Plan.Revision)
		}
		if confirmed == nil {
			w.Execute(r.ID)
		}
	}
}

func TestModelRevisesPendingDraft(t *testing.T) {
	w := newWorld(t)
	has := func(at int) bool {
		for _, offered := range w.model.asked[at].Tools {
			if offered.Name == "revise_plan" {
				return true
			}
		}
		return false
	}
	first := w.proposeDraft(t, bookNorth)
	if !has(0) || strings.Contains(prompted(w.model.asked[0]), "<draft>\n") { // the tools stay, and a draft is shown while one waits
		t.Error("there was nothing to revise, or the tool is not there")
	}
	w.model.answers = []any{calls("revise_plan", strings.ReplaceAll(`{"steps":[{"id":"s1","title":"Reservar la sur","mcp_id":"SERVER","method":"POST","path":"/bookings","body":{"room":"sur"}}]}`, "SERVER", w.Server.ID))}
	reply := w.send(t, "mejor la sur")
	if reply.Kind != turn.KindPlan || reply.Run.ID != first.ID || reply.Run.Plan.Revision != 2 || reply.Chat.PendingRunID != first.ID || reply.Message.By == nil {
		t.Fatalf("%+v", reply)
	}
	system := prompted(w.model.asked[1])
	if said := fmt.Sprint(w.model.asked[1].Messages); !has(1) || strings.Contains(system, `<draft>`) || !strings.Contains(system, "waits: a yes") || !strings.Contains(said, `"room":"norte"`) || !strings.Contains(said, `"steps":["s1"]`) {
		t.Errorf("the model does not know the draft, which its own call wrote: %s", said)
	}
	if !strings.Contains(reply.Message.Content, "room: norte → sur") || !strings.Contains(reply.Message.Content, `{"room":"sur"}`) {
		t.Errorf("%s", reply.Message.Content)
	}
	list, err := w.Store.Runs.Revisions(t.Context(), *reply.Run)
	if err != nil || len(list) != 2 || list[1].Model != "m" || list[1].By != "ana" {
		t.Errorf("%+v %v", list, err)
	}
	if queued := w.send(t, "confirmo"); queued.Kind != turn.KindQueued || queued.Run.Digest != reply.Run.Digest {
		t.Errorf("%+v", queued)
	}
}

func TestInvalidRevisionGoesBackToModel(t *testing.T) {
	w := newWorld(t)
	first := w.proposeDraft(t, bookNorth)
	step := strings.ReplaceAll(`{"id":"s1","title":"POST /bookings","mcp_id":"SERVER","method":"POST","path":"/bookings","body":{"room":"norte"}}`, "SERVER", w.Server.ID)
	for name, answer := range map[string]llm.Reply{
		"the same":           calls("revise_plan", `{"steps":[`+step+`]}`),
		"with a proposal":    calls("revise_plan", `{"steps":[`+step+`]}`, "mcp_request", w.request("GET", "/rooms", "")),
		"after a proposal":   calls("mcp_request", w.request("GET", "/rooms", ""), "revise_plan", `{"steps":[`+step+`]}`),
		"with a broken step": calls("revise_plan", `{"steps":[{"id":"s1"}]}`),
	} {
		w.model.answers = []any{answer, text("Ya está así.")}
		if reply := w.send(t, "otra cosa"); reply.Kind != turn.KindMessage {
			t.Errorf("%s: %+v", name, reply)
		}
		if now := w.Read(first.ID); now.EventSeq != first.EventSeq || now.Status != plan.Draft {
			t.Errorf("%s: the draft moved", name)
		}
	}
}

// TestRevisionKeepsDraftThatChangedMeanwhile edits the draft by hand while the model answers.
func TestRevisionKeepsDraftThatChangedMeanwhile(t *testing.T) {
	w := newWorld(t)
	first := w.proposeDraft(t, bookNorth)
	edit := w.edit(t, first, "", strings.ReplaceAll(bookNorth, "norte", "este"))
	w.service.Paid.Models = providers{interruptingModel{w.model, func() {
		if _, err := w.service.Revise(context.Background(), edit); err != nil {
			t.Error(err)
		}
	}}}
	revises := calls("revise_plan", strings.ReplaceAll(`{"steps":[{"id":"s1","title":"t","mcp_id":"SERVER","method":"POST","path":"/bookings","body":{"room":"sur"}}]}`, "SERVER", w.Server.ID))
	revises.Text = "La sur no tiene proyector." // the text is kept in any case
	w.model.answers = []any{revises}
	reply := w.send(t, "la sur")
	if reply.Kind != turn.KindNotice || !strings.Contains(reply.Message.Content, "ya no es el que había") || !strings.HasPrefix(reply.Message.Content, revises.Text) {
		t.Errorf("%+v", reply.Message)
	}
	if now := w.Read(first.ID); now.Plan.Revision != 2 || !strings.Contains(string(now.Plan.Steps[0].Body), "este") {
		t.Errorf("%+v", now.Plan)
	}
}

// interruptingModel calls a function before it answers.
type interruptingModel struct {
	model llm.Model
	first func()
}

// Complete implements llm.Model.
func (m interruptingModel) Complete(ctx context.Context, r llm.Request) (llm.Reply, error) {
	m.first()
	return m.model.Complete(ctx, r)
}

// awaitApproval moves a confirmed run until its first step waits for an approval.
func (w *world) awaitApproval(t testing.TB, r plan.Run) {
	t.Helper()
	if err := w.Confirm(r); err != nil {
		t.Fatal(err)
	}
	w.Begin(r.ID)
	now, at := w.Read(r.ID), w.Clock()
	st := plan.StepState{StepID: plan.EffectOf("s1"), Status: plan.StepWaiting, UpdatedAt: at, Approval: &plan.Approval{
		Ask: plan.Ask{Reason: "Borra algo", Minutes: 60}, Method: "DELETE", Token: "t", AskedAt: at, ExpiresAt: at.Add(time.Hour),
	}}
	if _, err := w.Store.Runs.MoveRun(t.Context(), now, run.Move{Record: run.Record{At: at, Type: plan.EventStepAsked, StepID: plan.EffectOf("s1")}, To: plan.Waiting, State: &st, Begins: true, Due: at.Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
}

// TestAnApprovalThatIsOverIsNotAskedFor: a yes to a run whose approval expired, or that is being stopped, is not sent to it.
func TestAnApprovalThatIsOverIsNotAskedFor(t *testing.T) {
	for name, end := range map[string]func(w *world){
		"expired":  func(w *world) { w.Pass(time.Hour) },
		"stopping": func(w *world) { w.send(t, "detener") },
	} {
		w := newWorld(t)
		waiting := w.proposeDraft(t, `[{"title":"Borrar la 7","mcp_id":"SERVER","method":"DELETE","path":"/bookings/7"}]`)
		w.awaitApproval(t, waiting)
		end(w)
		if reply := w.send(t, "confirmo"); reply.Kind != turn.KindNotice || strings.Contains(reply.Message.Content, "aprobación") {
			t.Errorf("%s: %+v", name, reply.Message)
		}
	}
}

// TestTypedMessageGrantsNoApprovalAndWaitBlocksNothing says yes and no to a run that waits, and
// then to another plan beside it.
func TestTypedMessageGrantsNoApprovalAndWaitBlocksNothing(t *testing.T) {
	w := newWorld(t)
	waiting := w.proposeDraft(t, `[{"title":"Borrar la 7","mcp_id":"SERVER","method":"DELETE","path":"/bookings/7"}]`)
	w.awaitApproval(t, waiting)
	for _, word := range []string{"confirmo", "sí", "apruebo", "no"} {
		w.model.answers = nil
		reply := w.send(t, word)
		if word == "confirmo" && (reply.Kind != turn.KindNotice || !strings.Contains(reply.Message.Content, "Borrar la 7")) {
			t.Errorf("%s: %+v", word, reply.Message)
		}
		if now := w.Read(waiting.ID); now.Status != plan.Waiting || now.State(plan.EffectOf("s1")).Approval.Decision != "" || now.CancelAt != nil {
			t.Fatalf("%s moved the run: %s", word, now.Status)
		}
	}
	w.proposeDraft(t, bookNorth)
	system := prompted(w.model.asked[len(w.model.asked)-1])
	if !strings.Contains(system, `"waits":{"step":"s1"`) || !strings.Contains(system, "Borra algo") {
		t.Errorf("the model does not know what waits: %s", system)
	}
	if reply := w.send(t, "no"); reply.Kind != turn.KindCancelled {
		t.Errorf("%+v", reply.Message)
	}
	second := w.proposeDraft(t, bookNorth)
	if reply := w.send(t, "confirmo"); reply.Kind != turn.KindQueued || reply.Run.ID != second.ID {
		t.Errorf("%+v", reply.Message)
	}
	if now := w.Read(waiting.ID); now.Status != plan.Waiting || now.CancelAt != nil {
		t.Errorf("the run that waited is %s", now.Status)
	}
}

// TestPromptContainsOutcomeOfDrafts ends drafts in every way except a run.
func TestPromptContainsOutcomeOfDrafts(t *testing.T) {
	w := newWorld(t)
	rejected := w.proposeDraft(t, bookNorth)
	if _, err := w.Runs.Cancel(t.Context(), run.Cancellation{
		Account: fixture.Account, User: "ana", RunID: rejected.ID, Reason: "Solo a <b>Ana</b>", Locale: locale.Spanish,
	}); err != nil {
		t.Fatal(err)
	}
	w.proposeDraft(t, bookNorth)
	w.proposeDraft(t, bookNorth) // supersedes it
	w.Pass(48 * time.Hour)       // and expires, before anything notes it
	w.send(t, "¿y bien?")
	system := prompted(w.model.asked[len(w.model.asked)-1])
	for _, part := range []string{`"status":"cancelled"`, "Solo a", `"status":"superseded"`, `"status":"expired"`} {
		if !strings.Contains(system, part) {
			t.Errorf("the model is not told %s: %s", part, system)
		}
	}
	if last := w.model.asked[len(w.model.asked)-1].Messages; strings.Contains(system, "<b>") || strings.Contains(last[len(last)-2].Content, "<draft>\n") {
		t.Error("a tag came through, or a draft that is none is shown")
	}
}

// TestEditCannotChangeFinishedStep edits the draft of a run that continues another. Its finished
// step cannot change; its failed step can.
func TestEditCannotChangeFinishedStep(t *testing.T) {
	w := newWorld(t)
	w.Runs.DraftLife = time.Hour
	w.Answer(func(r tool.Request) (tool.Answer, error) {
		if r.Method == "GET" {
			return tool.Answer{Status: 200, Body: []byte(`{"id":"n1"}`)}, nil
		}
		return tool.Answer{Status: 409}, nil
	})
	steps := `[{"id":"s1","mcp_id":"SERVER","method":"GET","path":"/rooms"},{"id":"s2","mcp_id":"SERVER","method":"POST","path":"/bookings","body":{"room":"norte"}}]`
	failed := w.proposeDraft(t, steps)
	if err := w.Confirm(failed); err != nil {
		t.Fatal(err)
	}
	w.Execute(failed.ID)
	again, err := w.Runs.Retry(t.Context(), run.Again{Account: fixture.Account, User: "ana", RunID: failed.ID, Locale: locale.Spanish})
	if err != nil || again.Run.Plan.Reuse == nil {
		t.Fatalf("%+v %v", again.Run.Plan, err)
	}
	for name, changed := range map[string]string{
		"changed":  strings.ReplaceAll(steps, `"path":"/rooms"`, `"path":"/bookings/7"`),
		"left out": `[{"id":"s2","needs":[],"mcp_id":"SERVER","method":"POST","path":"/bookings","body":{"room":"norte"}}]`,
	} {
		if _, err := w.service.Revise(t.Context(), w.edit(t, again.Run, "", changed)); !errors.Is(err, plan.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	next, err := w.service.Revise(t.Context(), w.edit(t, again.Run, "", strings.ReplaceAll(steps, "norte", "sur")))
	if err != nil || next.Plan.Reuse == nil || next.Plan.Revision != again.Run.Plan.Revision+1 {
		t.Fatalf("%+v %v", next.Plan, err)
	}
	if now := w.Read(next.ID); now.State(plan.EffectOf("s1")).Status != plan.StepDone || now.State(plan.EffectOf("s2")).Status != plan.StepPending {
		t.Errorf("%+v", now.Steps)
	}
}
