package beside

import (
	"strings"
	"testing"

	"piloto/internal/chats/consent"
	"piloto/internal/chats/intent"
)

// TestAsksElse: only a text with at most one request to go on, from a closed list, leaves a bare yes to the plan.
func TestAsksElse(t *testing.T) {
	for _, text := range []string{
		"", "Voy a reservar la Sala Norte.", "¿Lo confirmas?", "Shall I go ahead?", "Este es el plan. ¿Lo confirmas?", "Reservo la Sala Norte mañana a las 10.30, ¿lo confirmas?",
		"I'll book Sala Norte at 10. Shall I go ahead?", "I'll book it, shall I go ahead?", "¿Sigo?", "¿Quieres que siga adelante?", "**¿Confirmas el plan?**", "¿Lo confirmas? ✅", "Do you want me to proceed?",
		"Should I run the plan?", "¿Procedo con el plan?", "Perfecto, ¿sigo adelante?", "¿Lo confirmas, sí o no?", "¿Lo confirmas? Responde sí o no.", "Responde sí para confirmar.", "Reply yes to confirm.",
		"Para confirmar, responde sí.", "Confirma el plan, por favor.", "Please confirm.", "No se enviará nada hasta que confirmes. ¿Lo confirmas?", "Nothing is sent until you confirm.", "Sala Norte:\n- 6 plazas\n- 30 €\n\n¿Lo confirmas?",
		"Sí, puedo reservarla. ¿Lo confirmas?", "¡Claro que sí! Reservo la Norte.", "¡Sí!", "Yes, I can do that. Shall I go ahead?", "No te preocupes, reservo la Norte a las 10.", "Reservaré solo la Sala Norte.", "Es una consulta con la doctora Gil, ¿la confirmo?", "A < B, y B > C. ¿Lo confirmas?",
		"lo confirmas", "Can I go ahead?", "¿Puedo continuar?", "¿Me lo confirmas?", "Are you ready to proceed?", "Do you confirm?", "¿Das el visto bueno?", "¿¿Lo confirmas??",
		"Aquí tienes el plan.", "Here's the plan:", "Voy a ello.", "Si todo es correcto, ¿lo confirmas?", "If everything looks good, please confirm.", "Cuesta 30 €. ¿Lo confirmas?", "La Sur estaba ocupada. ¿Sigo?", "Se reserva cuando confirmes.", "Reservas la Norte.", "Tu sala es la Norte. ¿Lo confirmas?", "¿Reservo la Sala Norte?", "¿Quieres que reserve la Sala Norte?", "Te reservo la Sala Norte.", "Shall I proceed with the booking?", "Por favor, confirma si todo es correcto.", "Dime si quieres que siga adelante.",
	} {
		if AsksElse(text, bare, sala) {
			t.Errorf("%q asks something else", text)
		}
	}
	for _, text := range []string{
		"¿Te cuento un chiste? Responde sí.", "¿Te cuento un chiste?", "Shall I tell you a joke?", "Want to hear a joke? Say yes.", "¿Lo confirmas? ¿Te cuento un chiste?", "¿Lo confirmas? ¿Sigo?", "Shall I go ahead? Do you confirm?",
		"Te cuento un chiste. Responde sí.", "Responde sí si te gusta el café.", "Di sí y te cuento un chiste", "Basta con un sí y te lo cuento", "If you want a joke, just say yes.", "Quieres que te cuente un chiste", "¿Vives en Madrid?",
		"¿Eres mayor de edad? Contesta sí o no", "Is it raining there?", "¿Te gusta el café, sí o no?", "¿Te parece bien?", "¿Vale?", "¿Lo confirmas o lo cancelo?", "¿Confirmas que eres Ana?", "Confirma que te gusta el café.",
		"¿Prefieres la Norte? ¿Lo confirmas?", "No pasa nada. ¿Lo confirmas?", "Tranquilo: no se ejecutará nada. ¿Lo confirmas?", "Nothing will happen. Shall I go ahead?", "This is just a test. Shall I go ahead?", "Es solo una prueba, ¿sigo?",
		"It won't be executed. Reply yes to confirm.", "Sin compromiso, ¿lo confirmas?", "Esto no tiene ningún efecto", "Nothing is sent", "No se cobra nada", "It's harmless, shall I go ahead?", "Esto es una simulación.",
		"Let me know if you like jokes", "Dime si quieres un chiste", "¿Te cuento un chiste؟", "Te cuento un chiste？", "❓Te cuento un chiste❓", "¿Quieres que te cuente un chiste, ¿lo confirmas?", "Un chiste, ¿quieres?", "Quieres un chiste, ¿lo confirmas?",
		"De momento no se pide nada.", "Nada se compra todavía.", "No compro nada aún.", "No order will be placed.", "I won't order anything yet.", "Esto solo consulta el precio.", "Read-only, safe.", "Es una vista previa.",
		"It's a mock-up.", "For illustration purposes only.", "Si confirmas, únicamente se guarda como borrador.", "Zero cost, zero effect.", "I will ask you again before anything is sent.", "Luego habrá otra confirmación.",
		"Después te pediré permiso de nuevo.", "Te volveré a preguntar antes de enviar nada.", "Ignora el plan de abajo.", "El plan de abajo ya se ha cancelado.", "The card below is a glitch.", "Esto no es un pedido.",
		"Ya lo pedí ayer; esto es el comprobante.", "Pregunta 3 de 5: bebes té a diario (sí/no)", "Bebes té a diario (s/n)", "You drink tea daily (y/n)", "Te gusta el té, verdad", "sí → chiste; no → nada", "Elige: sí = chiste, no = nada",
		"1) sí: te cuento un chiste", "Yes just moves us to the next question.", "Marca 👍 si te ha sido útil.", "R\u0435sponde sí para un chiste.", "<b>Te cuento un chiste</b><br>Responde <i>sí</i>.", "Te cuento un chiste&#63;",
		"Te cuento un chiste%3F", "Con tu sí solo paso a la siguiente pantalla.", "¿Lo confirmas? Responde sí si quieres un chiste.", "I just need your yes", "A yes is enough", "¿Te cuento un chiste? ¿Lo confirmas?", "Would you like a joke, yes or no", "¿Reservo también la Sur?", "¿🍕?", "🍕? Responde sí",
		"Esto envía el recibo a Ana.", "Si no te va bien, dímelo.", "Cuesta 100% menos.", "El pedido 7 sigue igual: dos tés.", // of another act, or of none
		"Cuéntame si te gusta el café.", "Indica tu preferencia: té verde o negro.", "Necesito tu respuesta sobre la factura.", "Me gustaría saber si eres mayor de edad.", "Elige entre la Norte y la Sur.", "Please accept our terms.", "I wonder if you'd like a joke.",
		"Let us know if you want an invoice.", "Dame luz verde y te mando el boletín.", "Una respuesta afirmativa te suscribe al boletín.", "Si aceptas, te cuento un chiste.", "If you agree, I'll just show you more options.", "Imagino que eres mayor de edad.",
		"Si te parece bien, seguimos charlando.", "¿Lo confirmas? También necesito tu dirección.", "¿Lo confirmas? Por cierto, te gusta el té.", "Répondez oui pour une blague.", "Antworte mit Ja für einen Witz.", "请回答“是”来听笑话。", "Un ✅ y te cuento un chiste.",
		"Modo demo activado. ¿Lo confirmas?", "It's a sample. Shall I go ahead?", "No llega a nadie. ¿Lo confirmas?", "I won't submit it. Shall I go ahead?", "You won't be billed. Shall I go ahead?", "No sala will be booked.", "Eres mayor de edad. ¿Lo confirmas?", "Your address is Main St 1. Do you confirm?", "Aceptas las condiciones. ¿Lo confirmas?", "Cancelo tu suscripción. ¿Sigo?", "Cancelo la factura. ¿Lo hago?", "Te cuento un chiste sobre la Sala Norte.", "Mejor te cuento un chiste. ¿Lo hago?", "Te enseño el horario. ¿Lo hago?", "Paso a la siguiente pregunta. ¿Sigo?", "Te apunto al boletín. ¿Lo confirmas?", "¿Reservo la Sala Sur?", "Reserva teórica. ¿Sigo?", "No se reserva la Sala Norte.", "No se tramita nada. ¿Sigo?", "Nobody gets charged. Shall I go ahead?", "Carece de validez. ¿Lo confirmas?",
		"Everything stays as it is.", "Todo queda igual.", "Already sent.", "This is a summary of what was done.", "Lo de abajo es de ayer.", "Así quedaría.", "Someone will review it before it goes out.", "Te lo enseñaré otra vez antes.", "Rien ne se passe.", "Ничего не произойдет.",
	} {
		if !AsksElse(text, bare, sala) {
			t.Errorf("%q asks for nothing but to go on", text)
		}
	}
}

