package demo

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"piloto/internal/chats/intent"
)

// booking holds the details of the reservation that a session wants, and the last question.
type booking struct {
	people           int
	date, start, end string
	room, title      string // room is the requested room
	offered          string // the room of askConfirm
	asked            question
	target           string // the reservation to cancel
	last             string // the last reservation that was made
	en               bool
	seen             time.Time
	answers          []keyedAnswer
}

// keyedAnswer is an answer with the idempotency key of its message.
type keyedAnswer struct{ key, text string }

// question names the question that a session waits to have answered.
type question string

const (
	askPeople  question = "people"
	askDate    question = "date"
	askStart   question = "start"
	askConfirm question = "confirm"
	askDrop    question = "drop"   // whether to cancel target
	askNumber  question = "number" // the number of the reservation to cancel
)

// Rooms are offered from the first hour to the last.
const firstHour, lastHour = 9, 18

var (
	roomText = regexp.MustCompile(`\b(?:sala|room) (norte|sur|este|oeste)\b|\b(norte|sur|oeste|auditorio|cabina)\b`)
	bookable = map[string]bool{"people": true, "date": true, "start": true, "end": true, "title": true, "room": true}
)

// turn is one message of a session, with everything that its answer needs.
type turn struct {
	*booking
	ctx   context.Context
	rooms *Service
	now   time.Time
	key   string
	say   speech
}

// answer reads a message and returns the next text of the agent. It returns an error of the
// journal.
func (t *turn) answer(message string) (string, error) {
	t.en = inEnglish(message, t.en)
	t.say = speech{t.en}
	folded := fold(strings.TrimSpace(message))
	consent, asked := intent.Classify(message), t.asked
	f := readFacts(message, bookable, t.now)
	kind, nouns := intentOf(f.rest)
	switch {
	case asked == askConfirm && consent.Agrees():
		return t.reserve()
	case asked == askDrop && consent.Agrees():
		return t.cancel()
	case consent.Refuses() && asked != "", kind == deletes && asked != "" && t.last == "" && len(f.ids) == 0:
		t.forget()
		return t.say.pick("De acuerdo, no hago nada. Si quieres otra sala, dime para cuántas personas y cuándo.", "All right, nothing is done. If you want another room, tell me for how many people and when."), nil
	case asked == askNumber && (len(f.ids) > 0 || len(f.amounts) > 0):
		return t.askCancel(f)
	case kind == deletes:
		return t.askCancel(f)
	case kind == updates && asked == "" && (t.last != "" || len(f.ids) > 0):
		return t.say.pick("No sé cambiar una reserva ya hecha: puedo cancelarla y hacer otra.", "I cannot change a reservation that was made: I can cancel it and make another."), nil
	case greeting.MatchString(folded), helping.MatchString(folded):
		return t.introduce(), nil
	case thanking.MatchString(folded):
		return t.say.thanks(), nil
	}
	return t.continueBooking(f, folded, kind == creates || slices.Contains(nouns, "room") || slices.Contains(nouns, "reservation"))
}

// continueBooking reads the details of a message and asks the next question. wants is true when the
// message names a reservation.
func (t *turn) continueBooking(f facts, folded string, wants bool) (string, error) {
	if t.asked == askDrop || t.asked == askNumber { // the cancellation was not confirmed
		t.forget()
	}
	found := t.readBooking(f, folded)
	if !found && !wants && t.asked == "" {
		return t.introduce(), nil
	}
	misheard := ""
	if !found && t.asked != "" {
		misheard = t.say.pick("No te he entendido. ", "I did not understand. ")
	}
	text, err := t.askNext()
	return misheard + text, err
}

func (t *turn) introduce() string {
	return t.say.pick(
		"Soy el agente de demostración de reservas: reservo salas de demostración siguiendo reglas fijas. Dime para cuántas personas, qué día y a qué hora.",
		"I am the demonstration agent for reservations: I reserve demonstration rooms by fixed rules. Tell me for how many people, which day and at what time.")
}

// forget drops the unfinished reservation and its question.
func (t *turn) forget() {
	*t.booking = booking{last: t.last, en: t.en, seen: t.seen, answers: t.answers}
}

// readBooking stores the details of the reservation that a message gives, and reports whether it
// gives any.
func (t *turn) readBooking(f facts, folded string) bool {
	people, date, start := f.people, f.date, f.start
	if lone := loneAmount(f, folded); lone > 0 && t.asked == askPeople {
		people = lone
	} else if lone > 0 && t.asked == askStart && start == "" {
		start, people = hourOf(strconv.Itoa(lone), "", "", "", ""), 0
	}
	if n, err := strconv.Atoi(f.pairs["people"]); err == nil && n > 0 {
		people = n
	}
	if given := f.pairs["date"]; isDate(given) {
		date = given
	}
	if given := f.pairs["start"]; clock.MatchString(given) {
		start = given
	}
	room := roomText.FindStringSubmatch(folded)
	if people > 0 {
		t.people = people
	}
	if date != "" {
		t.date = date
	}
	if start != "" {
		t.start, t.end = start, f.end
	}
	if room != nil {
		t.room = room[1] + room[2]
	}
	if len(f.quoted) > 0 {
		title := []rune(f.quoted[0])
		t.title = string(title[:min(len(title), 200)])
	}
	return people > 0 || date != "" || start != "" || room != nil || len(f.quoted) > 0
}

// loneAmount returns the only number of a message; 0 for none. A word for one counts when the
// message has no other word.
func loneAmount(f facts, folded string) int {
	if len(f.amounts) == 1 {
		return number(f.amounts[0].value)
	}
	bare := strings.Trim(folded, " .!")
	if bare == "una" || bare == "uno" || bare == "one" || bare == "yo" || bare == "me" {
		return 1
	}
	if len(f.amounts) == 0 && f.people > 0 {
		return f.people
	}
	return numerals[bare]
}

// askNext asks for the first missing detail, or whether to reserve.
func (t *turn) askNext() (string, error) {
	largest := rooms[len(rooms)-1]
	today := t.now.Format(time.DateOnly)
	switch {
	case t.people > largest.Capacity:
		most := t.people
		t.people, t.asked = 0, askPeople
		return fmt.Sprintf(t.say.pick("No hay sala para %d: la mayor, %s, tiene %d plazas. ¿Para cuántas personas?", "There is no room for %d: the largest, %s, seats %d. For how many people?"), most, largest.Name, largest.Capacity), nil
	case t.people == 0:
		t.asked = askPeople
		return t.say.pick("¿Para cuántas personas?", "For how many people?"), nil
	case t.date != "" && (t.date < today || t.date == today && t.start != "" && t.start <= t.now.Format("15:04")):
		t.date, t.start, t.end, t.asked = "", "", "", askDate
		return t.say.pick("Eso ya pasó. ¿Para qué día?", "That is in the past. For which day?"), nil
	case t.date == "":
		t.asked = askDate
		return t.say.pick("¿Para qué día?", "For which day?"), nil
	case t.start == "":
		return t.offer("")
	}
	return t.propose()
}
