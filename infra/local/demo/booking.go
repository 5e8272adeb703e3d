package demo

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"piloto/internal/chats/intent"
)

// booking holds the values that a session gave for the reservation that it wants, and the last
// question.
type booking struct {
	want    values // of the reservation
	speech  speech
	asked   string // the question that waits: people, date, start, confirm, drop (a reservation) or number (of it)
	offered string // the room to confirm
	target  string // the reservation to drop
	last    string // the last reservation that was made
	seen    time.Time
	answers []keyedAnswer
}

// keyedAnswer is an answer with the idempotency key of its message.
type keyedAnswer struct{ key, text string }

// Rooms are offered from the first hour to the last.
const firstHour, lastHour = 9, 18

// turn is one message of a session, with everything that its answer needs.
type turn struct {
	*booking
	service *Service
	now     time.Time
	key     string
}

// answer reads a message and returns the next text of the agent. It returns an error of the file.
func (t *turn) answer(message string) (string, error) {
	t.speech.en = inEnglish(message, t.speech.en)
	folded, consent := fold(strings.TrimSpace(message)), intent.Classify(message)
	v := readValues(message, nil, t.now)
	kind, nouns := readIntent(v.rest)
	if kind == undoes { // the agent only books
		kind = deletes
	}
	switch {
	case t.asked == "confirm" && consent.Agrees():
		return t.reserve()
	case t.asked == "drop" && consent.Agrees():
		return t.cancel()
	case consent.Refuses() && t.asked != "", kind == deletes && t.asked != "" && t.last == "" && len(v.ids) == 0:
		t.forget()
		return t.speech.say("agent.nothing"), nil
	case kind == deletes, t.asked == "number" && len(v.ids)+len(v.numbers) > 0:
		return t.askCancel(v), nil
	case kind == updates && t.asked == "" && (t.last != "" || len(v.ids) > 0):
		return t.speech.say("agent.no_change"), nil
	case greeting.MatchString(folded), helping.MatchString(folded):
		return t.speech.say("agent.introduce"), nil
	case thanking.MatchString(folded):
		return t.speech.say("thanks"), nil
	}
	if t.asked == "drop" || t.asked == "number" { // the cancellation was not confirmed
		t.forget()
	}
	switch found := t.read(v, strings.Trim(folded, " .!")); {
	case found:
		return t.next(), nil
	case t.asked != "":
		return t.speech.say("agent.misheard", t.next()), nil
	case kind == creates, slices.Contains(nouns, "room"), slices.Contains(nouns, concept("reservation")):
		return t.next(), nil
	}
	return t.speech.say("agent.introduce"), nil
}

// forget drops the unfinished reservation and its question.
func (t *turn) forget() {
	*t.booking = booking{last: t.last, speech: t.speech, seen: t.seen, answers: t.answers}
}

// read stores the values that a message gives, and reports whether it gives any. A bare number
// answers the question that was asked.
func (t *turn) read(v values, bare string) bool {
	alone := map[string]int{"una": 1, "uno": 1, "one": 1, "yo": 1, "me": 1}[bare]
	number := cmp.Or(alone, atoi(cmp.Or(vocabulary.Figures[bare], bare)))
	switch {
	case number > 0 && t.asked == "people":
		v.people = number
	case number > 0 && t.asked == "start":
		v.start = cmp.Or(v.start, hourOf(strconv.Itoa(number), "", "", "", ""))
	}
	asked := t.want.rooms
	t.want = v.or(t.want)
	if len(v.rooms) == 0 {
		t.want.rooms = asked
	}
	return v.people > 0 || v.date+v.start != "" || len(v.rooms)+len(v.quoted) > 0
}

// next asks for the first missing detail, or whether to reserve.
func (t *turn) next() string {
	largest, today := rooms[len(rooms)-1], t.now.Format(time.DateOnly)
	switch {
	case t.want.people > largest.Capacity:
		most := t.want.people
		t.want.people, t.asked = 0, "people"
		return t.speech.say("agent.too_many", most, t.speech.word(largest.Name), largest.Capacity)
	case t.want.people == 0:
		t.asked = "people"
		return t.speech.say("agent.people")
	case t.want.date != "" && (t.want.date < today || t.want.date == today && t.want.start != "" && t.want.start <= t.now.Format("15:04")):
		t.want.date, t.want.start, t.want.end, t.asked = "", "", "", "date"
		return t.speech.say("agent.past")
	case t.want.date == "":
		t.asked = "date"
		return t.speech.say("agent.date")
	case t.want.start == "":
		return t.offer()
	}
	return t.propose()
}

