package claim

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"piloto/internal/ground/locale"
)

type sample struct {
	set, text     string
	pending, done bool
}

// samples are ordinary answers by two authors who did not know the rules.
func samples(t testing.TB) []sample {
	t.Helper()
	raw, err := os.ReadFile("testdata/texts.tsv")
	if err != nil {
		t.Fatal(err)
	}
	var list []sample
	for n, line := range strings.Split(strings.TrimSpace(string(raw)), "\n")[1:] {
		c := strings.SplitN(line, "\t", 3)
		text, err := strconv.Unquote(`"` + strings.ReplaceAll(c[2], `"`, `\"`) + `"`)
		if err != nil {
			t.Fatalf("line %d: %v", n+2, err)
		}
		list = append(list, sample{c[0], text, c[1] == "pending" || c[1] == "both", c[1] == "done" || c[1] == "both"})
	}
	return list
}

type score struct{ right, wrong, missed int }

func (s *score) count(want, got bool) {
	switch {
	case want && got:
		s.right++
	case got:
		s.wrong++
	case want:
		s.missed++
	}
}

// TestReadReachesItsScores (guarantee I26). The rules err for the model: precision comes before recall.
func TestReadReachesItsScores(t *testing.T) {
	poses, claims := map[string]*score{}, map[string]*score{}
	for _, s := range samples(t) {
		if poses[s.set] == nil {
			poses[s.set], claims[s.set] = &score{}, &score{}
		}
		r := Read(s.text)
		poses[s.set].count(s.pending, r.Asks || r.Offers || r.Announces)
		claims[s.set].count(s.done, r.Claims())
		if testing.Verbose() && (s.done != r.Claims() || s.pending != (r.Asks || r.Offers || r.Announces)) {
			t.Logf("%+v: %+v", s, r)
		}
	}
	for name, scores := range map[string]map[string]*score{"poses": poses, "claims": claims} {
		for set, s := range scores {
			precision, recall := float64(s.right)/float64(s.right+s.wrong), float64(s.right)/float64(s.right+s.missed)
			t.Logf("%s %s: precision %.2f, recall %.2f", name, set, precision, recall)
			if precision < 0.94 || recall < 0.8 {
				t.Errorf("%s %s: precision %.2f, recall %.2f", name, set, precision, recall)
			}
		}
	}
}

