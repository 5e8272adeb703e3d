// Package business is a pottery studio of our own: customers, products in stock, orders, payments and booked sessions, as a REST
// service with an OpenAPI document. Its data is in memory, its clock stands still, and its ids follow each other, so that the
// same requests always lead to the same data.
package business

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // the studio has its own time zone on every machine
)

//go:embed data.json
var initial []byte

//go:embed openapi.json
var document []byte

//go:embed policy.es.md
var spanish string

//go:embed policy.en.md
var english string

// Document returns the OpenAPI document of the studio, as JSON.
func Document() []byte { return document }

// Policy returns the rules of the studio for its assistant, in a language ("es" or "en").
func Policy(language string) string {
	return map[string]string{"es": spanish, "en": english}[language]
}

// Zone is the time zone of the studio.
func Zone() *time.Location {
	zone, err := time.LoadLocation("Europe/Madrid")
	if err != nil { // tzdata is linked
		panic(err)
	}
	return zone
}

// Now is the time at which the studio's clock stands: Tuesday, 9 March 2027, 10:00 in Valencia.
func Now() time.Time { return time.Date(2027, time.March, 9, 10, 0, 0, 0, Zone()) }

// State is all data of the studio. Amounts are in cents of a euro.
type State struct {
	Customers []Customer `json:"customers"`
	Products  []Product  `json:"products"`
	Orders    []Order    `json:"orders"`
	Payments  []Payment  `json:"payments"`
	Sessions  []Session  `json:"sessions"`
	Bookings  []Booking  `json:"bookings"`
	Notices   []Notice   `json:"notices"`
	Messages  []Message  `json:"messages"`
}

// Customer is a person whom the studio knows.
type Customer struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Email       string `json:"email"`
	Phone       string `json:"phone"`
	Address     string `json:"address"`
	CreditCents int    `json:"credit_cents"`
	Card        string `json:"card"` // on file; "": none
}

// Name is the name of a product or a session in the languages of the studio.
type Name struct {
	ES string `json:"es"`
	EN string `json:"en"`
}

// Product is something that the studio sells.
type Product struct {
	ID         string `json:"id"`
	Name       Name   `json:"name"`
	Kind       string `json:"kind"`
	PriceCents int    `json:"price_cents"`
	Stock      int    `json:"stock"`
	FiresAt    int    `json:"fires_at,omitempty"` // degrees Celsius
}

// Order is an order of a customer. Its status is placed, paid, packed, sent, collected or cancelled.
type Order struct {
	ID            string `json:"id"`
	CustomerID    string `json:"customer_id"`
	Status        string `json:"status"`
	PlacedOn      string `json:"placed_on"`
	Delivery      string `json:"delivery"` // collect or ship
	Lines         []Line `json:"lines"`
	ShippingCents int    `json:"shipping_cents"`
	TotalCents    int    `json:"total_cents"`
}

// Line is one product of an order.
type Line struct {
	ProductID  string `json:"product_id"`
	Quantity   int    `json:"quantity"`
	PriceCents int    `json:"price_cents"` // of one
}

// Payment is the payment of an order.
type Payment struct {
	ID            string `json:"id"`
	OrderID       string `json:"order_id"`
	CustomerID    string `json:"customer_id"`
	Method        string `json:"method"` // card or credit
	AmountCents   int    `json:"amount_cents"`
	RefundedCents int    `json:"refunded_cents"`
	PaidOn        string `json:"paid_on"`
}

// Session is a kind of session that people book.
type Session struct {
	ID         string `json:"id"`
	Name       Name   `json:"name"`
	Minutes    int    `json:"minutes"`
	PriceCents int    `json:"price_cents"` // of a person
	Places     int    `json:"places"`
}

// Booking is a booked session.
type Booking struct {
	ID         string `json:"id"`
	CustomerID string `json:"customer_id"`
	SessionID  string `json:"session_id"`
	StartsAt   string `json:"starts_at"` // RFC 3339, in the zone of the studio
	People     int    `json:"people"`
}

// Notice is the wish of a customer to hear when a product is back in stock.
type Notice struct {
	CustomerID string `json:"customer_id"`
	ProductID  string `json:"product_id"`
}

// Message is a message to the people of the studio.
type Message struct {
	ID         string `json:"id"`
	CustomerID string `json:"customer_id"`
	Subject    string `json:"subject"`
	Text       string `json:"text"`
}

// Fresh returns the data of the beginning.
func Fresh() State {
	var s State
	if err := json.Unmarshal(initial, &s); err != nil { // it is a part of the program
		panic(err)
	}
	return s
}

// Differences returns a line for each record that is another one than in the expected state; empty: they are equal. The words of a
// message are not compared.
func (s State) Differences(want State) (lines []string) {
	a, b := records(want), records(s)
	for _, key := range keys(a, b) {
		if a[key] != b[key] {
			lines = append(lines, fmt.Sprintf("%s: want %s, have %s", key, a[key], b[key]))
		}
	}
	return lines
}

// records returns the records of a state as texts, by kind and id.
func records(s State) map[string]string {
	all := map[string]string{}
	add := func(kind, id string, record any) {
		text, _ := json.Marshal(record)
		all[kind+" "+id] = string(text)
	}
	for _, c := range s.Customers {
		add("customer", c.ID, c)
	}
	for _, p := range s.Products {
		add("product", p.ID, p)
	}
	for _, o := range s.Orders {
		o.Lines = slices.Clone(o.Lines)
		slices.SortFunc(o.Lines, func(a, b Line) int { return strings.Compare(a.ProductID, b.ProductID) })
		add("order", o.ID, o)
	}
	for _, p := range s.Payments {
		add("payment", p.ID, p)
	}
	for _, b := range s.Bookings {
		add("booking", b.ID, b)
	}
	for _, n := range s.Notices {
		add("notice", n.CustomerID+" "+n.ProductID, n)
	}
	for _, m := range s.Messages {
		m.Text = ""
		add("message", m.ID, m)
	}
	return all
}

// keys returns the keys of both maps, sorted.
func keys(a, b map[string]string) []string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return slices.Sorted(maps.Keys(all))
}
