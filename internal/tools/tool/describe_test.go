package tool

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"piloto/internal/ground/fault"
)

func reasonOf(t *testing.T, err error) string {
	t.Helper()
	return fault.Of(err).Args["reason"]
}

func TestFingerprintChangesOnlyWithMeaning(t *testing.T) {
	first := Fingerprint("https://a.example", Reserve())
	if len(first) != 64 {
		t.Fatalf("fingerprint %q", first)
	}
	same := map[string]func(*Operation){
		"summary":     func(o *Operation) { o.Summary = "other" },
		"description": func(o *Operation) { o.Description = "other" },
		"operation":   func(o *Operation) { o.OperationID = "other" },
		"signature":   func(o *Operation) { o.Signature = "other" },
		"order":       func(o *Operation) { o.Parameters[0], o.Parameters[1] = o.Parameters[1], o.Parameters[0] },
		"annotation": func(o *Operation) {
			o.Parameters[0].Schema = json.RawMessage(`{"minimum":1,"description":"x","type":"integer"}`)
		},
		"spelling": func(o *Operation) { o.Parameters[0].Schema = json.RawMessage(`{"type":"integer","minimum":1.0}`) },
	}
	for name, change := range same {
		o := Reserve()
		change(&o)
		if Fingerprint("https://a.example", o) != first {
			t.Errorf("%s changes the fingerprint", name)
		}
	}
	differs := map[string]func(*Operation){
		"method":    func(o *Operation) { o.Method = "PUT" },
		"path":      func(o *Operation) { o.Path = "/rooms/{id}/reservation" },
		"required":  func(o *Operation) { o.Parameters[1].Required = true },
		"style":     func(o *Operation) { o.Parameters[2].Explode = false },
		"parameter": func(o *Operation) { o.Parameters = o.Parameters[1:] },
		"schema":    func(o *Operation) { o.Parameters[0].Schema = json.RawMessage(`{"type":"integer","minimum":2}`) },
		"digits": func(o *Operation) {
			o.Parameters[0].Schema = json.RawMessage(`{"type":"integer","minimum":9007199254740993}`)
		},
		"media type": func(o *Operation) { o.Body.MediaType = formMedia },
		"body":       func(o *Operation) { o.Body = nil },
		"a property named description": func(o *Operation) {
			o.Body.Schema = json.RawMessage(`{"properties":{"description":{"type":"string"}}}`)
		},
	}
	seen := map[string]string{first: "none"}
	for name, change := range differs {
		o := Reserve()
		change(&o)
		got := Fingerprint("https://a.example", o)
		if other, ok := seen[got]; ok {
			t.Errorf("%s and %s have one fingerprint", name, other)
		}
		seen[got] = name
	}
	if Fingerprint("https://b.example", Reserve()) == first {
		t.Error("the base URL does not change the fingerprint")
	}
}

func TestSignature(t *testing.T) {
	body := func(media, schema string, required bool) Operation {
		o := op("POST", "/x")
		o.Body = &Body{Required: required, MediaType: media, Schema: json.RawMessage(schema)}
		return o
	}
	many := "{\"properties\":{"
	for i := range 20 {
		many += fmt.Sprintf(`"p%02d":{},`, i)
	}
	many = many[:len(many)-1] + "}}"
	cases := []struct {
		op   Operation
		want string
	}{
		{op("GET", "/x"), ""},
		{Reserve(), "(mode:fast|slow*, notify:boolean, tags:string[]) headers{X-Tenant} body{date:date*, people:integer*, code:string, look:string, guest:object, extras:array, pay:object, when:date-time}"},
		{body("application/json", `{"$ref":"#/$defs/a","$defs":{"a":{"allOf":[{"$ref":"#/$defs/b"},{"required":["y"],"properties":{"y":{"type":["string","null"]}}}]},"b":{"properties":{"x":{"type":"array","items":{"$ref":"#/$defs/c"}}}},"c":{"type":"integer"}}}`, true), "body{y:string*, x:integer[]}"},
		{body("application/json", `{"type":"array","items":{"type":"string"}}`, true), "body:string[]"},
		{body("application/json", `{}`, false), "body?"},
		{body("application/json", `{"required":["lines"],"properties":{"lines":{"type":"array","items":{"$ref":"#/$defs/line"}},"notes":{"type":["array","null"],"items":{"type":"object"}}},"$defs":{"line":{"required":["product_id"],"properties":{"quantity":{"type":"integer"},"product_id":{"type":"string"},"at":{"type":"string","format":"date-time"},"parts":{"type":"array","items":{"properties":{"x":{}}}}}}}}`, true), "body{lines:[{product_id:string*, quantity:integer, at:date-time, parts:object[]}]*, notes:object[]}"},
		{body("application/json", many, true), "body{p00, p01, p02, p03, p04, p05, p06, p07, p08, p09, p10, p11, …}"},
		{body("multipart/form-data", `{"properties":{"file":false},"allOf":[{"properties":{"file":{"type":"string"},"to":{"type":"string"}}}]}`, true), "body{to:string}"},
		{body("application/json", `{"allOf":[{"properties":{"a":{"type":"string"},"b":true}},{"properties":{"b":{"type":"integer"},"a":true}}]}`, true), "body{a:string, b:integer}"},
	}
	for _, c := range cases {
		got := Signature(c.op)
		if got != c.want {
			t.Errorf("%q\nwant %q", got, c.want)
		}
	}
}

