package consent

import (
	"strings"
	"testing"

	"piloto/internal/chats/intent"
)

// narrow are plans of one act each, whose thing, number or receiver may be taken for another.
var narrow = map[string]Card{
	"pedido":    {Acts: []Act{act("POST", "/pedidos/{id}/cancelacion", "Cancelar un pedido", `{"motivo":"ya no lo quiero"}`)}},
	"telefono":  {Acts: []Act{act("PUT", "/clientes/{id}/telefono", "Cambiar el teléfono de un cliente", `{"telefono":"600111222"}`)}},
	"userAddr":  {Acts: []Act{act("PATCH", "/users/{id}/address", "Modify the default address of a user", `{"address1":"99 Elm Street","city":"Austin"}`)}},
	"deal":      {Acts: []Act{act("PATCH", "/deals/{id}", "Update a deal", `{"dealstage":"closedwon"}`)}},
	"event":     {Acts: []Act{act("DELETE", "/calendars/{c}/events/{id}", "Delete an event", "/calendars/primary/events/e1")}},
	"newEvent":  {Acts: []Act{act("POST", "/calendars/{c}/events", "Create an event", `{"summary":"Dentist"}`, "/calendars/primary/events")}},
	"edit":      {Acts: []Act{act("PATCH", "/events/{id}", "Edit an event", `{"title":"Dentist"}`)}},
	"one":       {Acts: []Act{act("POST", "/orders/{id}/return", "Return some items of a delivered order", `{"item_ids":["1096508426"]}`)}},
	"twoItems":  {Acts: []Act{act("POST", "/orders/{id}/return", "Return some items of a delivered order", `{"item_ids":["1096508426","8293778132"]}`)}},
	"refund":    {Acts: []Act{act("POST", "/v1/refunds", "Refund a payment", `{"payment_intent":"pi_3K","amount":40}`)}},
	"money":     {Acts: []Act{act("POST", "/v1/transfers", "Create a transfer", `{"recipient":"Marta Ruiz","amount":120}`)}},
	"salas":     {Acts: []Act{act("POST", "/salas/{id}/reservas", "Reservar una sala", `{"dia":"2026-12-01","personas":6}`, "/salas/r1/reservas")}},
	"mail":      {Acts: []Act{act("POST", "/users/me/messages/send", "Send a message", `{"to":"ana@example.com","subject":"Meeting tomorrow","text":"See you tomorrow at noon."}`)}},
	"correo":    {Acts: []Act{act("POST", "/correos", "Envía un correo", `{"para":"ana@example.com","asunto":"Mañana","texto":"Nos vemos mañana en la oficina."}`)}},
	"invite":    {Acts: []Act{act("POST", "/teams/{id}/invitations", "Invite a user to a team", `{"email":"bo@example.com"}`)}},
	"member":    {Acts: []Act{act("POST", "/lists/{id}/members", "Add a member to a mailing list", `{"email":"eva@example.com"}`)}},
	"rmMember":  {Acts: []Act{act("DELETE", "/lists/{id}/members/{m}", "Remove a member from a mailing list", "/lists/l1/members/m1")}},
	"rmItem":    {Acts: []Act{act("DELETE", "/orders/{id}/items/{i}", "Remove an item from an order", "/orders/W1/items/i1")}},
	"rmSession": {Acts: []Act{act("DELETE", "/users/{id}/sessions/{s}", "Delete a session of a user", "/users/u1/sessions/s1")}},
	"charge":    {Acts: []Act{act("POST", "/v1/charges", "Charge a customer", `{"customer":"Ana Gil","amount":50}`)}},
	"invoice":   {Acts: []Act{act("POST", "/v1/payments", "Pay an invoice", `{"invoice":"F12","amount":50}`)}},
	"sub":       {Acts: []Act{act("PATCH", "/v1/subs/{id}", "Update a subscription", `{"plan":"basic"}`)}},
	"ticket":    {Acts: []Act{act("POST", "/tickets/{id}/close", "Close a ticket", "/tickets/77/close")}},
	"expense":   {Acts: []Act{act("POST", "/expenses/{id}/approve", "Approve an expense")}},
	"share":     {Acts: []Act{act("PUT", "/docs/{id}/permissions", "Share a document with a user", `{"email":"ana@example.com"}`)}},
	"forward":   {Acts: []Act{act("POST", "/mail/{id}/forward", "Forward a message", `{"to":"ana@example.com"}`)}},
	"swap":      cards["exchange"],
	"agent":     cards["transfer"],
	"cancel":    cards["cancel"],
}

