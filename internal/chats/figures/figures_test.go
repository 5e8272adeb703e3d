package figures

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const booking = `{"id":"r-1","room":{"id":"norte","name":"Sala Norte"},"start":"2026-11-21T10:00:00Z","end":"2026-11-21T11:00:00Z","price":1234.5,"people":6,` +
	`"phone":"+34600123456","code":"AB12-X9","discount":0.2,"amount_cents":2050,"url":"https://rooms.example/r-1","floor":-2,"order":"ORD-12345","beside":"room-este-2",` +
	`"iban":"ES9121000418450200051332","contact":"maria.eva@example.com","budget":1.2e+07,"most":1500000,"points":[70,80,90],"note":"\u00abl-7\u00bb\nu-8"}`

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
		{"Planta -2, y la 2 bajo tierra", ""},
		{"Son -6 personas", "-6"},
		{"Cuesta −1.234,50 €", "−1.234,50"},
		{"Cuesta -€1,234.50", "-€1,234.50"},
		{"12 millones, 12,0 millones de euros, 12.000 mil, 12M y 12000k", ""},
		{"13 millones, 3 millones", "13|3"},
		{"hasta 1.500.000", ""},
		{"70 mil", "70"},
		{"70 y 80 puntos, 70, 80 y 90: [70,80,90], [90,80,70]", ""},
		{"40,50,60", "40|50|60"},
		{"Para ٦ personas, ６ y 𝟞", ""},
		{"Para ٧ personas", "7"},
		{"Teléfono 600 123 456", ""},
		{"Teléfono 600 123 457", "600 123 457"},
		{"Teléfono +34600123456", ""},
		{"Teléfono 34 600 12 34 56, 600 12 34 56, 600123456", ""},
		{"Teléfono 600 12 34 57", "600 12 34 57"},
		{"Cuenta ES91 2100 0418 4502 0005 1332, la terminada en 1332, ···1332", ""},
		{"Cuenta ES91 2100 0418 4502 0005 1333, la que acaba en 333", "ES91 2100 0418 4502 0005 1333|333"},
		{"70 80 90", ""},
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
		{"el sábado 21, el sáb. 21, Saturday the 21st", ""},
		{"sábado 28", "28"},
		{"los días 20, 21 y 22 de noviembre", "20|22 de noviembre"},
		{"1/11/2026", "1/11/2026"},
		{"21-22 de noviembre", "22 de noviembre"},
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
		{"de 10:00h a 11:00 h, a las 10.00 h, de 10.00 a 11.00", ""},
		{"10-11h, 10h-11h, 10:00-11:00, 10 – 11, 10–11 h, 10:00h–11:00h", ""},
		{"| Hora | 10 – 11 |", ""},
		{"10 – 12", "12"},
		{"10:30h", "10:30h"},
		{"a la 1:00", "1:00"},
		{"a las 0:00", "0:00"},
		// Identifiers.
		{"Es la reserva r-1.", ""},
		{"Es la reserva R-1.", ""},
		{"Es la reserva r-2.", "r-2"},
		{"código AB12-X9, l-7, u-8", ""},
		{"código AB12-X8", "AB12-X8"},
		{"https://rooms.example/r-1", ""},
		{"https://rooms.example/r-9.", "https://rooms.example/r-9"},
		{"eva@example.com", "eva@example.com"},
		{"la reserva «r-1» en la sala «norte»", ""},
		{"**r-1**, _r-1_, (r-1), ID:r-1, «r-1»/«norte»", ""},
		{"«r-2»", "r-2"},
		{"r\u20111, AB12\u2010X9", ""},
		{"ID:r-2", "ID:r-2"},
		{"AB12…", ""},
		{"código AB12", "AB12"},
		{"código B12-X9", "B12-X9"},
		{"https://rooms.example/r", "https://rooms.example/r"},
		{"https://evil.example/r-1", "https://evil.example/r-1"},
		{"a@evil.example", "a@evil.example"},
		{"pedido 12345, el nº 12345, n.º12345", ""},
		{"pedido 2345", "2345"},
		{"pedido ORD-123", "ORD-123"},
		{"room-este y Wi-Fi", "room-este"},
		{"room-este-2", ""},
		// Places in a list, and counts.
		{"la 1.ª opción, la 2ª y la 3rd", ""},
		{"1. Sala Norte\n2. Sala Sur", ""},
		{"Hay 2 salas libres", ""},
		{"Hay 3 salas libres", ""},
		{"Hay 4 salas libres", "4"},
		{"Hay 3. En total: **3**", ""},
		{"paso 1 de 1, el paso 2, 3/3 pasos", ""},
		{"paso 4 de 4", "4"},
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

// So it is with any text, however its figures are joined.
func TestAnyTextIsKnownFromItself(t *testing.T) {
	parts := strings.Fields("1 0 23 4567 - − – , . / : h mil de noviembre « » º e+ E x _ {\"a\": } [ ] \" \\u00ab \\n € $ % y el a las ٣ \xff @ http:// … T Z n.º ORD")
	parts = append(parts, " ", "\n")
	random := rand.New(rand.NewPCG(1, 2))
	rounds := 5_000
	if testing.Short() {
		rounds = 500
	}
	for range rounds {
		var text strings.Builder
		for range random.IntN(25) {
			text.WriteString(parts[random.IntN(len(parts))])
		}
		if got := Missing(text.String(), nil, text.String()); got != nil {
			t.Fatalf("%q are missing of the same text %q", got, text.String())
		}
	}
}

// The time grows with the size of a source, also where it is one line.
func TestLargeSourceIsRead(t *testing.T) {
	if testing.Short() {
		t.Skip("a large source")
	}
	var list strings.Builder
	for i := range 20_000 {
		list.WriteString(`{"id":"ORD-` + strconv.Itoa(i) + `","at":"2026-11-21T10:00:00Z","price":` + strconv.Itoa(i) + `.5},`)
	}
	if got := Missing("ORD-19999 cuesta 19.999,50 €; ORD-20000, 20.000,50 €", nil, "["+list.String()+"0]"); !slices.Equal(got, []string{"ORD-20000", "20.000,50"}) {
		t.Errorf("%q", got)
	}
}

func TestListOfMissingIsShort(t *testing.T) {
	if got := Missing("90; 91; 92; 93; 94; 95; 96; 97; 98; 99", nil, ""); len(got) != mostMissing {
		t.Errorf("%q", got)
	}
}

func TestLongMissingFigureIsCut(t *testing.T) {
	got := Missing("Dice a1"+strings.Repeat("b", 600), nil, "")
	if len(got) != 1 || len(got[0]) != mostShown || !strings.HasPrefix(got[0], "a1b") {
		t.Errorf("%q", got)
	}
}

func FuzzMissing(f *testing.F) {
	f.Add("de 10 a 11, 1.234,50 € r-1", booking)
	f.Fuzz(func(t *testing.T, text, source string) {
		for _, m := range Missing(text, []int{2}, source) {
			if m == "" || !strings.Contains(plain(text), strings.TrimSuffix(m, "…")) {
				t.Errorf("%q is missing of %q", m, text)
			}
		}
		if got := Missing(text, nil, text); got != nil {
			t.Errorf("%q are missing of the same text %q", got, text)
		}
	})
}
