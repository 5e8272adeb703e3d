package turn_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"piloto/infra/local/fixture"
	"piloto/internal/access/auth"
	"piloto/internal/chats/turn"
	"piloto/internal/conversation"
	"piloto/internal/ground/locale"
	"piloto/internal/runs/plan"
	"piloto/internal/tools/tool"
)

// sendAs sends a message as a user, through one contract.
func (w *world) sendAs(user, contract, message string, seen plan.Digest) (turn.Reply, error) {
	return w.sendLater(user, contract, message, seen, time.Time{})
}

// sendLater is sendAs for a message that was received before it is served.
func (w *world) sendLater(user, contract, message string, seen plan.Digest, came time.Time) (turn.Reply, error) {
	r := turn.Request{
		ReceivedAt: came,
		Principal:  auth.Principal{Account: fixture.Account, User: user, TokenID: "token of " + user},
		ChatID:     w.Chat.ID, Message: message, Seen: seen, Locale: locale.Spanish,
	}
	if contract == "operator" {
		r.Session = &turn.Session{UserID: user}
	}
	return w.service.Send(context.Background(), r)
}

var (
	booksNorth = `{"goal":"Reservar","steps":[{"mcp_id":"SERVER","method":"POST","path":"/bookings","body":{"room":"norte"}}]}`
	drops5     = `{"goal":"Borrar","steps":[{"mcp_id":"SERVER","method":"DELETE","path":"/bookings/5"}]}`
)

// TestAYesIsToTheRevisionThatIsShown: what the model said beside an earlier one asks nothing any more.
func TestAYesIsToTheRevisionThatIsShown(t *testing.T) {
	w := newWorld(t)
	proposal := calls("propose_plan", `{"goal":"Reservar","steps":`+strings.ReplaceAll(bookNorth, "SERVER", w.Server.ID)+`}`)
	proposal.Text = "La Norte cuesta 187.71 €. ¿Te cuento un chiste?"
	w.model.answers = []any{proposal, calls("revise_plan", `{"steps":[{"id":"s1","title":"Reservar","mcp_id":"`+w.Server.ID+`","method":"POST","path":"/bookings","body":{"room":"sur"}}]}`)}
	if got := w.send(t, "reserva"); got.Run == nil {
		t.Fatalf("%+v", got)
	}
	w.Pass(time.Second)
	if got := w.send(t, "mejor la Sur"); got.Run == nil || got.Run.Plan.Revision != 2 {
		t.Fatalf("%+v", got)
	}
	w.Pass(time.Second)
	if got := w.send(t, "sí"); got.Kind != turn.KindQueued {
		t.Errorf("%+v", got.Message)
	}
}

// A bare yes beside a text of the model that asks something else, or that says that nothing happens, runs nothing, however
// often it is said (guarantee I05). «confirmo» does.
func TestYesBesideAnotherQuestionRunsNothing(t *testing.T) {
	for name, c := range map[string]struct {
		text, goal string
		runs       bool
	}{
		"a joke":                 {text: "¿Te cuento un chiste? Responde sí."},
		"an order without one":   {text: "Te cuento un chiste. Di sí."},
		"in English":             {text: "Shall I tell you a joke? Say yes."},
		"two questions":          {text: "¿Lo confirmas? ¿Quieres la Norte?"},
		"nothing happens":        {text: "Tranquilo, no se ejecutará nada. ¿Lo confirmas?"},
		"in the goal":            {goal: "Reservar. ¿Te cuento un chiste? Responde sí"},
		"a request to go on":     {text: "Este es el plan. ¿Lo confirmas?", runs: true},
		"in English, to go on":   {text: "Shall I go ahead?", runs: true},
		"a statement":            {text: "Reservo la Sala Norte.", runs: true},
		"no text":                {runs: true},
		"before a confirmation":  {text: "No se enviará nada hasta que confirmes.", runs: true},
		"a request, and its way": {text: "¿Lo confirmas? Responde sí.", runs: true},
	} {
		for _, contract := range []string{"send", "operator"} {
			t.Run(name+", "+contract, func(t *testing.T) {
				w := newWorld(t)
				goal := c.goal
				if goal == "" {
					goal = "Reservar"
				}
				proposal := calls("propose_plan", `{"goal":"`+goal+`","steps":`+strings.ReplaceAll(bookNorth, "SERVER", w.Server.ID)+`}`)
				proposal.Text = c.text
				w.model.answers = []any{proposal}
				if card, err := w.sendAs("ana", contract, "reserva", ""); err != nil || card.Run == nil {
					t.Fatal(card, err)
				}
				for _, yes := range []string{"sí", "ok", "👍"} {
					got, err := w.sendAs("ana", contract, yes, "")
					if err != nil || (got.Kind == turn.KindQueued) != c.runs {
						t.Fatalf("%q: %+v %v", yes, got.Message, err)
					}
					if c.runs {
						return
					}
				}
				if got, err := w.sendAs("ana", contract, "confirmo", ""); err != nil || got.Kind != turn.KindQueued || len(w.Started()) != 1 {
					t.Errorf("%+v %v", got.Message, err)
				}
			})
		}
	}
}