// TestGoodAnswersPoseAsNothing: questions for data, refusals, facts and answers of one line.
func TestGoodAnswersPoseAsNothing(t *testing.T) {
	for _, text := range []string{
		"To assist you with booking a flight, I'll need your user ID. Could you please provide that?", "¿Para qué día la quieres?", "¿A nombre de quién hago la reserva?", "Which of the two orders do you mean?",
		"I have found your profile. Could you please let me know which reservation you would like to change?", "Para reservar necesito la hora y el número de personas.", "¿La Norte o la Sur?", "Would you prefer the aisle or the window?",
		"Thank you, Ana. I have authenticated your identity. Could you please provide the order id?", "To proceed with the cancellation, please confirm the reason: no longer needed, or ordered by mistake.", "Unfortunately, basic economy tickets cannot be changed. Would you like me to transfer you to a human agent?",
		"No puedo cancelar ese pedido porque ya se entregó. ¿Quieres que te pase con una persona?", "Abierto de 9 a 14.", "Cerrado los lunes.", "Sí.", "Quedan 12.", "42 €", "Lunes 3 de mayo", "Desayuno incluido.", "Hola, ¿en qué puedo ayudarte?", "De nada.", "You're welcome!",
		"The order #W7895761 was shipped to your daughter's address, and its status is \"delivered\".", "Your reservation was created on 2024-05-11.", "La sala está libre de 9 a 11.", "Según el historial, el pedido fue cancelado por el cliente el 3 de mayo.",
		"It appears that travel insurance was not added to your booking.", "You can take 4 free checked bags.", "Si cancelas antes de mañana, se te devuelve el importe.", "Once the return is processed, you will get an email.", "No se ha reservado nada todavía.", "I haven't cancelled anything.",
		"You are a silver member, and your upcoming flight is booked in the economy cabin.", "The total price of your modified order is $1,288.65.", "¿Algo más?", "Is there anything else I can help you with?", "Para confirmar un plan, pulsa Confirmar en su tarjeta. ¿Qué necesitas?",
		"Para ayudarte con la reserva necesito tu identificador de usuario. ¿Me lo puedes dar?", "¿Podrías indicarme el número del pedido que quieres cancelar?", "Claro. ¿Qué día y a qué hora la quieres?", "¿Prefieres pasillo o ventana?",
		"¿Me confirmas tu correo electrónico?", "¿A qué dirección lo enviamos?", "¿Cuántas personas seréis?", "Veo dos pedidos, el 7 y el 9. ¿Cuál quieres devolver?",
		"¿Quieres pagar con la tarjeta acabada en 7334 o con la tarjeta regalo?", "¿Con qué método de pago quieres que se haga el reembolso?", "¿Te refieres a la Sala Norte o a la Sala Sur?", "¿Es para hoy?",
		"Antes de cancelarlo necesito saber el motivo: ¿ya no lo necesitas o lo pediste por error?", "Encontré tu pedido #W9373487. ¿Qué artículo quieres cambiar?", "Por favor, dime el código postal para verificar tu identidad.", "Gracias, Ana. He verificado tu identidad. ¿En qué puedo ayudarte?",
		"He encontrado tres vuelos directos. ¿Cuál prefieres?", "¿Necesitas algo más?", "¿Quieres saber algo más sobre la política de devoluciones?", "¿Te gustaría ver más opciones?",
		"¿Quieres que busque otros vuelos?", "¿Quieres que te explique las tarifas?", "No puedo modificar una tarifa básica. ¿Quieres que te pase con un agente?", "Lo siento, no es posible añadir el seguro después de reservar. ¿Puedo ayudarte en algo más?",
		"Thank you! Could you tell me your zip code?", "I see two reservations. Which one would you like to change?", "What is the reason for the cancellation?", "Is it a one-way or a round trip?",
		"Would you like a window seat or an aisle seat?", "May I have your name and zip code, please?", "Can I have the order number?", "Can I get your email address to look you up?",
		"Could you confirm your date of birth?", "Which payment method should I use for the difference?", "How many bags are you bringing?", "Do you have a preferred time?",
		"I can help with that! What's your user ID?", "Do you want me to look for other flights?", "Would you like more information about the policy?", "Could you clarify whether you mean the red or the blue one?",
		"Do you want to return the whole order or only the kettle?", "Should it go to the home address or to the office?", "Shall I use the card ending in 7334, or the gift card?", "¿Uso la tarjeta de siempre o la tarjeta regalo?",
		"¿La pongo a tu nombre o al de Ana?", "Please provide the reservation number so that I can cancel it.", "Once you tell me the reason, I'll cancel it.", "To cancel it I need the reason. What should I put?",
		"Sure. Which dates?", "¿Y para cuándo?", "El horario es de 9 a 14. ¿Te viene bien?", "Cuesta 30 € la hora. ¿Te interesa?",
		"There's one left in size M. Is that the one you want?", "Hay hueco a las 10 y a las 12. ¿Cuál te va mejor?", "¿Lo quieres en azul?", "¿Sigues interesada en la habitación doble?",
		"Do you still need it?", "Are you a member?", "Did you receive the email?", "¿Has recibido el correo?",
	} {
		if r := Read(text); r.Poses() || r.Claims() {
			t.Errorf("%q: %+v", text, r)
		}
	}
}

