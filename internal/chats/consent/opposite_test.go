package consent

import (
	"testing"

	"piloto/internal/chats/intent"
)

// TestAnotherActIsNoYes: an act that the document does not begin with, and its opposite, run nothing. Neither does a yes to one
// of several, to a part, or to that in which the thing is.
func TestAnotherActIsNoYes(t *testing.T) {
	for _, c := range []struct {
		act      Act
		messages []string
	}{
		{act("POST", "/payments/{id}/stop", "Stop a payment", "/payments/x1/stop"), []string{"Yes, make the payment", "Yes, pay it", "Yes, proceed with the payment"}},
		{act("POST", "/transfers/{id}/reverse", "Reverse a transfer", "/transfers/x1/reverse"), []string{"Yes, transfer it", "Yes, make the transfer"}},
		{act("POST", "/pagos/{id}/revertir", "Revierte un pago"), []string{"Sí, haz el pago", "Sí, págalo", "Confirmo el pago"}},
		{act("POST", "/posts/{id}/unpublish", "Unpublish a post"), []string{"Yes, publish it", "Yes, post it"}},
		{act("POST", "/leave-requests/{id}/reject", "Reject a leave request"), []string{"I approve the leave request", "I accept the request", "I approve it", "I approve"}},
		{act("POST", "/ofertas/{id}/rechazar", "Rechaza una oferta"), []string{"Acepto la oferta", "Sí, adelante con la oferta", "Lo apruebo", "Sí, acepto"}},
		{act("POST", "/proposals/{id}/reject", "Reject a proposal"), []string{"Yes, go ahead with the proposal"}},
		{act("POST", "/solicitudes/{id}/rechazar", "Rechaza una solicitud"), []string{"Sí, tramita la solicitud", "Sí, procesa la solicitud"}},
		{act("POST", "/processes/{id}/stop", "Stop a process"), []string{"Yes, start the process"}},
		{act("DELETE", "/operations/{id}", "Cancel an operation"), []string{"Yes, complete the operation"}},
		{act("POST", "/memberships/{id}/cancel", "Cancel a membership"), []string{"Yes, continue with the membership", "I confirm the membership"}},
		{act("PUT", "/cards/{id}", "Freeze a card", "/cards/x1"), []string{"Yes, change the card", "Yes, update the card"}},
		{act("PUT", "/devices/{id}", "Wipe a device"), []string{"Yes, update the device"}},
		{act("DELETE", "/teams/{team}/members/{id}", "Remove a member", "/teams/Design/members/Pedro"), []string{"Yes, delete the Design team", "Sí, elimina Design", "Yes, delete the team"}},
		{act("POST", "/invoices/{id}/payments", "Pay an invoice", `{"card":"Visa"}`), []string{"Yes, pay the Visa", "Yes, pay the card"}},
		{act("POST", "/users", "Create a user", `{"team":"Red"}`), []string{"Yes, create the Red team", "Yes, create the team"}},
		{act("POST", "/transfers", "Make a transfer", `{"debtor":"Ahorro","creditor":"Nomina"}`), []string{"Sí, haz la transferencia a Ahorro", "Yes, make the transfer from Nomina"}},
		{act("POST", "/lights/{id}/off", "Turn off a light"), []string{"Yes, turn it on", "Yes, turn the light on", "Yes, turn on the light", "Yes, turn it"}},
		{act("PATCH", "/bookings/{id}", "Change the cabin of a booking", `{"cabin":"economy"}`), []string{"Yes, upgrade the cabin", "Yes, upgrade it"}},
		{act("POST", "/carts/{id}/checkout", "Check out a cart"), []string{"Yes, check the cart", "Yes, show the cart"}},
		{act("POST", "/folders/{id}/grants", "Grant access to a folder", `{"folder":"Salaries"}`), []string{"Yes, send the Salaries folder"}},
		{act("PATCH", "/users/{id}", "Update a user", `{"phone":"1","role":"admin"}`), []string{"Yes, update the phone"}},
		{act("DELETE", "/cards/{id}/block", "Unblock card"), []string{"Yes, delete the card", "Yes, remove it"}},
		{act("POST", "/cards/{id}/replacement/cancel", "Cancel card replacement"), []string{"Yes, cancel the card", "Yes, cancel my card"}},
		{act("POST", "/payments/{id}/cancel", "Cancel a subscription payment"), []string{"Yes, cancel the subscription"}},
		{act("POST", "/envios/{id}/cancelar", "Cancela el envío de un pedido"), []string{"Sí, cancela el pedido"}},
		{act("POST", "/tarjetas/{id}/desbloqueo", "Desbloquear una tarjeta"), []string{"Sí, bloquéala", "Sí, bloquea la tarjeta"}},
		{act("POST", "/orders/{id}/cancel", "Cancel an order"), []string{"Sí, lo autorizo", "I authorize it"}},
		{act("DELETE", "/files/{id}/share", "Stop sharing a file"), []string{"Yes, delete the file", "Yes, share it"}},
		{act("POST", "/flights/bookings", "Book a flight"), []string{"Yes, book the appointment", "Confirmo la cita"}},
		{act("POST", "/devoluciones", "Solicitar una devolución"), []string{"Confirmo el pedido", "Sí, haz la compra"}},
		{act("POST", "/parcels", "Send a parcel"), []string{"Confirmo la notificación", "Yes, send the email"}},
		{act("DELETE", "/mensajes/{id}", "Borrar un mensaje", "/mensajes/7"), []string{"Confirmo la baja"}},
		{act("POST", "/suscripciones/{id}/reanudar", "Reanuda una suscripción"), []string{"Sí, confirmo la pausa", "Sí, confirmo la suscripción"}},
		{act("POST", "/cards/{id}/unfreeze", "Unfreeze a card"), []string{"Yes, go ahead with the freeze"}},
		{act("POST", "/users/bulk-delete", "Delete users", `{"ids":["u1","u2"]}`), []string{"Yes, delete the user"}},
		{act("POST", "/accounts/{id}/direct-debits", "Create a direct debit mandate"), []string{"Sí, crea el registro", "Yes, create the account", "Sí, ábrela"}},
	} {
		for _, message := range c.messages {
			if got := Read(message, Card{Acts: []Act{c.act}}); got.Meaning.Agrees() {
				t.Errorf("%q beside %q is a yes", message, c.act.Summary)
			}
		}
	}
	each := act("POST", "/transfers", "Make a transfer", "Ana Gil", "Iker Sanz")
	each.Each = true
	for _, message := range []string{"Yes, make Ana's transfer", "Sí, haz las transferencias de Ana"} {
		if Read(message, Card{Acts: []Act{each}}).Meaning.Agrees() {
			t.Errorf("%q beside each of two is a yes", message)
		}
	}
}