func TestSearchMatchesSpanishAndEnglish(t *testing.T) {
	servers := []Listed{
		{Server: Server{ID: "1", Name: "Hotel"}, Entries: []Entry{
			{Method: "GET", Path: "/rooms", OperationID: "listRooms", Summary: "List the rooms that are free"},
			{Method: "POST", Path: "/reservations", OperationID: "create_reservation", Summary: "Reserve a room"},
			{Method: "GET", Path: "/reservations/{id}", OperationID: "getReservation", Summary: "Read a reservation"},
			{Method: "DELETE", Path: "/reservations/{id}", OperationID: "cancelReservation", Summary: "Give a reservation back"},
		}},
		{Server: Server{ID: "2", Name: "Tienda"}, Entries: []Entry{
			{Method: "GET", Path: "/v1/customers", OperationID: "GetCustomers", Summary: "List all customers"},
			{Method: "POST", Path: "/v1/customers/{customer}", OperationID: "PostCustomersCustomer", Summary: "Update a customer"},
			{Method: "POST", Path: "/v1/customers", OperationID: "PostCustomers", Summary: "Create a customer"},
			{Method: "POST", Path: "/v1/refunds", OperationID: "PostRefunds", Summary: "Create a refund"},
			{Method: "GET", Path: "/facturación", OperationID: "facturas", Summary: "Facturación del mes"},
		}},
	}
	cases := []struct{ query, want string }{
		{"list rooms", "GET /rooms"},
		{"habitaciones libres", "GET /rooms"},
		{"quiero reservar una habitación", "POST /reservations"},
		{"cancela la reserva", "DELETE /reservations/{id}"},
		{"ver mi reserva", "GET /reservations/{id}"},
		{"lista los clientes", "GET /v1/customers"},
		{"crear un cliente", "POST /v1/customers"},
		{"actualiza el cliente", "POST /v1/customers/{customer}"},
		{"crear un reembolso", "POST /v1/refunds"},
		{"FACTURACION", "GET /facturación"},
		{"list customers", "GET /v1/customers"},
		{"qwertyuiop", ""},
		{"", ""},
		{"de la por", ""},
	}
	for _, c := range cases {
		got := ""
		if hits := Search(servers, c.query, 3); len(hits) > 0 {
			got = hits[0].Entry.Method + " " + hits[0].Entry.Path
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.query, got, c.want)
		}
	}
}

func many(n int) []Listed {
	l := Listed{Server: Server{ID: "1", Name: "Large service"}}
	nouns := []string{"Customer", "Invoice", "Payment", "Refund", "Subscription", "Product", "Order", "Ticket"}
	for i := range n {
		noun := nouns[i%len(nouns)]
		l.Entries = append(l.Entries, Entry{
			Method: "GET", Path: fmt.Sprintf("/v1/%s/%d/items/{id}", noun, i), OperationID: fmt.Sprintf("get%sItem%d", noun, i),
			Summary:   fmt.Sprintf("Retrieve the details of a %s item number %d of the account", noun, i),
			Signature: "(limit:integer, starting_after:string, ending_before:string, expand:string[]) body{name:string*}",
		})
	}
	return []Listed{l}
}

// kept returns servers whose allowlists have an index.
func kept(servers []Listed) []Listed {
	var out []Listed
	for _, l := range servers {
		out = append(out, NewAllowlist(l.Entries).Listed(l.Server, func(Entry) bool { return true }))
	}
	return out
}

func BenchmarkSearch2000(b *testing.B) {
	servers := kept(many(2000))
	for b.Loop() {
		Search(servers, "retrieve customer invoices of the account", 10)
	}
}

func TestSignatureTerminatesOnCyclicReferences(t *testing.T) {
	again := strings.TrimSuffix(strings.Repeat(`{"$ref":"#/$defs/a"},`, 40), ",")
	o := op("POST", "/x")
	o.Body = &Body{Required: true, MediaType: "application/json", Schema: json.RawMessage(
		`{"properties":{"x":{}},"allOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"required":["x"],"allOf":[` + again + `]}}}`)}
	said := make(chan string, 1)
	go func() { said <- Signature(o) }()
	select {
	case got := <-said:
		if got != "body{x*}" {
			t.Errorf("%q", got)
		}
	case <-time.After(5 * time.Second):
		t.Fatal("it does not end")
	}
}
