package demo

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// offer names the times at which a room is free, after a sentence with the reason.
func (t *turn) offer(why string) (string, error) {
	free, err := t.freeHours()
	if err != nil {
		return "", err
	}
	t.start, t.end = "", ""
	if len(free) == 0 {
		day := t.dayText(t.date)
		t.date, t.asked = "", askDate
		return why + fmt.Sprintf(t.say.pick("El %s no queda ninguna hora. ¿Qué otro día?", "On %s there is no time left. Which other day?"), day), nil
	}
	t.asked = askStart
	return why + fmt.Sprintf(t.say.pick("El %s hay sala para %d a estas horas: %s. ¿A qué hora?", "On %s there is a room for %d at these times: %s. At what time?"), t.dayText(t.date), t.people, strings.Join(free, ", ")), nil
}

// freeHours returns the hours of the day at which a suitable room is free for an hour.
func (t *turn) freeHours() ([]string, error) {
	r, err := t.request(http.MethodGet, "/reservations?"+url.Values{"date": {t.date}}.Encode())
	if err != nil {
		return nil, err
	}
	out, err := t.rooms.perform(listReservations, r, "", nil)
	if err != nil {
		return nil, err
	}
	var listed struct{ Items []Reservation }
	if err := json.Unmarshal(out.Body, &listed); err != nil {
		return nil, err
	}
	day := state{reservations: listed.Items}
	var hours []string
	for hour := firstHour; hour < lastHour; hour++ {
		want := Reservation{Date: t.date, Start: fmt.Sprintf("%02d:00", hour), End: fmt.Sprintf("%02d:00", hour+1)}
		if t.date == t.now.Format(time.DateOnly) && want.Start <= t.now.Format("15:04") {
			continue
		}
		if slices.ContainsFunc(rooms, func(room Room) bool {
			want.RoomID = room.ID
			return room.Capacity >= t.people && (t.room == "" || t.room == room.ID) && !day.isTaken(want)
		}) {
			hours = append(hours, want.Start)
		}
	}
	return hours, nil
}

// propose finds a free room, and asks whether to reserve it.
func (t *turn) propose() (string, error) {
	if t.end == "" || t.end <= t.start {
		t.end = addMinutes(t.start, 60)
	}
	q := url.Values{"capacity": {strconv.Itoa(t.people)}, "free_on": {t.date}, "start": {t.start}, "end": {t.end}}
	r, err := t.request(http.MethodGet, "/rooms?"+q.Encode())
	if err != nil {
		return "", err
	}
	out, err := t.rooms.perform(listRooms, r, "", nil)
	if err != nil {
		return "", err
	}
	var found struct{ Items []Room }
	if err := json.Unmarshal(out.Body, &found); err != nil {
		return "", err
	}
	if wanted, ok := roomOf(t.room); ok && wanted.Capacity < t.people {
		t.room = ""
		other, err := t.propose()
		return fmt.Sprintf(t.say.pick("%s tiene %d plazas. ", "%s seats %d. "), wanted.Name, wanted.Capacity) + other, err
	}
	if t.room != "" {
		found.Items = slices.DeleteFunc(found.Items, func(room Room) bool { return room.ID != t.room })
	}
	if len(found.Items) == 0 {
		return t.offer(t.say.pick("A esa hora no está libre. ", "It is not free at that time. "))
	}
	room := found.Items[0]
	t.offered, t.asked = room.ID, askConfirm
	return fmt.Sprintf(t.say.pick("%s (%d plazas), el %s de %s a %s, para %d. ¿La reservo? Responde sí o no.", "%s (seats %d), %s from %s to %s, for %d. Shall I reserve it? Answer yes or no."),
		room.Name, room.Capacity, t.dayText(t.date), t.start, t.end, t.people), nil
}