// beside checks what each message is beside some cards, whose names white space separates.
func beside(t *testing.T, names string, agrees bool, messages ...string) {
	t.Helper()
	for name := range strings.FieldsSeq(names) {
		card, ok := narrow[name]
		if !ok {
			t.Fatalf("no card %s", name)
		}
		for _, message := range messages {
			if got := Read(message, card); got.Meaning.Agrees() != agrees {
				t.Errorf("%q beside %s: %v, names %v", message, name, got.Meaning, got.Names)
			}
		}
	}
}

// TestAnActOnThePlanIsNoYes: to cancel or change the plan, its act, or a word that stands for it, is not to go on with it.
func TestAnActOnThePlanIsNoYes(t *testing.T) {
	beside(t, "cancel pedido event", false, "Sí, cancela el plan", "Yes, cancel the plan", "Yes, cancel the request", "Yes, cancel this action", "Yes, cancel the process", "Yes, cancel the transaction", "Yes, cancel that step", "Sí, anula la solicitud",
		"Sí, cancela la operación", "Sí, cancela la petición", "Sí, cancela esta propuesta", "Yes, delete the plan", "Sí, borra el plan", "Yes, remove the request please", "Yes, cancel it and the plan", "Yes, please go ahead and cancel the approach", "Yes, please proceed with the cancellation of the plan",
		"Yes, cancel the cancellation", "Yes, cancel the cancel", "Sí, anula la cancelación", "Sí, cancela la cancelación", "Yes, cancel the deletion", "Sí, cancela el borrado", "Yes, I confirm the cancellation of the cancellation", "Yes, I confirm the cancellation of the request", "Sí, confirmo la cancelación de la solicitud", "Sí, elimina el trámite", "Yes, make a plan")
	beside(t, "telefono userAddr deal edit", false, "Yes, change the plan", "Sí, cambia el plan", "Yes, edit the plan", "Yes, modify the request", "Sí, modifica la solicitud", "Yes, update the proposal", "Yes, change the approach", "Yes, revise it", "Yes, adjust it", "Sí, ajústalo",
		"Yes, go ahead with the plan change", "Sí, adelante con el cambio de plan", "Yes, update the change", "Yes, change the modification", "Yes, change the details", "Sí, cambia los datos", "Yes, make changes to the plan", "Yes, amend it")
	beside(t, "cancel pedido telefono deal event edit money", true, "Yes, please go ahead with the plan", "Yes, please proceed with the request", "Sí, adelante con el proceso", "I confirm the plan", "Yes, please process the request", "Sí, procede con la solicitud")
	beside(t, "cancel pedido", true, "Yes, please proceed with the cancellation", "Yes, please proceed with the cancellation request", "Sí, adelante con la solicitud de cancelación", "Yes, please go ahead and cancel it", "sí, cancélalo, gracias", "Sí, cancélamelo")
	beside(t, "telefono", true, "sí, confirmo el cambio", "Sí, cambia el teléfono", "Sí, cámbialo", "Yes, please proceed with the change")
	beside(t, "sub", true, "Yes, please go ahead with the change")
	beside(t, "edit", true, "Yes, edit it", "Yes, change the event", "Yes, edit the event")
}