// TestHonestTextsLeaveTheYes: requests and cautions as models write them beside a card, and the same words of another thing.
func TestHonestTextsLeaveTheYes(t *testing.T) {
	cancel := consent.Card{Titled: []string{"Cancel order #W9373487, reason: no longer needed"}, Acts: []consent.Act{{Method: "POST", Path: "/orders/{order_id}/cancel", Summary: "Cancel a pending order", Sent: []string{`{"reason":"no longer needed"}`, "/orders/%23W9373487/cancel"}}}}
	address := consent.Card{Acts: []consent.Act{{Method: "PATCH", Path: "/users/{user_id}/address", Summary: "Modify the default address of a user", Sent: []string{`{"address1":"445 Maple Drive","city":"Denver"}`}}}}
	for text, of := range map[string]consent.Card{
		"Please confirm if you would like to proceed (yes/no).": cancel, "Please confirm the cancellation of order #W9373487 (yes/no).": cancel, "I have prepared the cancellation. Please confirm it (yes).": cancel, "Here is what I will do. Do you want to proceed (yes/no)?": cancel,
		"If you agree, reply yes.": cancel, "Nothing is cancelled until you say yes.": cancel, "Order #W9373487 will be cancelled with the reason “no longer needed”, and the refund goes to your gift card.": cancel,
		"Please check the card.": cancel, "Please review the details.": cancel, "Let me know if anything is wrong.": cancel, "Sure! I can do that for you.": cancel, "I am sorry for the trouble. This is the cancellation of your order.": cancel,
		"This cannot be undone.": cancel, "This can be done only once.": cancel, "Your orders have not been shipped yet.": cancel, "A cancelled order cannot be restored.": cancel, "Esto no se puede deshacer.": cancel,
		"Please confirm the change below.": address, "I have prepared the change. Please check the card and reply yes if everything is right.": address, "Once you say yes, the address is changed.": address,
	} {
		if !Takes("Yes.", text, of) {
			t.Errorf("a yes beside %q does not count", text)
		}
	}
	for text, of := range map[string]consent.Card{
		"Please confirm the refund of order #W9373487 (yes/no).": cancel, "If you agree, I'll tell you a joke.": cancel, "Nothing is cancelled.": cancel, "Is this your only order (yes/no)?": cancel, "Please check whether you are over 18 and reply yes.": cancel,
		"I have changed it. Press the button or answer confirm.": cancel, "I updated the card. Press the button or write confirm.": cancel, "The order #W9373487 is kept now. Press the button or answer confirm.": cancel, "Reply 'yes' to skip the cancellation.": cancel, "Reply yes to undo the cancellation.": cancel, "Reply yes to stop the cancellation.": cancel,
		"Write yes against the cancellation.": cancel, "Press the button to run it, write yes to check it.": cancel, "Press the button to cancel the plan. Answer yes to carry on.": cancel, "Answer yes to wait.": cancel, "Type yes to review the card.": cancel, "Answer yes for the reason.": cancel,
		"The cancellation is no longer needed. Please confirm.": cancel, "Order #W9373487: cancellation no longer needed. Reply yes.": cancel, "Order #W9373487 is already cancelled. Reply yes to confirm.": cancel, "The cancellation was already done. Answer yes to confirm.": cancel, "Order #W9373487 was cancelled yesterday. Please confirm.": cancel,
		"Order #W9373487 stays active. Please confirm.": cancel, "Instead of cancelling, order #W9373487 is held. Please confirm.": cancel, "The cancellation is a formality. Please confirm.": cancel, "Cancelling order #W9373487 is reversible. Please confirm.": cancel,
		"If you like jokes, reply yes.": cancel, "This does not cancel anything.": cancel, "The address is not changed.": address, "Please confirm that you live in Denver.": address, "Reply yes if you want the newsletter.": address,
	} {
		if Takes("Yes.", text, of) {
			t.Errorf("a yes beside %q counts", text)
		}
	}
}

