package turn_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"piloto/infra/local/fixture"
	"piloto/internal/chats/job"
	"piloto/internal/chats/turn"
	"piloto/internal/conversation"
	"piloto/internal/models/llm"
	"piloto/internal/runs/plan"
)

const askFor = `{"question":"¿Para cuántas personas?","options":["4","6"]}`

// isQuestion reports whether a message is marked as a question with options.
func isQuestion(m conversation.Message, titles ...string) bool {
	return m.Asks && slices.Equal(m.Options, conversation.NewOptions(titles))
}

func fixtureTitles(n int) (list []string) {
	for i := range n {
		list = append(list, fmt.Sprintf("Opción %d", i+1))
	}
	return list
}

// newAskWorld is a world of jobs that may ask.
func newAskWorld(t testing.TB, answers ...any) *jobWorld {
	w := newJobWorld(t, answers...)
	w.service.Questions = w.jobs
	return w
}

func (w *jobWorld) waiting(t testing.TB) []plan.ListedWait {
	t.Helper()
	list, _, err := w.Store.Runs.Waiting(t.Context(), fixture.Account, "", w.Clock(), "", 10)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestJobAsksAndGoesOnWithTheAnswer: the question stands in the chat and in the list of what waits, and the next message in
// the chat is the result of the call, and no turn.
func TestJobAsksAndGoesOnWithTheAnswer(t *testing.T) {
	w := newAskWorld(t, calls("ask_person", askFor), text("Hecho para seis."))
	j := w.drive(t, w.start(t, "build", job.Order{}).ID)
	if j.Status != job.Waiting || j.RunID != "" || !strings.HasPrefix(j.Question, "¿Para cuántas personas?") || w.ChatNow().AskingJobID != j.ID {
		t.Fatalf("%+v", j)
	}
	if m := w.last(t); m.Content != "¿Para cuántas personas?\n1. 4\n2. 6" || !isQuestion(m, "4", "6") || m.Role != conversation.RoleAssistant || m.By.Agent != "build" || m.JobID != j.ID {
		t.Errorf("%+v", m)
	}
	if list := w.waiting(t); len(list) != 1 || list[0].Kind != plan.WaitJob || list[0].Job.ID != j.ID || list[0].Job.RunID != "" || !strings.Contains(list[0].Job.Title, "cuántas") {
		t.Errorf("%+v", list)
	}
	if next, err := w.service.Round(t.Context(), fixture.Account, j.ID); next != job.NextWait || err != nil {
		t.Errorf("without an answer: %s %v", next, err)
	}
	w.Pass(time.Minute)
	reply := w.send(t, "sí, para seis")
	if reply.Kind != turn.KindNotice || len(w.model.asked) != 1 || len(w.woken) != 1 || w.last(t).Content != "sí, para seis" {
		t.Fatalf("%+v after %d calls, woken %v", reply, len(w.model.asked), w.woken)
	}
	if list := w.waiting(t); len(list) != 0 {
		t.Errorf("after the answer: %+v", list)
	}
	j = w.drive(t, j.ID)
	if j.Status != job.Success || j.Output != "Hecho para seis." || j.Question != "" || w.model.lastTool() != `{"answer":"sí, para seis"}` {
		t.Errorf("%+v, told %s", j, w.model.lastTool())
	}
	if got := w.events(t, j.ID); got != "started round asked replied resumed round ended" {
		t.Error(got)
	}
	w.send(t, "gracias")
	if len(w.model.asked) != 3 {
		t.Errorf("the next message is no turn: %d calls", len(w.model.asked))
	}
}

// TestAMessageAnswersAQuestionOnce: a repeated one, and one more, change nothing.
func TestAMessageAnswersAQuestionOnce(t *testing.T) {
	w := newAskWorld(t, calls("ask_person", askFor))
	j := w.drive(t, w.start(t, "build", job.Order{}).ID)
	for _, c := range []struct {
		message, text string
		taken         bool
	}{{"m1", "seis", true}, {"m1", "seis", true}, {"m2", "ocho", false}} {
		taken, err := w.jobs.Reply(t.Context(), fixture.Account, j.ID, c.message, c.text)
		if err != nil || taken != c.taken {
			t.Errorf("%s: %v %v", c.message, taken, err)
		}
	}
	if now := w.job(t, j.ID); now.Reply != "seis" || now.ReplyID != "m1" {
		t.Errorf("%+v", now)
	}
	if taken, err := w.jobs.Reply(t.Context(), fixture.Account, "gone", "m1", "x"); taken || err != nil {
		t.Error(taken, err)
	}
}

// TestAMessageThatAJobHasIsNoTurn: a request that is served again, after the job went on, is answered as it was, and nobody
// can have that message answered, or the prompt of a job.
func TestAMessageThatAJobHasIsNoTurn(t *testing.T) {
	w := newAskWorld(t, calls("ask_person", askFor))
	j := w.drive(t, w.start(t, "build", job.Order{}).ID)
	if _, open := conversation.Unanswered(w.Messages()[:1]); open {
		t.Error("the prompt of a job is to be answered")
	}
	w.Pass(time.Minute)
	r := w.message("seis")
	r.MessageID, r.MessageAt, r.MayRepeat = w.IDs.New(w.Clock()), w.Clock(), true
	for range 2 {
		reply, err := w.service.Send(t.Context(), r)
		if err != nil || reply.Kind != turn.KindNotice || !strings.Contains(reply.Message.Content, "trabajo") {
			t.Fatalf("%+v %v", reply, err)
		}
		if m := w.Messages()[2]; m.ID != r.MessageID || m.JobID != j.ID {
			t.Errorf("%+v", m)
		}
		if _, open := conversation.Unanswered(w.Messages()[:3]); open {
			t.Error("the answer to a question is to be answered")
		}
		w.drive(t, j.ID)
		w.Pass(time.Minute)
	}
	if got := w.Messages(); len(got) != 4 || len(w.model.asked) != 2 {
		t.Errorf("%d messages after %d calls", len(got), len(w.model.asked))
	}
}

// TestAMessageThatAJobTookBeforeADeathIsNoTurn: the process died before the message stood in the chat, and the job went on.
func TestAMessageThatAJobTookBeforeADeathIsNoTurn(t *testing.T) {
	w := newAskWorld(t, calls("ask_person", askFor))
	j := w.drive(t, w.start(t, "build", job.Order{}).ID)
	w.Pass(time.Minute)
	r := w.message("seis")
	r.MessageID, r.MessageAt, r.MayRepeat = w.IDs.New(w.Clock()), w.Clock(), true
	if taken, err := w.jobs.Reply(t.Context(), fixture.Account, j.ID, r.MessageID, r.Message); !taken || err != nil {
		t.Fatal(taken, err)
	}
	if j = w.drive(t, j.ID); j.Status != job.Success {
		t.Fatalf("%+v", j)
	}
	w.Pass(time.Minute)
	asked := len(w.model.asked)
	reply, err := w.service.Send(t.Context(), r)
	if err != nil || reply.Kind != turn.KindNotice || !strings.Contains(reply.Message.Content, "trabajo") || len(w.model.asked) != asked {
		t.Errorf("%+v %v after %d calls", reply, err, len(w.model.asked)-asked)
	}
	said := 0
	for _, m := range w.Messages() {
		if m.ID == r.MessageID && m.JobID == j.ID {
			said++
		}
	}
	if said != 1 {
		t.Errorf("it is %d times in the chat: %+v", said, w.Messages())
	}
}

// TestQuestionsAreJudgedAsCalls: what is wrong with one is a result, and nothing is proposed beside one.
func TestQuestionsAreJudgedAsCalls(t *testing.T) {
	book := func(w *jobWorld) llm.Call {
		return calls("mcp_request", w.request("POST", "/bookings", `,"body":{"room":"n1"}`)).Calls[0]
	}
	ask := func(arguments string) llm.Call { return calls("ask_person", arguments).Calls[0] }
	for name, c := range map[string]struct {
		calls  func(w *jobWorld) []llm.Call
		asks   bool
		result string // of a call
	}{
		"no question":   {func(*jobWorld) []llm.Call { return []llm.Call{ask(`{"question":" "}`)} }, false, "must be a question"},
		"other members": {func(*jobWorld) []llm.Call { return []llm.Call{ask(`{"question":"¿?","to":"all"}`)} }, false, "to"},
		"too many": {func(*jobWorld) []llm.Call {
			return []llm.Call{ask(`{"question":"¿?","options":["1","2","3","4","5","6","7","8","9","10","11"]}`)}
		}, false, "at most 10"},
		"forty": {func(*jobWorld) []llm.Call {
			return []llm.Call{ask(`{"question":"¿?","options":["` + strings.Join(fixtureTitles(40), `","`) + `"]}`)}
		}, false, "these are 40: give the likeliest ones"},
		"an unseen text": {func(*jobWorld) []llm.Call { return []llm.Call{ask(`{"question":"\u200b"}`)} }, false, "must be a question"},
		"a long one": {func(*jobWorld) []llm.Call {
			return []llm.Call{ask(`{"question":"¿?","options":["` + strings.Repeat("a", 201) + `"]}`)}
		}, false, "at most 200 characters"},
		"no title": {func(*jobWorld) []llm.Call { return []llm.Call{ask(`{"question":"¿?","options":[{"label":"a"}]}`)} }, false, "must be a text"},
		"no list":  {func(*jobWorld) []llm.Call { return []llm.Call{ask(`{"question":"¿?","options":"a"}`)} }, false, `"options"`},
		"with ids": {func(*jobWorld) []llm.Call {
			return []llm.Call{ask(`{"question":"¿?","options":[{"id":"7","title":"a"},"b"]}`)}
		}, true, ""},
		"null":        {func(*jobWorld) []llm.Call { return []llm.Call{ask(`{"question":"¿?","options":null}`)} }, true, ""},
		"two of them": {func(*jobWorld) []llm.Call { return []llm.Call{ask(askFor), ask(askFor)} }, true, "one question at a time"},
		"with a plan": {func(w *jobWorld) []llm.Call { return []llm.Call{ask(askFor), book(w)} }, true, "nothing was proposed"},
		"with a look": {func(w *jobWorld) []llm.Call {
			return []llm.Call{ask(askFor), calls("look", lookAt(w.Server.ID, "/rooms")).Calls[0]}
		}, true, "Norte"},
		"after the plan": {func(w *jobWorld) []llm.Call { return []llm.Call{book(w), ask(askFor)} }, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newAskWorld(t)
			w.model.answers = []any{llm.Reply{Calls: c.calls(w)}}
			j := w.start(t, "build", job.Order{})
			if _, err := w.service.Round(t.Context(), fixture.Account, j.ID); err != nil {
				t.Fatal(err)
			}
			if now := w.job(t, j.ID); now.AsksPerson() != c.asks || w.ChatNow().PendingRunID != "" {
				t.Errorf("%+v", now)
			}
			rounds, err := w.Store.Jobs.Rounds(t.Context(), fixture.Account, j.ID)
			if err != nil {
				t.Fatal(err)
			}
			results := rounds[0].Results
			if all := strings.Join(results, " "); !strings.Contains(all, c.result) || slices.Contains(results, "") != c.asks {
				t.Errorf("%q", results)
			}
		})
	}
}