// TestSiWithoutAnAccentIsACondition: unless a sign follows it, or the whole clause is a yes of package intent.
func TestSiWithoutAnAccentIsACondition(t *testing.T) {
	beside(t, "cancel pedido money", false, "Si todo está correcto, adelante", "Si está bien, adelante", "Si el plan está bien, adelante", "Si es correcto, procede", "Si puedes hacerlo, adelante", "si puedes hacerlo", "si puedes cancelarlo", "si quiero cancelarlo",
		"adelante si todo está bien", "Sí, adelante si es correcto", "procede, si todo está correcto", "s\u200bi todo está bien, adelante", "si el plan me parece bien adelante", "confirmo si todo está correcto", "SI TODO ESTÁ BIEN, ADELANTE", "sì todo está bien, adelante")
	beside(t, "cancel pedido money", true, "si adelante", "si dale", "si, adelante", "Si. Adelante con el plan", "Si, procede, gracias", "Sí todo está correcto, adelante", "claro que si, adelante", "si\u0301 todo está bien, adelante", "SI", "si gracias")
	beside(t, "pedido", true, "si, cancélalo", "Sí cancélalo", "si: cancela el pedido")
}

// TestNoMoreThanShown: “both” is of two, “all” of more than one.
func TestNoMoreThanShown(t *testing.T) {
	beside(t, "one", false, "Yes, return everything", "Yes, return both", "Yes, return both items", "Yes, return all items", "Sí, devuelve todo", "Sí, devuélvelos todos", "Yes, return all of them", "Yes, return the order", "Yes, return the orders", "Yes, return them", "Yes, return these", "Yes, please proceed with the return of both items")
	beside(t, "twoItems", true, "Yes, return both", "Yes, return both items", "Yes, return them", "Yes, return all items")
	beside(t, "refund money salas ticket expense member mail share event", false, "Yes, refund everything", "Sí, reembolsa todo", "Yes, refund all", "Yes, refund both", "Yes, transfer everything", "Sí, transfiérelo todo", "Yes, transfer all of it", "Sí, reserva todas las salas", "Sí, reserva ambas salas", "Sí, reserva las salas", "Sí, resérvalas",
		"Yes, close all tickets", "Yes, close the tickets", "Yes, close everything", "Yes, approve all expenses", "Yes, approve everything", "Yes, add them all", "Yes, add the members", "Yes, send the messages", "Yes, share it with all", "Sí, compártelo con todos", "Yes, delete the events", "Sí, bórralos")
	beside(t, "swap invite", false, "Yes, exchange both", "Yes, exchange everything", "Yes, invite them all", "Yes, invite everything")
	beside(t, "cancel", false, "Sí, cancélalos", "Yes, cancel the orders", "Yes, cancel them")
}

// TestToNobodyElse: what goes to somebody, or is about them, does not go to who writes.
func TestToNobodyElse(t *testing.T) {
	beside(t, "mail correo forward", false, "Yes, send it to me", "Yes, send it to us", "Yes, send it to all", "Sí, envíamelo", "Sí, mándamelo a mí", "Sí, mándamelo", "Sí, envíalo a todos", "Sí, envíanoslo", "Yes, email me", "Yes, send me everything", "Yes, notify me", "Sí, notifícame", "Yes, give it to me", "Yes, send it to them", "Yes, send it to my email", "I confirm my email", "Sí, envíalo a mi correo", "Yes, send it to you", "Yes, forward it to me", "Yes, send it to us all", "Sí, envíalo a mí, gracias")
	beside(t, "invite member share money charge refund", false, "Yes, invite me", "Yes, add me", "Yes, add us", "Yes, transfer it to me", "Yes, please transfer me", "Yes, share with me", "Yes, charge me", "Yes, refund me", "Yes, share it with me")
	beside(t, "agent", true, "Yes, please transfer me to a human agent. Thank you!", "Yes, please transfer me", "Yes, transfer me to a human agent")
	beside(t, "mail correo", true, "Yes, send it", "Sí, envíalo", "Sí, mándaselo")
	beside(t, "mail", true, "Yes, send the message", "Yes, please send the message to Ana")
	beside(t, "salas", true, "Sí, resérvala", "Sí, resérvamela", "Sí, hazme la reserva")
}

