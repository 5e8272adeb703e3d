package demo

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"piloto/internal/ground/locale"
)

// spanishText matches words and letters that no English text of the demonstration has.
var spanishText = regexp.MustCompile(`(?i)[áéíóúñ¿¡]|\b(?:de|la|las|los|el|una?|con|para|por|sala|salas|reservas?|libres?|debe|fecha|hora|pantalla|pizarra)\b`)

// TestDocumentIsInOneLanguage checks every text of the document. Ids stay as they are.
func TestDocumentIsInOneLanguage(t *testing.T) {
	var walk func(at string, v any)
	walk = func(at string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for name, inner := range v {
				walk(at+"/"+name, inner)
			}
		case []any:
			for _, inner := range v {
				walk(at, inner)
			}
		case string:
			if spanishText.MatchString(v) {
				t.Errorf("%s: %q", at, v)
			}
		}
	}
	var doc any
	if err := json.Unmarshal(englishDocument(), &doc); err != nil {
		t.Fatal(err)
	}
	walk("", doc)
}

// TestAnswersAreInTheLanguageOfTheService asks for all that the service can answer, in English.
func TestAnswersAreInTheLanguageOfTheService(t *testing.T) {
	s := newTestService(t)
	s.Speak(locale.English)
	for _, call := range []string{
		"GET /rooms", "GET /rooms/sur", "GET /rooms/none", "GET /rooms?start=10:00", "GET /rooms?free_on=x", "GET /nowhere", "GET /reservations/r-9",
		`POST /reservations {"room_id":"norte","date":"2026-11-25","start":"10:00","people":6}`, `POST /reservations {"room_id":"norte","date":"2026-11-25","start":"10:00","people":6}`,
		`POST /reservations {"room_id":"norte","date":"2026-11-25","start":"10:00","people":7}`, `POST /reservations {"room_id":"x","date":"2026-11-25","start":"10:00","people":7}`,
		`POST /reservations {"room_id":"","date":"","start":"25","end":"9","people":0,"title":"` + strings.Repeat("x", 201) + `","more":1}`, `POST /reservations []`,
		`PATCH /reservations/r-1 {}`, `PATCH /reservations/r-1 {"end":"09:00"}`, "GET /reservations",
	} {
		if body := ask(t, s, call); spanishText.MatchString(body) {
			t.Errorf("%s: %s", call, body)
		}
	}
	s.Speak(locale.Spanish)
	if body := ask(t, s, "GET /reservations"); !strings.Contains(body, "Sala Norte") {
		t.Error(body) // what is kept has no language
	}
}

// TestWordsGoBothWays: a text of the service is one text in each language.
func TestWordsGoBothWays(t *testing.T) {
	for es, en := range words[true] {
		if words[false][en] != es {
			t.Errorf("%q is %q in English, and that is %q", es, en, words[false][en])
		}
	}
	for _, room := range rooms {
		for _, text := range append([]string{room.Name}, room.Features...) {
			if In(locale.English, text) == text {
				t.Errorf("%q has no English", text)
			}
		}
	}
}

// ask sends a request, "METHOD /path body", and returns the body of its answer.
func ask(t *testing.T, s *Service, request string) string {
	t.Helper()
	method, rest, _ := strings.Cut(request, " ")
	target, body, _ := strings.Cut(rest, " ")
	_, answered := call(t, s, method+" "+target, "", body)
	return answered
}
