package turn_test

import (
	"strings"
	"testing"

	"piloto/internal/ground/locale"
)

// TestTheModelKnowsTheLanguageOfTheClient: prompts have one language, and «ok» has none, so the state of each turn names that of the
// person's client. What begins the prompt is the same for both.
func TestTheModelKnowsTheLanguageOfTheClient(t *testing.T) {
	w := newWorld(t)
	begins := ""
	for tag, says := range map[locale.Tag]string{locale.Spanish: ": Spanish, or as they write.", locale.English: ": English, or as they write."} {
		w.model.answers = []any{text("Hola.")}
		r := w.message("ok")
		r.Locale = tag
		if _, err := w.service.Send(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		list := w.asked().Messages
		if now := list[len(list)-2].Content; !strings.HasPrefix(now, "Now: ") || !strings.Contains(now, says) {
			t.Errorf("%s: %s", tag, now)
		}
		if begins != "" && list[0].Content != begins {
			t.Errorf("the prompt begins in %s with %s", tag, list[0].Content)
		}
		begins = list[0].Content
	}
}