// TestAnotherTimeThanSent: a word of time names nothing, and neither does a sentence.
func TestAnotherTimeThanSent(t *testing.T) {
	beside(t, "mail correo", false, "Sí, envíalo mañana", "Yes, send it tomorrow", "Yes, send it at noon", "Confirmo mañana", "I confirm tomorrow", "Yes, send the message tomorrow", "Yes, go ahead tomorrow", "Sí, envíalo en la oficina", "Yes, send it later", "Sí, envíalo el lunes", "Yes, see you")
	for _, when := range []string{"tomorrow", "mañana", "hoy", "noon", "Monday", "lunes", "10am", "later", "5pm", "next week"} {
		card := Card{Acts: []Act{act("POST", "/rooms", "Book a room", `{"room":"North","when":"`+when+`"}`)}}
		for _, said := range []string{"Yes, book the North room " + when, "Yes, book it for " + when, "I confirm " + when} {
			if Read(said, card).Meaning.Agrees() {
				t.Errorf("%q is a yes", said)
			}
		}
	}
}

// TestAnotherAct: acts of which people speak alike are different ones, where no document says both.
func TestAnotherAct(t *testing.T) {
	beside(t, "telefono userAddr deal", false, "Yes, exchange the items", "Yes, please proceed with the exchange.", "Sí, intercambia los artículos", "Sí, sustitúyelo", "Sí, cambia los artículos", "Sí, cambia el artículo", "Yes, change the item", "Yes, reschedule it", "Sí, reprográmalo", "Yes, rename it", "Yes, replace it", "Sí, reemplázalo", "Yes, swap it")
	beside(t, "swap", false, "Yes, replace it", "Yes, rename it", "Yes, modify it")
	beside(t, "swap", true, "Yes, please proceed with the exchange.", "sí, confirmo el cambio", "Yes, exchange the items", "Sí, intercámbialo")
	beside(t, "event rmMember rmItem rmSession", false, "Sí, cancélalo", "Yes, cancel it", "Yes, please proceed with the cancellation", "ok, sí, cancélalo", "Yes, cancel the order", "Yes, cancel the event")
	beside(t, "event rmMember rmItem rmSession", true, "Sí, bórralo", "Yes, delete it", "Yes, please go ahead and remove it", "Yes, please proceed with the deletion")
	beside(t, "cancel pedido", false, "Yes, delete it", "Sí, bórralo", "Yes, remove the order")
	beside(t, "charge", false, "Yes, pay it", "Yes, pay Ana Gil", "Yes, proceed with the payment", "Sí, págalo", "Sí, paga a Ana Gil", "Sí, adelante con el pago")
	beside(t, "charge", true, "Yes, charge it", "Yes, charge Ana Gil", "Sí, cóbralo")
	beside(t, "invoice", false, "Yes, charge it", "Sí, cóbralo", "Confirmo el cobro", "Yes, refund it")
	beside(t, "invoice", true, "Yes, pay it", "Yes, pay the invoice", "Confirmo el pago")
	beside(t, "sub", false, "Yes, upgrade it", "Yes, downgrade it", "Yes, upgrade the subscription", "Sí, mejora el plan", "Yes, cancel the subscription")
	beside(t, "ticket", false, "Yes, archive it", "Yes, archive the ticket")
	beside(t, "share", false, "Yes, publish it", "Yes, post it", "Yes, publish the document", "Sí, publícalo")
	beside(t, "share", true, "Yes, share it", "Yes, share the document")
	beside(t, "mail", false, "Yes, forward it")
	beside(t, "forward", true, "Yes, forward it", "Sí, reenvíalo", "Yes, send it")
}

// TestTheThingItself: what a thing is in, or whose it is, is not the thing.
func TestTheThingItself(t *testing.T) {
	beside(t, "rmMember rmItem rmSession event newEvent", false, "Yes, delete the list", "Yes, remove the list", "Yes, delete the mailing list", "Sí, borra lists", "Yes, delete the order", "Yes, remove the order", "Yes, delete the user", "Yes, remove the user", "Yes, delete the calendar", "Yes, create the calendar", "Yes, create a calendar", "Yes, delete the members", "Yes, delete the items", "Yes, proceed with the deletion of the order", "Yes, delete this list", "Yes, delete the users")
	beside(t, "userAddr telefono", false, "Yes, change the user", "Sí, cambia el cliente", "Yes, update the customer")
	beside(t, "telefono", true, "Sí, cambia mi teléfono", "Sí, cámbiame el teléfono")
	beside(t, "rmMember", true, "Yes, remove the member", "Yes, remove the member from the list", "Yes, remove it from the list")
	beside(t, "rmItem", true, "Yes, remove the item", "Yes, remove the item from the order")
	beside(t, "newEvent", true, "Yes, create the event", "Yes, create the Dentist event")
	beside(t, "userAddr", true, "Yes, change the address of the user", "Yes, modify the address")
}