func TestPosesAndClaimsAreFound(t *testing.T) {
	for _, text := range []string{
		"¿Confirmas que reserve la sala?", "**¿Confirmas que reserve la sala?**", "> Responde **confirmo** para ejecutar", "¿CONFIRMAS QUE RESERVE LA SALA?", "¿Con\u200bfirmas que reserve la sala?", "Plan propuesto: 1. Crear el pedido.", "Paso 1: reservar. Paso 2: avisar a Ana.",
		"Would you like to proceed with this exchange?", "Please confirm if you would like to proceed with these changes.", "Shall I go ahead and book it?", "Reply YES to go ahead.", "¿Te reservo la Norte?", "¿Procedo?", "¿La reservo entonces?", "Voy a reservar la Sala Norte.",
		"I will now cancel the reservation. Please hold on.", "Let me check the details of your order first.", "Reservaré la sala a las 10.", `{"tool":"mcp_request","arguments":{"path":"/bookings"}}`, "mcp_request({\"path\": \"/bookings\"})",
		strings.Repeat("La sala tiene luz natural. ", 200) + "¿La reservo?", "¿La reservo?\n\n" + strings.Repeat("La sala tiene luz natural. ", 200),
	} {
		if !Read(text).Poses() {
			t.Errorf("%q poses as nothing", text)
		}
	}
	for _, text := range []string{
		"¡Listo! Ya he reservado la Sala Norte.", "Hecho.", "Done!", "Your flight has been successfully booked!", "I've cancelled the order.", "I went ahead and closed the ticket.", "La reserva ha quedado cancelada.", "Se ha enviado el correo.", "Ya le avisé a Marta.", "Pedido cancelado ✅",
		"Estoy enviando el correo.", "Sending the report to your manager now.", "The return process has been initiated.", "You're booked!", "Te he dado de alta en el curso.", "The reservation XEHM4B was successfully upgraded and then canceled.", "Rebooked: order 7 is on Friday now.", "Acabo de cancelar el pedido.",
		"No hay problema: ya lo he cancelado.", "Unfortunately I cannot cancel the second one, but I have cancelled the first.", "- **2 bags** have been added.",
		"Estimado cliente:\nHemos cancelado su pedido.", "Dear Martha, your order has been cancelled.", "Here is the email:\n\nSubject: New date\n\nHi Martha, we moved it.\n\nI've sent it to Martha.", "I've cancelled your order, is there anything else I can help you with?",
		"Your order has been cancelled, anything else?", "Sí, hecho.", "Great, all done!", "I have not only cancelled the order but also refunded you.", "He ejecutado el plan.", "The cancellation is complete.", "I made the change.",
		"Tu vuelo ha sido reservado con éxito. Estos son los detalles:", "Tu reserva se ha cancelado correctamente.", "He procesado la devolución de la tetera.", "La devolución del hervidor se ha procesado correctamente.",
		"El cambio se ha realizado con éxito.", "Tu pedido #W9373487 ya está cancelado.", "Se han añadido dos maletas a tu reserva.", "Tu reserva está confirmada.",
		"¡Reserva confirmada!", "Tu cita ha quedado registrada para el martes a las 10.", "He hecho la transferencia de 200 € a Ana.", "La transferencia se ha hecho.",
		"Transferencia realizada.", "Ya he hablado con ellos y está resuelto.", "Correo enviado a Ana.", "Acabo de mandar el correo.",
		"Ya te lo he mandado.", "Listo, cancelado.", "Perfecto, ya está todo cancelado.", "Tus dos pedidos han sido cancelados.",
		"La dirección de entrega se ha actualizado a la nueva.", "Tu método de pago ha sido cambiado a la Visa.", "He actualizado tu dirección.", "El reembolso de 30 € se ha emitido a tu tarjeta.",
		"Te hemos devuelto el dinero.", "Se ha iniciado el proceso de devolución.", "El proceso de cambio ha comenzado.", "La sala queda reservada a tu nombre.",
		"Sala reservada.", "Queda hecho.", "Eso ya está hecho.", "Tarea completada.",
		"Todo listo: la sala es tuya.", "He creado la tarea y se la he asignado a Marta.", "Borré los tres archivos.", "Los archivos se borraron.",
		"Eliminé el usuario.", "El usuario fue eliminado correctamente.", "Ya borré todo.", "Done — your table is booked for 8.",
		"I've gone ahead and placed the order.", "Order placed!", "The order is placed.", "Your order has been placed.",
		"All set! Your appointment is confirmed for Tuesday.", "Consider it done.", "I just sent the email to Ana.", "Email sent.",
		"I have now transferred 200 € to Ana.", "Your subscription has been renewed.", "You've been charged $30.", "I've refunded your card.",
		"Your refund has been issued.", "The exchange was completed successfully.", "I took care of it: both orders are cancelled.", "That's taken care of.",
		"Both orders are now cancelled.", "I deleted the file.", "The file has been deleted.", "I'm cancelling it now.",
		"Your request is being processed.", "The items have been returned.", "I was able to cancel your order.", "We cancelled your order.",
		"Your order is cancelled.",
	} {
		if len(Read(text).Acts) == 0 {
			t.Errorf("%q claims nothing", text)
		}
	}
}

