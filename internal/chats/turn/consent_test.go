package turn_test

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"piloto/infra/local/fixture"
	"piloto/internal/chats/turn"
	"piloto/internal/runs/plan"
)

// TestCorpusConfirmsOnlyItsAssents (guarantee I05) sends each utterance of the intent corpus to
// a chat with a draft. An utterance that is no yes starts nothing. A yes directly after the card
// starts that draft. A bare yes after any other message starts nothing.
func TestCorpusConfirmsOnlyItsAssents(t *testing.T) {
	raw, err := os.ReadFile(fixture.Root(t, "internal/chats/intent/testdata/intents.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	draft := func() plan.Run {
		w.Chat = w.NewChat()
		return w.Propose(fixture.To("GET", "/rooms", ""))
	}
	r, critical, confirmed := draft(), 0, 0
	for n, line := range strings.Split(strings.TrimSuffix(string(raw), "\n"), "\n") {
		fields := strings.Split(line, "\t")
		agrees := len(fields) > 1 && (fields[1] == "assent" || fields[1] == "confirm")
		if n == 0 || !agrees && fields[1] != "other" {
			continue
		}
		message, err := strconv.Unquote(`"` + strings.ReplaceAll(fields[0], `"`, `\"`) + `"`)
		if err != nil {
			t.Fatalf("line %d: %v", n+1, err)
		}
		if fields[1] == "other" {
			critical++
		}
		if agrees {
			r = draft()
		}
		if fields[1] == "assent" && n%3 == 0 { // the card is shown again, and the next yes refers to it
			w.send(t, "¿qué hora es?")
			if reply, err := w.try(message); err != nil || reply.Kind != turn.KindPlan || reply.Run.ID != r.ID {
				t.Errorf("%q after something else: %+v, %v", message, reply, err)
			}
		}
		before := len(w.Started())
		_, err = w.try(message) // some are no valid message
		began := len(w.Started()) > before
		if began != (w.Read(r.ID).Status != plan.Draft) || began && w.Started()[before] != r.ID {
			t.Fatalf("%q began another run than the draft", message)
		}
		switch {
		case began && fields[1] == "other":
			t.Errorf("%q began the plan", message)
		case !began && agrees:
			t.Errorf("%q did not begin the plan: %v", message, err)
		}
		if began {
			confirmed++
		}
		if began || critical%8 == 0 { // a short chat is answered fast
			r = draft()
		}
	}
	if critical < 400 || confirmed < 50 {
		t.Errorf("%d were no confirmation, and %d were", critical, confirmed)
	}
}
