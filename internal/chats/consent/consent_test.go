package consent

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"piloto/internal/chats/intent"
)

func act(method, path, summary string, sent ...string) Act {
	return Act{Method: method, Path: path, Summary: summary, Sent: sent}
}

// cards are plans of one act each.
var cards = map[string]Card{
	"cancel":   {Acts: []Act{act("POST", "/orders/{id}/cancel", "Cancel a pending order", `{"reason":"no longer needed"}`, "/orders/W123/cancel")}},
	"cancela":  {Acts: []Act{act("DELETE", "/pedidos/{id}", "Anula un pedido", "/pedidos/P7")}},
	"exchange": {Acts: []Act{act("POST", "/orders/{id}/exchange", "Exchange items in a delivered order", `{"item_ids":["1008"],"payment_method_id":"credit_card_12"}`)}},
	"return":   {Acts: []Act{act("POST", "/orders/{id}/return", "Return some items of a delivered order", `{"payment_method_id":"credit_card_12"}`)}},
	"address":  {Acts: []Act{act("PATCH", "/orders/{id}/address", "Modify the shipping address of a pending order", `{"address1":"123 Main St"}`)}},
	"cabin":    {Acts: []Act{act("PATCH", "/reservations/{id}/flights", "Update the flight information of a reservation.", `{"cabin":"business"}`, "/reservations/NQNU5R/flights")}},
	"sala":     {Acts: []Act{act("POST", "/reservas", "Reserva una sala", `{"sala":"Sala Norte","personas":6}`)}, Titled: []string{"Cuenta un chiste", "Cancela la factura"}},
	"book":     {Acts: []Act{{Tool: "book_reservation", Summary: "Book a reservation.", Sent: []string{`{"cabin":"economy","payment_methods":[{"amount":5}]}`}}}},
	"send":     {Acts: []Act{act("POST", "/certificates", "Send a certificate to a user.", `{"amount":50}`)}},
	"transfer": {Acts: []Act{act("POST", "/transfers", "Transfer the user to a human agent, with a summary of the user's issue", `{"summary":"wants a refund of the order and would like to cancel it, and no agent helped so far"}`)}},
	"envia":    {Acts: []Act{act("POST", "/correos", "Envía un correo", `{"para":"Ana","asunto":"Cancela la cita"}`)}},
	"plants":   {Acts: []Act{act("POST", "/plants/{id}/water", "Water the plants")}},
	"bookings": {Acts: []Act{act("POST", "/bookings", "", `{"room":"norte"}`)}},
}

