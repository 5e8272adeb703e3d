package turn_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"piloto/internal/chats/job"
	"piloto/internal/chats/turn"
	"piloto/internal/conversation"
	"piloto/internal/models/llm"
	"piloto/internal/runs/plan"
)

// TestEveryChatMayAsk: with an agent and without, whatever tools the agent names, and when it names none. In a job its list decides.
func TestEveryChatMayAsk(t *testing.T) {
	for name, c := range map[string]struct {
		agent, patch string
		asks, asJob  bool
	}{
		"no agent":                  {"", "", true, false},
		"one that looks":            {"plan", "", true, true},
		"one that may do all":       {"build", "", true, true},
		"one that names others":     {"vendedor", `{"prompt":"Vende.","tools":["look","mcp_request"]}`, true, false},
		"one that names it":         {"vendedor", `{"prompt":"Vende.","tools":["look","ask_*"]}`, true, true},
		"one that has no tool":      {"mudo", `{"prompt":"Calla.","tools":[]}`, true, false},
		"one without a list at all": {"otro", `{"prompt":"Ayuda."}`, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newAskWorld(t)
			w.jobs.Agents = w.Store.Registry
			w.choose(t, c.agent, c.patch)
			check := func(where string, asks bool) {
				t.Helper()
				r := w.asked()
				if offered := slices.ContainsFunc(r.Tools, func(t llm.Tool) bool { return t.Name == "ask_person" }); offered != asks {
					t.Errorf("%s: it has %s", where, toolsOf(r))
				}
				if told := strings.Contains(r.Messages[0].Content, "with ask_person"); told != asks {
					t.Errorf("%s: the prompt says %v", where, told)
				}
			}
			w.send(t, "hola")
			check("send", c.asks)
			if _, err := w.sendAs("ana", "operator", "hola", ""); err != nil {
				t.Fatal(err)
			}
			if c.agent == "" {
				check("operator", c.asks)
				return
			}
			w.drive(t, w.start(t, c.agent, job.Order{}).ID)
			check("job", c.asJob)
		})
	}
	t.Run("behind the router", func(t *testing.T) {
		w := newTillWorld(t, till, delegateTo("tendero"), calls("ask_person", askFor))
		reply := w.route(t, w.IDs.New(w.Clock()), "quiero una sala", w.Clock())
		if !isQuestion(reply.Message, "4", "6") || w.memory(t).Exchanges[0].Response != "¿Para cuántas personas?\n1. 4\n2. 6" {
			t.Errorf("%+v", reply.Message)
		}
	})
}

// TestAnAnswerToAQuestionDecidesNothing: a yes and a no, named or bare, go to the model that asked, although a draft waits whose
// card is on the screen (guarantee I05).
func TestAnAnswerToAQuestionDecidesNothing(t *testing.T) {
	for _, question := range []string{askFor, `{"question":"¿Quieres también el proyector?"}`, `{"question":"¿Lo confirmas?","options":["Sí","No"]}`} {
		for _, answer := range []string{"sí", "Sí", "👍", "confirmo", "sí, confirmo", "no", "👎", "cancela", "cancela el plan", "detener"} {
			for _, contract := range []string{"send", "operator"} {
				t.Run(contract+" "+answer+" "+question, func(t *testing.T) {
					w := newWorld(t)
					w.model.answers = []any{calls("propose_plan", withServer(booksNorth, w)), calls("ask_person", question), text("De acuerdo.")}
					card, err := w.sendAs("ana", contract, "reserva", "")
					if err != nil || card.Run == nil {
						t.Fatal(card, err)
					}
					if asked, err := w.sendAs("ana", contract, "espera", ""); err != nil || !asked.Message.Asks || asked.Kind != turn.KindMessage {
						t.Fatalf("%+v %v", asked, err)
					}
					for _, seen := range []plan.Digest{"", card.Run.Digest} {
						w.model.answers = []any{calls("ask_person", question)} // it asks again
						reply, err := w.sendAs("ana", contract, answer, seen)
						if err != nil || !reply.Message.Asks || len(w.model.answers) != 0 || w.Read(card.Run.ID).Status != plan.Draft || len(w.Started()) != 0 {
							t.Fatalf("%+v %v, and the draft is %s", reply.Message, err, w.Read(card.Run.ID).Status)
						}
						last := w.asked().Messages
						if m := last[len(last)-1]; m.Role != llm.User || m.Content != answer {
							t.Errorf("the model reads %+v", m)
						}
					}
					w.model.answers = []any{text("De acuerdo.")}
					if _, err := w.sendAs("ana", contract, "da igual", ""); err != nil {
						t.Fatal(err)
					}
					if got, err := w.sendAs("ana", contract, "confirmo", ""); err != nil || got.Kind != turn.KindQueued {
						t.Errorf("after the question: %+v %v", got.Message, err)
					}
				})
			}
		}
	}
}

