package business

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// mostQuantity bounds the quantity of one line of an order.
const mostQuantity = 100

// shippingCents is what sending costs below freeFromCents.
const shippingCents, freeFromCents = 650, 6000

// Refusal is a request that the studio does not serve. Its text says why, in English.
type Refusal struct {
	Status int
	Why    string
}

func (r *Refusal) Error() string { return r.Why }

func refuse(why string, values ...any) *Refusal {
	return &Refusal{http.StatusConflict, fmt.Sprintf(why, values...)}
}

func invalid(why string, values ...any) *Refusal {
	return &Refusal{http.StatusUnprocessableEntity, fmt.Sprintf(why, values...)}
}

func missing(what, id string) *Refusal {
	return &Refusal{http.StatusNotFound, "there is no " + what + " " + id}
}

// find returns the record with an id, in place.
func find[T any](all []T, id string, of func(T) string, what string) (*T, error) {
	i := slices.IndexFunc(all, func(r T) bool { return of(r) == id })
	if i < 0 {
		return nil, missing(what, id)
	}
	return &all[i], nil
}

func (s *State) customer(id string) (*Customer, error) {
	return find(s.Customers, id, func(c Customer) string { return c.ID }, "customer")
}

func (s *State) product(id string) (*Product, error) {
	return find(s.Products, id, func(p Product) string { return p.ID }, "product")
}

func (s *State) order(id string) (*Order, error) {
	return find(s.Orders, id, func(o Order) string { return o.ID }, "order")
}

func (s *State) payment(id string) (*Payment, error) {
	return find(s.Payments, id, func(p Payment) string { return p.ID }, "payment")
}

func (s *State) session(id string) (*Session, error) {
	return find(s.Sessions, id, func(x Session) string { return x.ID }, "session")
}

func (s *State) booking(id string) (*Booking, error) {
	return find(s.Bookings, id, func(b Booking) string { return b.ID }, "booking")
}

// next returns the id after the largest one.
func next[T any](all []T, of func(T) string, prefix string, first int) string {
	for _, r := range all {
		var n int
		if _, err := fmt.Sscanf(of(r), prefix+"%d", &n); err == nil {
			first = max(first, n+1)
		}
	}
	return fmt.Sprint(prefix, first)
}

// change is the body of changeCustomer.
type change struct {
	Email   *string `json:"email"`
	Phone   *string `json:"phone"`
	Address *string `json:"address"`
}

func (s *State) changeCustomer(id string, c change) (any, error) {
	who, err := s.customer(id)
	if err != nil {
		return nil, err
	}
	changed := *who
	for _, part := range []struct {
		to   *string
		from *string
	}{{&changed.Email, c.Email}, {&changed.Phone, c.Phone}, {&changed.Address, c.Address}} {
		if part.from != nil {
			*part.to = strings.TrimSpace(*part.from)
		}
	}
	if !strings.Contains(changed.Email, "@") || changed.Phone == "" || changed.Address == "" {
		return nil, invalid("a customer has an e-mail address, a phone and an address")
	}
	*who = changed
	return changed, nil
}

// basket is the body of createOrder.
type basket struct {
	CustomerID string `json:"customer_id"`
	Delivery   string `json:"delivery"`
	Lines      []struct {
		ProductID string `json:"product_id"`
		Quantity  int    `json:"quantity"`
	} `json:"lines"`
}

func (s *State) createOrder(b basket) (any, error) {
	if _, err := s.customer(b.CustomerID); err != nil {
		return nil, err
	}
	if b.Delivery != "collect" && b.Delivery != "ship" {
		return nil, invalid("delivery is collect or ship")
	}
	o := Order{
		ID: next(s.Orders, func(o Order) string { return o.ID }, "o-", 1001), CustomerID: b.CustomerID, Status: "placed",
		PlacedOn: Now().Format("2006-01-02"), Delivery: b.Delivery, Lines: []Line{},
	}
	taken := map[string]bool{}
	for _, l := range b.Lines {
		p, err := s.product(l.ProductID)
		switch {
		case err != nil:
			return nil, err
		case taken[p.ID]:
			return nil, invalid("%s is there twice", p.ID)
		case l.Quantity < 1 || l.Quantity > mostQuantity:
			return nil, invalid("a quantity is 1 to %d", mostQuantity)
		case l.Quantity > p.Stock:
			return nil, refuse("only %d of %s are in stock", p.Stock, p.ID)
		}
		taken[p.ID] = true
		o.Lines = append(o.Lines, Line{p.ID, l.Quantity, p.PriceCents})
	}
	if len(o.Lines) == 0 {
		return nil, invalid("an order has at least one line")
	}
	for _, l := range o.Lines {
		p, _ := s.product(l.ProductID)
		p.Stock -= l.Quantity
	}
	o.sum()
	s.Orders = append(s.Orders, o)
	return o, nil
}

// sum writes the shipping and the total of an order.
func (o *Order) sum() {
	goods := 0
	for _, l := range o.Lines {
		goods += l.Quantity * l.PriceCents
	}
	o.ShippingCents = 0
	if o.Delivery == "ship" && goods < freeFromCents {
		o.ShippingCents = shippingCents
	}
	o.TotalCents = goods + o.ShippingCents
}