// free returns the rooms that suit the booking at a time, the smallest first.
func (t *turn) free(start, end string) []Room {
	t.service.mu.Lock()
	defer t.service.mu.Unlock()
	found := t.service.state.free(Reservation{Date: t.want.date, Start: start, End: end, People: t.want.people})
	return slices.DeleteFunc(found, func(room Room) bool { return len(t.want.rooms) > 0 && room.ID != t.want.rooms[0] })
}

// offer names the hours of the day at which a room is free.
func (t *turn) offer() string {
	var hours []string
	for hour := firstHour; hour < lastHour; hour++ {
		start := fmt.Sprintf("%02d:00", hour)
		past := t.want.date == t.now.Format(time.DateOnly) && start <= t.now.Format("15:04")
		if !past && len(t.free(start, addMinutes(start, 60))) > 0 {
			hours = append(hours, start)
		}
	}
	day := t.day(t.want.date)
	t.want.start, t.want.end, t.asked = "", "", "start"
	if len(hours) == 0 {
		t.want.date, t.asked = "", "date"
		return t.speech.say("agent.full", day)
	}
	return t.speech.say("agent.hours", day, t.want.people, strings.Join(hours, ", "))
}

// propose finds a free room, and asks whether to reserve it.
func (t *turn) propose() string {
	if t.want.end <= t.want.start {
		t.want.end = addMinutes(t.want.start, 60)
	}
	if len(t.want.rooms) > 0 {
		if wanted, _ := roomOf(t.want.rooms[0]); wanted.Capacity < t.want.people {
			t.want.rooms = nil
			return t.speech.say("agent.seats", t.speech.word(wanted.Name), wanted.Capacity, t.propose())
		}
	}
	found := t.free(t.want.start, t.want.end)
	if len(found) == 0 {
		return t.speech.say("agent.taken", t.offer())
	}
	t.offered, t.asked = found[0].ID, "confirm"
	return t.speech.say("agent.confirm", t.speech.word(found[0].Name), found[0].Capacity, t.day(t.want.date), t.want.start, t.want.end, t.want.people)
}

// reserve makes the confirmed reservation.
func (t *turn) reserve() (string, error) {
	body := map[string]any{"room_id": t.offered, "date": t.want.date, "start": t.want.start, "end": t.want.end, "people": t.want.people}
	if len(t.want.quoted) > 0 {
		title := []rune(t.want.quoted[0])
		body["title"] = string(title[:min(len(title), 200)])
	}
	out, err := t.service.perform(action{createReservation, "date people room_id start end title"}, request{method: http.MethodPost, url: &url.URL{Path: "/reservations"}, body: encode(body), key: t.key})
	if err != nil {
		return "", err
	}
	if out.Status == http.StatusConflict { // another session was faster
		return t.speech.say("agent.too_late", t.offer()), nil
	}
	var made Reservation
	if err := json.Unmarshal(out.Body, &made); err != nil || out.Status != http.StatusCreated {
		return "", fmt.Errorf("the rooms answered %d: %s", out.Status, out.Body)
	}
	t.forget()
	t.last = made.ID
	return t.speech.say("agent.reserved", t.speech.word(made.RoomName), t.day(made.Date), made.Start, made.End, made.People, made.ID), nil
}

// askCancel asks whether to cancel a reservation: the one whose number was given, else the last one
// of the session.
func (t *turn) askCancel(v values) string {
	id := t.last
	if len(v.ids) > 0 {
		id = strings.ToLower(v.ids[0])
	} else if len(v.numbers) > 0 {
		id = "r-" + v.numbers[0].value
	}
	t.forget()
	t.asked = "number"
	if id == "" {
		return t.speech.say("agent.number")
	}
	t.service.mu.Lock()
	defer t.service.mu.Unlock()
	at := t.service.state.find(id)
	if at < 0 {
		return t.speech.say("agent.not_found", id)
	}
	found := t.service.state.Reservations[at]
	t.asked, t.target = "drop", found.ID
	return t.speech.say("agent.drop", found.ID, t.speech.word(found.RoomName), t.day(found.Date), found.Start)
}

// cancel cancels the reservation after the confirmation. One that is gone already is no error.
func (t *turn) cancel() (string, error) {
	id := t.target
	r := request{method: http.MethodDelete, url: &url.URL{Path: "/reservations/" + id}, id: id, key: t.key}
	if _, err := t.service.perform(action{do: deleteReservation}, r); err != nil {
		return "", err
	}
	t.forget()
	if t.last == id {
		t.last = ""
	}
	return t.speech.say("agent.cancelled", id), nil
}

// day returns a date as people say it.
func (t *turn) day(text string) string {
	date, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return text
	}
	days, months := strings.Fields(t.speech.say("days")), strings.Fields(t.speech.say("months"))
	return t.speech.say("day", days[date.Weekday()], date.Day(), months[date.Month()-1])
}