// TestAQuestionStandsLastAlthoughARunGoesOn: the lines of a run do not answer it. A stop stops the run; nothing else does.
func TestAQuestionStandsLastAlthoughARunGoesOn(t *testing.T) {
	for answer, stops := range map[string]bool{"sí": false, "confirmo": false, "no": false, "cancela": false, "detener": true, "para": true} {
		t.Run(answer, func(t *testing.T) {
			w := newWorld(t)
			w.model.answers = []any{calls("propose_plan", withServer(booksNorth, w))}
			run := w.send(t, "reserva").Run
			w.send(t, "sí")
			w.model.answers = []any{calls("ask_person", askFor)}
			w.send(t, "y otra")
			w.Pass(time.Second)
			id := w.IDs.New(w.Clock())
			progress := conversation.Message{ID: id, Seq: id, Role: conversation.RoleAssistant, Kind: conversation.KindProgress, RunID: run.ID, Content: "…", At: w.Clock()}
			if err := w.Store.Chats.AddMessages(t.Context(), w.ChatKey(), "", w.Clock(), progress); err != nil {
				t.Fatal(err)
			}
			before := len(w.model.asked)
			reply := w.send(t, answer)
			if asked := len(w.model.asked) > before; asked == stops || (reply.Kind == turn.KindCancelled) != stops {
				t.Errorf("%+v, asked %v", reply.Message, asked)
			}
		})
	}
}

// TestAYesSentBeforeTheQuestionIsNoAnswerToIt: the person had not seen it, so the yes is to the card, as ever.
func TestAYesSentBeforeTheQuestionIsNoAnswerToIt(t *testing.T) {
	w := newWorld(t)
	w.model.answers = []any{calls("propose_plan", withServer(booksNorth, w)), calls("ask_person", askFor)}
	card := w.send(t, "reserva")
	w.Pass(time.Second)
	pressed := w.Clock()
	w.Pass(time.Second)
	w.send(t, "espera")
	got, err := w.sendLater("ana", "send", "confirmo", card.Run.Digest, pressed)
	if err != nil || got.Kind != turn.KindQueued {
		t.Errorf("%+v %v", got.Message, err)
	}
}

// TestAnAnswerThatIsServedAgainGoesToTheModel: its first attempt stored the message, and died before the answer.
func TestAnAnswerThatIsServedAgainGoesToTheModel(t *testing.T) {
	w := newWorld(t)
	w.model.answers = []any{calls("propose_plan", withServer(booksNorth, w)), calls("ask_person", askFor)}
	card := w.send(t, "reserva")
	w.send(t, "espera")
	r := w.message("sí")
	r.MessageID, r.MessageAt, r.MayRepeat = w.IDs.New(w.Clock()), w.Clock(), true
	mine := conversation.Message{ID: r.MessageID, Seq: r.MessageID, Role: conversation.RoleUser, Kind: conversation.KindText, Content: "sí", At: r.MessageAt}
	if err := w.Store.Chats.Say(t.Context(), w.ChatKey(), mine); err != nil {
		t.Fatal(err)
	}
	w.Pass(time.Minute)
	w.model.answers = []any{text("Para seis, entonces.")}
	for range 2 {
		reply, err := w.service.Send(t.Context(), r)
		if err != nil || reply.Message.Content != "Para seis, entonces." || w.Read(card.Run.ID).Status != plan.Draft || len(w.model.asked) != 3 {
			t.Fatalf("%+v %v after %d calls", reply.Message, err, len(w.model.asked))
		}
	}
}

// TestAYesToAQuestionMayBeChanged: it decided nothing, so another message may come in its place.
func TestAYesToAQuestionMayBeChanged(t *testing.T) {
	w := newWorld(t)
	w.model.answers = []any{calls("ask_person", askFor), text("Vale."), text("Entonces no.")}
	w.send(t, "reserva")
	w.send(t, "sí")
	messages := w.Messages()
	r := w.message("no")
	r.Replaces = messages[len(messages)-2].ID
	if reply, err := w.service.Send(t.Context(), r); err != nil || reply.Message.Content != "Entonces no." {
		t.Errorf("%+v %v", reply.Message, err)
	}
}