func TestReadNamesOnlyItsAct(t *testing.T) {
	for message, beside := range map[string][]string{
		"Yes, please proceed with the cancellation.": {"cancel", "cancela"}, "sí, cancélalo, gracias": {"cancel", "cancela"}, "Yes, cancel order W123.": {"cancel"}, "sí, anula el pedido P7": {"cancela"}, "Yes, go ahead and cancel the order, thank you so much": {"cancel", "cancela"},
		"sí, adelante con la cancelación del pedido": {"cancel", "cancela"}, "Sí, procede a cancelarlo": {"cancel", "cancela"}, "sí, quiero cancelar el pedido": {"cancel", "cancela"}, "Yes, I'd like to proceed with the order cancellation.": {"cancel", "cancela"},
		"sí, confirmo el cambio": {"address", "cabin", "exchange"}, "Yes, please go ahead with the modification.": {"address", "cabin"}, "Yes, everything looks good. Please update my reservation.": {"cabin"}, "sí, cambia la dirección": nil, "Yes, change the address": {"address"},
		"Yes, please proceed with the upgrade.": {"cabin"}, "Yes, please proceed with the upgrade to business.": nil, "confirmo la reserva": {"sala", "book", "bookings"}, "sí, reserva la Sala Norte": {"sala"}, "sí, resérvala": {"sala", "book", "bookings"}, "Everything looks perfect! Please proceed with the booking.": {"sala", "book", "bookings"},
		"sí, adelante con la reserva de la Sala Norte": {"sala"}, "Yes, go ahead and make the reservation": {"sala", "book", "bookings"}, "Alright, let's go ahead and proceed with the return to my credit card.": nil, "That sounds perfect! Please go ahead and process the exchange. Thank you for your help.": {"exchange"},
		"Yes, all the details are correct, and I'm ready to proceed with the exchange.": {"exchange"}, "Ah, got it! Thank you for clarifying that. Yes, let's go ahead and proceed with the exchange.": {"exchange"}, "Yes, please proceed with the return request. Thank you!": {"return"},
		"Yes, please proceed with issuing the certificate.": {"send"}, "sí, envía el correo a Ana": {"envia"}, "sí, mándaselo": {"send", "envia"}, "Yes, proceed with the exchange using PayPal.": nil, "Yes, please transfer me to a human agent.": {"transfer"}, "Yes, please transfer me to someone who can assist further. Thank you.": {"transfer"}, "yes, water the plants": {"plants"},
		"sí, haz la reserva": {"sala", "book", "bookings"}, "Yes, proceed with the solicitud de devolución": {"return"}, "Sí, por favor, procede con la devolución. Muchas gracias por tu ayuda": {"return"},
		// of no card
		"Yes, I confirm. Please go ahead with this payment.": nil, "Yeah, confirm the exchange.": {"exchange"}, "sí, confirma la reserva": {"sala", "book", "bookings"}, "yes, cancel everything": nil, "Yes, cancel all orders": nil, "sí, cancela los pedidos": nil, "Yes, I confirm the order": nil, "Yes, keep the order": nil, "sí, cuenta un chiste": nil, "sí, cancela la factura": nil, "sí, cancela la cita": nil, "Yes, cancel order W124": nil, "Yes, proceed with the refund": nil, "sí, reserva la Sala Sur": nil, "sí, y cancela el pedido": nil, "Yes! And also cancel the order": nil, "sí, cancela el pedido y el correo": nil,
		"Yes, please cancel it as well": nil, "Yes, cancel the order if it is free": nil, "yes, but cancel the order": nil, "sí, cancela el pedido mañana": nil, "sí, cancela 2 pedidos": nil, "sí, cancela el pedido 7": nil, "sí, ya cancelé el pedido": nil, "Yes, I cancelled the order": nil, "yes, cancel the order tomorrow": nil,
		"sí, cancela el pedido, no la reserva": nil, "sí, cancela solo el pedido": nil, "yes, can you cancel the order": nil, "yes, cancel another order": nil, "sí, cancela «el pedido»": nil, "yes, cancel the order 👎": nil, "yes, cancel the order?": nil, "cancel the order": nil, "reserva la Sala Norte": nil, "ok, cancela el pedido": nil,
		"confirmo. cancela": nil, "Oui, s'il vous plaît": nil, "Oui, please proceed with the cancellation.": nil, "Ja, bitte": nil, "Sì, procedi": nil, "да, отменить": nil, "yes, cancel the ord\u0435r": nil, "sí, c\u0336ancela el pedido": nil, "yes" + strings.Repeat(" cancel the order", 66): nil,
		"Yes, proceed with the cancellation after lunch": nil, "Yes, proceed with the other booking": nil, "I will cancel the order myself": nil, "Yes, go ahead with half of the order": nil, "sí, reserva dos salas": nil,
	} {
		for name, card := range cards {
			if got := Read(message, card); got.Names == ItsAct != slices.Contains(beside, name) {
				t.Errorf("%q beside %s: %v, names %v", message, name, got.Meaning, got.Names)
			}
			if len(beside) == 0 && Read(message, card).Meaning.Agrees() {
				t.Errorf("%q beside %s is a yes", message, name)
			}
		}
	}
}

// TestReadOfNoAct: a yes that names no act says as much to every card.
func TestReadOfNoAct(t *testing.T) {
	for message, want := range map[string]Yes{
		"Yes, please proceed.": {Meaning: intent.Assent}, "Great, yes please": {Meaning: intent.Assent}, "Yes, please proceed. Thank you for your help.": {Meaning: intent.Assent}, "sí, hazlo, por favor": {Meaning: intent.Assent}, "Yes please! Thank you.": {Meaning: intent.Assent},
		"Yes, please go ahead with that.": {Meaning: intent.Assent}, "¡Perfecto! Adelante, gracias": {Meaning: intent.Assent}, "sí, todo correcto": {Meaning: intent.Assent}, "Looks good to me, please proceed": {Meaning: intent.Assent},
		"Yes please, that is all.": {Meaning: intent.Assent}, "sí, eso es todo, gracias": {Meaning: intent.Assent}, "Yes, nothing else for now": {Meaning: intent.Assent}, "Yes, please go ahead, that's the only item.": {Meaning: intent.Assent}, "Yes, that's the only item I want to exchange.": {Meaning: intent.Assent}, "Yes, I'm sure.": {Meaning: intent.Assent}, "Yes, I confirm, that is everything.": {Meaning: intent.Confirm, Names: Itself}, "That's the only item I want to exchange.": {}, "I'm sure.": {}, "Yes, but with my Visa instead.": {}, "Yes, if it gets here this week.": {}, "That is all, thanks": {}, "nada más": {}, "Great, that's everything.": {}, "sí, nada más el primero": {}, "Yes, that is all I need": {Meaning: intent.Assent},
		"Confirmed": {Meaning: intent.Confirm, Names: Itself}, "Yes, I confirm. Thank you!": {Meaning: intent.Confirm, Names: Itself}, "sí, adelante con el plan, gracias": {Meaning: intent.Confirm, Names: Itself}, "Yes, please proceed with this plan.": {Meaning: intent.Confirm, Names: Itself},
		"Yes, please proceed with the arrangement.": {Meaning: intent.Confirm, Names: Anything}, "Yes, go ahead with this approach": {Meaning: intent.Confirm, Names: Anything}, "Yes, please process the request": {Meaning: intent.Confirm, Names: Anything}, "sí, procede con la solicitud": {Meaning: intent.Confirm, Names: Anything},
		"Please go ahead and do that for me.": {Meaning: intent.Assent}, "Yes, please confirm it": {Meaning: intent.Confirm, Names: Itself}, "yes, please confirm the address": {}, "yes, go ahead with both": {}, "Perfect, thank you": {}, "ok, thank you so much": {}, "Yes, that sounds perfect. Thank you for your help!": {}, "Everything looks correct.": {}, "please confirm": {}, "Please, confirm": {}, "ahora confirmo": {}, "sí, la Norte": {}, "the plan": {}, "": {},
		"yes, proceed with caution": {}, "Yes, please proceed with it tomorrow": {}, "yes and proceed": {}, "yes, proceed with the requests 1 and 2": {}, "cancela": {Meaning: intent.Cancel}, "ok cancela": {Meaning: intent.Cancel}, "no": {Meaning: intent.Refusal},
	} {
		for name, card := range cards {
			if got := Read(message, card); got.Meaning != want.Meaning || got.Names != want.Names {
				t.Errorf("%q beside %s: %v, names %v", message, name, got.Meaning, got.Names)
			}
		}
	}
}