// TestOneJobAsksInAChat: another one is told so. A question whose job was stopped, or ended, is in nobody's way.
func TestOneJobAsksInAChat(t *testing.T) {
	w := newAskWorld(t, calls("ask_person", askFor), calls("ask_person", askFor), text("Sin preguntar."))
	first := w.drive(t, w.start(t, "build", job.Order{}).ID)
	w.Pass(time.Second)
	second := w.drive(t, w.start(t, "build", job.Order{}).ID)
	if second.Status != job.Success || !strings.Contains(w.model.lastTool(), "another question waits") || w.ChatNow().AskingJobID != first.ID {
		t.Errorf("%+v, told %s", second, w.model.lastTool())
	}
	if _, err := w.jobs.Stop(t.Context(), fixture.Account, first.ID); err != nil {
		t.Fatal(err)
	}
	w.Pass(time.Second)
	w.model.answers = []any{calls("ask_person", askFor)}
	third := w.drive(t, w.start(t, "build", job.Order{}).ID) // the first one was stopped, and has not ended yet
	if third.Status != job.Waiting || w.ChatNow().AskingJobID != third.ID {
		t.Errorf("%+v, asking %s", third, w.ChatNow().AskingJobID)
	}
	if first = w.drive(t, first.ID); first.Status != job.Partial || first.StopReason != conversation.StopPerson || w.ChatNow().AskingJobID != third.ID {
		t.Errorf("%+v, asking %s", first, w.ChatNow().AskingJobID)
	}
	w.Pass(job.MostLife)
	third = w.drive(t, third.ID)
	if third.Status != job.Partial || third.StopReason != conversation.StopExpired || len(w.waiting(t)) != 0 {
		t.Errorf("%+v", third)
	}
}