// TestAYesInOtherWordsNamesWhatIsSent (guarantee I05): a yes that goes on, thanks and names the act confirms the plan of that act, also one
// that destroys, and no other. A title of the model names nothing.
func TestAYesInOtherWordsNamesWhatIsSent(t *testing.T) {
	for _, c := range []struct {
		plan, beside, yes string
		want              turn.Kind
		notes             int
	}{
		{booksNorth, "", "Yes, please proceed with the booking. Thank you!", turn.KindQueued, 0},
		{booksNorth, "", "sí, resérvala, gracias", turn.KindQueued, 0},
		{booksNorth, "¿Te cuento un chiste?", "Sí, haz la reserva", turn.KindQueued, 0},
		{booksNorth, "", "Yes, please proceed.", turn.KindQueued, 0},
		{booksNorth, "¿Te cuento un chiste?", "Yes, please proceed.", turn.KindPlan, 1},
		{booksNorth, "¿Reservo también la sur?", "sí, resérvala", turn.KindPlan, 1},
		{drops5, "", "sí, bórrala, gracias", turn.KindQueued, 0},
		{drops5, "", "sí, cancélala, gracias", turn.KindMessage, 0},
		{drops5, "", "Yes, please proceed with this arrangement.", turn.KindPlan, 1},
		{drops5, "", "Yes, please proceed.", turn.KindPlan, 1},
		{booksNorth, "", "Yes, please proceed with the cancellation.", turn.KindMessage, 0},
		{drops5, "", "confirmo la reserva", turn.KindMessage, 0},
		{strings.Replace(booksNorth, "Reservar", "Cuenta un chiste", 1), "", "sí, cuenta un chiste", turn.KindMessage, 0},
		{booksNorth, "", "yes" + strings.Repeat(" go ahead with the booking", 40), turn.KindMessage, 0},
		{booksNorth, "", "Oui, s'il vous plaît", turn.KindMessage, 0},
		{booksNorth, "", "Yes, proceed with the booking, and also book the south room", turn.KindMessage, 0},
	} {
		t.Run(c.yes, func(t *testing.T) {
			w := newWorld(t)
			proposal := calls("propose_plan", withServer(c.plan, w))
			proposal.Text = c.beside
			w.model.answers = []any{proposal, text("¿Qué plan quieres?")}
			card, err := w.sendAs("ana", "send", "hazlo tú", "")
			if err != nil || card.Run == nil {
				t.Fatal(card, err)
			}
			got, err := w.sendAs("ana", "send", c.yes, "")
			if err != nil || got.Kind != c.want || len(got.Message.Notes) != c.notes || (len(w.Started()) == 1) != (c.want == turn.KindQueued) {
				t.Errorf("%+v, %v, began %v", got, err, w.Started())
			}
			if c.want == turn.KindQueued { // the same message again, as a client retries it
				if again, err := w.sendAs("ana", "send", c.yes, ""); err == nil && len(w.Started()) != 1 {
					t.Errorf("%+v began another", again)
				}
			}
		})
	}
}

