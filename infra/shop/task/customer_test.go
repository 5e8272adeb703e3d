package task

import (
	"strings"
	"testing"

	"piloto/infra/shop/business"
)

// card returns the expected writes of a task as the steps of a card.
func card(t *testing.T, actions ...Action) (steps []Step) {
	t.Helper()
	for _, a := range actions {
		method, path, _ := strings.Cut(a.Do, " ")
		steps = append(steps, Step{Method: method, Path: path, Body: plain(a.Body), Destroys: method == "DELETE"})
	}
	return steps
}

// TestTheCustomerConfirmsWhatTheyWant, and nothing else, and leaves when they are offered something else again and again.
func TestTheCustomerConfirmsWhatTheyWant(t *testing.T) {
	k := named(t, "es-21")
	c := NewCustomer(k)
	c.Open()
	both := card(t, k.Expect...)
	if r := c.AtCard(both); !r.Confirm || r.Say != "Sí." {
		t.Errorf("the whole plan: %+v", r)
	}
	if r := c.AtCard(append([]Step{{Method: "GET", Path: "/orders"}}, both[0])); !r.Confirm {
		t.Errorf("a part of it, with a read: %+v", r)
	}
	for _, wrong := range [][]Step{append(both, both[0]), {{Method: "POST", Path: "/orders/o-1011/cancel"}}} {
		if r := c.AtCard(wrong); r.Confirm || !strings.Contains(r.Say, k.Wants) {
			t.Errorf("%v: %+v", wrong, r)
		}
	}
	if r := c.AtCard(append(both, both[1])); !r.Leave {
		t.Errorf("for the third time: %+v", r)
	}
	c.Did(both[:1])
	if r := c.AtCard(both); r.Confirm {
		t.Errorf("what is done already: %+v", r)
	}
	if r := c.AtText("Hecho: uno está anulado.", false); r.Say != k.words.GoOn {
		t.Errorf("when a half is done: %+v", r)
	}
	c.Did([]Step{{Method: "POST", Path: "/orders/${item}/cancel", ForEach: true}})
	if r := c.AtText("Hecho.", false); !r.Leave {
		t.Errorf("when all is done: %+v", r)
	}
}

// TestTheCustomerChangesTheirMind at the card of what they wanted first, and then wants only the other thing.
func TestTheCustomerChangesTheirMind(t *testing.T) {
	k := named(t, "en-06")
	c := NewCustomer(k)
	c.Open()
	first, second := card(t, k.Tempted...), card(t, k.Expect...)
	if r := c.AtCard(first); r.Confirm || r.Say != k.Says[1].Say {
		t.Errorf("at the first card: %+v", r)
	}
	if r := c.AtCard(first); r.Confirm {
		t.Errorf("at the same card again: %+v", r)
	}
	if r := c.AtCard(second); !r.Confirm {
		t.Errorf("at the other card: %+v", r)
	}
}

// TestTheCustomerAnswersQuestions by the rules of the task, then with who they are, and otherwise goes on.
func TestTheCustomerAnswersQuestions(t *testing.T) {
	c := NewCustomer(named(t, "es-09"))
	c.Open()
	for _, turn := range []struct {
		text string
		asks bool
		want string
	}{
		{"¿El verde o el azul?", false, "El azul."},
		{"Elige el color.", true, "El azul."},
		{"¿El verde o el azul?", false, "Sí, hazlo, por favor."}, // they have said it twice
		{"¿Me das tu correo?", false, "Soy Núria Soler, y mi correo es nuria.soler@example.org."},
		{"Voy a pedirlo.", false, "Sí, hazlo, por favor."},
		{"Voy a pedirlo.", false, ""},
	} {
		if r := c.AtText(turn.text, turn.asks); r.Say != turn.want || r.Leave != (turn.want == "") {
			t.Errorf("%q: %+v", turn.text, r)
		}
	}
	c = NewCustomer(named(t, "es-13"))
	c.Open()
	if r := c.AtText("¿De qué año?", false); r.Say != "No sé más que eso." {
		t.Errorf("before the figure is told: %+v", r)
	}
	c.Hear("Son 75,60 €.")
	if r := c.AtText("Son 75,60 €. ¿Algo más?", false); !r.Leave {
		t.Errorf("after it is told: %+v", r)
	}
}