// TestAQuestionEndsATurn: the person answers with the next message, whose prompt has the question as the call that it was. Nothing
// that stands beside it is proposed.
func TestAQuestionEndsATurn(t *testing.T) {
	w := newLookWorld(t)
	w.choose(t, "build", "")
	both := calls("ask_person", askFor)
	both.Calls = append(both.Calls, calls("mcp_request", w.request("POST", "/bookings", `,"body":{"room":"n1"}`)).Calls...)
	w.model.answers = []any{both, text("Para seis, entonces.")}
	reply := w.send(t, "reserva una sala")
	if reply.Kind != turn.KindMessage || reply.Message.Content != "¿Para cuántas personas?\n1. 4\n2. 6" || !isQuestion(reply.Message, "4", "6") || w.ChatNow().PendingRunID != "" || len(w.model.asked) != 1 {
		t.Errorf("%+v after %d calls", reply, len(w.model.asked))
	}
	if reply = w.send(t, "2"); reply.Message.Content != "Para seis, entonces." || reply.Message.Asks {
		t.Errorf("%+v", reply)
	}
	list := w.asked().Messages
	at := slices.IndexFunc(list, func(m llm.Message) bool { return len(m.Calls) == 2 })
	if at < 0 || list[at].Calls[0].Name != "ask_person" || list[at].Calls[0].Arguments != askFor ||
		!strings.Contains(list[at+1].Content, "their next message answers it") || !strings.Contains(list[at+2].Content, "nothing was proposed") ||
		list[at+3].Role != llm.System || list[at+4].Role != llm.User || list[at+4].Content != "2" {
		t.Errorf("the model cannot know what 2 is: %+v", list)
	}
}

