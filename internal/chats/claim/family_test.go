package claim

import "testing"

// TestEachActNeedsItsOwnEntry: an act of the record excuses no claim of another family, whatever its request and its answer tell
// besides. What its answer says that it did is done.
func TestEachActNeedsItsOwnEntry(t *testing.T) {
	refund := Call{Method: "POST", Path: "/payments/P7/refund", Tool: "create_refund", Summary: "Refund a payment", Sent: `{"amount":30,"reason":"order cancelled"}`, Answered: `{"id":"R88XY1","status":"refunded","cancellable":true,"payment_id":"P7"}`}
	back := Call{Method: "POST", Path: "/orders/W1/return", Summary: "Return delivered items", Sent: `{"items":["a1"],"comment":"email the label"}`, Answered: `{"status":"return requested","email":"ana@example.com","cancellation_policy":"Free cancellation within 3 days"}`}
	booking := Call{Method: "POST", Path: "/bookings", Tool: "create_booking", Summary: "Create a booking", Sent: `{"room":"norte"}`, Answered: `{"id":3,"status":"confirmed","terms":"Free cancellation until Friday. Refunds take 5 days.","refundable":true,"cancellation_deadline":"2026-05-03"}`}
	cancel := Call{Method: "POST", Path: "/orders/W1/cancel", Answered: `{"status":"cancelled","refund":{"amount":30}}`}
	for _, c := range []struct {
		text  string
		did   Call
		lacks bool
	}{
		{"I've cancelled the order.", refund, true},
		{"He cancelado el pedido.", refund, true},
		{"Your order has been cancelled and the money refunded.", refund, true},
		{"The cancellation has been completed.", refund, true},
		{"He tramitado la cancelación.", refund, true},
		{"I have emailed you the label.", back, true},
		{"He enviado la etiqueta por correo.", back, true},
		{"The label has been sent to you.", back, true},
		{"I've cancelled the order.", back, true},
		{"I've cancelled your other booking.", booking, true},
		{"I've refunded the deposit.", booking, true},
		{"The refund has been processed.", booking, true},
		{"El reembolso se ha tramitado.", booking, true},
		{"I've requested a refund for you.", booking, true},
		{"I've blocked your card.", booking, true},
		{"He bloqueado la tarjeta.", booking, true},
		{"He reservado la sala y he cancelado la otra.", booking, true},
		{"I've emailed Ana.", cancel, true},
		{"I've cancelled the order.", Call{Tool: "post_message", Sent: `{"text":"We cancelled your order"}`}, true},
		{"I've emailed Ana.", Call{Tool: "order_status_set", Answered: `{"content":[{"type":"text","text":"ok"}]}`}, true},

		{"The refund has been processed.", refund, false},
		{"I've refunded 30 € to your card.", refund, false},
		{"He devuelto el dinero.", refund, false},
		{"Your return request has been submitted.", back, false},
		{"He tramitado la devolución.", back, false},
		{"The room is booked and confirmed.", booking, false},
		{"I've set up and saved the booking.", booking, false},
		{"The order has been cancelled and the amount has been refunded.", cancel, false},
		{"The refund has been issued.", cancel, false},
		{"Done: the cancellation has been processed.", cancel, false},
		{"I've cancelled it.", Call{Method: "PATCH", Path: "/orders/7", Sent: `{"status":"cancelled"}`}, false},
		{"He cancelado la cita.", Call{Method: "POST", Path: "/citas/7/estado", Sent: `{"estado":"cancelada"}`}, false},
		{"I've cancelled it.", Call{Method: "POST", Path: "/orders/7/status", Answered: `{"message":"Order cancelled"}`}, false},
		{"I've cancelled it.", Call{Tool: "order_status_set", Answered: `{"content":[{"type":"text","text":"{\"id\":7,\"status\":\"cancelled\"}"}]}`}, false},
		{"I've cancelled it.", Call{Tool: "order_status_set", Answered: `{"content":[{"type":"text","text":"Order cancelled"}]}`}, false},
		{"I've cancelled it.", Call{Method: "PATCH", Path: "/orders/7", Sent: `[{"notify":true},{"status":"cancelled"}]`}, false},
		{"I've sent the email to Ana.", Call{Method: "POST", Path: "/messages", Summary: "Send a message"}, false},
		{"The label has been emailed.", Call{Method: "POST", Path: "/orders/W1/return", Answered: `{"label_sent":true}`}, false},
		{"I've blocked your card.", Call{Method: "PUT", Path: "/cards/7", Sent: `{"enabled":false}`}, false},
		{"I've booked your return flight.", booking, false},
		{"I've updated your payment method.", Call{Method: "PATCH", Path: "/users/7", Sent: `{"card":"x"}`}, false},
		{"He creado el aviso para Ana.", Call{Method: "POST", Path: "/notices", Summary: "Create a notice"}, false},
		{"I've added two bags.", Call{Method: "PATCH", Path: "/reservations/7", Tool: "update_baggages"}, false},
	} {
		r := NewRecord()
		r.Did(c.did)
		lacks := false
		for _, a := range Read(c.text).Acts {
			lacks = lacks || r.Lacks(a, false)
		}
		if lacks != c.lacks {
			t.Errorf("%q after %s: lacks %v; %+v", c.text, c.did.Path, lacks, Read(c.text).Acts)
		}
	}
}