// reserve makes the confirmed reservation.
func (t *turn) reserve() (string, error) {
	body := map[string]any{"room_id": t.offered, "date": t.date, "start": t.start, "end": t.end, "people": t.people}
	if t.title != "" {
		body["title"] = t.title
	}
	r, err := t.request(http.MethodPost, "/reservations")
	if err != nil {
		return "", err
	}
	out, err := t.rooms.perform(createReservation, r, t.key, body)
	switch {
	case err != nil:
		return "", err
	case out.Status == http.StatusConflict: // another session was faster
		return t.offer(t.say.pick("Alguien la acaba de reservar. ", "Somebody has just reserved it. "))
	case out.Status != http.StatusCreated:
		return "", fmt.Errorf("the rooms answered %d: %s", out.Status, out.Body)
	}
	var made Reservation
	if err := json.Unmarshal(out.Body, &made); err != nil {
		return "", err
	}
	day := t.dayText(t.date)
	t.forget()
	t.last = made.ID
	return fmt.Sprintf(t.say.pick("Reservada: %s, el %s de %s a %s, para %d. Es la reserva %s.", "Reserved: %s, %s from %s to %s, for %d. It is reservation %s."),
		made.RoomName, day, made.Start, made.End, made.People, made.ID), nil
}

// askCancel asks whether to cancel a reservation: the one whose number was given, else the last one
// of the session.
func (t *turn) askCancel(f facts) (string, error) {
	id := t.last
	switch {
	case len(f.ids) > 0:
		id = f.ids[0]
	case len(f.amounts) > 0:
		id = f.amounts[0].value
	}
	t.forget()
	if id == "" {
		t.asked = askNumber
		return t.say.pick("¿Qué número tiene la reserva?", "What is the number of the reservation?"), nil
	}
	if _, err := strconv.ParseUint(id, 10, 32); err == nil {
		id = "r-" + id
	}
	r, err := t.request(http.MethodGet, "/reservations/"+url.PathEscape(id))
	if err != nil {
		return "", err
	}
	r.SetPathValue("reservation_id", strings.ToLower(id))
	out, err := t.rooms.perform(getReservation, r, "", nil)
	if err != nil {
		return "", err
	}
	if out.Status != http.StatusOK {
		t.asked = askNumber
		return fmt.Sprintf(t.say.pick("No encuentro la reserva %s. ¿Qué número tiene?", "I cannot find reservation %s. What is its number?"), id), nil
	}
	var found Reservation
	if err := json.Unmarshal(out.Body, &found); err != nil {
		return "", err
	}
	t.asked, t.target = askDrop, found.ID
	return fmt.Sprintf(t.say.pick("Reserva %s: %s, el %s a las %s. ¿La cancelo? Responde sí o no.", "Reservation %s: %s, %s at %s. Shall I cancel it? Answer yes or no."),
		found.ID, found.RoomName, t.dayText(found.Date), found.Start), nil
}

// cancel cancels the reservation after the confirmation.
func (t *turn) cancel() (string, error) {
	id := t.target
	r, err := t.request(http.MethodDelete, "/reservations/"+url.PathEscape(id))
	if err != nil {
		return "", err
	}
	r.SetPathValue("reservation_id", id)
	if _, err := t.rooms.perform(deleteReservation, r, t.key, nil); err != nil { // a deleted reservation is no error
		return "", err
	}
	t.forget()
	if t.last == id {
		t.last = ""
	}
	return fmt.Sprintf(t.say.pick("La reserva %s está cancelada.", "Reservation %s is cancelled."), id), nil
}

func (t *turn) request(method, target string) (*http.Request, error) {
	return http.NewRequestWithContext(t.ctx, method, target, http.NoBody)
}

var dayNames, monthNames = map[bool][]string{
	false: {"domingo", "lunes", "martes", "miércoles", "jueves", "viernes", "sábado"},
	true:  {"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"},
}, map[bool][]string{
	false: {"enero", "febrero", "marzo", "abril", "mayo", "junio", "julio", "agosto", "septiembre", "octubre", "noviembre", "diciembre"},
	true:  {"January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"},
}

// dayText returns a date as people say it.
func (t *turn) dayText(text string) string {
	date, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return text
	}
	of := " "
	if !t.en {
		of = " de "
	}
	return dayNames[t.en][date.Weekday()] + " " + strconv.Itoa(date.Day()) + of + monthNames[t.en][date.Month()-1]
}
