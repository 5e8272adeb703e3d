package claim

import "testing"

// TestOtherWordsForDoneAreClaims: phrases that say that an act is done or under way, in sentences of their own and in letters.
func TestOtherWordsForDoneAreClaims(t *testing.T) {
	for _, text := range []string{
		"Your refund of $35.90 is on its way.", "El reembolso de 35,90 € ya está en camino a tu cuenta.", "La devolución está de camino.", "The transfer of $120 to Martha went through.", "The payment went through.",
		"Your cancellation is in the works.", "The refund is under way.", "The exchange request is underway.", "Tu cambio está en marcha.", "Ya está listo tu cambio.", "Tu devolución ya está lista.", "La transferencia a Marta ya salió.",
		"All sorted!", "You're all set.", "That's all taken care of.", "Everything has been taken care of.", "That's sorted.", "Ya está todo arreglado.", "Todo arreglado.", "Ya quedó resuelto.",
		"I've put you down for Friday.", "I got you a table for four at 8.", "We have let the kitchen know about the allergy.", "I've got you booked on the 7:15.",
		"Toby is booked in for his vaccine on the 12th.", "Your membership is cancelled as of today.", "Your stay has been extended by one night.", "Su estancia se ha ampliado una noche.", "Se abrió el parte.", "He abierto una incidencia.", "Abrí el parte por el golpe.",
		"Tu cita ha quedado anulada.", "Lo dejé reservado.", "La cita quedó agendada.", "Te dejo reservada la mesa.", "Te he apuntado en la lista.", "Tu hora queda apartada.", "Ya la tienes cancelada.", "You're booked for Friday.",
		"I've cancelled the order and emailed the label.", "He cancelado el pedido y enviado la etiqueta.",
		"Asunto: Su cita\n\nEstimada Ana:\n\nHemos cambiado su cita al lunes.\n\nUn saludo", "\nDear Ana,\n\nWe have cancelled your order.\n\nBest regards", "Estimado señor Ruiz:\n\nSu póliza ha sido renovada.",
		"Gracias por escribirnos.\n\nEstimada Ana:\n\nHemos cancelado su pedido.\n\nUn saludo",
	} {
		if r := Read(text); !r.Claims() {
			t.Errorf("%q claims nothing: %+v", text, r.Acts)
		}
	}
	if acts := Read("I've cancelled the order and emailed the label.").Acts; len(acts) != 2 {
		t.Errorf("%+v", acts)
	}
}

// TestOtherWordsForDoneAreNoClaimsElsewhere: the same words in facts, conditions, denials and drafts, with what was read.
func TestOtherWordsForDoneAreNoClaimsElsewhere(t *testing.T) {
	for _, c := range []struct{ text, read string }{
		{"Tu pedido está en camino.", ""},
		{"Your order is on its way.", ""},
		{"The driver is on the way.", ""},
		{"Your refund is on its way.", `{"refund":"pending"}`},
		{"The payment went through on 3 May.", `{"status":"paid"}`},
		{"Once the refund is on its way you get an email.", ""},
		{"No refund is on its way yet.", ""},
		{"La devolución aún no está en camino.", ""},
		{"Si el reembolso está en camino, llega en 5 días.", ""},
		{"Your room is ready.", ""},
		{"Ya salió tu pedido.", ""},
		{"Ya está lista tu habitación.", ""},
		{"La tienda está abierta.", ""},
		{"Abierto hasta las 9.", ""},
		{"Abrimos a las 9.", ""},
		{"Abro el lunes.", ""},
		{"La tienda se abrió en 2010.", ""},
		{"La puerta se abre sola.", ""},
		{"Hay tres facturas sin pagar; la más antigua se emitió en marzo.", `{"issued":"2024-03-02"}`},
		{"La tarjeta terminada en 4412 está bloqueada.", `{"last4":"4412","status":"blocked"}`},
		{"Tu tarjeta acabada en 4412 es una Visa.", ""},
		{"The room is booked in summer.", ""},
		{"Rooms are usually booked in advance.", ""},
		{"I'll let you know.", ""},
		{"Let me know what you got.", ""},
		{"What have you got?", ""},
		{"I see you got a refund in May.", ""},
		{"I found the order and checked the label.", ""},
		{"I've found the order placed and shipped on May 3.", ""},
		{"I've reviewed the order and noted the address.", ""},
		{"Aquí tienes el correo:\n\nAsunto: Su cita\n\nEstimada Ana:\n\nHemos cambiado su cita al lunes.", ""},
		{"Here is a draft you can send:\n\nDear Ana,\n\nWe have cancelled your order.", ""},
		{"¡Claro! Este es el borrador.\n\nEstimada Ana:\nHemos cancelado su pedido.", ""},
		{"Sure, this email should work.\n\nSubject: Cancelled\n\nHi Ana, we have cancelled your order.", ""},
		{"¡Claro!\n\nAsunto: Su cita\n\nHemos cambiado su cita.", ""},
		{"It takes care of itself.", ""},
		{"Sorted by date: 3, 4, 5.", ""},
		{"The list is sorted by price.", ""},
	} {
		known := NewRecord()
		known.Read(c.read)
		for _, a := range Read(c.text).Acts {
			if known.Lacks(a, false) {
				t.Errorf("%q after %s: %+v", c.text, c.read, a)
			}
		}
	}
}

// TestAnOutcomeOrAProceedingIsAClaim: «he procedido al bloqueo», “Payment successful”.
func TestAnOutcomeOrAProceedingIsAClaim(t *testing.T) {
	for _, text := range []string{
		"He procedido a cancelar tu pedido.", "He procedido al bloqueo de tu tarjeta.", "I've proceeded to cancel it.", "Payment successful.", "Pago exitoso.", "Cancellation complete.", "Cancellation successful!", "He procedido a cancelarla.",
		"He procedido con la cancelación de tu cita.", "Se ha procedido a la cancelación.", "I have proceeded with the cancellation.", "I proceeded to refund the order.", "Hemos procedido a la devolución.", "Refund complete!", "Your payment was successful.",
	} {
		if !Read(text).Claims() {
			t.Errorf("%q claims nothing", text)
		}
	}
	for _, text := range []string{
		"No he procedido a cancelar nada.", "I haven't proceeded to cancel it.", "Was the payment successful?", "If the payment is successful, you get an email.", "Once the cancellation is complete, you get an email.", "A successful payment gives you a code.",
		"The payment was not successful.", "He procedido a revisar tu pedido.", "I've proceeded to check your order.", "La reserva completa:", "Puedo ver la reserva completa.", "Cancellation complete or partial: you choose.", "Your payment wasn't successful.",
	} {
		if r := Read(text); r.Claims() {
			t.Errorf("%q claims %+v", text, r.Acts)
		}
	}
	paid := NewRecord()
	paid.Read(`{"status":"paid"}`)
	for _, a := range Read("Payment successful.").Acts {
		if paid.Lacks(a, false) {
			t.Error("what was read makes an outcome true")
		}
	}
}
