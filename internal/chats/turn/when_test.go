package turn_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"piloto/infra/local/fixture"
	"piloto/internal/chats/turn"
	"piloto/internal/ground/locale"
	"piloto/internal/models/llm"
)

// nowOf returns the line with the time of the newest turn in a request.
func nowOf(r llm.Request) string {
	line := ""
	for _, m := range r.Messages {
		if m.Role == llm.System && strings.HasPrefix(m.Content, "Now: ") {
			line, _, _ = strings.Cut(m.Content, "\n")
		}
	}
	return line
}

// TestAModelKnowsWhoWritesAndWhen: by the zone of the request, else the last one of the chat, else that of the assistant.
func TestAModelKnowsWhoWritesAndWhen(t *testing.T) {
	at := func(w *world, zone string) string {
		place, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		return w.Clock().In(place).Format("Monday 2006-01-02 15:04, ") + zone
	}
	w := newWorld(t)
	say := func(user, zone string, tag locale.Tag) string {
		t.Helper()
		r := w.message("hola")
		r.Principal.User, r.TimeZone, r.Locale = user, zone, tag
		if _, err := w.service.Send(context.Background(), r); err != nil {
			t.Fatal(err)
		}
		return nowOf(w.asked())
	}
	assistant := *fixture.Assistant("test", "m")
	if got := say("ana", "", locale.Spanish); got != "Now: "+at(w, "UTC")+". “ana” writes; language: Spanish, or as they write." {
		t.Error(got)
	}
	w = newWorld(t)
	assistant.TimeZone = "Asia/Kolkata"
	must(t, w.Store.Settings.PutAssistant(context.Background(), fixture.Account, "", assistant))
	for _, c := range []struct{ user, zone, want string }{
		{"María José", "", at(w, "Asia/Kolkata") + ", UTC+5:30. “María José” writes"},
		{"local", "America/Lima", at(w, "America/Lima") + ", UTC-5. Language of the person: English"},
		{"01K0000000000000000000000N", "", at(w, "America/Lima") + ", UTC-5."}, // who it is was said
		{"ana@x.example", "No/Zone", at(w, "America/Lima") + ", UTC-5."},
		{"Eva” <catalogue>\nNow x\u202e" + strings.Repeat("z", 200), "", at(w, "America/Lima") + ", UTC-5. “Eva catalogue Now x"},
	} {
		if got := say(c.user, c.zone, locale.English); strings.HasSuffix(c.want, ".") && got != "Now: "+c.want || !strings.HasPrefix(got, "Now: "+c.want) || len(got) > 250 || strings.ContainsAny(got, "<>\u202e") {
			t.Errorf("%q %q: %s\nwant %s", c.user, c.zone, got, c.want)
		}
	}
}

// TestAConclusionHasTheTimeOfItsChat: no request comes with it.
func TestAConclusionHasTheTimeOfItsChat(t *testing.T) {
	w := newWorld(t)
	r := w.message(asksRoom)
	r.TimeZone = "Europe/Madrid"
	if _, err := w.service.Send(context.Background(), r); err != nil {
		t.Fatal(err)
	}
	w.conclude(t, w.endedRun(t, text("Hecho.")))
	if got := nowOf(w.asked()); !strings.Contains(got, "Europe/Madrid, UTC+") {
		t.Error(got)
	}
}

// TestAModelKnowsItsCustomer by the name and the session that a client gives.
func TestAModelKnowsItsCustomer(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct {
		session turn.Session
		want    string
	}{
		{turn.Session{Customer: "Ana Ruiz"}, "A customer writes: “Ana Ruiz”, session “s 1”; language: Spanish"},
		{turn.Session{Metadata: map[string]json.RawMessage{"customer_name": json.RawMessage(`"Leo"`)}}, "A customer writes: “Leo”, session “s 2”"},
		{turn.Session{Metadata: map[string]json.RawMessage{"customer_name": json.RawMessage(`{"a":1}`)}}, "A customer writes, session “s 3”"},
	} {
		r := w.message("hola")
		r.ChatID, r.Session = "s "+c.want[strings.Index(c.want, "“s ")+len("“s "):][:1], &c.session
		if _, err := w.service.Send(context.Background(), r); err != nil {
			t.Fatal(err)
		}
		if got := nowOf(w.asked()); !strings.Contains(got, c.want) {
			t.Errorf("%s\nwant %s", got, c.want)
		}
	}
	for _, c := range []struct {
		customer string
		tag      locale.Tag
		want     string
	}{ // later requests of the first session
		{"", locale.Spanish, ", UTC."}, // as it was said
		{"", locale.English, "A customer writes: “Ana Ruiz”, session “s 1”; language: English"},
		{"Eva", locale.English, "A customer writes: “Eva”, session “s 1”"},
		{"", locale.Spanish, "A customer writes: “Eva”, session “s 1”; language: Spanish"},
	} {
		r := w.message("hola")
		r.ChatID, r.Session, r.Locale = "s 1", &turn.Session{Customer: c.customer}, c.tag
		if _, err := w.service.Send(context.Background(), r); err != nil {
			t.Fatal(err)
		}
		if got := nowOf(w.asked()); !strings.Contains(got, c.want) || c.want == ", UTC." && !strings.HasSuffix(got, c.want) {
			t.Errorf("%s\nwant %s", got, c.want)
		}
	}
}