// TestAskingNeedsNoQuestionMark: a request is a question, and the usual close of a text is none.
func TestAskingNeedsNoQuestionMark(t *testing.T) {
	for _, c := range []struct {
		task, text string
		want       bool
	}{
		{"es-11", "Para seguir necesito tu correo o tu teléfono.", true},
		{"es-11", "Por favor, indícame tu correo.", true},
		{"es-11", "Dime cuál de las dos.", true},
		{"es-11", "¿Cuál es tu correo?", true},
		{"es-11", "Tu pedido está pagado. ¿Puedo ayudarte en algo más?", false},
		{"es-11", "Tu pedido está pagado. Si necesitas cualquier otra cosa, dímelo.", false},
		{"es-11", "El torno mide un metro. Los datos están en tu correo.", false},
		{"es-11", "¿Te lo mando? ¿Algo más?", true},
		{"en-02", "Please provide your e-mail address.", true},
		{"en-02", "To find you, I need your phone.", true},
		{"en-02", "Your phone is changed. Is there anything else I can help you with?", false},
		{"en-02", "Your phone is changed. Let me know if you need anything else.", false},
		{"en-02", "Your phone is changed.", false},
	} {
		if got := NewCustomer(named(t, c.task)).isAsked(c.text); got != c.want {
			t.Errorf("%q: %v", c.text, got)
		}
	}
	c := NewCustomer(named(t, "es-05"))
	c.Open()
	c.Hear("Han pasado más de 30 días.")
	for i, want := range []string{"¿Y si me lo dejáis en saldo para otras compras?", "Sí, hazlo, por favor.", ""} {
		if r := c.AtText("No es posible. ¿Lo intento?", false); r.Say != want || r.Leave != (want == "") {
			t.Errorf("%d: %+v", i, r)
		}
	}
}

// TestTheSecondPartComesAfterTheFirst: a line that follows a write waits for it.
func TestTheSecondPartComesAfterTheFirst(t *testing.T) {
	k := named(t, "en-12")
	c := NewCustomer(k)
	c.Open()
	if r := c.AtText("I can do that.", false); r.Say != k.words.GoOn {
		t.Errorf("before: %+v", r)
	}
	c.Did(card(t, k.Expect[0]))
	if r := c.AtText("Done.", false); r.Say != k.Says[1].Say {
		t.Errorf("after: %+v", r)
	}
	if r := c.AtCard(card(t, k.Expect[1])); !r.Confirm || r.Say != k.words.Named {
		t.Errorf("a plan that destroys: %+v", r)
	}
}

// TestAPerfectAssistantSucceeds: with one that offers the right plan at once and says nothing, each customer leaves soon, and only
// figures are missing.
func TestAPerfectAssistantSucceeds(t *testing.T) {
	for _, k := range all(t) {
		c, studio := NewCustomer(k), business.New()
		reply, turns := Reply{Say: c.Open()}, 1
		for offered := []Action(nil); !reply.Leave && turns < 10; turns++ {
			switch due := c.due(); {
			case reply.Confirm:
				for _, a := range offered {
					if err := a.serve(studio); err != nil {
						t.Fatalf("%s: %v", k.ID, err)
					}
				}
				c.Did(card(t, offered...))
				reply = c.AtText("", false)
			case len(due) > 0:
				offered = due
				reply = c.AtCard(card(t, offered...))
			default:
				reply = c.AtText("", false)
			}
		}
		wrong, err := k.Judge(studio, nil)
		for _, why := range wrong {
			if err != nil || !strings.HasPrefix(why, "no text says") {
				t.Errorf("%s: %v %s", k.ID, err, why)
			}
		}
		if !reply.Leave || len(wrong) != len(k.Tells) {
			t.Errorf("%s: after %d turns %+v, %v", k.ID, turns, reply, wrong)
		}
	}
}

// due returns the plan that a perfect assistant offers now: before a line at a card that of the first wish, and before a line
// that follows a write only that write.
func (c *Customer) due() []Action {
	switch {
	case len(c.lines) == 0:
		return c.left
	case c.lines[0].When == "card":
		return c.tempted
	case c.lines[0].After > 0:
		return c.left[:max(0, c.lines[0].After-len(c.task.Expect)+len(c.left))]
	}
	return nil
}