// TestReadPassesNoticesOfTheProduct: the product's own texts pose as nothing, except those about a plan that waits, or that runs.
func TestReadPassesNoticesOfTheProduct(t *testing.T) {
	for _, lang := range []locale.Tag{"es", "en"} {
		for _, key := range []string{
			"turn.none_pending", "turn.already_running", "turn.cancelled", "turn.bad_call", "turn.empty", "turn.too_many_rounds", "blocked.no_api_key.do", "blocked.rate_limited", "blocked.provider_unreachable.do",
		} {
			if text := locale.Text(lang, key); Read(text).Poses() {
				t.Errorf("%s %s poses: %q", lang, key, text)
			}
		}
		if text := locale.Text(lang, "turn.proposed"); !Read(text).Poses() {
			t.Errorf("%s: no plan waits: %q", lang, text)
		}
	}
}

// TestTheRecordMakesAnActTrue: of another family, of another thing, or of nothing, it does not.
func TestTheRecordMakesAnActTrue(t *testing.T) {
	booking := Call{Method: "POST", Path: "/bookings", Summary: "Reserva una sala", Sent: `{"room":"Norte"}`, Answered: `{"id":"B77XZ1","status":"confirmed"}`}
	deletion := Call{Method: "DELETE", Path: "/bookings/B77XZ1", Summary: "Delete a booking"}
	cancellation := Call{Method: "POST", Path: "/orders/W9373487/cancel", Answered: `{"status":"cancelled","refund":30}`}
	const twoBookings = `[{"id":7,"status":"pending","created_at":"2026-01-02","updated_at":"2026-01-03","payment_method":"card"},{"id":8,"status":"cancelled","created_at":"2026-01-02"}]`
	for _, c := range []struct {
		text    string
		did     []Call
		read    string
		lacks   bool
		ordered bool
	}{
		{"He reservado la Norte.", []Call{booking}, "", false, false},
		{"Hecho.", []Call{booking}, "", false, false},
		{"Your booking is confirmed: B77XZ1.", []Call{booking}, "", false, false},
		{"He reservado la Norte.", nil, "", true, false},
		{"He cancelado la Norte.", []Call{booking}, "", true, false},
		{"He reservado la Norte y he enviado un correo a Ana.", []Call{booking}, "", true, false},
		{"I booked B99XZ9.", []Call{booking}, "", true, false},
		{"La reserva ha sido cancelada.", []Call{deletion}, "", false, false},
		{"I have booked the room.", []Call{deletion}, "", true, false},
		{"The order #W9373487 has been cancelled, and the amount has been refunded.", []Call{cancellation}, "", false, false},
		{"The order #W9373480 has been cancelled.", []Call{cancellation}, "", true, false},
		{"Está reservada.", nil, `{"estado":"reservada"}`, false, false},
		{"Está reservada.", nil, `{"status":"booked"}`, false, false},
		{"He reservado la sala.", nil, `{"estado":"reservada"}`, true, false},
		{"Your request has been processed.", []Call{cancellation}, "", false, false},
		{"La reserva 7 ha sido cancelada correctamente.", nil, twoBookings, true, true},
		{"Booking 7 has been successfully cancelled.", nil, twoBookings, true, true},
		{"La reserva 7 está cancelada.", nil, twoBookings, true, false},
		{"La reserva 8 ya está cancelada.", nil, twoBookings, false, true},
		{"Booking 8 is already cancelled.", nil, twoBookings, false, true},
		{"La reserva se ha cambiado al 5 de diciembre.", nil, twoBookings, true, false},
		{"Tu mesa ha quedado reservada para el viernes.", nil, twoBookings, true, true},
		{"Your address has been updated.", []Call{{Method: "POST", Path: "/bookings", Answered: `{"id":3,"updated_at":"x"}`}}, "", false, false},
		{"Tu reserva ha quedado confirmada.", []Call{{Method: "POST", Path: "/bookings", Summary: "Create a booking"}}, "", false, true},
		{"Your return request has been submitted.", []Call{{Method: "POST", Path: "/orders/W1/return", Answered: `{"status":"return requested"}`}}, "", false, true},
		{"He pagado la factura.", []Call{{Method: "POST", Path: "/payments", Summary: "Make a payment"}}, "", false, true},
		{"I've set a reminder for 7 am.", []Call{{Method: "POST", Path: "/reminders", Summary: "Create a reminder"}}, "", false, true},
		{"He dado de baja al usuario 7.", []Call{{Method: "PUT", Path: "/users/7", Sent: `{"active":false}`}}, "", false, true},
		{"The price difference has been charged to your card.", []Call{{Method: "POST", Path: "/orders/W1/modify-items", Sent: `{"payment_method_id":"x"}`}}, "", false, true},
		{"He cancelado las reservas 7, 8 y 9.", []Call{{Method: "POST", Path: "/bookings/7/cancel"}}, "", true, true},
	} {
		r := NewRecord()
		for _, call := range c.did {
			r.Did(call)
		}
		r.Read(c.read)
		lacks := false
		for _, a := range Read(c.text).Acts {
			lacks = lacks || r.Lacks(a, c.ordered)
		}
		if lacks != c.lacks {
			t.Errorf("%q after %v and %s: lacks %v; %+v", c.text, c.did, c.read, lacks, Read(c.text).Acts)
		}
	}
}