// TestTheSixYeses are those that anybody would write.
func TestTheSixYeses(t *testing.T) {
	for message, names := range map[string]string{
		"Yes, please proceed.": "cancel pedido event money swap", "Yes, please proceed with the cancellation.": "cancel pedido", "Great, yes please": "cancel mail", "Confirmed": "cancel mail money", "sí, confirmo el cambio": "telefono userAddr deal", "sí, cancélalo, gracias": "cancel pedido",
	} {
		beside(t, names, true, message)
	}
	if Read("sí, cancélalo", narrow["event"]).Meaning != intent.Cancel {
		t.Error("beside what deletes, it drops the plan")
	}
}

// TestAValueInAnotherPlaceNamesNobody: what a free text mentions is not to whom something goes, nor where or when.
func TestAValueInAnotherPlaceNamesNobody(t *testing.T) {
	for message, sent := range map[string]string{
		"Yes, send it to Bob": `{"to":"Ana","subject":"Lunch with Bob"}`, "Sí, envíaselo a Bob": `{"to":"Ana","subject":"Lunch with Bob"}`, "Yes, mail Bob": `{"to":"Ana","subject":"Lunch with Bob"}`, "Yes, send Bob the message": `{"to":"Ana","subject":"Lunch with Bob"}`,
		"Yes, exchange the red kettle": `{"item_ids":["kettle-black"],"new_item_ids":["kettle-red"]}`, "Yes, go ahead with Bob": `{"to":"Ana","subject":"Lunch with Bob"}`, "Sí, envíalo a Luis": `{"recipient":"Marta","concept":"Cena con Luis"}`, "Yes, send it with Luis": `{"title":"Luis","size":"big"}`, "Yes, send it to black": `{"item_ids":["kettle-black"],"new_item_ids":["kettle-red"]}`,
	} {
		if Read(message, Card{Acts: []Act{act("POST", "/messages", "Send a message", sent)}}).Meaning.Agrees() {
			t.Errorf("%q beside %s is a yes", message, sent)
		}
	}
	for message, sent := range map[string]string{
		"Yes, send it to Ana": `{"to":"Ana","subject":"Lunch with Bob"}`, "Sí, envíalo a Marta": `{"recipient":"Marta","concept":"Cena con Luis"}`, "Yes, send it to red": `{"item_ids":["kettle-black"],"new_item_ids":["kettle-red"]}`,
	} {
		if !Read(message, Card{Acts: []Act{act("POST", "/messages", "Send a message", sent)}}).Meaning.Agrees() {
			t.Errorf("%q beside %s is no yes", message, sent)
		}
	}
}

// TestAYesPointsUnlessItNamesAValue: what names only the act and the class of a thing may mean the last one that was spoken of.
func TestAYesPointsUnlessItNamesAValue(t *testing.T) {
	for message, points := range map[string]bool{
		"Yes, please proceed with the cancellation": true, "Yes, cancel the order": true, "sí, cancélalo": true, "Yes, proceed with the request": true, "Yes, cancel order W123": false, "Yes, please proceed with the plan": false,
	} {
		if got := Read(message, narrow["cancel"]); got.Points != points || !got.Meaning.Agrees() {
			t.Errorf("%q: %+v", message, got)
		}
	}
	for message, want := range map[string]Yes{
		"Yes, I accept": {Meaning: intent.Assent}, "Yes, I can confirm that": {Meaning: intent.Assent}, "I confirm the details": {Meaning: intent.Assent}, "Yes, I see": {}, "Sí, lo entiendo": {}, "Yes, I understand. Please proceed.": {Meaning: intent.Assent},
	} {
		if got := Read(message, narrow["cancel"]); got != want {
			t.Errorf("%q: %+v", message, got)
		}
	}
}

