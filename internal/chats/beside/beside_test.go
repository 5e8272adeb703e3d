package beside

import (
	"strings"
	"testing"
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
		"Aquí tienes el plan.", "Here's the plan:", "Voy a ello.", "Si todo es correcto, ¿lo confirmas?", "If everything looks good, please confirm.", "Cuesta 30 €. ¿Lo confirmas?", "La Sur estaba ocupada. ¿Sigo?", "Se reserva cuando confirmes.", "Reservas la Norte.", "Tu sala es la Norte. ¿Lo confirmas?",
	} {
		if AsksElse(text, sala) {
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
		"Modo demo activado. ¿Lo confirmas?", "It's a sample. Shall I go ahead?", "No llega a nadie. ¿Lo confirmas?", "I won't submit it. Shall I go ahead?", "You won't be billed. Shall I go ahead?", "No sala will be booked.", "Eres mayor de edad. ¿Lo confirmas?", "Your address is Main St 1. Do you confirm?", "Aceptas las condiciones. ¿Lo confirmas?", "Cancelo tu suscripción. ¿Sigo?", "No se reserva la Sala Norte.", "No se tramita nada. ¿Sigo?", "Nobody gets charged. Shall I go ahead?", "Carece de validez. ¿Lo confirmas?",
		"Everything stays as it is.", "Todo queda igual.", "Already sent.", "This is a summary of what was done.", "Lo de abajo es de ayer.", "Así quedaría.", "Someone will review it before it goes out.", "Te lo enseñaré otra vez antes.", "Rien ne se passe.", "Ничего не произойдет.",
	} {
		if !AsksElse(text, sala) {
			t.Errorf("%q asks for nothing but to go on", text)
		}
	}
}

func TestTitleAsksElse(t *testing.T) {
	for _, title := range []string{"Reserva la Sala Norte", "Confirma el pedido 7", "Responde al cliente", "Send the invoice", "Approve request 9", "Escribe un correo a Ana", "Test the connection", ""} {
		if TitleAsksElse(title, Words{Sent: []string{"test"}}) {
			t.Errorf("%q asks", title)
		}
	}
	for _, title := range []string{"¿Te cuento un chiste?", "Un chiste. Responde sí", "Say yes for a joke", "No pasa nada", "Solo una prueba"} {
		if !TitleAsksElse(title, Words{Sent: []string{"test"}}) {
			t.Errorf("%q asks for nothing", title)
		}
	}
}

// FuzzAsksElse: a question about something else is found wherever it stands.
func FuzzAsksElse(f *testing.F) {
	for _, text := range []string{"¿Lo confirmas?", "¿¿¿???", strings.Repeat("sí, ", 99), "\xff¿"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if AsksElse(text, sala) != AsksElse(text+"\n", sala) {
			t.Errorf("%q", text)
		}
		if strings.Contains(text, "chiste?") && !AsksElse(text, sala) {
			t.Errorf("%q", text)
		}
	})
}

var sala = Words{
	Sent:   []string{"/reservas", `{"sala": "Sala Norte", "dia": "2026-11-29", "precio": 30}`, "Reserva una sala"},
	Titled: []string{"Reservar la Sala Norte", "Reserva la Sala Norte"},
}