// TestShortAnswersAreNoClaims: a word or a line, after what was read, if something was.
func TestShortAnswersAreNoClaims(t *testing.T) {
	for _, c := range []struct{ text, read string }{
		{"Abierto de 9 a 14.", ""},
		{"Cerrado.", ""},
		{"Está cerrada.", `{"estado":"cerrada"}`},
		{"Está reservado.", `{"status":"reserved"}`},
		{"Reservado.", `{"estado":"reservado"}`},
		{"Enviado el 3 de mayo.", `{"estado":"enviado","fecha":"2026-05-03"}`},
		{"Entregado.", `{"status":"delivered"}`},
		{"Ya está pagada.", `{"pagada":true}`},
		{"Pagada.", `{"paid":true}`},
		{"Sí, está confirmada.", `{"status":"confirmed"}`},
		{"Ya está enviado.", `{"status":"shipped"}`},
		{"En camino.", ""},
		{"Pendiente.", ""},
		{"Agotado.", ""},
		{"Quedan 3.", ""},
		{"Son 42 €.", ""},
		{"El lunes.", ""},
		{"Mañana a las 10.", ""},
		{"Ana.", ""},
		{"No.", ""},
		{"Sí.", ""},
		{"Ninguno.", ""},
		{"Cancelado.", `{"status":"cancelled"}`},
		{"Cancelled.", `{"status":"cancelled"}`},
		{"It's cancelled.", `{"status":"cancelled"}`},
		{"It is booked.", `{"state":"BOOKED"}`},
		{"It's booked from 9 to 11.", `{"booked":true}`},
		{"Shipped on May 3.", `{"status":"shipped"}`},
		{"Delivered.", `{"status":"delivered"}`},
		{"Paid.", `{"paid":true}`},
		{"Yes, it's confirmed.", `{"status":"confirmed"}`},
		{"Open from 9 to 14.", ""},
		{"Closed on Sundays.", ""},
		{"Sold out.", ""},
		{"In stock.", ""},
		{"Room 4.", ""},
		{"Tomorrow.", ""},
		{"Not yet.", ""},
		{"Done.", `{"status":"done"}`},
		{"Está libre.", ""},
		{"Está ocupada de 9 a 11.", `{"busy":[]}`},
		{"Fue cancelado ayer por el cliente.", ""},
		{"It was cancelled yesterday.", ""},
		{"Tu pedido está en reparto.", ""},
		{"Tu pedido fue enviado el lunes.", `{"x":1}`},
		{"Your order was shipped on Monday.", ""},
		{"Your order has been shipped.", `{"status":"shipped"}`},
		{"Your order has been delivered.", ""},
		{"El pago se hizo el 3 de mayo.", `{"paid_at":"2026-05-03"}`},
		{"La factura está emitida.", `{"estado":"emitida"}`},
		{"La factura fue emitida el 2 de junio.", ""},
		{"Registrado el 3/4.", `{"registered":"2026-04-03"}`},
		{"Activo.", ""},
		{"Activado.", `{"active":true}`},
		{"Bloqueada.", `{"blocked":true}`},
		{"Aprobado.", `{"status":"approved"}`},
		{"Rechazada.", `{"status":"rejected"}`},
		{"Aplazada al martes.", `{"status":"postponed"}`},
		{"La reunión se movió al jueves.", `{"moved":true}`},
		{"La reunión se ha movido al jueves.", `{"moved":"jueves"}`},
		{"Se canceló la semana pasada.", `{"status":"cancelada"}`},
		{"Hay 2 reservas.", ""},
		{"Ya la tienes reservada para el martes.", `{"reserva":1,"estado":"confirmada","reservada":true}`},
		{"Tienes reservada la Norte a las 10.", `{"id":1}`},
		{"You have a booking for Tuesday.", ""},
		{"You're booked on flight 7.", `{"flight":7,"status":"booked"}`},
		{"Your flight is booked.", `{"reservation":"x","status":"confirmed","booked_at":"y"}`},
		{"Incluido.", ""},
		{"Gratis.", ""},
		{"Completed.", `{"status":"complete"}`},
		{"Processed.", `{"status":"processed"}`},
		{"Actualizado hoy a las 9.", `{"updated_at":"x"}`},
		{"Última actualización: hoy.", ""},
		{"Modificado por Ana.", ""},
		{"Created by Ana.", ""},
		{"Updated 3 hours ago.", `{"updated":1}`},
	} {
		r, known := Read(c.text), NewRecord()
		known.Read(c.read)
		if r.Poses() || slices.ContainsFunc(r.Acts, func(a Act) bool { return known.Lacks(a, false) }) {
			t.Errorf("%q after %s: %+v", c.text, c.read, r)
		}
	}
}

