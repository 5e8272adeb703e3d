package turn_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"piloto/infra/local/fixture"
	"piloto/internal/chats/agent"
	"piloto/internal/chats/job"
	"piloto/internal/conversation"
	"piloto/internal/ground/locale"
	"piloto/internal/models/llm"
	"piloto/internal/tools/tool"
)

// TestAJobsTextIsAskedOnceMore where it announces what no call does, or tells of an act that nobody did: as in a turn, with the
// same tools, and one text is shown.
func TestAJobsTextIsAskedOnceMore(t *testing.T) {
	const booked, announced, honest = "He reservado la Sala Norte.", "Voy a reservar la Sala Norte.", "Aún no la he reservado."
	broken := errors.New("gone")
	for name, c := range map[string]struct {
		order   job.Order
		answers []any
		asked   int
		status  job.Status
		says    string
		notes   int
	}{
		"it says otherwise":         {job.Order{}, []any{text(booked), text(honest)}, 2, job.Success, honest, 0},
		"it repeats its text":       {job.Order{}, []any{text(announced), text(announced), text("Otra.")}, 2, job.Success, announced, 0},
		"it repeats a false claim":  {job.Order{}, []any{text(booked), text(booked), text("Otra.")}, 2, job.Success, booked, 1},
		"it claims another act":     {job.Order{}, []any{text(announced), text(booked), text("Otra.")}, 2, job.Success, booked, 1},
		"it says nothing more":      {job.Order{}, []any{text(booked), text(" "), text("Otra.")}, 2, job.Success, booked, 1},
		"it fails":                  {job.Order{}, []any{text(booked), broken, broken, broken}, 2, job.Partial, booked, 1},
		"it has no step left":       {job.Order{MaxSteps: 1}, []any{text(booked), text("Otra.")}, 1, job.Success, booked, 1},
		"it proposes nothing":       {job.Order{DryRun: true}, []any{text("Reservaría la Norte. ¿Lo confirmas?"), text("Otra.")}, 1, job.Success, "Reservaría la Norte. ¿Lo confirmas?", 1},
		"it is judged":              {job.Order{Eval: agent.EvalBasic}, []any{text(booked), text(honest), verdictOf(true, 1, "")}, 3, job.Success, honest, 0},
		"what it repeats is judged": {job.Order{Eval: agent.EvalBasic}, []any{text(announced), text(announced), verdictOf(true, 1, "")}, 3, job.Success, announced, 0},
		"a question for data":       {job.Order{}, []any{text("¿Para qué día?"), text("Otra.")}, 1, job.Success, "¿Para qué día?", 0},
		"a fact":                    {job.Order{}, []any{text("La Norte tiene ocho plazas."), text("Otra.")}, 1, job.Success, "La Norte tiene ocho plazas.", 0},
		"it reads once more": {
			job.Order{}, []any{text(announced), calls("search_tools", `{"query":"salas"}`), text(announced), text("Otra.")}, 3, job.Success, announced, 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newJobWorld(t)
			w.model.answers = c.answers
			c.order.Prompt = "Reserva la Norte"
			j := w.drive(t, w.start(t, "build", c.order).ID)
			m := w.last(t)
			if j.Status != c.status || j.Output != c.says || m.Content != c.says || len(w.model.asked) != c.asked {
				t.Errorf("%s %q after %d calls", j.Status, m.Content, len(w.model.asked))
			}
			if got := len(m.Notes); got != c.notes || len(j.Notes) != got || len(w.Messages()) != 2 {
				t.Errorf("%+v of %d messages", m.Notes, len(w.Messages()))
			}
			if c.asked < 2 {
				return
			}
			again := w.model.asked[1]
			n := len(again.Messages)
			if last := again.Messages[n-1]; last.Role != llm.System || last.Content != locale.ModelText("prompt.reconsider") || again.Messages[n-2].Role != llm.Assistant {
				t.Errorf("it is asked %+v", again.Messages[n-2:])
			}
			if toolsOf(again) != toolsOf(w.model.asked[0]) || again.Format != nil {
				t.Errorf("with the tools %s", toolsOf(again))
			}
		})
	}
}

// TestAJobThatIsAskedOnceMoreMayPropose: what comes of that plan is on record. A claim after it is looked at anew.
func TestAJobThatIsAskedOnceMoreMayPropose(t *testing.T) {
	for said, c := range map[string]struct {
		asked, notes int
	}{"He reservado la Sala Norte.": {3, 0}, "He cancelado la reserva.": {4, 1}} {
		w := newJobWorld(t)
		w.model.answers = []any{text("Voy a reservar la Sala Norte."), calls("propose_plan", withServer(booksNorth, w.world)), text(said), text(said)}
		j := w.drive(t, w.start(t, "build", job.Order{Prompt: "Reserva la Norte"}).ID)
		if j.Status != job.Waiting || j.RunID == "" || len(w.model.asked) != 2 {
			t.Fatalf("%+v after %d calls", j, len(w.model.asked))
		}
		r := w.Read(j.RunID)
		if err := w.Confirm(r); err != nil {
			t.Fatal(err)
		}
		w.Execute(r.ID)
		j = w.drive(t, j.ID)
		if j.Output != said || len(w.model.asked) != c.asked || len(w.last(t).Notes) != c.notes {
			t.Errorf("%+v with %+v after %d calls", j.Output, w.last(t).Notes, len(w.model.asked))
		}
	}
}

