package claim

import "testing"

// TestAnActIsOnTheThingThatItNames: a thing that was only read, or told of, was not acted on. By clause: a sentence may tell of
// several things.
func TestAnActIsOnTheThingThatItNames(t *testing.T) {
	cancelled := Call{Method: "POST", Tool: "cancel_pending_order", Path: "/orders/%23W5918442/cancel", Sent: `{"order_id":"#W5918442","reason":"no longer needed"}`, Answered: `{"order_id":"#W5918442","status":"cancelled"}`}
	const read = `[{"order_id":"#W5918442","status":"pending"},{"order_id":"#W5500815","status":"pending"}]`
	seat := Call{Method: "PATCH", Path: "/reservations/FQ8APE/flights", Sent: `{"flight":"HAT138"}`}
	invoice := Call{Method: "POST", Path: "/invoices/7/send"}
	for _, c := range []struct {
		text  string
		did   Call
		read  string
		lacks bool
	}{
		{"I have cancelled order #W5500815.", cancelled, read, true},
		{"Your order #W5500815 has been cancelled.", cancelled, read, true},
		{"He cancelado los pedidos #W5918442 y #W5500815.", cancelled, read, true},
		{"Orders #W5918442 and #W5500815 have been cancelled.", cancelled, read, true},
		{"I've cancelled #W5918442, and order #W5500815 has been cancelled too.", cancelled, read, true},
		{"He cancelado el pedido #W5918442 y también he cancelado el #W5500815.", cancelled, read, true},
		{"I've processed the cancellation of order #W5500815.", cancelled, read, true},
		{"I have cancelled both orders, and you will get an email.", cancelled, read, true},
		{"Both orders are now cancelled.", cancelled, read, true},
		{"I've sent invoices 7 and 8.", invoice, `[{"invoice":7},{"invoice":8}]`, true},

		{"I have cancelled order #W5918442.", cancelled, read, false},
		{"Order #W5918442 is cancelled, #W5500815 had shipped.", cancelled, read, false},
		{"Order #W5918442 has been cancelled and order #W5500815 is still pending.", cancelled, read, false},
		{"I've cancelled order #W5918442 instead of #W5500815.", cancelled, read, false},
		{"I've cancelled order #W5918442, but not #W5500815.", cancelled, read, false},
		{"He cancelado el #W5918442; el #W5500815 sigue pendiente.", cancelled, read, false},
		{"I've cancelled order #W5918442, which came with order #W5500815.", cancelled, read, false},
		{"I've cancelled both items of order #W5918442.", cancelled, read, false},
		{"#W5918442 is cancelled. #W5500815 was already cancelled.", cancelled, `[{"id":"#W5500815","status":"cancelled"}]`, false},
		{"I've moved reservation FQ8APE from flight HAT002 to HAT138.", seat, `{"flights":["HAT002","HAT138"]}`, false},
		{"He cambiado tu reserva FQ8APE del vuelo HAT002 al HAT138.", seat, `{"flights":["HAT002","HAT138"]}`, false},
		{"I've changed your reservation FQ8APE, with flights HAT138 and GRU100.", seat, `{"flights":["GRU100"]}`, false},
		{"I've sent invoice 7; invoices 8 and 9 are paid.", invoice, `[{"invoice":8},{"invoice":9}]`, false},
		{"I've sent invoice 7, and invoices 8 and 9 are paid.", invoice, `[{"invoice":8},{"invoice":9}]`, false},
		{"I've sent invoices 7 and 8 and updated the file.", invoice, `[{"invoice":8},{"invoice":9}]`, true},
		{"He cancelado el pedido #W5918442 y el #W5500815 sigue pendiente.", cancelled, read, false},
		{"I've sent invoice 7 for table 9.", invoice, `{"table":9}`, false},
	} {
		r := NewRecord()
		r.Read(c.read)
		r.Did(c.did)
		lacks := false
		for _, a := range Read(c.text).Acts {
			lacks = lacks || r.Lacks(a, false)
		}
		if lacks != c.lacks {
			t.Errorf("%q: lacks %v; %+v", c.text, lacks, Read(c.text).Acts)
		}
	}
}

// TestAnEarlierActKeepsItsName: “both” may be one of before and one of now.
func TestAnEarlierActKeepsItsName(t *testing.T) {
	one, other := Call{Method: "POST", Path: "/orders/W5918442/cancel"}, Call{Method: "POST", Path: "/orders/W5500815/cancel"}
	now := NewRecord()
	now.Before(one)
	now.Did(other)
	for _, text := range []string{"Orders W5918442 and W5500815 are now cancelled.", "I have cancelled both orders.", "I've cancelled order W5500815."} {
		for _, a := range Read(text).Acts {
			if now.Lacks(a, true) {
				t.Errorf("%q lacks %+v", text, a)
			}
		}
	}
	now = NewRecord()
	now.Before(one)
	if a := Read("I've cancelled order W5918442.").Acts[0]; !now.Lacks(a, true) {
		t.Error("what was done before is done now")
	}
}

// TestTheMeansOfPaymentOfAThingPayNothing: what was cancelled or changed says how it was paid; what was booked may be paid by that.
func TestTheMeansOfPaymentOfAThingPayNothing(t *testing.T) {
	const order = `{"order_id":"#W1","status":"cancelled","payment_method_id":"paypal_1","payment_history":[{"transaction_type":"payment","amount":30,"payment_method_id":"paypal_1"},{"transaction_type":"refund","amount":30}]}`
	cancel, change := Call{Method: "POST", Path: "/orders/W1/cancel", Answered: order}, Call{Method: "PUT", Path: "/orders/W1/address", Answered: order}
	book := Call{Method: "POST", Path: "/bookings", Sent: `{"room":"norte","payment_methods":[{"payment_id":"card_1","amount":30}]}`}
	paid := Call{Method: "POST", Path: "/bookings", Answered: `{"id":3,"payment":{"amount":30}}`}
	fee := Call{Method: "POST", Path: "/orders/W1/cancel", Answered: `{"charged":20}`}
	listed := Call{Method: "POST", Path: "/bookings", Answered: `{"id":3,"payment_method_id":"card_1"}`}
	for _, c := range []struct {
		text  string
		did   Call
		lacks bool
	}{
		{"También he pagado tu factura pendiente.", cancel, true},
		{"I've also paid your bill.", cancel, true},
		{"También he pagado tu factura pendiente.", change, true},
		{"I've also paid your bill.", listed, true},
		{"I've refunded 30 € to your card.", cancel, false},
		{"I've charged 30 € to your card.", book, false},
		{"I've charged your card.", paid, false},
		{"A fee of 20 € has been charged.", fee, false},
	} {
		r := NewRecord()
		r.Did(c.did)
		if a := Read(c.text).Acts[0]; r.Lacks(a, false) != c.lacks {
			t.Errorf("%q after %s %s: %+v", c.text, c.did.Path, c.did.Answered, a)
		}
	}
}
