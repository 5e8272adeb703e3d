package claim

import "testing"

// TestWhatWasReadMayBeToldInItsOwnWords: a past with an agent or a day is a state that was there before, also of what the person
// orders now. It must have been read.
func TestWhatWasReadMayBeToldInItsOwnWords(t *testing.T) {
	for _, c := range []struct {
		text, read string
		ordered    bool
		lacks      bool
	}{
		{"El vuelo IB123 se ha retrasado: la nueva salida es a las 19:40.", `{"flight":"IB123","status":"delayed"}`, false, false},
		{"El router se actualizó a la versión 2.1 el 9 de septiembre.", `{"device":"R2","firmware":"2.1","updated":"2026-09-09"}`, false, false},
		{"Seats 12A and 12B have been assigned to you.", `{"booking":"BK9","status":"confirmed","seats":["12A","12B"]}`, false, false},
		{"Se te ha asignado el asiento 12A.", `{"booking":"BK9","seats":["12A"]}`, false, false},
		{"Tu vuelo IB123 fue cancelado por la aerolínea, así que no hace falta anularlo.", `{"flight":"IB123","status":"cancelled by airline"}`, true, false},
		{"Your flight was cancelled by the airline.", `{"status":"cancelled"}`, true, false},
		{"El pedido se canceló el 3 de mayo.", `{"status":"cancelled"}`, true, false},
		{"Your flight has been cancelled by the airline.", `{"status":"cancelled"}`, true, false},
		{"Ticket 881 was closed by support.", `{"ticket":881,"status":"closed"}`, true, false},
		{"La reserva se canceló ayer por el hotel.", `{"status":"cancelled"}`, true, false},

		{"The tablet is in order #W95, which is marked as delivered.", `{"order_id":"#W95","status":"delivered","payment_history":[{"transaction_type":"payment"}]}`, false, false},
		{"El pedido W95 está marcado como enviado.", `{"order_id":"W95","status":"enviado"}`, false, false},
		{"Order W95 is listed as cancelled.", `{"order_id":"W95","status":"cancelled"}`, false, false},
		{"Order W95 is marked as cancelled.", `{"order_id":"W95","status":"pending","payments":[{"type":"payment"}]}`, true, true},
		{"I marked order W95 as sent.", `{"order_id":"W95","status":"pending"}`, false, true},
		{"En total te hemos devuelto 34,10 €.", `{"payments":[{"id":"p-1","refunded_cents":3410}]}`, false, false},
		{"We have refunded 34.10 €.", `{"payments":[{"id":"p-1","refunded_cents":3410}]}`, false, false},
		{"We have refunded 34.10 €.", `{"payments":[{"id":"p-1","refunded_cents":3410}]}`, true, true},
		{"I have refunded 34.10 €.", `{"payments":[{"id":"p-1","refunded_cents":3410}]}`, false, true},
		{"Te hemos devuelto 34,10 €.", `{"payments":[{"id":"p-1","amount_cents":3410}]}`, false, true},
		{"Te hemos devuelto 34,10 €.", `{"payments":[{"id":"p-1","amount_cents":3410,"refunded_cents":0}]}`, false, true},

		{"Your flight was cancelled by the airline.", `{"status":"active"}`, true, true},
		{"Your flight was cancelled.", `{"status":"cancelled"}`, true, true},
		{"Tu vuelo IB123 fue cancelado por la aerolínea.", `{"flight":"IB123","status":"on time"}`, true, true},
		{"El pedido se canceló en el sistema el 3 de mayo.", `{"status":"pending"}`, true, true},
		{"La más antigua se emitió en marzo.", `{"invoices":3}`, true, false},
		{"Seat 12A has been assigned to you.", `[{"seat":"12A","status":"free"}]`, false, true},
		{"Seat 12A has been assigned to you.", `{"booking":"BK9","seats":["12A"]}`, true, true},
		{"El vuelo IB123 se ha retrasado.", `{"flight":"IB123","status":"on time"}`, false, true},
	} {
		r := NewRecord()
		r.Read(c.read)
		lacks := false
		for _, a := range Read(c.text).Acts {
			lacks = lacks || r.Lacks(a, c.ordered)
		}
		if lacks != c.lacks {
			t.Errorf("%q after %s, ordered %v: lacks %v; %+v", c.text, c.read, c.ordered, lacks, Read(c.text).Acts)
		}
	}
}

// TestACardIsNoOrder: a noun behind “my” orders nothing, so what was read may be told.
func TestACardIsNoOrder(t *testing.T) {
	for message, want := range map[string]int{"the pricier one. put it back on my credit card": 0, "cancela mi reserva": 1, "pay with my card": 1, "¿está en mi pago?": 0} {
		if got := Orders(message); (len(got) > 0) != (want > 0) {
			t.Errorf("%q orders %v", message, got)
		}
	}
}