// TestYesToAnotherMessageRunsNothing replays conversations in which a bare yes once ran a plan
// that it did not answer.
func TestYesToAnotherMessageRunsNothing(t *testing.T) {
	const question = "París. ¿Te interesa saber más?"
	for name, c := range map[string]struct {
		plan     string
		contract string
		between  int
		yes      string
		next     string // the next message, after the card was shown again
	}{
		"a question between":             {booksNorth, "send", 1, "sí", "sí"},
		"a question between, destroying": {drops5, "send", 1, "sí", "confirmo"},
		"six turns":                      {booksNorth, "send", 6, "ok", "ok"},
		"six turns, named":               {booksNorth, "send", 6, "confirmo", "confirmo"},
		"the Operator contract":          {booksNorth, "operator", 1, "sí", "dale"},
		"a nod":                          {booksNorth, "send", 1, "👍", "👍"},
		"what destroys, at once":         {drops5, "send", 0, "sí", "confirmo"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			proposal := withServer(c.plan, w)
			w.model.answers = []any{calls("propose_plan", proposal)}
			card, err := w.sendAs("ana", c.contract, "hazlo tú", "")
			if err != nil || card.Run == nil {
				t.Fatal(card, err)
			}
			for range c.between {
				w.model.answers = []any{text(question)}
				if _, err := w.sendAs("ana", c.contract, "¿cuál es la capital de Francia?", ""); err != nil {
					t.Fatal(err)
				}
			}
			again, err := w.sendAs("ana", c.contract, c.yes, "")
			if err != nil || again.Kind != turn.KindPlan || again.Run == nil || again.Run.Digest != card.Run.Digest || len(w.Started()) != 0 {
				t.Fatalf("%+v, %v, began %v", again, err, w.Started())
			}
			confirmed, err := w.sendAs("ana", c.contract, c.next, "")
			if err != nil || confirmed.Kind != turn.KindQueued || len(w.Started()) != 1 {
				t.Errorf("%+v, %v", confirmed, err)
			}
		})
	}
}

// TestAConfirmationInSoManyWordsIsOneBelowATextToo: «confirmo la reserva» counts like «confirmo», unless a text since the card asks for
// that act on another thing. «Sí, resérvala» may mean what was talked of since.
func TestAConfirmationInSoManyWordsIsOneBelowATextToo(t *testing.T) {
	for name, c := range map[string]struct {
		text, yes string
		runs      bool
	}{
		"confirms":                {"Cambiarla no es posible. ¿La reservo?", "sí, confirmo la reserva, gracias", true},
		"orders":                  {"Cambiarla no es posible. ¿La reservo?", "sí, resérvala", false},
		"after its way":           {"Está lista y espera tu confirmación: pulsa su botón o escribe «confirmo».", "sí", true},
		"ordered after its way":   {"Está lista y espera tu confirmación: pulsa su botón o escribe «confirmo».", "sí, resérvala", true},
		"after the way of a joke": {"Escribe «confirmo» para oír un chiste.", "sí", false},
		"beside another question": {"¿Reservo también la Sala Sur?", "sí, confirmo la reserva", false},
		"of another act":          {"Cambiarla no es posible. ¿La reservo?", "sí, confirmo la cancelación", false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.model.answers = []any{calls("propose_plan", withServer(booksNorth, w)), text(c.text), text("Dime.")}
			if card := w.send(t, "reserva la norte"); card.Run == nil {
				t.Fatalf("%+v", card)
			}
			w.send(t, "¿se puede cambiar después?")
			if got := w.send(t, c.yes); (got.Kind == turn.KindQueued) != c.runs || len(w.Started()) != map[bool]int{true: 1}[c.runs] {
				t.Errorf("%s: %+v", got.Kind, got.Message)
			}
		})
	}
}

// TestAnOrderToCancelDropsNoPlanThatCancels: “Yes, cancel it”, below a text, may mean the plan or the last thing. It goes to the model.
func TestAnOrderToCancelDropsNoPlanThatCancels(t *testing.T) {
	w := newWorld(t)
	shop := tool.Server{ID: w.IDs.New(w.Clock()), Name: "Shop", Kind: tool.KindOpenAPI, BaseURL: "https://shop.example", Active: true, Operations: 1}
	op := tool.Operation{
		Entry:      tool.Entry{Method: "POST", Path: "/orders/{id}/cancel", Summary: "Cancel an order"},
		Parameters: []tool.Parameter{{Name: "id", In: "path", Required: true, Schema: json.RawMessage(`{"type":"string"}`)}},
	}
	op.Fingerprint = tool.Fingerprint(shop.BaseURL, op)
	shop.Catalogue = w.IDs.New(w.Clock())
	if err := w.Store.Registry.CreateServer(t.Context(), fixture.Account, shop, tool.Catalogue{Revision: shop.Catalogue, Operations: []tool.Operation{op}}, nil); err != nil {
		t.Fatal(err)
	}
	w.model.answers = []any{calls("mcp_request", `{"mcp_id":"`+shop.ID+`","method":"POST","path":"/orders/W12/cancel"}`), text("It arrives on Monday."), text("It waits.")}
	draft := w.send(t, "cancel my order").Run
	if draft == nil {
		t.Fatalf("%+v", w.model.asked)
	}
	w.send(t, "when would it arrive?")
	if got := w.send(t, "Yes, cancel it."); got.Kind != turn.KindMessage || w.Read(draft.ID).Status != plan.Draft || len(w.Started()) != 0 {
		t.Errorf("%s, the plan is %s: %+v", got.Kind, w.Read(draft.ID).Status, got.Message)
	}
}