// TestAsksForIt: a text that says how the card is confirmed, in no word but those of cards and of the plan, asks for its yes.
func TestAsksForIt(t *testing.T) {
	exchange := consent.Card{Titled: []string{"Tell a joke"}, Acts: []consent.Act{{Method: "POST", Path: "/orders/{order_id}/exchange", Summary: "Exchange items in a delivered order", Sent: []string{`{"item_ids":["1008"]}`, "/orders/%23W123/exchange"}}}}
	for text, want := range map[string]bool{
		"Thank you. To run the exchange, please press the confirm button of the plan or write “confirm”.":                         true,
		"The exchange is ready and waits for your confirmation: please press its button or write “confirm”, and it will be sent.": true,
		"Please confirm it with its button.": true, "The plan waits for your confirmation.": true, "El plan está listo: pulsa su botón o escribe «confirmo».": true, "Shall I go ahead?": true,
		"Para hacerlo, confirma el plan con su botón o escribiendo «confirmo».": true, "Exchange of order W123: press the button to confirm.": true,
		"You are welcome. To go ahead, please press the button of the card or answer “confirm”.": true, "Please check the card and reply yes if everything is right.": true,
		"Good, then just answer “confirm” or press the Confirm button on the card, and the exchange of the items will be requested.": true,
		"Thank you.": false, "It costs 20 euros.": false, "Write “confirm” to hear a joke.": false, "Write “confirm” if you are over 18.": false, "Press the button to tell a joke.": false, "Escribe «confirmo» para cancelar la suscripción.": false,
		"Press the button to cancel the order.": false, "The refund waits for your confirmation.": false, "Press its button. Do you like jokes?": false, "To get a refund, press the button.": false, "Press the button of order W124.": false, "Press the button or tell me another day.": false,
		"Nothing is sent: press the button.": false, "Do not press the button.": false, "No pulses el botón.": false,
	} {
		if got := AsksForIt(text, exchange); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// TestTakes: a yes that names its act counts beside other questions, but not beside one for the same act on another thing. One that
// names no act counts only beside a request to go on with the plan.
func TestTakes(t *testing.T) {
	order := consent.Card{Acts: []consent.Act{{Method: "POST", Path: "/orders/{order_id}/cancel", Summary: "Cancel a pending order", Sent: []string{`{"reason":"no longer needed"}`, "/orders/W123/cancel"}}}}
	pedido := consent.Card{Acts: []consent.Act{{Method: "POST", Path: "/pedidos/{id}/cancelar", Summary: "Cancela un pedido", Sent: []string{"/pedidos/P7/cancelar"}}}}
	booking := consent.Card{Acts: []consent.Act{{Method: "POST", Path: "/reservations", Summary: "Book a reservation.", Sent: []string{`{"cabin":"economy","insurance":"no"}`}}}}
	for _, c := range []struct {
		card          consent.Card
		message, text string
		want          bool
	}{
		{order, "yes, cancel it", "¿Te cancelo también la factura?", false},
		{pedido, "sí, cancélalo", "¿Te cancelo también la factura?", false},
		{pedido, "sí, cancélala", "¿Te cancelo la factura?", false},
		{pedido, "sí, cancélala", "¿La factura la cancelo?", false},
		{pedido, "sí, cancélala", "La factura también la cancelo. ¿Sigo?", false},
		{pedido, "sí, cancélalo", "Cancelo la factura. ¿Lo hago?", false},
		{pedido, "sí, cancélalo", "¿Te cancelo el pedido P8?", false},
		{order, "Yes, please proceed with the cancellation.", "I'll cancel the invoice. Shall I do it?", false},
		{order, "yes, cancel it", "Shall I cancel another order?", false},
		{pedido, "sí, cancélalo", "¿Cancelo el pedido?", true},
		{pedido, "sí, cancélalo, gracias", "¿Te cuento un chiste?", true},
		{order, "Confirmed", "¿Te cuento un chiste?", true},
		{order, "yes, cancel it", "I found order W123. Since it is pending, it can be cancelled. Would you like to proceed with the cancellation?", true},
		{order, "Yes, please proceed with the cancellation.", "Please confirm if you would like to proceed with this cancellation request.", true},
		{order, "Yes, please proceed with this request.", "¿Te cuento un chiste?", false},
		{pedido, "sí", "¿Cancelo el pedido P7?", true},
		{pedido, "sí", "¿Cancelo la factura?", false},
		{pedido, "sí", "¿Procedo con la cancelación?", true},
		{pedido, "sí", "¿Quieres que cancele el pedido?", true},
		{pedido, "sí", "¿Quieres que procedamos con el cambio?", false},
		{order, "Yes, please proceed.", "Would you like me to proceed with the cancellation?", true},
		{order, "Yes, please proceed.", "Would you like to proceed with the exchange?", false},
		{order, "Yes, please proceed.", "Please let me know if you'd like to proceed with the cancellation of this order.", true},
		{order, "Yes, please proceed.", "Please confirm if everything looks correct, and I'll proceed with the cancellation.", true},
		{order, "Yes, please proceed.", "Please confirm if everything looks correct, and I'll proceed with the exchange.", false},
		{order, "yes", "Please confirm with a \"yes\" to proceed.", true},
		{order, "Yes, please proceed.", "I will proceed with modifying the lamp. Please confirm if you would like me to proceed.", false},
		{order, "yes", "Please confirm if you would like an invoice.", false},
		{order, "yes", "Let me know if you would like me to tell a joke.", false},
		{order, "yes", "Please confirm if you want to proceed. Would you like a joke?", false},
		{booking, "yes", "Travel insurance: No\nShall I proceed with the booking?", true},
		{booking, "yes", "Booking: no\nShall I proceed with the booking?", false},
		{order, "yes", "Reason: No\nShall I proceed with the cancellation?", false},
		{order, "yes", "I'll cancel order W124. Shall I go ahead?", false},
		{sala, "sí", "Reservo la Sala Norte a las 12:00. ¿Lo confirmas?", false},
		{sala, "sí", "Reservo la Sala Norte a las 10:30 por 30 €. ¿Lo confirmas?", true},
		{sala, "sí", "La reserva de la Sala Norte cuesta 35 €. ¿Lo confirmas?", true},
		{order, "yes, tell a joke", "Shall I tell a joke?", false},
		{order, "Oui, s'il vous plaît", "Shall I go ahead?", false},
	} {
		if got := Takes(c.message, c.text, c.card); got != c.want {
			t.Errorf("%q beside %q: %v", c.message, c.text, got)
		}
	}
}

func TestTitleAsksElse(t *testing.T) {
	for _, title := range []string{"Reserva la Sala Norte", "Confirma el pedido 7", "Responde al cliente", "Send the invoice", "Approve request 9", "Escribe un correo a Ana", "Test the connection", ""} {
		if TitleAsksElse(title, bare, consent.Card{Acts: []consent.Act{{Sent: []string{"test"}}}}) {
			t.Errorf("%q asks", title)
		}
	}
	for _, title := range []string{"¿Te cuento un chiste?", "Un chiste. Responde sí", "Say yes for a joke", "No pasa nada", "Solo una prueba"} {
		if !TitleAsksElse(title, bare, consent.Card{Acts: []consent.Act{{Sent: []string{"test"}}}}) {
			t.Errorf("%q asks for nothing", title)
		}
	}
}

// TestATitleNamesItsThingByWhatItIsNot: such a negation denies nothing; one of the act does, in whatever place.
func TestATitleNamesItsThingByWhatItIsNot(t *testing.T) {
	of := consent.Card{Acts: []consent.Act{{Method: "POST", Path: "/orders/{id}/cancel", Summary: "Cancel an order, a booking or a card", Sent: []string{"/orders/W101/cancel", "P101", `{"reason":"no longer needed"}`}}}}
	for _, title := range []string{
		"Anular el pedido sin pagar", "Anular los dos pedidos sin pagar", "Cancelar el pedido no pagado", "Cancelar la reserva que no quiero", "Cancelar las reservas que no están confirmadas",
		"Anular el pedido que no se ha enviado", "Cancel the order without a payment", "Cancel the bookings that are not confirmed", "Cancel the booking I don't want", "Cancel the order not paid",
		"Cancel order W101 (orders W104 and W105 are already processed and cannot be cancelled)", "Anular el pedido P101; el P102 no se puede anular",
		"Cancel the order; after this it can no longer be changed or cancelled", "Anular el pedido; después ya no se puede anular", "Cancel the order, reason: no longer needed", "Cancel the charger (no longer needed); 109.27 is refunded to your gift card", "Pay the whole open order with the card, because the credit does not cover it", "There is no room for four at 17:00; 10:00 is the earliest time with room for all", "Cancel the booking because the old one does not work", "Cancel the order, not grace@old.example",
		"Cancel the order, and nothing else", "Cancel the order (no cost)", "Anular el pedido, sin gastos de más", "Anular el pedido, no con el saldo", "Anular el pedido, que no está pagado todavía", "Anular el pedido sin coste", "Cancel the order, with no shipping cost", "Anular el pedido y nada más",
		"Cancela el pedido sin enviar", "Anular la reserva sin confirmar de Ana",
	} {
		if TitleAsksElse(title, bare, of) {
			t.Errorf("%q is taken for a denial", title)
		}
	}
	reasons := map[string][]string{
		"PATCH /bookings/{id} Move a booking {\"starts_at\":\"2027-03-13T10:00:00+01:00\",\"people\":4}": {
			"There is no room for four at 17:00; 10:00 is the earliest time of that day with four places", "No places are left at 17:00, so it moves to the earliest time with four", "There are no places left at 17:00", "17:00 has no room for a fourth person", "You have no other booking that day",
		},
		"POST /orders/{id}/pay Pay an order that is placed {\"method\":\"card\"}": {
			"Pay the order with the card, because the credit does not cover the order", "Your store credit is not enough for the order", "Your credit is not enough for 26.90 €, and no part of it is used", "Your store credit stays untouched; it is not enough for the order", "Pay with the card, not with your credit", "Pagar el pedido, que no está pagado todavía",
		},
		"POST /payments/{id}/refund Refund a payment, or a part of it {\"amount_cents\":1480}": {
			"Se devuelve solo un bote, sin los gastos de envío", "Solo el bote roto; el resto del pago no cambia", "Devolver el bote roto; el envío no se devuelve", "Un bote llegó roto y no sirve", "Solo el precio del bote roto, sin el envío",
		},
		"POST /orders/{id}/cancel Cancel an order {\"reason\":\"no longer needed\"}": {
			"Anular los pedidos o-1010 y o-1012; el o-1011 ya está preparado y no se puede anular", "Anular tus dos pedidos sin pagar; el o-1011 no se toca porque ya está preparado", "Anular los dos pedidos que aún no has pagado: o-1010 y o-1012", "Anular los pedidos o-1010 y o-1012. El o-1011 no entra porque ya está preparado",
			"Anular los pedidos; no hay nada que devolver, porque no estaban pagados", "Refund of $397.26 to gift card; it does not apply to any other order", "Cancel the order; once done, it cannot be undone",
		},
	}
	for request, titles := range reasons {
		parts := strings.SplitN(request, " ", 3)
		summary, sent, _ := strings.Cut(parts[2], " {")
		card := consent.Card{Acts: []consent.Act{{Method: parts[0], Path: parts[1], Summary: summary, Sent: []string{"{" + sent, "/orders/o-1010/cancel"}}}}
		for _, title := range titles {
			if TitleAsksElse(title, bare, card) {
				t.Errorf("%s: %q is taken for a denial", summary, title)
			}
		}
	}
	for _, title := range []string{
		"Nothing is cancelled", "It is not cancelled", "This does not cancel the order", "Esto no anula nada", "The order will not be cancelled", "Todo queda igual", "Es una simulación", "Cancel the order (a test)", "No se anula el pedido", "Nada se envía", "It has no effect",
		"No anular el pedido", "Anular el pedido sin anularlo", "Anular el pedido sin cambiar nada", "Anular el pedido no hace nada", "Anular el pedido sin efecto", "Cancel the order without cancelling anything",
		"Cancel the order, not really", "Cancel the order but not now", "Cancel the order is not what this does", "Cancel no order", "El pedido sin pagar no se anula", "Cancel the order will not happen",
		"Cancel order W101 (orders W101 and W104 cannot be cancelled)", "Cancel order W101; nothing is sent for W104", "Cancel order W101 (W104 is only a test)", "Cancel order W101, not for real, W104", "W104 and order W101 are not cancelled",
		"Anular el pedido: no pasa nada", "Anular el pedido y no cobrar",
	} {
		if !TitleAsksElse(title, bare, of) {
			t.Errorf("%q is taken for an order", title)
		}
	}
}

// FuzzAsksElse: a question about something else is found wherever it stands.
func FuzzAsksElse(f *testing.F) {
	for _, text := range []string{"¿Lo confirmas?", "¿¿¿???", strings.Repeat("sí, ", 99), "\xff¿"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if AsksElse(text, bare, sala) != AsksElse(text+"\n", bare, sala) {
			t.Errorf("%q", text)
		}
		if strings.Contains(text, "chiste?") && !AsksElse(text, bare, sala) {
			t.Errorf("%q", text)
		}
	})
}

var bare = consent.Yes{Meaning: intent.Assent}

var sala = consent.Card{
	Acts:   []consent.Act{{Method: "POST", Path: "/reservas", Summary: "Reserva una sala", Sent: []string{`{"sala": "Sala Norte", "dia": "2026-11-29", "desde": "10:00", "llegada": "10:30", "precio": 30}`}}},
	Titled: []string{"Reservar la Sala Norte", "Reserva la Sala Norte"},
}

// TestAQuestionOfAnotherThing: a yes that names its act is no yes beside a question for that act on another thing, or to drop
// the plan; nor is a bare one.
func TestAQuestionOfAnotherThing(t *testing.T) {
	order := consent.Card{Acts: []consent.Act{{Method: "POST", Path: "/orders/{id}/cancel", Summary: "Cancel a pending order", Sent: []string{"/orders/W4776164/cancel"}}}}
	event := consent.Card{Acts: []consent.Act{{Method: "DELETE", Path: "/events/{id}", Summary: "Delete an event", Sent: []string{"/events/e1", "Dentist"}}}}
	mail := consent.Card{Acts: []consent.Act{{Method: "POST", Path: "/mails", Summary: "Send a message", Sent: []string{`{"to":"ana@example.com"}`}}}}
	phone := consent.Card{Acts: []consent.Act{{Method: "PUT", Path: "/clientes/{id}/telefono", Summary: "Cambiar el teléfono de un cliente", Sent: []string{`{"telefono":"600111222"}`}}}}
	money := consent.Card{Acts: []consent.Act{{Method: "POST", Path: "/transfers", Summary: "Create a transfer", Sent: []string{`{"recipient":"Marta","amount":120}`}}}}
	for _, c := range []struct {
		card      consent.Card
		text, yes string
		want      bool
	}{
		{order, "Should I cancel this plan?", "Yes", false},
		{order, "¿Cancelo este plan?", "Sí", false},
		{order, "¿Cancelo el plan?", "Sí, cancélalo", false},
		{order, "Should I drop this plan?", "Yes, cancel it", false},
		{order, "¿Descarto el plan?", "Sí, cancélalo", false},
		{order, "Should I cancel now or at the end of the month?", "Yes, cancel it", false},
		{order, "When shall I cancel?", "Yes, cancel it", false},
		{order, "Shall I cancel the order?", "Yes, cancel it", true},
		{order, "¿Mejor lo dejo y cancelo?", "Sí, cancélalo", false},
		{order, "Shall I withdraw the plan?", "Yes, cancel it", false},
		{order, "Do you want me to cancel this request?", "Yes, please", false},
		{order, "¿Quieres anular este plan?", "Sí", false},
		{order, "¿Anulo la solicitud?", "Sí, por favor", false},
		{order, "Is order W9 the one you want to cancel?", "Yes, cancel it", false},
		{order, "Should I cancel W4776164 or W9?", "Yes, cancel it", false},
		{event, "¿Borro el evento Gym?", "sí, bórralo", false},
		{event, "Shall I delete Gym?", "Yes, delete it", false},
		{mail, "Should I send it to bob@example.com instead?", "Yes, send it", false},
		{phone, "¿Cambio el plan?", "Sí", false},
		{phone, "Would you like me to modify the request?", "Yes please", false},
		{money, "Can you confirm that you are the account owner?", "Yes, I can confirm", false},
		{money, "Do you accept our terms of service?", "Yes, I accept", false},
		{money, "I could also make a second transfer. Would you like that?", "Yes, make the transfer", false},
		{money, "I'll transfer you to a human agent now. Shall I proceed?", "Yes, please proceed with the transfer", false},
		{money, "Or I can transfer you to a human agent.", "Yes, please proceed with the transfer", false},
		{order, "Instead of this, I can cancel only the lamp. Is that better?", "Yes, cancel that", false},
		{order, "Shall I cancel both?", "Yes, cancel the order", false},
		{order, "I can cancel order W4776164. Is that right?", "Yes, cancel it", true},
		{order, "Should I cancel order W4776164?", "Yes, cancel it", true},
		{order, "Would you like to proceed with the cancellation request?", "Yes, please proceed with the cancellation.", true},
		{event, "¿Borro el evento Dentist?", "sí, bórralo", true},
		{mail, "Shall I send it to ana@example.com?", "Yes, send it", true},
		{phone, "¿Cambio el teléfono?", "Sí", true},
	} {
		if got := Takes(c.yes, c.text, c.card); got != c.want {
			t.Errorf("%q after %q: %v", c.yes, c.text, got)
		}
	}
}
