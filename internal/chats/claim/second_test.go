package claim

import (
	"strings"
	"testing"
	"time"
)

// TestAClaimBesideAnotherWordIsOne: a plan, a denial or a condition in another part of a sentence excuses no claim.
func TestAClaimBesideAnotherWordIsOne(t *testing.T) {
	for _, text := range []string{
		"He preparado el plan y ya he cancelado el pedido.", "Según el plan, he cancelado el pedido W8.", "He cambiado tu plan a Pro.", "I've upgraded your plan to Pro.",
		"I've sent the draft to Ana.", "He enviado la propuesta a Ana.", "Sin problema he cancelado el pedido.", "No problem I've cancelled your order.", "La secretaria ya lo sabe: he cancelado la reserva.",
	} {
		if !Read(text).Claims() {
			t.Errorf("%q claims nothing", text)
		}
	}
	for _, text := range []string{"He preparado el plan para cancelar el pedido.", "I've prepared the plan and you can review it.", "He corregido el borrador."} {
		if Read(text).Claims() {
			t.Errorf("%q claims %+v", text, Read(text).Acts)
		}
	}
}

// TestWhatNobodyWaitsForIsNoRequest: an account of what does not wait, or of what somebody else confirms, asks for nothing.
func TestWhatNobodyWaitsForIsNoRequest(t *testing.T) {
	for _, text := range []string{
		"There is no plan waiting for your confirmation right now.", "Nothing is waiting for your confirmation.", "No hay ningún plan que confirmar.", "No hace falta tu confirmación para leer.",
		"I don't need your approval to read.", "Invoice 8 is pending approval by the manager.", "La factura espera la aprobación de Marta.", "La cita está pendiente de confirmación por la clínica.",
	} {
		if r := Read(text); r.Asks || r.Poses() {
			t.Errorf("%q asks: %+v", text, r)
		}
	}
	for _, text := range []string{"Nothing will run until you confirm.", "Espero tu confirmación.", "I need your approval to cancel it."} {
		if !Read(text).Asks {
			t.Errorf("%q asks for nothing", text)
		}
	}
}

// TestAnOrderMaySpeakOfWhatWas: «el pedido» and “the lamp I ordered” are in orders, too. A question of what was done is none.
func TestAnOrderMaySpeakOfWhatWas(t *testing.T) {
	for message, ordered := range map[string]bool{
		"Cancela mi pedido W8": true, "I was wondering if you could cancel my order": true, "Please cancel the order I placed": true, "Quiero cancelar la cita que reservé ayer": true,
		"¿Has cancelado mi pedido?": false, "Did you cancel it?": false, "¿Cancelaste el pedido?": false, "Have you cancelled my order?": false, "¿Está cancelado?": false,
	} {
		if got := len(Orders(message)) > 0; got != ordered {
			t.Errorf("%q orders: %v", message, got)
		}
	}
}

// TestAPlanThatReadsIsDone: its end is no act of another family.
func TestAPlanThatReadsIsDone(t *testing.T) {
	r := NewRecord()
	r.Ran(`{"total":3}`)
	for text, lacks := range map[string]bool{"Hecho.": false, "Done.": false, "He cancelado el pedido.": true, "Tu pedido ha sido cancelado.": true, "He tramitado la devolución.": true} {
		if got := r.Lacks(Read(text).Acts[0], true); got != lacks {
			t.Errorf("%q: lacks %v", text, got)
		}
	}
}

// TestALineWithoutBlanksIsReadInLinearTime: six times the text takes about six times the time; rules that look back
// over a whole line would take 36.
func TestALineWithoutBlanksIsReadInLinearTime(t *testing.T) {
	took := func(unit string, size int) time.Duration {
		best := time.Hour
		for range 3 {
			from := time.Now()
			Read(strings.Repeat(unit, size/len(unit)))
			best = min(best, time.Since(from))
		}
		return best
	}
	for _, unit := range []string{`{"a":`, "a:"} {
		if small, large := took(unit, 1<<10), took(unit, 6<<10); large > 18*small {
			t.Errorf("%q: 6 times the text took %d times as long", unit, large/small)
		}
	}
}