// setLine sets the quantity of a product in an order that is not paid; 0 removes it.
func (s *State) setLine(id, product string, quantity int) (any, error) {
	o, err := s.order(id)
	if err != nil {
		return nil, err
	}
	p, err := s.product(product)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(o.Lines, func(l Line) bool { return l.ProductID == product })
	had := 0
	if i >= 0 {
		had = o.Lines[i].Quantity
	}
	switch {
	case o.Status != "placed":
		return nil, refuse("order %s is %s: only an order that is placed changes", o.ID, o.Status)
	case quantity < 0 || quantity > mostQuantity:
		return nil, invalid("a quantity is 0 to %d", mostQuantity)
	case quantity-had > p.Stock:
		return nil, refuse("only %d of %s are in stock", p.Stock, p.ID)
	case quantity == 0 && i >= 0 && len(o.Lines) == 1:
		return nil, refuse("an order has at least one line: cancel it")
	case quantity == 0 && i >= 0:
		o.Lines = slices.Delete(o.Lines, i, i+1)
	case i >= 0:
		o.Lines[i].Quantity = quantity
	case quantity > 0:
		o.Lines = append(o.Lines, Line{p.ID, quantity, p.PriceCents})
	}
	p.Stock -= quantity - had
	o.sum()
	return *o, nil
}

func (s *State) setDelivery(id, delivery string) (any, error) {
	o, err := s.order(id)
	switch {
	case err != nil:
		return nil, err
	case delivery != "collect" && delivery != "ship":
		return nil, invalid("delivery is collect or ship")
	case o.Status != "placed":
		return nil, refuse("order %s is %s: only an order that is placed changes", o.ID, o.Status)
	}
	o.Delivery = delivery
	o.sum()
	return *o, nil
}

func (s *State) cancelOrder(id string) (any, error) {
	o, err := s.order(id)
	switch {
	case err != nil:
		return nil, err
	case o.Status != "placed" && o.Status != "paid":
		return nil, refuse("order %s is %s: only an order that is placed or paid is cancelled", o.ID, o.Status)
	}
	for _, l := range o.Lines {
		p, _ := s.product(l.ProductID)
		p.Stock += l.Quantity
	}
	o.Status = "cancelled"
	return *o, nil
}

func (s *State) pay(id, method string) (any, error) {
	o, err := s.order(id)
	if err != nil {
		return nil, err
	}
	who, err := s.customer(o.CustomerID)
	switch {
	case err != nil:
		return nil, err
	case method != "card" && method != "credit":
		return nil, invalid("method is card or credit")
	case o.Status != "placed":
		return nil, refuse("order %s is %s: only an order that is placed is paid", o.ID, o.Status)
	case method == "card" && who.Card == "":
		return nil, refuse("customer %s has no card on file", who.ID)
	case method == "credit" && who.CreditCents < o.TotalCents:
		return nil, refuse("customer %s has a credit of %d cents, and the order costs %d", who.ID, who.CreditCents, o.TotalCents)
	case method == "credit":
		who.CreditCents -= o.TotalCents
	}
	p := Payment{
		ID: next(s.Payments, func(p Payment) string { return p.ID }, "y-", 501), OrderID: o.ID, CustomerID: who.ID, Method: method,
		AmountCents: o.TotalCents, PaidOn: Now().Format("2006-01-02"),
	}
	o.Status = "paid"
	s.Payments = append(s.Payments, p)
	return p, nil
}

func (s *State) refund(id string, cents int, to string) (any, error) {
	p, err := s.payment(id)
	if err != nil {
		return nil, err
	}
	who, err := s.customer(p.CustomerID)
	switch {
	case err != nil:
		return nil, err
	case to != "card" && to != "credit":
		return nil, invalid("to is card or credit")
	case to == "card" && p.Method != "card":
		return nil, refuse("payment %s was not made by card", p.ID)
	case cents < 1:
		return nil, invalid("a refund is at least 1 cent")
	case cents > p.AmountCents-p.RefundedCents:
		return nil, refuse("payment %s has %d cents left", p.ID, p.AmountCents-p.RefundedCents)
	}
	if to == "credit" {
		who.CreditCents += cents
	}
	p.RefundedCents += cents
	return *p, nil
}

func (s *State) askForNotice(n Notice) (any, error) {
	p, err := s.product(n.ProductID)
	if err != nil {
		return nil, err
	}
	if _, err := s.customer(n.CustomerID); err != nil {
		return nil, err
	}
	if slices.Contains(s.Notices, n) {
		return nil, refuse("customer %s is told already when %s is back", n.CustomerID, p.ID)
	}
	s.Notices = append(s.Notices, n)
	return n, nil
}

func (s *State) leaveMessage(m Message) (any, error) {
	if _, err := s.customer(m.CustomerID); err != nil {
		return nil, err
	}
	if !slices.Contains([]string{"order", "payment", "booking", "other"}, m.Subject) || strings.TrimSpace(m.Text) == "" {
		return nil, invalid("a message has a text, and its subject is order, payment, booking or other")
	}
	m.ID = next(s.Messages, func(m Message) string { return m.ID }, "m-", 1)
	s.Messages = append(s.Messages, m)
	return m, nil
}
