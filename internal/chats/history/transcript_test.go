package history

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"piloto/internal/conversation"
	"piloto/internal/ground/ids"
	"piloto/internal/models/llm"
	"piloto/internal/runs/plan"
)

var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

// stored is a chat with the runs that its messages name.
type stored struct {
	messages []conversation.Message
	runs     map[string]plan.Run
}

// Messages implements conversation.MessageReader.
func (s stored) Messages(context.Context, conversation.Key, string, int) ([]conversation.Message, string, error) {
	return slices.Clone(s.messages), "", nil
}

// Summary implements Chats.
func (s stored) Summary(context.Context, conversation.Key, time.Time) (conversation.Summary, error) {
	return conversation.Summary{}, nil
}

// Bare implements plan.BareReader.
func (s stored) Bare(_ context.Context, _ ids.Account, id string) (plan.Run, error) {
	if r, ok := s.runs[id]; ok {
		return r, nil
	}
	return plan.Run{}, plan.ErrRunNotFound
}

// Run implements plan.Reader.
func (s stored) Run(ctx context.Context, account ids.Account, id string) (plan.Run, error) {
	return s.Bare(ctx, account, id)
}

// Whole implements plan.ResultReader.
func (s stored) Whole(_ context.Context, _ plan.Run, _ plan.EffectID, res plan.Result) (plan.Result, error) {
	res.Body, res.Apart = json.RawMessage(`{"whole":true}`), 0
	return res, nil
}

// TestALargeAnswerIsToldAlikeInEachPrompt: also when the conclusion of its plan is past.
func TestALargeAnswerIsToldAlikeInEachPrompt(t *testing.T) {
	s1 := plan.EffectOf("s1")
	chat := proposed(plan.Run{
		ID: "r1", Plan: plan.Plan{Steps: []plan.Step{{ID: s1, Method: "POST"}}}, Status: plan.Done, Confirmer: "ana", UpdatedAt: noon.Add(3 * time.Hour),
		Steps: []plan.StepState{{StepID: s1, Status: plan.StepDone, Attempts: 1, Result: &plan.Result{Status: 200, Body: json.RawMessage(`{"rows":[`), Bytes: 99, Apart: 2}}},
	})
	chat.messages = slices.Insert(chat.messages, 3, conversation.Message{ID: "f", Seq: "3", Kind: conversation.KindFinal, RunID: "r1", At: noon.Add(3 * time.Hour)})
	_, what := events(t, chat.texts(t, noon.Add(9*time.Hour)))
	if len(what) != 1 || !strings.Contains(string(what[0]["plan_ended"]), `"whole":true`) {
		t.Errorf("%s", what)
	}
}

// texts returns the transcript of a chat before a last message, at a time.
func (s stored) texts(t *testing.T, at time.Time) []llm.Message {
	t.Helper()
	last := conversation.Message{ID: "now", Seq: "9", Role: conversation.RoleUser, Kind: conversation.KindText, Content: "¿Y bien?", At: at}
	past, err := Reader{Chats: s, Runs: s, Now: func() time.Time { return at }}.Load(t.Context(), Of{Message: last})
	if err != nil {
		t.Fatal(err)
	}
	return past.Texts
}

// proposed is a chat in which a person asked, the model proposed with some words, and the person wrote twice more.
func proposed(r plan.Run) stored {
	by := &conversation.By{Model: "m"}
	message := func(n int, role conversation.Role, kind conversation.Kind, text string) conversation.Message {
		m := conversation.Message{ID: fmt.Sprint("m", n), Seq: fmt.Sprint(n), Role: role, Kind: kind, Content: text, At: noon.Add(time.Duration(n) * time.Hour)}
		if role == conversation.RoleAssistant {
			m.By = by
		}
		return m
	}
	beside, card := message(2, conversation.RoleAssistant, conversation.KindText, "La Norte tiene sitio."), message(2, conversation.RoleAssistant, conversation.KindPlan, "1. Reserva")
	beside.ID, beside.RunID, card.RunID = "m2t", r.ID, r.ID
	card.Transcript = &conversation.Transcript{Now: "Now: noon.", Rounds: []conversation.Round{{Text: "La Norte tiene sitio.", Calls: []conversation.ToolCall{
		{ID: "c1", Name: "mcp_request", Arguments: `{"path":"/bookings"}`, Result: `{"waits":"…","run_id":"r1"}`},
	}}}}
	return stored{
		[]conversation.Message{
			message(1, conversation.RoleUser, conversation.KindText, "Reserva la Norte"), beside, card,
			message(4, conversation.RoleUser, conversation.KindText, "gracias"), message(5, conversation.RoleAssistant, conversation.KindText, "De nada."),
		},
		map[string]plan.Run{r.ID: r},
	}
}

