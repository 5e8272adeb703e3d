package main

import "strconv"

// scripts returns the calls of the model by the name of the script: a plan, or several calls in order.
func scripts() map[string][]toolCall {
	look := toolCall{"look", `{"mcp_id":"$S","path":"/rooms"}`}
	book := toolCall{"mcp_request", `{"mcp_id":"$S","method":"POST","path":"/bookings","body":{"room":"norte"}}`}
	all := map[string][]toolCall{
		"book":  {look, book},
		"ask":   {look, {"ask_person", object("question", question)}, book},
		"notes": {look, {"read_notes", "{}"}, book},
	}
	for name, arguments := range plans {
		all[name] = []toolCall{{"propose_plan", arguments}}
	}
	return all
}

// plans are the plans that the model proposes, by name. $S stands for the service, and $T for the
// server with tools.
var plans = map[string]string{
	"three": `{"goal":"Reservar","steps":[{"id":"s1","mcp_id":"$S","method":"GET","path":"/rooms"},` +
		`{"id":"s2","mcp_id":"$S","method":"POST","path":"/mail","body":{"to":"ana"}},` +
		`{"id":"s3","mcp_id":"$S","method":"GET","path":"/bookings/b-1","needs":["s2"]}]}`,
	"slow": `{"goal":"Con freno","steps":[{"id":"s1","mcp_id":"$S","method":"POST","path":"/bookings","body":{"room":"norte"}},` +
		`{"id":"s2","mcp_id":"$S","method":"POST","path":"/mail","body":{"to":"slow"},"needs":["s1"]},` +
		`{"id":"s3","mcp_id":"$S","method":"POST","path":"/mail","body":{"to":"bea"},"needs":["s2"]}]}`,
	"drop": `{"goal":"Cambiar","steps":[{"id":"s1","mcp_id":"$S","method":"POST","path":"/bookings","body":{"room":"sur"}},` +
		`{"id":"s2","mcp_id":"$S","method":"DELETE","path":"/bookings/b-9","needs":["s1"]}]}`,
	"undo": `{"goal":"Facturar","steps":[{"id":"s1","mcp_id":"$S","method":"POST","path":"/bookings","body":{"room":"norte"}},` +
		`{"id":"s2","mcp_id":"$S","method":"POST","path":"/bookings","body":{"room":"sur"},"needs":["s1"]},` +
		`{"id":"s3","mcp_id":"$S","method":"POST","path":"/invoices","body":{},"needs":["s2"]}]}`,
	"each": `{"goal":"Todas","steps":[{"id":"s1","mcp_id":"$S","method":"GET","path":"/rooms"},` +
		`{"id":"s2","mcp_id":"$S","method":"POST","path":"/bookings","for_each":"${s1.body.items}","body":{"room":"${item.id}"}}]}`,
	"wave": `{"goal":"A la vez","steps":[{"id":"s1","mcp_id":"$S","method":"POST","path":"/bookings","body":{"room":"norte"},"needs":[]},` +
		`{"id":"s2","mcp_id":"$S","method":"POST","path":"/mail","body":{"to":"ana"},"needs":[]},` +
		`{"id":"s3","mcp_id":"$S","method":"GET","path":"/rooms","needs":[]}]}`,
	"halt": `{"goal":"A la vez, con freno","steps":[{"id":"s1","mcp_id":"$S","method":"POST","path":"/bookings","body":{"room":"norte"},"needs":[]},` +
		`{"id":"s2","mcp_id":"$S","method":"POST","path":"/mail","body":{"to":"slow"},"needs":[]},` +
		`{"id":"s3","mcp_id":"$S","method":"POST","path":"/mail","body":{"to":"bea"},"needs":[]},` +
		`{"id":"s4","mcp_id":"$S","method":"POST","path":"/bookings","body":{"room":"sur"},"needs":["s1","s2","s3"]}]}`,
	"lost": `{"goal":"A ciegas","steps":[{"id":"s1","mcp_id":"$S","method":"GET","path":"/rooms"},` +
		`{"id":"s2","mcp_id":"$S","method":"POST","path":"/mail","body":{"to":"lost"},"needs":["s1"]},` +
		`{"id":"s3","mcp_id":"$S","method":"POST","path":"/mail","body":{"to":"bea"},"needs":["s2"]}]}`,
	"tools": `{"goal":"Anotar","steps":[{"id":"s1","mcp_id":"$T","tool":"read_note","body":{"id":"n-1"}},` +
		`{"id":"s2","mcp_id":"$T","tool":"add_note","body":{"text":"leche"}},` +
		`{"id":"s3","mcp_id":"$T","tool":"set_note","body":{"id":"n-1","text":"${s2.body.content[0].text}"}}]}`,
	"found":  order(false, "/orders"),
	"never":  order(true, "/orders"),
	"barred": order(false, "/ledger"),
	"again": `{"goal":"Apartar","steps":[{"id":"s1","mcp_id":"$S","method":"GET","path":"/rooms"},` +
		`{"id":"s2","mcp_id":"$S","method":"PUT","path":"/rooms/${s1.body.items[0].id}","body":{"held":true}},` +
		`{"id":"s3","mcp_id":"$S","method":"POST","path":"/mail","body":{"to":"bea"}}]}`,
}

// order returns a plan whose order gets no response and is checked by a list: the service has it, or lost it.
func order(lost bool, list string) string {
	return `{"goal":"Pedir","steps":[{"id":"s1","mcp_id":"$S","method":"GET","path":"/tickets"},` +
		`{"id":"s2","mcp_id":"$S","method":"POST","path":"/orders","body":{"ticket":"${s1.body.id}","kept":` + strconv.FormatBool(!lost) + `},` +
		`"verify":{"method":"GET","path":"` + list + `/${s1.body.id}","expect":{"value":"${check.body.items[0].id}","is":"present"}}},` +
		`{"id":"s3","mcp_id":"$S","method":"POST","path":"/mail","body":{"to":"bea"}}]}`
}