func withServer(proposal string, w *world) string {
	return strings.ReplaceAll(proposal, "SERVER", w.Server.ID)
}

// TestTypedYesConfirmsTheDraftItsSenderWasShown: another person changed the draft, and a yes
// without a digest refers to the older draft.
func TestTypedYesConfirmsTheDraftItsSenderWasShown(t *testing.T) {
	for _, contract := range []string{"send", "operator"} {
		for _, yes := range []string{"ok", "confirmo"} {
			t.Run(contract+" "+yes, func(t *testing.T) {
				w := newWorld(t)
				w.model.answers = []any{calls("propose_plan", withServer(booksNorth, w))}
				card, err := w.sendAs("ana", contract, "reserva", "")
				if err != nil {
					t.Fatal(err)
				}
				e := w.edit(t, *card.Run, "", `[{"mcp_id":"SERVER","method":"POST","path":"/bookings","body":{"room":"coche","n":99}}]`)
				e.Principal = auth.Principal{Account: fixture.Account, User: "beto", TokenID: "token of beto"}
				revised, err := w.service.Revise(t.Context(), e)
				if err != nil {
					t.Fatal(err)
				}
				_, err = w.sendAs("ana", contract, yes, "")
				moved, ok := errors.AsType[*turn.Moved](err)
				if !ok || !errors.Is(err, plan.ErrStale) || moved.Run.Digest != revised.Digest || moved.Card == nil || len(w.Started()) != 0 {
					t.Fatalf("%v, began %v", err, w.Started())
				}
				if got, err := w.sendAs("ana", contract, yes, ""); err != nil || got.Kind != turn.KindQueued || w.Read(card.Run.ID).Digest != revised.Digest {
					t.Errorf("the next yes: %+v, %v", got, err)
				}
			})
		}
	}
	t.Run("another plan took its place", func(t *testing.T) {
		w := newWorld(t)
		w.model.answers = []any{calls("propose_plan", withServer(booksNorth, w)), calls("propose_plan", withServer(drops5, w))}
		_, _ = w.sendAs("ana", "send", "reserva", "")
		other, err := w.sendAs("beto", "send", "borra la 5", "")
		if err != nil {
			t.Fatal(err)
		}
		_, err = w.sendAs("ana", "send", "confirmo", "")
		if moved, ok := errors.AsType[*turn.Moved](err); !ok || moved.Run.ID != other.Run.ID || len(w.Started()) != 0 {
			t.Fatalf("%v, began %v", err, w.Started())
		}
	})
	t.Run("somebody who was shown nothing", func(t *testing.T) {
		w := newWorld(t)
		w.model.answers = []any{calls("propose_plan", withServer(booksNorth, w))}
		card, _ := w.sendAs("ana", "send", "reserva", "")
		for _, who := range [][2]string{{"beto", "send"}, {"ana", "operator"}} {
			got, err := w.sendAs(who[0], who[1], "ok", "")
			if err != nil || got.Kind != turn.KindPlan || got.Run.ID != card.Run.ID || len(w.Started()) != 0 {
				t.Fatalf("%v: %+v, %v", who, got, err)
			}
		}
		if got, err := w.sendAs("ana", "operator", "ok", ""); err != nil || got.Kind != turn.KindQueued {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

func TestNamedYesCountsOnlyWhileCardIsRecent(t *testing.T) {
	w := newWorld(t)
	w.model.answers = []any{calls("propose_plan", withServer(booksNorth, w))}
	card, err := w.sendAs("ana", "send", "reserva", "")
	if err != nil {
		t.Fatal(err)
	}
	w.Pass(15*time.Minute + time.Second)
	again, err := w.sendAs("ana", "send", "confirmo", "")
	if err != nil || again.Kind != turn.KindPlan || len(w.Started()) != 0 {
		t.Fatalf("%+v, %v", again, err)
	}
	w.Pass(14 * time.Minute)
	if got, err := w.sendAs("ana", "send", "confirmo", ""); err != nil || got.Kind != turn.KindQueued || got.Run.ID != card.Run.ID {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestStopMessageCancelsActiveRun: a stop message does what the button does, and the reply names
// the other run of the chat.
func TestStopMessageCancelsActiveRun(t *testing.T) {
	for _, word := range []string{"detener", "para", "stop", "cancela"} {
		t.Run(word, func(t *testing.T) {
			w := newWorld(t)
			r := w.proposeDraft(t, bookNorth)
			if reply := w.send(t, "confirmo"); reply.Kind != turn.KindQueued {
				t.Fatalf("%+v", reply)
			}
			w.Begin(r.ID)
			if word == "para" { // also when another waits to be confirmed
				w.proposeDraft(t, bookNorth)
			}
			reply := w.send(t, word)
			if now := w.Read(r.ID); now.CancelAt == nil || reply.Kind != turn.KindCancelled || reply.Run.ID != r.ID {
				t.Fatalf("%+v of a run that is %s", reply.Message, now.Status)
			}
			if pending := w.ChatNow().PendingRunID; pending != "" && !strings.Contains(reply.Message.Content, w.Read(pending).Plan.Goal) {
				t.Errorf("it does not say what is pending: %q", reply.Message.Content)
			}
		})
	}
	t.Run("a draft beside a run", func(t *testing.T) {
		w := newWorld(t)
		r := w.proposeDraft(t, bookNorth)
		w.awaitApproval(t, r)
		draft := w.proposeDraft(t, bookNorth)
		reply := w.send(t, "cancela")
		if w.Read(draft.ID).Status != plan.Cancelled || w.Read(r.ID).CancelAt != nil || !strings.Contains(reply.Message.Content, "no se ha tocado") {
			t.Errorf("%+v", reply.Message)
		}
	})
}

// viewer is a person with one contract.
type viewer struct{ user, contract string }

// TestConversationRunsOnlyConfirmedDrafts (guarantees I04, I05, I06) draws conversations of up
// to twelve turns of two people, through two contracts, with plans, questions, notices,
// revisions and pauses in between. A plan runs if and only if a person says yes to the last card
// that they received before. A bare yes counts while the card is the last message of the chat,
// and never for a plan that destroys. A named yes counts while the card is on the last screen. A yes that follows a question
// which the model asked with its tool never counts.
func TestConversationRunsOnlyConfirmedDrafts(t *testing.T) {
	w := newWorld(t)
	began := map[bool]int{}
	rapid.Check(t, func(rt *rapid.T) {
		w.Chat = w.NewChat()
		returned, returnedAt, before := map[viewer]*plan.Run{}, map[viewer]time.Time{}, w.Clock()
		who := rapid.Custom(func(t *rapid.T) viewer {
			return viewer{rapid.SampledFrom([]string{"ana", "ana", "beto"}).Draw(t, "user"), rapid.SampledFrom([]string{"send", "send", "operator"}).Draw(t, "contract")}
		})
		told := func(v viewer, reply turn.Reply, err error) {
			if moved, ok := errors.AsType[*turn.Moved](err); ok {
				returned[v], returnedAt[v] = &moved.Run, w.Clock()
			} else if err == nil && reply.Kind == turn.KindPlan {
				returned[v], returnedAt[v] = reply.Run, w.Clock()
			}
		}
		came := time.Time{} // when the message was received; zero: now
		say := func(v viewer, message string, answers ...any) (turn.Reply, error) {
			w.model.answers = answers
			reply, err := w.sendLater(v.user, v.contract, message, "", came)
			told(v, reply, err)
			return reply, err
		}
		var v viewer
		for range rapid.IntRange(2, 12).Draw(rt, "turns") {
			if !rapid.Bool().Draw(rt, "goes on") || v.user == "" {
				v = who.Draw(rt, "who")
			}
			pending := w.ChatNow().PendingRunID
			previous := before
			before = w.Clock()
			w.Pass(time.Second)
			switch rapid.SampledFrom([]string{"plan", "plan", "question", "asks", "yes", "yes", "yes", "edit", "named without a plan", "pause", "revision", "end"}).Draw(rt, "turn") {
			case "plan":
				_, _ = say(v, "haz algo", calls("propose_plan", withServer(rapid.SampledFrom([]string{booksNorth, booksNorth, drops5}).Draw(rt, "plan"), w)))
			case "question":
				_, _ = say(v, "¿capital de Francia?", text("París. ¿Te interesa saber más?"))
			case "asks":
				_, _ = say(v, "y otra cosa", calls("ask_person", askFor))
			case "pause":
				w.Pass(time.Duration(rapid.SampledFrom([]int{1, 14, 16}).Draw(rt, "minutes")) * time.Minute)
			case "named without a plan":
				if pending == "" {
					_, _ = say(v, "confirmo")
				}
			case "revision":
				if pending != "" {
					_, _ = say(v, "cambia la sala", calls("revise_plan", fmt.Sprintf(`{"steps":[{"id":"s1","mcp_id":%q,"method":"POST","path":"/bookings","body":{"room":%q}}]}`,
						w.Server.ID, rapid.StringMatching("[a-z]{4}").Draw(rt, "room"))))
				}
			case "edit":
				if pending != "" {
					e := w.edit(t, w.Read(pending), "", fmt.Sprintf(`[{"mcp_id":"SERVER","method":"POST","path":"/bookings","body":{"room":%q}}]`, rapid.StringMatching("[a-z]{5}").Draw(rt, "room")))
					e.Principal = auth.Principal{Account: fixture.Account, User: "beto", TokenID: "token of beto"}
					if r, err := w.service.Revise(context.Background(), e); err == nil {
						returned[viewer{"beto", "send"}], returnedAt[viewer{"beto", "send"}] = &r, w.Clock()
					}
				}
			case "end":
				if id := w.ChatNow().ActiveRunID; id != "" {
					w.Execute(id)
				}
			case "yes":
				bare := rapid.Bool().Draw(rt, "bare")
				word := rapid.SampledFrom(map[bool][]string{true: {"sí", "ok", "dale", "yes", "👍", "adelante"}, false: {"confirmo", "ejecuta el plan", "run the plan"}}[bare]).Draw(rt, "word")
				came = w.Clock()
				if rapid.IntRange(0, 3).Draw(rt, "delay") == 0 { // sent before the last turn, and served after it
					came = previous
				}
				want := w.ChatNow().ActiveRunID == "" && pending != "" && !returnedAt[v].After(came) && w.mustConfirm(pending, returned[v], bare, came)
				begun := len(w.Started())
				reply, err := say(v, word, text("¿Algo más?"))
				if got := len(w.Started()) > begun; got != want {
					rt.Fatalf("%v said %q: began %v, want %v; returned %+v, %v", v, word, got, want, reply, err)
				}
				came = time.Time{}
				began[want]++
				if want && w.Read(pending).Digest != returned[v].Digest {
					rt.Fatal("another plan than the one that was returned began")
				}
			}
		}
	})
	if !testing.Short() && (began[true] < 10 || began[false] < 50) {
		t.Errorf("%d yeses began a plan and %d did not: the conversations are poor", began[true], began[false])
	}
}

// mustConfirm applies the rule to the messages of the chat.
func (w *world) mustConfirm(pending string, returned *plan.Run, bare bool, came time.Time) bool {
	draft, list := w.Read(pending), w.Messages()
	after := -1
	for i, m := range list {
		if m.Kind == conversation.KindPlan && m.RunID == pending {
			after = len(list) - 1 - i
		}
	}
	if returned == nil || returned.ID != pending || returned.Digest != draft.Digest || after < 0 {
		return false
	}
	for _, m := range slices.Backward(list) {
		if m.Asks && !m.At.After(came) {
			return false
		}
		if m.Kind != conversation.KindProgress && m.Kind != conversation.KindFinal {
			break
		}
	}
	at := list[len(list)-1-after].At
	if w.Clock().Sub(at) > 15*time.Minute || after > 10 {
		return false
	}
	return !bare || after == 0 && !at.After(came) && draft.Plan.Steps[0].Method != "DELETE"
}