// events returns the events of a transcript, each with its place.
func events(t *testing.T, list []llm.Message) (where []int, what []map[string]json.RawMessage) {
	t.Helper()
	for i, m := range list {
		text, isEvent := strings.CutPrefix(m.Content, "<event>\n")
		if !isEvent {
			continue
		}
		var of map[string]json.RawMessage
		text, closed := strings.CutSuffix(text, "\n</event>")
		if m.Role != llm.System || !closed || json.Unmarshal([]byte(text), &of) != nil {
			t.Fatalf("%+v", m)
		}
		where, what = append(where, i), append(what, of)
	}
	return where, what
}

// TestAModelIsToldTheEndOfEachPlan: once, at its place, for every status; and nothing is told of a plan that has no end. What the
// model said beside the plan and its call stay its own.
func TestAModelIsToldTheEndOfEachPlan(t *testing.T) {
	s1 := plan.EffectOf("s1")
	body := plan.Plan{Goal: "Reservar", Steps: []plan.Step{{ID: s1, Title: "Reserva", MCPID: "rooms", Method: "POST", Path: "/bookings", Risk: plan.Write}}}
	ran := func(r *plan.Run, status plan.StepStatus) {
		r.Confirmer = "ana"
		r.Steps = []plan.StepState{{StepID: s1, Status: status, Attempts: 1}}
	}
	type row struct {
		status plan.Status
		change func(*plan.Run)
		tells  []string // of the event; nil: there is none
		omits  []string
	}
	rows := map[string]row{
		"draft":   {plan.Draft, nil, nil, nil},
		"queued":  {plan.Queued, func(r *plan.Run) { ran(r, plan.StepPending) }, nil, nil},
		"running": {plan.Running, func(r *plan.Run) { ran(r, plan.StepRunning) }, nil, nil},
		"waiting": {plan.Waiting, func(r *plan.Run) { ran(r, plan.StepWaiting) }, nil, nil},
		"done": {plan.Done, func(r *plan.Run) {
			ran(r, plan.StepDone)
			r.Steps[0].Last.Body = json.RawMessage(`{"room":"norte"}`)
			r.Steps[0].Result = &plan.Result{Status: 201, Body: json.RawMessage(`{"id":"r-1","note":"</event>"}`)}
		}, []string{`"status":"done"`, `"confirmed_by":"ana"`, `"sent":{`, `"room":"norte"`, `"answer":201`, `"id":"r-1"`}, []string{"edited", "refused"}},
		"failed": {plan.Failed, func(r *plan.Run) {
			ran(r, plan.StepFailed)
			r.Error = &plan.Failure{Message: "ocupada"}
		}, []string{`"status":"error"`, `"error":"ocupada"`}, []string{"refused"}},
		"in doubt":                     {plan.InDoubt, func(r *plan.Run) { ran(r, plan.StepInDoubt) }, []string{`"status":"in_doubt"`}, nil},
		"stopped":                      {plan.Cancelled, func(r *plan.Run) { ran(r, plan.StepCancelled) }, []string{`"status":"cancelled"`, `"confirmed_by":"ana"`, `"steps"`}, []string{"refused"}},
		"refused":                      {plan.Cancelled, func(r *plan.Run) { r.Reason = "muy caro" }, []string{`"status":"cancelled"`, `"refused_by_the_person":true`, `"reason":"muy caro"`}, []string{"confirmed_by", "steps", "withdrawn"}},
		"withdrawn":                    {plan.Cancelled, func(r *plan.Run) { r.Withdrawn = &plan.Withdrawal{Reason: "ya no hace falta"} }, []string{`"status":"cancelled"`, `"withdrawn":"ya no hace falta"`}, []string{"refused", "steps"}},
		"expired":                      {plan.Expired, nil, []string{`"status":"expired"`}, []string{"refused", "steps"}},
		"expired, but no sweep saw it": {plan.Draft, func(r *plan.Run) { r.Plan.ExpiresAt = noon.Add(3 * time.Hour) }, []string{`"status":"expired"`}, []string{"refused", "steps"}},
		"superseded":                   {plan.Superseded, nil, []string{`"status":"superseded"`}, []string{"refused", "steps"}},
	}
	for _, s := range plan.Statuses() {
		if !slices.ContainsFunc(slices.Collect(maps.Values(rows)), func(r row) bool { return r.status == s }) {
			t.Errorf("no row has the status %s", s)
		}
	}
	for name, c := range rows {
		t.Run(name, func(t *testing.T) {
			r := plan.Run{ID: "r1", Plan: body, Status: c.status, UpdatedAt: noon.Add(3 * time.Hour)}
			if c.change != nil {
				c.change(&r)
			}
			chat := proposed(r)
			if r.Confirmer != "" && r.Status.Terminal() { // its final message says when it ended
				final := conversation.Message{ID: "f", Seq: "3", Role: conversation.RoleSystem, Kind: conversation.KindFinal, RunID: r.ID, At: noon.Add(3 * time.Hour)}
				chat.messages = slices.Insert(chat.messages, 3, final)
			}
			list := chat.texts(t, noon.Add(9*time.Hour))
			call, result := list[2], list[3]
			if list[0].Content != "Now: noon." || list[1].Content != "Reserva la Norte" || call.Role != llm.Assistant || call.Content != "La Norte tiene sitio." ||
				len(call.Calls) != 1 || call.Calls[0].Arguments != `{"path":"/bookings"}` || result.Role != llm.ToolRole || result.CallID != "c1" || !strings.Contains(result.Content, "waits") {
				t.Errorf("its call is no call: %+v", list)
			}
			where, what := events(t, list)
			if c.tells == nil {
				if len(what) != 0 {
					t.Errorf("it has no end, and %s is told", what)
				}
				return
			}
			if len(what) != 1 || where[0] != 4 || list[5].Content != "gracias" {
				t.Fatalf("%v, %s", where, what)
			}
			end := string(what[0]["plan_ended"])
			for _, part := range append(c.tells, `"run_id":"r1"`, `"goal":"Reservar"`) {
				if !strings.Contains(end, part) {
					t.Errorf("%s is not in %s", part, end)
				}
			}
			for _, part := range c.omits {
				if strings.Contains(end, part) {
					t.Errorf("%s is in %s", part, end)
				}
			}
			if strings.Count(list[4].Content, "</event>") != 1 {
				t.Errorf("an answer ends the event: %s", list[4].Content)
			}
		})
	}
}