// TestReadOfSeveralActs: a yes names every act of a plan, or none of them.
func TestReadOfSeveralActs(t *testing.T) {
	two := Card{Acts: []Act{act("POST", "/orders/{id}/cancel", "Cancel an order", "/orders/W1A/cancel"), act("POST", "/orders/{id}/cancel", "Cancel an order", "/orders/W2B/cancel")}}
	both := Card{Acts: []Act{act("GET", "/rooms", "List the rooms"), cards["cancel"].Acts[0], act("POST", "/bookings", "Book a room", `{"room":"North"}`)}}
	for message, want := range map[string][2]bool{
		"Yes, please proceed.": {true, true}, "Yes, please proceed with the cancellations": {true, false}, "yes, cancel both orders": {true, false}, "yes, cancel them": {true, false}, "Yes, go ahead with both": {true, true}, "yes, cancel orders W1A and W2B": {true, false}, "yes, cancel order W1A": {false, false}, "yes, cancel the order": {false, false},
		"sí, cancélalo": {false, false}, "sí, cancélalos": {true, false}, "Yes, cancel the order and book the room": {false, true}, "yes, book the room": {false, false}, "yes, cancel the room and book the order": {false, false}, "yes, book the North room and cancel the order, please": {false, true},
	} {
		for i, card := range []Card{two, both} {
			if got := Read(message, card).Meaning.Agrees(); got != want[i] {
				t.Errorf("%q beside plan %d: %v", message, i, got)
			}
		}
	}
}

// TestAValueKeepsItsPlace: who gives is not who gets.
func TestAValueKeepsItsPlace(t *testing.T) {
	card := Card{Acts: []Act{act("POST", "/transfers", "Transfer money", `{"from":"Ana","to":"Luis","amount":50}`)}}
	for message, want := range map[string]bool{
		"yes, transfer it to Luis": true, "sí, transfiérelo a Luis": true, "yes, transfer it from Ana": true, "sí, haz la transferencia a Luis, gracias": true,
		"yes, transfer it to Ana": false, "sí, transfiérelo a Ana": false, "yes, transfer it from Luis": false, "sí, transfiere de Ana a Luis": false, "yes, transfer the money from Luis to Ana": false,
	} {
		if got := Read(message, card).Meaning.Agrees(); got != want {
			t.Errorf("%q: %v", message, got)
		}
	}
}