// TestAVerbOfADocumentIsItsAct: what a document says in words of its own may be said in them.
func TestAVerbOfADocumentIsItsAct(t *testing.T) {
	for message, a := range map[string]Act{
		"Yes, freeze the card":                      act("PUT", "/cards/{id}", "Freeze a card", "/cards/x1"),
		"Yes, turn off the light":                   act("POST", "/lights/{id}/off", "Turn off a light"),
		"Yes, turn it off, thanks":                  act("POST", "/lights/{id}/off", "Turn off a light"),
		"Yes, go ahead and freeze it":               act("PUT", "/cards/{id}", "Freeze a card", "/cards/x1"),
		"Sí, bloquéala":                             act("POST", "/tarjetas/{id}/bloqueo", "Bloquear una tarjeta"),
		"Sí, bloquea la tarjeta":                    act("POST", "/tarjetas/{id}/bloqueo", "Bloquear una tarjeta"),
		"sí, congélalo":                             act("POST", "/pedidos/{id}/congelar", "Congela un pedido"),
		"Sí, confirmo la pausa":                     act("POST", "/suscripciones/{id}/pausar", "Pausa una suscripción"),
		"Yes, go ahead with the freeze":             act("PUT", "/cards/{id}", "Freeze a card"),
		"Sí, rechaza la solicitud":                  act("POST", "/permisos/{id}/rechazar", "Rechaza una solicitud de permiso"),
		"Yes, send the invoice to pia@lux.example":  act("POST", "/invoices/{id}/send", "Send an invoice", `{"to":"pia@lux.example"}`),
		"Yes, book the appointment with Dr. Ortega": act("POST", "/appointments", "Book an appointment", `{"vet":"Dr. Ortega"}`),
		"Yes, transfer the issue":                   {Tool: "transfer_issue", Summary: "Transfer an issue to another repository", Sent: []string{`{"issue":"41"}`}},
		"Yes, freeze the account":                   {Tool: "freeze_account", Summary: "This tool freezes an account", Sent: []string{`{"account":"7"}`}},
		"Sí, cancela el pedido":                     act("POST", "/orders/{id}/cancel", "Cancel an order", "/orders/W7/cancel"),
		"Yes, delete the users":                     act("POST", "/users/bulk-delete", "Delete users", `{"ids":["u1","u2"]}`),
	} {
		yes := Read(message, Card{Acts: []Act{a}})
		if yes.Meaning != intent.Confirm || yes.Names != ItsAct {
			t.Errorf("%q beside %q: %+v", message, a.Summary, yes)
		}
	}
	if yes := Read("Yes, freeze it", Card{Acts: []Act{act("PUT", "/cards/{id}", "Freeze a card")}}); !yes.Does("freeze") || yes.Does("melt") {
		t.Errorf("%+v does another act", yes)
	}
}

