package e2e

import (
	"regexp"
	"testing"
)

// spanish finds words of the demonstration, and of the page, in Spanish.
var spanish = regexp.MustCompile(`(?i)\b(sala|salas|reserva|reservas|plazas|planta|precio|libre|fecha|hora|personas|leído|confirmar|rechazar|pasos?|escribe)\b|[¿¡ñáéíóú]`)

// TestAnEnglishVisitorReadsOneLanguage: the page, the demonstration's service and its sentences, from the question to the
// card. Its picture is the README's.
func TestAnEnglishVisitorReadsOneLanguage(t *testing.T) {
	t.Parallel()
	d, _ := startDemonstration(t)
	b := openBrowser(t, d)
	b.signIn()
	b.visit("/?view=settings")
	b.click(`.choices button[lang="en"]`)
	b.until(`document.documentElement.lang === "en"`)
	b.visit("/")
	b.see("#message")
	b.say("Which rooms are free tomorrow for 6?")
	b.reads("#thread", `North Room[\s\S]*South Room[\s\S]*Read: Bookings`)
	b.say("Book the cheapest one")
	b.see(".card[data-draft]")
	b.reads(".card", `Room South Room[\s\S]*Seats 8[\s\S]*Price per hour 24[\s\S]*read from Bookings`)
	b.pictures("english")
	// A room keeps its id, and what was sent to the service is there as it was sent.
	if words := spanish.FindAllString(b.text("#thread"), -1); len(words) > 0 {
		t.Errorf("an English visitor reads %q in\n%s", words, b.text("#thread"))
	}
}