// TestWhatAJobReadInAnEarlierRoundIsNoClaim: it is told, and costs neither a call nor a line.
func TestWhatAJobReadInAnEarlierRoundIsNoClaim(t *testing.T) {
	for said, c := range map[string]struct{ asked, notes int }{"Está reservada.": {3, 0}, "He reservado la sala.": {4, 1}} {
		w := newJobWorld(t)
		w.Answer(func(tool.Request) (tool.Answer, error) {
			const body = `{"sala":"Norte","estado":"reservada"}`
			return tool.Answer{Status: 200, Body: []byte(body), Bytes: len(body)}, nil
		})
		w.model.answers = []any{calls("look", lookAt(w.Server.ID, "/rooms")), calls("search_tools", `{"query":"salas"}`), text(said), text(said)}
		j := w.drive(t, w.start(t, "build", job.Order{Prompt: "¿Cómo está la Norte?"}).ID)
		if j.Output != said || len(w.last(t).Notes) != c.notes || len(w.model.asked) != c.asked {
			t.Errorf("%q with %+v after %d calls", j.Output, w.last(t).Notes, len(w.model.asked))
		}
	}
}

// TestTheLastTextOfAnEndedJobIsCompared: the model writes it without tools. What the program writes from the record is its own.
func TestTheLastTextOfAnEndedJobIsCompared(t *testing.T) {
	look := func(w *jobWorld) any { return calls("look", lookAt(w.Server.ID, "/rooms")) }
	for name, c := range map[string]struct {
		last  any
		notes int
	}{"a claim": {text("He reservado la Sala Norte."), 1}, "none": {text("Solo he mirado las salas."), 0}, "the record": {errors.New("gone"), 0}} {
		w := newJobWorld(t)
		w.model.answers = []any{look(w), c.last, c.last}
		j := w.drive(t, w.start(t, "build", job.Order{MaxSteps: 1, Prompt: "Reserva la Norte"}).ID)
		if j.Status != job.Partial || len(w.last(t).Notes) != c.notes {
			t.Errorf("%s: %+v", name, w.last(t))
		}
	}
	w := newJobWorld(t)
	claim := text("He reservado la Sala Norte. ¿Lo confirmas?")
	id := w.start(t, "build", job.Order{MaxSteps: 1, Prompt: "Reserva la Norte"}).ID
	w.model.answers = []any{look(w)}
	if _, err := w.service.Round(t.Context(), fixture.Account, id); err != nil {
		t.Fatal(err)
	}
	if err := w.Store.Chats.DeleteChat(t.Context(), w.ChatKey()); err != nil {
		t.Fatal(err)
	}
	w.model.answers = []any{claim, claim}
	if j := w.drive(t, id); !j.Status.Terminal() {
		t.Errorf("the job of a chat that was deleted: %+v", j)
	}
}

// TestAJobThatIsAskedOnceMoreDiesAtAnyWrite: it is asked once, and says one text.
func TestAJobThatIsAskedOnceMoreDiesAtAnyWrite(t *testing.T) {
	for after := 1; after < 40; after += stride(3) {
		w := newJobWorld(t)
		once := locale.ModelText("prompt.reconsider")
		most := 0
		w.service.Paid.Models = providers{models(func(_ context.Context, r llm.Request) (llm.Reply, error) {
			n := 0
			for _, m := range r.Messages {
				if m.Content == once {
					n++
				}
			}
			if most = max(most, n); n == 0 {
				return text("He reservado la Sala Norte."), nil
			}
			return text("Aún no la he reservado."), nil
		})}
		id := w.start(t, "build", job.Order{Prompt: "Reserva la Norte"}).ID
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
			if next == job.NextEnd {
				break
			}
		}
		said := slices.DeleteFunc(w.Messages(), func(m conversation.Message) bool { return m.Role != conversation.RoleAssistant })
		if j := w.job(t, id); j.Status != job.Success || len(said) != 1 || said[0].Content != "Aún no la he reservado." || len(said[0].Notes) != 0 || most != 1 {
			t.Fatalf("after %d writes: %+v, said %+v", after, j, said)
		}
		if dying.left > 0 && dying.left < 1<<29 {
			return
		}
	}
	t.Error("a job has 40 writes and more")
}

// TestATurnWithoutARoundLeftIsNotAskedOnceMore: nothing could be proposed any more, so the text stands with its note.
func TestATurnWithoutARoundLeftIsNotAskedOnceMore(t *testing.T) {
	for _, steps := range []string{"1", "2"} {
		w := newLookWorld(t)
		w.choose(t, "corto", `{"prompt":"Reserva.","max_steps":`+steps+`}`)
		w.model.answers = []any{text(claim), text(claim), text("Otra.")}
		reply := w.send(t, "reserva la norte")
		if reply.Message.Content != claim || reply.Message.Status == conversation.Partial || w.codes(t, reply) != conversation.NoteNothingDone || len(w.model.asked) != strings.Index("012", steps) {
			t.Errorf("%s: %+v after %d calls", steps, reply.Message, len(w.model.asked))
		}
	}
}