// TestAMemberWithoutAValueIsNoEvidence: null, false, zero and empty members, and the times that each thing has.
func TestAMemberWithoutAValueIsNoEvidence(t *testing.T) {
	for _, c := range []struct {
		text, read string
		lacks      bool
	}{
		{"La reserva está cancelada.", `{"id":7,"status":"active","cancelled_at":null}`, true},
		{"La reserva está cancelada.", `{"id":7,"cancelled":false,"updated_at":"2026-01-02"}`, true},
		{"Your order is cancelled.", `{"cancelled_at":""}`, true},
		{"Your order has been cancelled.", `{"cancelled_at":null,"updated_at":"2026-01-02"}`, true},
		{"La factura está pagada.", `{"total":30,"paid":0}`, true},
		{"La factura está pagada.", `{"total":30,"paid":"no"}`, true},
		{"Your order has been refunded.", `{"refunded":[],"payments":{}}`, true},
		{"Your booking has been changed.", `{"id":7,"modified":"2026-01-02"}`, true},
		{"Booking 7 is already changed.", `{"id":7,"status":"pending","updated_at":"2026-01-02"}`, true},
		{"Tu dirección ha sido actualizada.", `{"street":"x","updated_at":"2026-01-02"}`, true},
		{"Your account has been created.", `{"id":7,"created_at":"2026-01-02"}`, true},

		{"La reserva está cancelada.", `{"id":7,"cancelled_at":"2026-01-02"}`, false},
		{"La reserva está cancelada.", `[{"id":7,"cancelled_at":null},{"id":8,"cancelled_at":"2026-01-02"}]`, false},
		{"La factura está pagada.", `{"total":30,"paid":30}`, false},
		{"Your order is cancelled.", `{"status":"annulled"}`, false},
		{"Your booking has been changed.", `{"id":7,"status":"changed"}`, false},
		{"Your order has been refunded.", `{"refunds":[{"amount":3,"state":"refunded"}]}`, false},
		{"It's updated.", `{"updated":true}`, false},
		{"La cita está confirmada.", `{"confirmed":true,"cancelled_at":null}`, false},
	} {
		r := NewRecord()
		r.Read(c.read)
		lacks := false
		for _, a := range Read(c.text).Acts {
			lacks = lacks || r.Lacks(a, false)
		}
		if lacks != c.lacks {
			t.Errorf("%q after %s: lacks %v; %+v", c.text, c.read, lacks, Read(c.text).Acts)
		}
	}
}