// TestAQuestionCostsOneCallAndItsClaimsAreCompared with the record, in what is asked, in a turn and in a job. Options are what
// the person may say, and claim nothing of the model.
func TestAQuestionCostsOneCallAndItsClaimsAreCompared(t *testing.T) {
	const claim = "Hecho: he reservado la Sala Norte."
	for name, c := range map[string]struct {
		question, beside string
		marked           bool
	}{
		"a claim":            {question: `{"question":"` + claim + ` ¿Quieres algo más?"}`, marked: true},
		"with options":       {question: `{"question":"` + claim + ` ¿Algo más?","options":["Sí","No"]}`, marked: true},
		"beside the call":    {question: `{"question":"¿Quieres algo más?"}`, beside: claim, marked: true},
		"a question":         {question: askFor},
		"options that tell":  {question: `{"question":"¿Cuál es el motivo?","options":["He cambiado de opinión","Ya lo he comprado","Cancelado"]}`},
		"between two":        {question: `{"question":"¿Cancelo el pedido entero o solo la lámpara?","options":["Entero","Solo la lámpara"]}`},
		"of one":             {question: `{"question":"¿Lo reservo?"}`},
		"without a mark":     {question: `{"question":"Dime el día"}`},
		"beside a statement": {question: askFor, beside: "Claro."},
	} {
		t.Run(name, func(t *testing.T) {
			w := newAskWorld(t)
			ask := calls("ask_person", c.question)
			ask.Text = c.beside
			w.model.answers = []any{ask}
			isMarked := func(m conversation.Message) bool {
				return m.Asks && len(m.Notes) > 0
			}
			if m := w.send(t, "reserva").Message; isMarked(m) != c.marked || !m.Asks || len(w.model.asked) != 1 {
				t.Errorf("%+v after %d calls", m, len(w.model.asked))
			}
			if c.beside != "" { // of a round, only the question stands in the chat
				return
			}
			w.Pass(time.Second)
			w.model.answers = []any{ask}
			j := w.drive(t, w.start(t, "build", job.Order{}).ID)
			if m := w.last(t); isMarked(m) != c.marked || len(w.model.asked) != 2 || len(j.Notes) != len(m.Notes) {
				t.Errorf("of a job: %+v after %d calls", m, len(w.model.asked))
			}
		})
	}
}

// TestAQuestionThatIsAlsoTextStandsOnce: many models write it beside the call, too.
func TestAQuestionThatIsAlsoTextStandsOnce(t *testing.T) {
	for beside, want := range map[string]string{
		"¿Para cuántas personas?":        "¿Para cuántas personas?\n1. 4\n2. 6",
		"Claro. ¿Para cuántas personas?": "Claro. ¿Para cuántas personas?\n1. 4\n2. 6",
		"Claro.":                         "Claro.\n\n¿Para cuántas personas?\n1. 4\n2. 6",
		"":                               "¿Para cuántas personas?\n1. 4\n2. 6",
	} {
		ask := calls("ask_person", askFor)
		ask.Text = beside
		w := newWorld(t, ask)
		if m := w.send(t, "reserva").Message; m.Content != want || !isQuestion(m, "4", "6") {
			t.Errorf("%q: %q", beside, m.Content)
		}
	}
}

// TestAYesToAJobsQuestionGoesToTheJob, although a draft of the chat waits; a number is told with its option.
func TestAYesToAJobsQuestionGoesToTheJob(t *testing.T) {
	for answer, told := range map[string]string{
		"sí": `{"answer":"sí"}`, "confirmo": `{"answer":"confirmo"}`, "cancela": `{"answer":"cancela"}`,
		"2": `{"answer":"2","option":"6"}`, "6": `{"answer":"6"}`, "4": `{"answer":"4"}`, "3": `{"answer":"3"}`,
	} {
		t.Run(answer, func(t *testing.T) {
			w := newAskWorld(t)
			w.model.answers = []any{calls("propose_plan", withServer(booksNorth, w.world)), calls("ask_person", askFor), text("Listo.")}
			draft := w.send(t, "reserva").Run
			w.Pass(time.Second)
			j := w.drive(t, w.start(t, "build", job.Order{}).ID)
			if !slices.Equal(j.Options, conversation.NewOptions([]string{"4", "6"})) {
				t.Fatalf("%+v", j)
			}
			w.Pass(time.Second)
			w.send(t, answer)
			j = w.drive(t, j.ID)
			if j.Status != job.Success || j.Options != nil || w.model.lastTool() != told || w.Read(draft.ID).Status != plan.Draft {
				t.Errorf("%s %+v, told %s, the draft is %s", fmt.Sprint(j.Status), j.Options, w.model.lastTool(), w.Read(draft.ID).Status)
			}
		})
	}
}
