package tool

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// TestLabelsAreThoseOfTheDocument: in its order, short, and only of what a call has.
func TestLabelsAreThoseOfTheDocument(t *testing.T) {
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	op := Operation{
		Parameters: []Parameter{
			{Name: "id", In: "path", Schema: raw(`{"title":"Reserva"}`)},
			{Name: "X-Key", In: "header", Schema: raw(`{"title":"Clave"}`)},
			{Name: "day", In: "query", Schema: raw(`{"description":"Día de la cita. Por defecto hoy."}`)},
			{Name: "none", In: "query", Schema: raw(`true`)},
		},
		Body: &Body{Schema: raw(`{"$ref":"#/$defs/B","$defs":{"B":{"properties":{
			"room_id":{"description":"Sala"},"day":{"title":"Otra"},"end":{"description":"Hora de fin (HH:MM); una después si falta"},
			"long":{"title":"` + strings.Repeat("x", 41) + `","description":"Nota"},"longer":{"description":"` + strings.Repeat("y ", 41) + `"},"bad":{"description":"a\u202eb"},"absent":{"title":"No"}}}}}`)},
	}
	got := fmt.Sprint(op.Labels(Arguments{Query: raw(`{"day":"x"}`), Body: raw(`{"bad":1,"end":1,"longer":1,"long":1,"room_id":1,"day":2,"unknown":1}`)}))
	if want := "[{id Reserva} {day Día de la cita} {room_id Sala} {end Hora de fin} {long Nota} {longer } {bad ab}]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := (Operation{}).Labels(Arguments{}); got != nil {
		t.Errorf("of nothing: %v", got)
	}
}