// TestAnOrderBehindPraiseAgrees, where nothing ends or changes by it: “great, change it” may be of the plan. A number is the one that
// is sent.
func TestAnOrderBehindPraiseAgrees(t *testing.T) {
	mail := act("POST", "/messages", "Send a message", `{"to":"Ana"}`)
	factura := act("POST", "/facturas/{id}/emitir", "Emitir una factura", "/facturas/F7/emitir")
	cancel := act("POST", "/orders/{id}/cancel", "Cancel an order", "/orders/W7/cancel")
	change := act("PATCH", "/orders/{id}", "Change an order", "/orders/W7", `{"quantity":2}`)
	money := act("POST", "/transfers", "Transfer money", `{"amount":250,"to":"Luis","at":"2026-12-03T10:30:00"}`)
	room := act("POST", "/reservations", "Reserve a room", `{"room":"204","nights":3}`)
	mute := act("POST", "/channels/{id}/mute", "Mute a user in a channel", `{"user":"Leo"}`)
	for _, c := range []struct {
		act     Act
		message string
		agrees  bool
	}{
		{mail, "Looks good, send it", true},
		{mail, "great, send it", true},
		{mail, "Great, send me the invoice", false},
		{mail, "send it", false},
		{factura, "Correcto, emítela", true},
		{factura, "ok, emítela por favor", true},
		{cancel, "great, cancel it", false},
		{change, "ok, change it", false},
		{change, "Yes, change all the orders", false},
		{change, "yes, change it", true},
		{money, "Yes, transfer the 250", true},
		{money, "Yes, transfer 25", false},
		{money, "Yes, transfer 10", false},
		{room, "Yes, reserve room 204", true},
		{room, "Yes, reserve room 205", false},
		{room, "Yes, reserve 3", false},
		{mute, "Yes, mute it", true},
		{cancel, "si cancélalo por favor", true},
		{cancel, "si cancelas el pedido", false},
	} {
		if got := Read(c.message, Card{Acts: []Act{c.act}}); got.Meaning.Agrees() != c.agrees {
			t.Errorf("%q beside %q: %+v", c.message, c.act.Summary, got)
		}
	}
	for _, message := range []string{"ok cancel it", "ok, cancélalo"} {
		if got := Read(message, Card{Acts: []Act{cancel}}); got.Meaning != intent.Other {
			t.Errorf("%q drops or runs a cancellation: %+v", message, got)
		}
	}
}
