package demo

import (
	"strings"
	"testing"

	openai "github.com/sashabaranov/go-openai"
)

const order = "[SYSTEM] The plan “Reserva” (run_id run1) has ended, as its <event> says. Tell the person what came of it."

func TestModelTellsWhatCameOfRun(t *testing.T) {
	const booked = `{"goal":"Reserva","status":"done","steps":[{"method":"GET","status":"done","body":{"items":[]}},` +
		`{"method":"POST","status":"done","body":{"id":"r-1","room_id":"norte","room_name":"Sala Norte","start":"10:00","end":"11:30"}},` +
		`{"method":"GET","status":"done","body":{"id":"r-1"}}]}`
	const two = `{"goal":"Dos","status":"done","steps":[{"method":"POST","status":"done","body":{"room_name":"Sala Norte","start":"10:00","end":"11:00","price":30}},` +
		`{"method":"GET","status":"done","body":{"id":"r-1","price":30}},{"method":"POST","status":"done","body":{"room_name":"Sala Este","start":"12:00","end":"13:00","price":12.5}},` +
		`{"title":"Quita la antigua.","method":"DELETE","status":"done"},{"method":"POST","status":"skipped","body":{"room_name":"Sala Sur","start":"12:00","end":"13:00"}}]}`
	for _, c := range []struct{ ended, asked, want string }{
		{booked, "Reserva una sala", "Hecho: reservada la Sala Norte, de 10 a 11:30."},
		{booked, "Please book a room for me", "Done: North Room is booked, from 10 to 11:30."},
		{two, "Reserva una sala y otra", "Hecho:\n- reservada la Sala Norte, de 10 a 11, por 30 €\n- reservada la Sala Este, de 12 a 13, por 12.5 €\n- Quita la antigua"},
		{two, "Please book two rooms", "Done:\n- North Room is booked, from 10 to 11, for €30\n- East Room is booked, from 12 to 13, for €12.5\n- Quita la antigua"},
		{`{"goal":"Deshacer: Crea una reserva","status":"done","steps":[{"title":"Deshacer: Crea una reserva","method":"DELETE","status":"done"}]}`, "deshazlo", "Hecho: deshecho «Crea una reserva»."},
		{`{"goal":"Pagar","status":"done","steps":[{"title":"Paga","method":"POST","status":"done","body":{"ok":true}}]}`, "paga", "Hecho: Paga. Respuesta: ok: true."},
		{`{"goal":"Salas","status":"done","steps":[{"method":"GET","status":"done","body":{"count":1,"items":[{"id":"sur","name":"Sala Sur"}]}}]}`, "¿Qué salas hay?", "Hay 1:\n- Sala Sur (número: sur)"},
		{`{"goal":"Salas","status":"done","steps":[{"method":"GET","status":"done","body":{"items":[]}}]}`, "¿Qué salas hay?", "No hay ninguno."},
		{`{"goal":"Cuánto","status":"done","steps":[{"method":"GET","status":"done","body":{"id":"norte","name":"Sala Norte","features":["pantalla"],"price_per_hour":30}}]}`, "How much is it?", "Done: Cuánto. Answer: North Room (number: norte, €/hour: 30)."},
		{`{"goal":"Cancela r-1.","status":"done","steps":[{"method":"DELETE","status":"done"}]}`, "cancela", "Hecho: Cancela r-1."},
		{`{"goal":"Pagar","status":"error","error":"No hay saldo.","steps":[{"method":"POST","status":"done","undo":"done"}]}`, "paga", "No se pudo: Pagar. No hay saldo. Lo hecho se deshizo."},
		{`{"goal":"Pagar","status":"in_doubt","steps":[]}`, "paga", "No se sabe si se hizo: Pagar. Falta comprobarlo."},
		{`{"goal":"Pagar","status":"cancelled","steps":[]}`, "paga", "Se paró: Pagar."},
	} {
		ended := "<event>\n{\"plan_ended\":{\"run_id\":\"run1\"," + c.ended[1:] + "}\n</event>"
		d, err := completion{ToolChoice: "none", Tools: offered, Messages: []openai.ChatCompletionMessage{
			{Role: "system", Content: "…"},
			{Role: "user", Content: c.asked},
			{Role: "system", Content: strings.ReplaceAll(strings.ReplaceAll(ended, "run1", "run0"), "status", "state")}, // an earlier one
			{Role: "system", Content: ended},
			{Role: "system", Content: "Now: Friday 2026-11-20 09:00 (UTC)."},
			{Role: "user", Content: order},
		}}.decide(friday)
		if err != nil || d.text != c.want || d.tool != "" {
			t.Errorf("%s:\n%q, %v, want\n%q", c.ended, d.text, err, c.want)
		}
	}
	for _, c := range []completion{
		{ToolChoice: "none", Messages: []openai.ChatCompletionMessage{{Role: "user", Content: order}}},
		{Messages: []openai.ChatCompletionMessage{{Role: "system", Content: "<event>\n{\"plan_ended\":{\"run_id\":\"run1\"}}\n</event>"}, {Role: "user", Content: order}}},
	} {
		if _, _, ok := c.readEnded(friday); ok {
			t.Errorf("a text is taken for an order: %+v", c)
		}
	}
}