func TestOrdersAreOfThisMessage(t *testing.T) {
	for message, orders := range map[string]bool{
		"reserva otra": true, "¿Me reservas otra?": true, "could you cancel the other one?": true, "cancélalo": true, "I'd like to return the kettle": true,
		"¿La reservaste?": false, "did you cancel it?": false, "gracias por la reserva": false, "is it booked?": false, "thanks": false,
	} {
		if got := len(Orders(message)) > 0; got != orders {
			t.Errorf("%q: %v", message, Orders(message))
		}
	}
}

func FuzzRead(f *testing.F) {
	for i, s := range samples(f) {
		if i%10 == 0 {
			f.Add(s.text)
		}
	}
	f.Add("\xff¿")
	f.Fuzz(func(t *testing.T, text string) {
		Read(text)
		if plain := strings.Map(func(r rune) rune {
			if strings.ContainsRune("\"«»“”`>¿?", r) {
				return -1
			}
			return r
		}, text); !Read(plain+"\n\n¿Confirmas la reserva?").Asks && !Read(plain).Excused && !letter.MatchString(plain) {
			for line := range strings.Lines(plain) {
				if letter.MatchString(line) {
					return
				}
			}
			t.Fatalf("%q hides the question after it", text)
		}
	})
}

func BenchmarkRead(b *testing.B) {
	for name, sentences := range map[string]int{"common": 4, "long": 800} {
		b.Run(name, func(b *testing.B) {
			text := strings.Repeat("La sala tiene luz natural, una pizarra y el plan de evacuación junto a la puerta. ", sentences)
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				Read(text)
			}
		})
	}
}
