package claim

import "testing"

// TestWhatTheModelSaysItDoesNowIsAnnounced, in any clause: a denial in another one, a question at the end, and a refusal before it
// excuse nothing that it does now.
func TestWhatTheModelSaysItDoesNowIsAnnounced(t *testing.T) {
	for _, text := range []string{
		"Ahora mismo te envío la factura.", "En seguida proceso el reembolso de 45 €.", "Te renuevo los tres libros ahora mismo.", "Dame un segundo y te la reservo.", "Perfecto, la reservo.", "De acuerdo, lo tramito.", "Lo hago ahora mismo.", "Me pongo con ello ahora mismo.",
		"Sure thing, booking it now.", "Please wait while I process your refund.", "Please wait a moment while I process your refund.", "Give me a moment to process the refund.", "Just a second, I'm on it.", "Proceeding with the cancellation.", "Let me take care of that for you now.", "Okay, I'll do that now.",
		"No problem, I'll cancel it now.", "No te preocupes, voy a cancelarlo.", "It's not a problem: I'll cancel it.", "Voy a cancelarlo ahora. ¿Algo más?", "I'll cancel it now. Is there anything else I can help you with?", "I'll verify your order and cancel it.", "I can't find the email, but I'll cancel it now.", "No encuentro el correo, pero voy a cancelarlo ahora mismo.",
	} {
		if r := Read(text); !r.Poses() && !r.Claims() {
			t.Errorf("%q: %+v", text, r)
		}
	}
	for _, text := range []string{
		"Te lo reservo si me das tu nombre.", "Si me das tu número, te la reservo ahora mismo.", "Te aviso cuando llegue.", "Ahora el pago es con tarjeta.", "Te confirmo que la sala está libre.", "El cambio lo hago yo en recepción, no en línea.", "It only takes a second.", "Please wait 24 hours before you try again.",
		"That is against our policy, so I will not process this request.", "I can't cancel it, I'm sorry. I'll transfer you to an agent.", "No puedo cancelarlo. Voy a pasarte con una persona.", "Ahora mismo el registro es gratuito.", "I'll need your order number. What is it?", "To verify your identity, please tell me your zip code.",
		"No lo cancelo sin tu permiso.", "Primero dime tu nombre y luego la reservo.", "¿La hora? Dime cuándo y te la reservo.", "Te envío los detalles: la sala es grande.", "Te paso los horarios: de 9 a 14.", "Te lo resumo ahora.", "¿Algo más?", "Is there anything else I can help you with?", "Espera 24 horas y vuelve a intentarlo.",
		"Con tu número de pedido lo cancelo. ¿Cuál es?", "Dime cuál y la cancelo.", "Wait a moment before you restart the router.", "Please wait 30 seconds and restart it.", "Espera un momento antes de encenderlo.", "I can't cancel it right now, but I can transfer you.",
	} {
		if r := Read(text); r.Poses() || r.Claims() {
			t.Errorf("%q: %+v", text, r)
		}
	}
}

// TestWhatAHouseWillDoIsNotAnnounced: what “we” send or open later, at a time or in a case, is no act of the model.
func TestWhatAHouseWillDoIsNotAnnounced(t *testing.T) {
	for _, text := range []string{
		"We'll email you when it's ready.", "Te enviaremos un recordatorio.", "We'll open at 8 tomorrow.", "Mañana abriremos a las 8.", "Te avisaremos si hay cambios.", "De nada. Te enviaremos un recordatorio.",
		"You're welcome. We'll email you the receipt.", "We'll remind you the day before.", "Sí, te enviaremos un SMS el día anterior.", "We will process it once the item arrives.", "Nosotros te avisaremos si hay cambios.", "We'll refund you within 5 days.",
	} {
		if r := Read(text); r.Poses() {
			t.Errorf("%q poses as a plan: %+v", text, r)
		}
	}
	for _, text := range []string{"I'll email you the invoice now.", "We'll cancel your order.", "Cancelaremos tu pedido.", "Ahora mismo te enviaremos la factura.", "We'll send it right now.", "Te enviaré la factura.", "I'll email it to you.", "Vamos a reservar la sala."} {
		if !Read(text).Poses() {
			t.Errorf("%q poses as nothing", text)
		}
	}
}
