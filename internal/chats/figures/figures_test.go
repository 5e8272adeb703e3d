package figures

import (
	"slices"
	"strings"
	"testing"
)

const booking = `{"id":"r-1","room":{"id":"norte","name":"Sala Norte"},"start":"2026-11-21T10:00:00Z","end":"2026-11-21T11:00:00Z","price":1234.5,"people":6,` +
	`"phone":"+34600123456","code":"AB12-X9","discount":0.2,"amount_cents":2050,"url":"https://rooms.example/r-1","floor":-2}`

func TestFiguresAreComparedByClass(t *testing.T) {
	for _, c := range []struct{ text, missing string }{
		// Numbers.
		{"Cuesta 1234,5 €.", ""},
		{"Cuesta 1.234,50 €.", ""},
		{"It costs $1,234.50.", ""},
		{"Cuesta 1 234,50 € en total", ""},
		{"Cuesta **1.234,50 €**.", ""},
		{"Cuesta 1.235 €.", "1.235"},
		{"Cuesta 20,50 €.", ""},
		{"It costs 20.50 dollars.", ""},
		{"Cuesta 20,51 €.", "20,51"},
		{"Con un 20 % de descuento", ""},
		{"with 20% off", ""},
		{"con un 25 % de descuento", "25"},
		{"Para 6 personas.", ""},
		{"Para 7 personas.", "7"},
		{"Planta −2", ""},
		{"Teléfono 600 123 456", ""},
		{"Teléfono 600 123 457", "600 123 457"},
		{"Teléfono +34600123456", ""},
		// Dates.
		{"El 21 de noviembre", ""},
		{"El 21 de noviembre de 2026", ""},
		{"el 21 nov. 2026", ""},
		{"on November 21, 2026", ""},
		{"on Nov 21st", ""},
		{"21/11/2026", ""},
		{"11/21/2026", ""},
		{"21-11-26", ""},
		{"el 21/11", ""},
		{"el 22/11", "22/11"},
		{"2026-11-21", ""},
		{"el día 21", ""},
		{"El 22 de noviembre", "22 de noviembre"},
		{"on November 22, 2026", "November 22, 2026"},
		{"21 de noviembre de 2025", "21 de noviembre de 2025"},
		{"2026-11-22", "2026-11-22"},
		{"bien-hecho r-1/r-7", "r-1/r-7"},
		{"en 2026", ""},
		// Times.
		{"de 10 a 11", ""},
		{"from 10 to 11", ""},
		{"de 10:00 a 11:00", ""},
		{"a las 10 h", ""},
		{"at 10 am", ""},
		{"at 10am until 11am", ""},
		{"a las 10:00 a. m.", ""},
		{"a las 12:30", "12:30"},
		{"de 10 a 13", "13"},
		{"at 9 pm", "9 pm"},
		// Identifiers.
		{"Es la reserva r-1.", ""},
		{"Es la reserva R-1.", ""},
		{"Es la reserva r-2.", "r-2"},
		{"código AB12-X9", ""},
		{"código AB12-X8", "AB12-X8"},
		{"https://rooms.example/r-1", ""},
		{"https://rooms.example/r-9.", "https://rooms.example/r-9"},
		{"eva@example.com", "eva@example.com"},
		// Places in a list, and counts.
		{"la 1.ª opción, la 2ª y la 3rd", ""},
		{"1. Sala Norte\n2. Sala Sur", ""},
		{"Hay 2 salas libres", ""},
		{"Hay 3 salas libres", ""},
		{"Hay 4 salas libres", "4"},
		{"Cuesta 3 euros", "3"},
		{"Hecho: reservada la Sala Norte, de 10 a 11.", ""},
		{"Done: the room Norte is booked, from 10 to 11.", ""},
		{"", ""},
		{"sin cifras", ""},
	} {
		want := []string(nil)
		if c.missing != "" {
			want = strings.Split(c.missing, "|")
		}
		if got := Missing(c.text, []int{3}, booking, "¿Qué hay?"); !slices.Equal(got, want) {
			t.Errorf("%q: %q are missing, want %q", c.text, got, want)
		}
	}
}

// What stands in a source is found in the text that repeats it, whatever it is.
func TestSourceIsNeverMissingFromItself(t *testing.T) {
	for _, s := range []string{booking, "1.234,50 y 1,234.50 y 12:30 y 3 pm y 21/11/2026 y r-1 y A1_b2 y 99%", "١٢٣ ½ 𝟙 x\xff1 2.", "1.2.3.4", strings.Repeat("9", 300)} {
		if got := Missing(s, nil, s); got != nil {
			t.Errorf("%q are missing of %q", got, s)
		}
	}
}

func TestListOfMissingIsShort(t *testing.T) {
	if got := Missing("90 91 92 93 94 95 96 97 98 99", nil, ""); len(got) != mostMissing {
		t.Errorf("%q", got)
	}
}

func FuzzMissing(f *testing.F) {
	f.Add("de 10 a 11, 1.234,50 € r-1", booking)
	f.Fuzz(func(t *testing.T, text, source string) {
		for _, m := range Missing(text, []int{2}, source) {
			if m == "" || !strings.Contains(text, m) {
				t.Errorf("%q is missing of %q", m, text)
			}
		}
		if got := Missing(text, nil, text); got != nil {
			t.Errorf("%q are missing of the same text %q", got, text)
		}
	})
}
