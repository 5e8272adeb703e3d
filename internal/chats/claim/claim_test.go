package claim

import (
	"os"
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
		poses[s.set].count(s.pending, r.Asks || r.Announces)
		claims[s.set].count(s.done, len(r.Acts) > 0)
		if testing.Verbose() && (s.done != (len(r.Acts) > 0) || s.pending != (r.Asks || r.Announces)) {
			t.Logf("%+v: %+v", s, r)
		}
	}
	for name, scores := range map[string]map[string]*score{"poses": poses, "claims": claims} {
		for set, s := range scores {
			precision, recall := float64(s.right)/float64(s.right+s.wrong), float64(s.right)/float64(s.right+s.missed)
			t.Logf("%s %s: precision %.2f, recall %.2f", name, set, precision, recall)
			if precision < 0.94 || recall < 0.84 {
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
	} {
		if r := Read(text); r.Poses() || len(r.Acts) > 0 {
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
	for _, c := range []struct {
		text  string
		did   []Call
		read  string
		lacks bool
	}{
		{"He reservado la Norte.", []Call{booking}, "", false},
		{"Hecho.", []Call{booking}, "", false},
		{"Your booking is confirmed: B77XZ1.", []Call{booking}, "", false},
		{"He reservado la Norte.", nil, "", true},
		{"He cancelado la Norte.", []Call{booking}, "", true},
		{"He reservado la Norte y he enviado un correo a Ana.", []Call{booking}, "", true},
		{"I booked B99XZ9.", []Call{booking}, "", true},
		{"La reserva ha sido cancelada.", []Call{deletion}, "", false},
		{"I have booked the room.", []Call{deletion}, "", true},
		{"The order #W9373487 has been cancelled, and the amount has been refunded.", []Call{cancellation}, "", false},
		{"The order #W9373480 has been cancelled.", []Call{cancellation}, "", true},
		{"Está reservada.", nil, `{"estado":"reservada"}`, false},
		{"Está reservada.", nil, `{"status":"booked"}`, false},
		{"Está reservada.", nil, `{"status":"free"}`, true},
		{"He reservado la sala.", nil, `{"estado":"reservada"}`, true},
		{"Your request has been processed.", []Call{cancellation}, "", false},
	} {
		r := NewRecord()
		for _, call := range c.did {
			r.Did(call)
		}
		r.Read(c.read)
		lacks := false
		for _, a := range Read(c.text).Acts {
			lacks = lacks || r.Lacks(a)
		}
		if lacks != c.lacks {
			t.Errorf("%q after %v and %s: lacks %v; %+v", c.text, c.did, c.read, lacks, Read(c.text).Acts)
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