// TestAVerbOfAnyActNeedsItsNoun: “start” and “process” say nothing of what is done.
func TestAVerbOfAnyActNeedsItsNoun(t *testing.T) {
	pause := Card{Acts: []Act{act("POST", "/subscriptions/{id}/pause", "Pause a subscription")}}
	start := Card{Acts: []Act{act("POST", "/droplets/{id}/start", "Start a droplet")}}
	for message, want := range map[string]bool{"Yes, start the subscription": false, "Yes, make a subscription": false, "Sí, inicia la subscription": false, "Yes, process it": false, "Yes, create it": false, "Yes, pause it": true, "Yes, pause the subscription": true} {
		if Read(message, pause).Meaning.Agrees() != want {
			t.Errorf("%q beside a pause is not %v", message, want)
		}
	}
	if !Read("Yes, start the droplet", start).Meaning.Agrees() || Read("Yes, create it", start).Meaning.Agrees() {
		t.Error("a start is what its document says")
	}
	beside(t, "cancel pedido", false, "Yes, place it", "Yes, process it", "Yes, start it", "Yes, place the order", "Yes, process the order", "Sí, tramita el pedido")
	beside(t, "cancel pedido", true, "Yes, process the cancellation", "Yes, please process the request", "Sí, tramita la cancelación")
}

// TestToConfirmAValueMayBeToSeeIt: who wants to confirm an amount wants to know it.
func TestToConfirmAValueMayBeToSeeIt(t *testing.T) {
	beside(t, "money", false, "I want to confirm the amount", "I'd like to confirm the amount", "Yes, I want to confirm the recipient", "I would like to confirm the details", "quiero confirmar los datos", "Quiero confirmar los detalles del plan", "quisiera confirmar el importe")
	beside(t, "money", true, "I want to confirm", "I'd like to confirm the plan", "Yes, I would like to confirm the transfer", "quiero confirmar la transferencia", "quiero confirmar el plan")
}

// TestAnActAsItsDocumentSaysIt: in the third person, by a verb that nobody knows, or to each of a list.
func TestAnActAsItsDocumentSaysIt(t *testing.T) {
	for _, c := range []struct {
		act     Act
		message string
		want    bool
	}{
		{act("POST", "/events", "Creates an event"), "Yes, create the event", true},
		{act("POST", "/chat", "Sends a message to a channel"), "Yes, send the message", true},
		{act("DELETE", "/users/{id}", "Removes a user"), "Yes, remove the user", true},
		{act("PATCH", "/events/{id}", "Updates an event"), "Yes, update the event", true},
		{act("POST", "/instances/{id}/stop", "Stop an instance"), "Yes, create the instance", false},
		{act("POST", "/instances/{id}/stop", "Stop an instance"), "Yes, start the instance", false},
		{act("DELETE", "/user/starred/{repo}", "Unstar a repository"), "Yes, delete the repository", false},
		{act("DELETE", "/user/starred/{repo}", "Unstar a repository"), "Yes, unstar the repository", true},
		{act("DELETE", "/contacts/{id}", "Archive a contact"), "Yes, delete the contact", false},
		{act("DELETE", "/contacts/{id}", "Archive a contact"), "Yes, archive the contact", true},
		{act("DELETE", "/orders/{id}", ""), "Yes, delete the order", true},
		{act("DELETE", "/orders/{id}", "Order"), "Yes, delete it", true},
		{Act{Method: "POST", Path: "/orders/{id}/cancel", Summary: "Cancel an order", Each: true}, "Yes, cancel the order", false},
		{Act{Method: "POST", Path: "/orders/{id}/cancel", Summary: "Cancel an order", Each: true}, "sí, cancélalo", false},
		{Act{Method: "POST", Path: "/orders/{id}/cancel", Summary: "Cancel an order", Each: true}, "sí, cancélalos", true},
	} {
		if got := Read(c.message, Card{Acts: []Act{c.act}}).Meaning.Agrees(); got != c.want {
			t.Errorf("%q beside %s %q: %v", c.message, c.act.Method, c.act.Summary, got)
		}
	}
}