// TestADoubtThatIsSettledIsAnEventOfItsOwn: what stood in the prompts between stays as it was.
func TestADoubtThatIsSettledIsAnEventOfItsOwn(t *testing.T) {
	s1 := plan.EffectOf("s1")
	r := plan.Run{
		ID: "r1", Plan: plan.Plan{Steps: []plan.Step{{ID: s1, Method: "POST"}}}, Status: plan.InDoubt, Confirmer: "ana",
		Steps: []plan.StepState{{StepID: s1, Status: plan.StepInDoubt, Attempts: 1}}, UpdatedAt: noon.Add(3 * time.Hour),
	}
	chat := proposed(r)
	final := conversation.Message{ID: "f", Seq: "3", Role: conversation.RoleSystem, Kind: conversation.KindFinal, RunID: r.ID, At: noon.Add(3 * time.Hour)}
	chat.messages = slices.Insert(chat.messages, 3, final)
	before := chat.texts(t, noon.Add(9*time.Hour))
	r.Steps = []plan.StepState{r.Steps[0]}
	r.Steps[0].Resolved = &plan.Resolution{Outcome: plan.OutcomeDone, By: "ana", Note: "la vi", At: noon.Add(8 * time.Hour)}
	chat.runs[r.ID] = r
	after := chat.texts(t, noon.Add(9*time.Hour))
	where, what := events(t, after)
	same := slices.EqualFunc(before[:len(before)-1], after[:min(len(after), len(before)-1)], func(a, b llm.Message) bool { return a.Content == b.Content })
	if len(where) != 2 || where[1] != len(after)-2 || !strings.Contains(string(what[1]["doubt_settled"]), `"la vi"`) || !same {
		t.Errorf("%v %s\n%+v\n%+v", where, what, before, after)
	}
}

