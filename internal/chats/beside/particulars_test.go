package beside

import (
	"testing"

	"piloto/internal/chats/consent"
)

// TestAYesIsNoneBesideAQuestionOfOtherParticulars: the person may answer what the text asks, which is not what is sent.
func TestAYesIsNoneBesideAQuestionOfOtherParticulars(t *testing.T) {
	card := func(method, path, summary string, sent ...string) consent.Card {
		return consent.Card{Acts: []consent.Act{{Method: method, Path: path, Summary: summary, Sent: sent}}}
	}
	room := card("POST", "/bookings", "Book a room", `{"room":"Norte","start":"2026-12-03T10:30:00","people":3}`)
	sala := card("POST", "/reservas", "Reserva una sala", `{"sala":"Norte","inicio":"2026-12-03T10:30:00"}`)
	year := card("POST", "/suscripciones", "Crea una suscripción", `{"periodo":"anual"}`)
	member := card("POST", "/memberships/{id}/cancel", "Cancel a membership", "/memberships/7/cancel")
	money := card("POST", "/transfers", "Transfer money", `{"amount":50,"to":"Ana","from":"Nomina"}`)
	mail := card("POST", "/emails", "Send an email", `{"to":"ana@x.pe","subject":"Hola"}`)
	kettle := card("POST", "/orders", "Order a product", `{"product":"kettle","color":"red"}`)
	event := card("DELETE", "/events/{id}", "Delete an event", "/events/9", `{"name":"Dentist"}`)
	bill := card("POST", "/invoices/{id}/pay", "Pay an invoice", "/invoices/3/pay", `{"method":"Mastercard"}`)
	order := card("POST", "/orders/{order_id}/cancel", "Cancel a pending order", "/orders/%23W6779827/cancel", `{"reason":"no longer needed"}`)
	refund := card("POST", "/orders/{order_id}/return", "Return some items of a delivered order", "/orders/%23W6779827/return", `{"payment_method_id":"paypal_1"}`)
	vet := card("POST", "/appointments", "Book an appointment", `{"pet":"Luna","vet":"Dr. Ortega"}`)
	two := consent.Card{Acts: []consent.Act{{Method: "DELETE", Path: "/orders/{id}", Summary: "Cancel an order", Sent: []string{"/orders/W1"}}, {Method: "DELETE", Path: "/orders/{id}", Summary: "Cancel an order", Sent: []string{"/orders/W2"}}}}
	for _, c := range []struct {
		card          consent.Card
		message, text string
		want          bool
	}{
		{room, "Yes, book it", "Shall I book it for 12:00?", false},
		{room, "Yes, book it", "Shall I book it for 10:30?", true},
		{room, "Yes, book the room", "I'll book it for 12:00. Shall I go ahead?", false},
		{room, "Yes, book it", "Shall I book it for December 3 at 10:30 am?", true},
		{room, "Yes, book it", "Shall I book it for December 4 at 10:30 am?", false},
		{room, "Yes, book it", "Is it for two people?", false},
		{room, "Yes, book it", "Shall I book it for three people?", true},
		{room, "Yes, book it", "Shall I book it with breakfast?", false},
		{room, "Yes, book Norte", "Shall I book Norte for tomorrow?", false},
		{sala, "Sí, resérvala", "¿La reservo para las 12?", false},
		{sala, "Sí, resérvala", "¿La reservo para las 10:30?", true},
		{sala, "Sí, resérvala", "¿La reservo a mediodía?", false},
		{sala, "Sí, resérvala", "¿La reservo para dos?", false},
		{sala, "Sí, resérvala", "Cuesta 20 € la hora. ¿La reservo?", true},
		{year, "Sí, créala", "¿La hago mensual?", false},
		{year, "Sí, crea la suscripción", "¿La hago anual?", true},
		{member, "Yes, cancel it", "Would you like me to cancel all your memberships?", false},
		{member, "Yes, cancel it", "Would you like me to cancel your membership?", true},
		{member, "Yes, cancel it", "Shall I cancel it and charge you the fee?", false},
		{money, "Yes, transfer it", "Shall I transfer 500 euros?", false},
		{money, "Yes, make the transfer", "I'll transfer 500 €. Shall I go ahead?", false},
		{money, "Yes, make the transfer", "I'll transfer 50 € to Ana. Shall I go ahead?", true},
		{money, "Yes, make the transfer", "Would you like me to transfer it from your Savings account?", false},
		{mail, "Yes, send it", "Shall I send it to the whole team?", false},
		{mail, "Yes, send it", "Shall I send it to ana@x.pe?", true},
		{kettle, "Yes, order it", "Should I order it in blue?", false},
		{kettle, "Yes, order it", "Should I order it in red?", true},
		{event, "Yes, delete the event", "Is that right?", true},
		{event, "Yes, delete the event", "Do you want me to delete the whole series?", false},
		{bill, "Yes, pay it", "Shall I pay it with your Visa?", false},
		{room, "Yes, book it", "I can book the room for 12:00. Shall I go ahead?", false},
		{room, "Yes, book the room", "The room will be booked for 12:00. Shall I go ahead?", false},
		{room, "Yes, book it", "Shall I book the room plus catering?", false},
		{room, "Yes, book it", "Shall I book the room every week?", false},
		{sala, "Sí, resérvala", "La Sala Sur está libre. ¿La reservo?", false},
		{sala, "Sí, resérvala", "La Sala Norte está libre. ¿La reservo?", true},
		{money, "Yes, make the transfer", "The money will be transferred to Marta. Shall I?", false},
		{money, "Yes, make the transfer", "The money will be transferred to Ana. Shall I?", true},
		{order, "Yes, cancel the order", "Order #W9999999 is pending. Shall I cancel it?", false},
		{order, "yes", "Order #W9999999 is pending. Shall I cancel it?", false},
		{order, "yes", "I'll cancel order #W9999999. Shall I proceed?", false},
		{order, "yes", "Order #W6779827 is pending. Shall I cancel it?", true},
		{order, "Yes, cancel the order", "Your orders are #W6779827 and #W9999999. Shall I cancel #W6779827?", true},
		{refund, "Yes, proceed with the return", "The refund will be issued to gift_card_11. Shall I proceed with the return?", false},
		{refund, "Yes, proceed with the return", "The refund will be issued to your original payment method within 5 to 7 business days. Shall I proceed with the return?", true},
		{money, "Yes, make the transfer", "I'll transfer 50.00 to Ana. Shall I go ahead?", true},
		{money, "Yes, make the transfer", "I'll transfer 500.00 to Ana. Shall I go ahead?", false},
		{money, "yes please", "I'll transfer the money to Marta. Shall I go ahead?", false},
		{money, "yes please", "I'll transfer the money monthly. Shall I go ahead?", false},
		{money, "yes please", "I'll transfer the money tomorrow. Shall I go ahead?", false},
		{money, "yes please", "I'll transfer all your money. Shall I go ahead?", false},
		{money, "yes please", "I'll transfer 50 to Ana. Shall I go ahead?", true},
		{room, "yes", "I'll book it for tomorrow at 10:30. Shall I go ahead?", true},
		{room, "yes", "Thank you for the details. I'll book the room. Shall I go ahead?", true},
		{room, "yes", "I'll book the room on Thursday, December 3. Shall I go ahead?", true},
		{room, "yes", "I'll book the room on Friday. Shall I go ahead?", false},
		{vet, "Yes, book the appointment", "I'll book the appointment with Dr. Ruiz. Shall I go ahead?", false},
		{vet, "Yes, book the appointment", "I'll book the appointment with Dr. Ortega. Shall I go ahead?", true},
		{money, "Yes, make the transfer", "If Marta agrees, it will be sent. Shall I make the transfer?", false},
		{money, "Yes, make the transfer", "If everything is right, it will be sent. Shall I make the transfer?", true},
		{two, "Yes, cancel both", "Shall I cancel the two orders?", true},
		{two, "Yes, cancel both", "Shall I cancel the three orders?", false},
	} {
		if got := Takes(c.message, c.text, c.card); got != c.want {
			t.Errorf("%q beside %q: %v", c.message, c.text, got)
		}
	}
}
