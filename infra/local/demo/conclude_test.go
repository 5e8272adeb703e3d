package demo

import (
	"testing"

	openai "github.com/sashabaranov/go-openai"
)

func TestModelTellsWhatCameOfRun(t *testing.T) {
	const booked = `{"goal":"Reserva","status":"done","steps":[{"method":"GET","status":"done","body":{"items":[]}},` +
		`{"method":"POST","status":"done","body":{"id":"r-1","room_id":"norte","room_name":"Sala Norte","start":"10:00","end":"11:30"}},` +
		`{"method":"GET","status":"done","body":{"id":"r-1"}}]}`
	for _, c := range []struct{ ended, asked, want string }{
		{booked, "Reserva una sala", "Hecho: reservada la Sala Norte, de 10 a 11:30."},
		{booked, "Please book a room for me", "Done: Sala Norte is booked, from 10 to 11:30."},
		{`{"goal":"Salas","status":"done","steps":[{"method":"GET","status":"done","body":{"count":1,"items":[{"id":"sur","name":"Sala Sur"}]}}]}`, "¿Qué salas hay?", "Hay 1:\n- Sala Sur (id: sur)"},
		{`{"goal":"Salas","status":"done","steps":[{"method":"GET","status":"done","body":{"items":[]}}]}`, "¿Qué salas hay?", "No hay ninguno."},
		{`{"goal":"Cancela r-1.","status":"done","steps":[{"method":"DELETE","status":"done"}]}`, "cancela", "Hecho: Cancela r-1."},
		{`{"goal":"Pagar","status":"error","error":"No hay saldo.","steps":[{"method":"POST","status":"done","undo":"done"}]}`, "paga", "No se pudo: Pagar. No hay saldo. Lo hecho se deshizo."},
		{`{"goal":"Pagar","status":"in_doubt","steps":[]}`, "paga", "No se sabe si se hizo: Pagar. Falta comprobarlo."},
		{`{"goal":"Pagar","status":"cancelled","steps":[]}`, "paga", "Se paró: Pagar."},
	} {
		d, err := completion{Messages: []openai.ChatCompletionMessage{
			{Role: "system", Content: "…\n<ended>\n" + c.ended + "\n</ended>"}, {Role: "user", Content: c.asked},
		}}.decide(friday)
		if err != nil || d.text != c.want || d.tool != "" {
			t.Errorf("%s:\n%q, %v, want\n%q", c.ended, d.text, err, c.want)
		}
	}
	if _, ok := readEnded([]openai.ChatCompletionMessage{{Content: "<ended> is no record"}}); ok {
		t.Error("a text is taken for a record")
	}
}