// TestJobThatAsksDiesAtAnyWrite: the question is posed once, and answered once.
func TestJobThatAsksDiesAtAnyWrite(t *testing.T) {
	for after := 1; after < 40; after += stride(3) {
		w := newAskWorld(t)
		w.service.Paid.Models = providers{models(func(_ context.Context, r llm.Request) (llm.Reply, error) {
			if r.Messages[len(r.Messages)-1].Role == llm.ToolRole {
				return text("fin"), nil
			}
			return calls("ask_person", askFor), nil
		})}
		id := w.start(t, "build", job.Order{}).ID
		dying := &dyingJobs{Store: w.Store.Jobs, left: after}
		w.service.Jobs = dying
		for range 20 {
			next, err := w.service.Round(t.Context(), fixture.Account, id)
			if errors.Is(err, errDied) {
				dying.left = 1 << 30
				w.Pass(2 * time.Second)
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			if next == job.NextWait {
				w.send(t, "seis")
			}
			if next == job.NextEnd {
				break
			}
		}
		asked := 0
		for _, m := range w.Messages() {
			if m.JobID == id && strings.HasPrefix(m.Content, "¿Para") {
				asked++
			}
		}
		if j := w.job(t, id); j.Status != job.Success || j.Output != "fin" || asked != 1 {
			t.Fatalf("after %d writes: asked %d times: %+v", after, asked, j)
		}
		if dying.left > 0 && dying.left < 1<<29 {
			if after < 8 {
				t.Fatalf("a job has only %d writes", after)
			}
			return
		}
	}
	t.Error("a job has 40 writes and more")
}