// TestAModelIsToldThatAPersonChangedItsPlan: a further card of no model is that; one that is shown again, or that the model wrote, is
// not, nor are words beside the first one.
func TestAModelIsToldThatAPersonChangedItsPlan(t *testing.T) {
	for name, c := range map[string]struct {
		change func(card *conversation.Message)
		want   bool
	}{
		"no further card": {nil, false},
		"by a person":     {func(card *conversation.Message) { card.By = nil }, true},
		"shown again": {func(card *conversation.Message) {
			card.By, card.Notes = nil, []conversation.Note{{Code: conversation.NoteNotConfirmed}}
		}, false},
		"by the model":                {func(*conversation.Message) {}, false},
		"by the model of a later job": {func(card *conversation.Message) { card.JobID = "j1" }, false},
	} {
		chat := proposed(plan.Run{ID: "r1", Status: plan.Done, Confirmer: "ana", UpdatedAt: noon.Add(3 * time.Hour)})
		final := conversation.Message{ID: "f", Seq: "3", Kind: conversation.KindFinal, RunID: "r1", At: noon.Add(3 * time.Hour)}
		if c.change != nil {
			card := chat.messages[2]
			card.ID, card.Seq, card.Transcript = "m2b", "2b", nil
			c.change(&card)
			chat.messages = slices.Insert(chat.messages, 3, card)
		}
		chat.messages = slices.Insert(chat.messages, len(chat.messages)-2, final)
		_, what := events(t, chat.texts(t, noon.Add(9*time.Hour)))
		if len(what) != 1 || strings.Contains(string(what[0]["plan_ended"]), `"edited_by_a_person":true`) != c.want {
			t.Errorf("%s: %s", name, what)
		}
	}
}

// TestAModelIsToldOfAPlanThatIsNotHere: one that was deleted, and one of the conversation that was copied, wait no more, although
// the result of the call says that they wait.
func TestAModelIsToldOfAPlanThatIsNotHere(t *testing.T) {
	deleted := proposed(plan.Run{ID: "r1"})
	deleted.runs = nil
	for want, chat := range map[string]stored{"was deleted": deleted, "here it does not wait": copyOf(proposed(plan.Run{ID: "r1", Status: plan.Draft})), "It was deleted there": copyOf(deleted)} {
		list := chat.texts(t, noon.Add(9*time.Hour))
		where, what := events(t, list)
		if len(what) != 1 || where[0] != 4 || !strings.Contains(string(what[0]["plan"]), want) {
			t.Errorf("%s: %v, %s in %+v", want, where, what, list)
		}
	}
}

// TestAModelKnowsWhatAPersonWasToldWithoutIt: words that did not confirm its plan, and a notice in its place.
func TestAModelKnowsWhatAPersonWasToldWithoutIt(t *testing.T) {
	chat := proposed(plan.Run{ID: "r1", Status: plan.Draft, Plan: plan.Plan{ExpiresAt: noon.Add(99 * time.Hour)}})
	again, notice := chat.messages[2], chat.messages[4]
	again.ID, again.Seq, again.By, again.Transcript, again.At = "m5", "5", nil, nil, noon.Add(5*time.Hour)
	again.Notes = []conversation.Note{{Code: conversation.NoteNotConfirmed}}
	notice.By, notice.Kind, notice.Content = nil, conversation.KindNotice, "Nada está en marcha."
	for told, answer := range map[string]conversation.Message{"not_confirmed": again, "told_the_person": notice} {
		chat.messages[4] = answer
		list := chat.texts(t, noon.Add(9*time.Hour))
		where, what := events(t, list)
		if len(what) != 1 || list[where[0]-1].Content != "gracias" || what[0][told] == nil {
			t.Errorf("%s: %v, %s in %+v", told, where, what, list)
		}
	}
}

// TestTheEndOfAPlanOfTheJobIsTheResultOfItsCall: so no event tells it once more.
func TestTheEndOfAPlanOfTheJobIsTheResultOfItsCall(t *testing.T) {
	for jobID, want := range map[string]int{"j1": 0, "j2": 1, "": 1} {
		chat := proposed(plan.Run{ID: "r1", JobID: "j1", Status: plan.Superseded, UpdatedAt: noon.Add(3 * time.Hour)})
		past, err := Reader{Chats: chat, Runs: chat, Now: func() time.Time { return noon.Add(9 * time.Hour) }}.Load(t.Context(), Of{JobID: jobID})
		if err != nil {
			t.Fatal(err)
		}
		if _, what := events(t, past.Texts); len(what) != want {
			t.Errorf("%q: %s", jobID, what)
		}
	}
}

// copyOf returns the copy of a chat, whose runs are those of the other one.
func copyOf(chat stored) stored {
	chat.messages = slices.Clone(chat.messages)
	for i := range chat.messages {
		m := &chat.messages[i]
		m.RunID, m.FromRunID = "", m.RunID
	}
	return chat
}