// TestWhatAnOperationDoes: what its document says, in any form of words, else what its method means; nothing when it contradicts itself.
func TestWhatAnOperationDoes(t *testing.T) {
	for _, c := range []struct {
		act  Act
		want kinds
	}{
		{act("POST", "/orders", ""), buys},
		{act("POST", "/things", ""), creates},
		{act("PUT", "/things/{id}", ""), changes},
		{act("DELETE", "/orders/{id}", "Delete an order"), removes},
		{act("POST", "/cancel_pending_order", ""), cancels},
		{act("POST", "/return_delivered_order_items", "Return some items of a delivered order"), returns},
		{act("POST", "/orders/{id}/cancellations", "Create a cancellation request"), creates | cancels},
		{act("POST", "/x", "Order cancellation"), 0},
		{act("POST", "/x/cancel", "Order cancellation"), cancels},
		{act("POST", "/x/cancel", "Place an order"), 0},
		{act("POST", "/payment-methods", "Add a payment method"), adds},
		{act("GET", "/reservas/{id}", "Una reserva"), reads},
		{act("POST", "/refunds", "Issue a refund"), issues | refunds},
		{Act{Tool: "deleteOrder"}, removes},
		{Act{Tool: "order_cancel"}, cancels},
		{Act{Tool: "reservations.delete"}, removes},
		{Act{Tool: "book_room"}, reserves},
		{act("POST", "/citas", "Pide una cita"), buys | reserves},
		{act("PATCH", "/orders/{id}", "", `{"status":"cancelled"}`), changes | cancels},
		{act("POST", "/x", "Da de baja a un cliente"), removes},
		{act("PATCH", "/plans/{id}", "Upgrade a plan"), upgrades | changes},
	} {
		if got := newStep(c.act).kinds; got != c.want {
			t.Errorf("%s %s %q: %b, want %b", c.act.Method, c.act.Path, c.act.Summary, got, c.want)
		}
	}
}

// TestNoOtherMessageAgrees: no message of the corpus that is no yes is one beside any card, but for a yes to cancel what is
// cancelled; and every message that is a yes may be one.
func TestNoOtherMessageAgrees(t *testing.T) {
	raw, err := os.ReadFile("../intent/testdata/intents.tsv")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(raw), "\n")[1:] {
		fields := strings.Split(line, "\t")
		if len(fields) != 3 {
			continue
		}
		message, _ := strconv.Unquote(`"` + strings.ReplaceAll(fields[0], `"`, `\"`) + `"`)
		for name, card := range cards {
			got := Read(message, card)
			switch {
			case got.Meaning.String() == fields[1]:
			case fields[1] == "cancel" && strings.HasPrefix(name, "cancel") && (strings.HasPrefix(message, "sí, ") || strings.HasPrefix(message, "yes, ")):
			default:
				t.Errorf("%q beside %s: %v, want %s", message, name, got.Meaning, fields[1])
			}
			if got.Meaning.Agrees() && !MayAgree(message) {
				t.Errorf("%q may not agree", message)
			}
		}
	}
}

// TestAForeignWordMakesItNoYes: a word that is not sent, a number, a condition, a denial or an addition anywhere in a yes.
func TestAForeignWordMakesItNoYes(t *testing.T) {
	said := []string{"yes", "please", "proceed", "with", "the", "cancellation", "of", "order", "thank", "you"}
	rapid.Check(t, func(t *rapid.T) {
		extra := rapid.SampledFrom([]string{"7", "two", "if", "but", "also", "not", "never", "tomorrow", "unless", "only", "another", "invoice", "refund", "joke", "whether", "except", "first", "pero", "si no", "también", "mañana", "w124"}).Draw(t, "extra")
		at := rapid.IntRange(0, len(said)).Draw(t, "at")
		message := strings.Join(slices.Insert(slices.Clone(said), at, extra), " ")
		if Read(message, cards["cancel"]).Meaning.Agrees() {
			t.Fatalf("%q is a yes", message)
		}
	})
	if Read(strings.Join(said, " "), cards["cancel"]).Names != ItsAct {
		t.Error("without it the message is no yes")
	}
}

func FuzzRead(f *testing.F) {
	for _, text := range []string{"yes, cancel the order", "\xffsí", strings.Repeat("and ", 999), "İ\u0307"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, message string) {
		for _, card := range cards {
			if got := Read(message, card); got.Meaning.Agrees() && (!MayAgree(message) || intent.HasQuestionMark(message)) {
				t.Fatalf("%q is a yes", message)
			}
		}
		Read(message, Card{})
	})
}

// A page holds a message to the lists, and the server looks its words up.
func TestAMessageMayAgreeWhenItHasAPhraseOfTheList(t *testing.T) {
	for _, phrase := range agreeing() {
		if n := len(strings.Fields(phrase)); n > longestPhrase || phrase != strings.Join(strings.Fields(phrase), " ") {
			t.Errorf("%q has %d words", phrase, n)
		}
	}
	words := strings.Fields(strings.Join(agreeing(), " ") + " order pedido cinta tomorrow")
	rapid.Check(t, func(t *rapid.T) {
		said := rapid.SliceOfN(rapid.SampledFrom(words), 0, mostWords+1).Draw(t, "words")
		text := strings.Join(said, " ")
		has := slices.ContainsFunc(agreeing(), func(phrase string) bool { return strings.Contains(" "+text+" ", " "+phrase+" ") })
		want := intent.Classify(text).Agrees() || has && len(said) <= mostWords && intent.IsPlain(text)
		if MayAgree(text) != want {
			t.Fatalf("%q: %v", text, !want)
		}
	})
}
