package claim

import "testing"

// TestAConditionIsOfItsClause: a condition in another clause is none of what the model says that it did itself, and “after
// reviewing” is none of anything that is done.
func TestAConditionIsOfItsClause(t *testing.T) {
	for _, text := range []string{
		"After reviewing your account, I've cancelled your order.", "Tras verificar tu identidad, he procesado el reembolso.", "Después de revisar tu pedido, lo he cancelado.", "Tras verificar tu identidad he procesado el reembolso.",
		"Cuando lo revisé seguía activa, así que la cancelé.", "When I checked, it was free, so I booked it.", "Mientras tanto, he bloqueado tu tarjeta.", "Once again, I've sent the email.", "Como me dijiste cuando hablamos, he cambiado la cita.",
		"After verifying your details, your order has been cancelled.", "Tras revisar tu caso, tu pedido ha sido cancelado.", "If you check your inbox, you'll see that I've sent the invoice.", "Since it was free when I looked, I booked it.",
	} {
		if !Read(text).Claims() {
			t.Errorf("%q claims nothing", text)
		}
	}
	for _, text := range []string{
		"Once I've cancelled it, you will get an email.", "When I've booked it, I'll tell you.", "Cuando haya cancelado el pedido, te aviso.", "Si he cancelado algo por error, dímelo.", "After the item has been returned, your refund is processed.",
		"If the request has been approved, the refund has been sent.", "Una vez el pago se ha procesado, se envía el recibo.", "After cancelling, the refund is processed within 5 days.", "Si quieres, la reserva queda cancelada.", "If I had known, I would have cancelled it.",
	} {
		if r := Read(text); r.Claims() {
			t.Errorf("%q claims %+v", text, r.Acts)
		}
	}
}

// TestARequestIsNoReport: what was requested says why something was done, not who says so.
func TestARequestIsNoReport(t *testing.T) {
	for _, text := range []string{
		"According to your request, your order has been cancelled.", "Según lo solicitado, tu pedido ha sido cancelado.", "Según tu petición, se ha anulado la reserva.", "As per your request, the refund has been issued.",
		"I've cancelled the order, as previously requested.", "Your order has been cancelled as previously requested.", "As you asked before, I have booked the table.", "As discussed earlier, your refund has been processed.", "De acuerdo con tu solicitud, la cita ha sido cancelada.", "Tal como pediste antes, he cambiado la cita.",
	} {
		r := Read(text)
		if !r.Claims() || r.Acts[0].Before {
			t.Errorf("%q: %+v", text, r.Acts)
		}
	}
	for _, text := range []string{"According to the log, your order has been cancelled.", "Según el historial, tu pedido ha sido cancelado.", "According to our records, the refund was requested earlier."} {
		if r := Read(text); r.Claims() {
			t.Errorf("%q claims %+v", text, r.Acts)
		}
	}
}

// TestRulesAreNoReports: a verb or a denial after a participle makes it say of which things a sentence speaks.
func TestRulesAreNoReports(t *testing.T) {
	for _, text := range []string{
		"Los pedidos enviados no se pueden modificar.", "Las citas canceladas con menos de 24 horas se cobran.", "Appointments cancelled within 24 hours are charged.", "Los miércoles la piscina está cerrada.", "A frozen membership is not charged.",
		"Late fees are waived for members.", "Los billetes comprados con puntos no se devuelven.", "Un producto devuelto se abona en la misma tarjeta.", "Para reservar se necesita una tarjeta registrada.", "Items bought on sale can't be returned.",
		"Un turno cambiado sin aviso cuenta como falta.", "La garantía cubre piezas reparadas durante seis meses.", "Los asientos reservados con menores van siempre juntos.", "On Mondays the gym is closed.", "Refunds are issued to the original card.",
		"Orders shipped by sea take three weeks.", "Los libros renovados por correo tienen una semana más.", "Cada lunes la sala queda bloqueada por la limpieza.", "A returned item is refunded in five days.",
		"La factura emitida en marzo incluye el seguro.", "El paquete enviado a Lima tardará tres días.", "Any card blocked by the bank stays blocked.", "Para pagos realizados con tarjeta, el reembolso tarda 5 días.",
	} {
		if r := Read(text); r.Claims() {
			t.Errorf("%q claims %+v", text, r.Acts)
		}
	}
	for _, text := range []string{
		"Order #W1 cancelled.", "Reserva confirmada para 4 personas a las 21:00.", "Pedido cancelado, no se te cobrará nada.", "Your late fee is waived.", "Your orders are cancelled.", "Both orders are cancelled.", "Orders 7 and 8 are cancelled.", "Tu mesa queda reservada el miércoles.",
		"Dos maletas añadidas a tu reserva.", "Refund processed to your card.", "Las dos citas han quedado canceladas.", "The fees are waived.",
	} {
		if len(Read(text).Acts) == 0 {
			t.Errorf("%q claims nothing", text)
		}
	}
}

// TestWhatAModelWritesIsNoAct: it adds up, writes, shows in its own text, and is wrong there.
func TestWhatAModelWritesIsNoAct(t *testing.T) {
	for _, text := range []string{
		"I've added up the costs: $12 + $30 = $42.", "He añadido los gastos: 12 + 30 = 42 €.", "I've written a short poem for your mother.", "He escrito un poema corto para tu madre.", "I made a mistake earlier: the pool opens at 9.",
		"Sorry, I sent you the wrong hours: we open at 10.", "I've attached the comparison below.", "Te he enviado el enlace arriba.", "I see that you've been charged twice.", "Veo que se te ha cobrado dos veces.", "Perdona, te envié un horario equivocado: abrimos a las 10.", "I've made a list of the three hotels.",
	} {
		if r := Read(text); r.Claims() {
			t.Errorf("%q claims %+v", text, r.Acts)
		}
	}
	for _, text := range []string{
		"I've added two bags to your booking.", "He escrito a tu casero.", "I've written to your landlord.", "I made the change.", "I've attached the invoice to your ticket.", "I've made a reservation for you.", "I sent you the invoice.", "I cancelled the wrong order.", "You'll see that I've sent it.",
	} {
		if !Read(text).Claims() {
			t.Errorf("%q claims nothing", text)
		}
	}
}