// TestAModelIsToldWhatCameOfACopiedPlan: in the other chat, before or after the copy was made. It is no plan of this chat, and the data
// of its answers keeps its circle.
func TestAModelIsToldWhatCameOfACopiedPlan(t *testing.T) {
	done := plan.Run{
		ID: "r1", Status: plan.Done, Confirmer: "ana", UpdatedAt: noon.Add(3 * time.Hour),
		Plan:  plan.Plan{Goal: "Reservar", Steps: []plan.Step{{ID: plan.EffectOf("s1"), Title: "Reserva", MCPID: "rooms", Method: "POST", Path: "/bookings", Risk: plan.Write}}},
		Steps: []plan.StepState{{StepID: plan.EffectOf("s1"), Status: plan.StepDone, Attempts: 1, Result: &plan.Result{Status: 201, Body: json.RawMessage(`{"id":"r-1"}`)}}},
	}
	refused := plan.Run{ID: "r1", Status: plan.Cancelled, Reason: "muy caro", UpdatedAt: noon.Add(3 * time.Hour)}
	final := conversation.Message{ID: "f", Seq: "3", Role: conversation.RoleSystem, Kind: conversation.KindFinal, RunID: "r1", At: noon.Add(3 * time.Hour)}
	ended := proposed(done)
	ended.messages = slices.Insert(ended.messages, 3, final)
	late := done
	late.UpdatedAt = noon.Add(8 * time.Hour)
	edited := proposed(done)
	card := edited.messages[2]
	card.ID, card.Seq, card.Transcript, card.By = "m2b", "2b", nil, nil
	edited.messages = slices.Insert(edited.messages, 3, card, final)
	for name, c := range map[string]struct {
		chat  stored
		place int
		tells []string
	}{
		"done":                {ended, 5, []string{`"status":"done"`, `"answer":201`, `"id":"r-1"`}},
		"done after the copy": {proposed(late), 7, []string{`"status":"done"`, `"id":"r-1"`}},
		"refused":             {proposed(refused), 5, []string{`"refused_by_the_person":true`, `"reason":"muy caro"`}},
		"edited, and done":    {edited, 5, []string{`"edited_by_a_person":true`}},
	} {
		chat := copyOf(c.chat)
		last := conversation.Message{ID: "now", Seq: "9", Role: conversation.RoleUser, Kind: conversation.KindText, Content: "¿Y bien?", At: noon.Add(9 * time.Hour)}
		past, err := Reader{Chats: chat, Runs: chat, Now: func() time.Time { return noon.Add(9 * time.Hour) }}.Load(t.Context(), Of{Message: last})
		if err != nil || len(past.Runs) != 0 {
			t.Fatal(err, past.Runs)
		}
		where, what := events(t, past.Texts)
		if len(what) != 2 || where[0] != 4 || where[1] != c.place || !strings.Contains(string(what[0]["plan"]), "here it does not wait") {
			t.Errorf("%s: %v, %s", name, where, what)
			continue
		}
		end := string(what[1]["plan_ended"])
		for _, part := range append(c.tells, `"where":"in the conversation from which this one was copied"`) {
			if !strings.Contains(end, part) {
				t.Errorf("%s: %s is not in %s", name, part, end)
			}
		}
		if r := c.chat.runs["r1"]; r.Status == plan.Done && !slices.Contains(past.ReadFrom, "rooms") {
			t.Errorf("%s: its circle is %v", name, past.ReadFrom)
		}
	}
}

// TestTheTextBesideAPlanWithoutACallIsKept: a plan of an older version, or of a job, has no call, so its text stands as it was.
func TestTheTextBesideAPlanWithoutACallIsKept(t *testing.T) {
	chat := proposed(plan.Run{ID: "r1", Status: plan.Draft, Plan: plan.Plan{ExpiresAt: noon.Add(99 * time.Hour)}})
	chat.messages[2].Transcript = nil
	for name, chat := range map[string]stored{"of the chat": chat, "copied": copyOf(chat)} {
		texts := 0
		for _, m := range chat.texts(t, noon.Add(9*time.Hour)) {
			if m.Role == llm.Assistant && m.Content == "La Norte tiene sitio." {
				texts++
			}
		}
		if texts != 1 {
			t.Errorf("%s: the text stands %d times", name, texts)
		}
	}
}
