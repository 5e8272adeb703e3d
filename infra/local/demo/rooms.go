package demo

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Room is a room that can be reserved.
type Room struct {
	ID       string   `json:"id"`
	Name     string   `json:"name"`
	Capacity int      `json:"capacity"` // seats
	Floor    int      `json:"floor"`
	Features []string `json:"features"`
	Price    int      `json:"price_per_hour"` // euros
}

// freeRoom is a room in the answer to a search: with the hours of the day at which it is free.
type freeRoom struct {
	Room
	From  string `json:"free_from,omitempty"`
	Until string `json:"free_until,omitempty"`
}

// Reservation holds a room on one day, from Start to End (HH:MM).
type Reservation struct {
	ID        string    `json:"id"`
	RoomID    string    `json:"room_id"`
	RoomName  string    `json:"room_name"`
	Date      string    `json:"date"` // YYYY-MM-DD
	Start     string    `json:"start"`
	End       string    `json:"end"`
	People    int       `json:"people"`
	Title     string    `json:"title,omitempty"`
	Price     int       `json:"price,omitempty"` // euros
	CreatedAt time.Time `json:"created_at"`
}

// rooms are in order of size: the first that fits is the smallest.
var rooms = []Room{
	{"cabina", "Cabina", 2, 1, []string{"videollamada"}, 8},
	{"este", "Sala Este", 4, 2, []string{"pizarra"}, 12},
	{"norte", "Sala Norte", 6, 1, []string{"pantalla", "pizarra"}, 30},
	{"sur", "Sala Sur", 8, 1, []string{"pantalla", "videollamada"}, 24},
	{"oeste", "Sala Oeste", 12, 2, []string{"proyector", "pizarra"}, 45},
	{"auditorio", "Auditorio", 40, 0, []string{"proyector", "megafonía"}, 90},
}

func roomOf(id string) (Room, bool) {
	at := slices.IndexFunc(rooms, func(room Room) bool { return room.ID == id })
	if at < 0 {
		return Room{}, false
	}
	return rooms[at], true
}

// seatsOf says how many people a room is for.
func seatsOf(room Room) string { return fmt.Sprintf("%s tiene %d plazas", room.Name, room.Capacity) }

// hoursOf returns the hours of a day at which a room is offered that is free all day; "" when they have passed.
func hoursOf(date string, now time.Time) (from, until string) {
	from, until = "09:00", "18:00"
	if date == now.Format(time.DateOnly) {
		from = max(from, addMinutes(now.Format("15")+":00", 60))
	}
	if from >= until || date < now.Format(time.DateOnly) {
		return "", ""
	}
	return from, until
}

// isTaken reports whether another reservation of the room overlaps want.
func (st *state) isTaken(want Reservation) bool {
	return slices.ContainsFunc(st.Reservations, func(r Reservation) bool {
		return r.ID != want.ID && r.RoomID == want.RoomID && r.Date == want.Date && r.Start < want.End && want.Start < r.End
	})
}

// free returns the rooms for want.People that are free at the times of want; at any time when it
// has no date.
func (st *state) free(want Reservation) []Room {
	return slices.DeleteFunc(slices.Clone(rooms), func(room Room) bool {
		want.RoomID = room.ID
		return room.Capacity < want.People || want.Date != "" && st.isTaken(want)
	})
}

func listRooms(st *state, r request) (reply, effect) {
	want := Reservation{Date: r.given["free_on"], Start: r.given["start"], End: r.given["end"], People: max(1, atoi(r.given["capacity"]))}
	var bad []field
	switch times := want.Start + want.End; {
	case want.Date == "" && times != "":
		return invalid(field{"free_on", "hace falta junto con start o end"}), effect{}
	case want.Date != "" && times == "":
		want.Start, want.End = "00:00", "24:00"
	case want.Date != "":
		bad = want.checkTimes()
	}
	if len(bad) > 0 {
		return invalid(bad...), effect{}
	}
	from, until := want.Start, want.End
	if r.given["start"] == "" && want.Date != "" {
		from, until = hoursOf(want.Date, r.at.Local())
	}
	found := []freeRoom{}
	for _, room := range st.free(want) {
		found = append(found, freeRoom{room, from, until})
	}
	return list(found), effect{}
}

func getRoom(_ *state, r request) (reply, effect) {
	if room, ok := roomOf(r.id); ok {
		return reply{Status: http.StatusOK, Body: encode(room)}, effect{}
	}
	return problem(http.StatusNotFound, "room_not_found", "No existe esa sala."), effect{}
}

func listReservations(st *state, r request) (reply, effect) {
	date, room := r.given["date"], r.given["room_id"]
	return list(slices.DeleteFunc(slices.Clone(st.Reservations), func(one Reservation) bool {
		return date != "" && one.Date != date || room != "" && one.RoomID != room
	})), effect{}
}

func getReservation(st *state, r request) (reply, effect) {
	if at := st.find(r.id); at >= 0 {
		return reply{Status: http.StatusOK, Body: encode(st.Reservations[at])}, effect{}
	}
	return noReservation, effect{}
}

var noReservation = problem(http.StatusNotFound, "reservation_not_found", "No existe esa reserva.")

func createReservation(st *state, r request) (reply, effect) {
	return st.checkReservation(Reservation{ID: fmt.Sprintf("r-%d", st.Created+1), CreatedAt: r.at}, r.given, http.StatusCreated)
}

func updateReservation(st *state, r request) (reply, effect) {
	at := st.find(r.id)
	if at < 0 {
		return noReservation, effect{}
	}
	if len(r.given) == 0 {
		return invalid(field{"body", "no cambia nada"}), effect{}
	}
	want := st.Reservations[at]
	if r.given["start"] != "" {
		want.End = "" // it moves with the start
	}
	return st.checkReservation(want, r.given, http.StatusOK)
}

// checkReservation checks a new or changed reservation and returns it as the effect.
func (st *state) checkReservation(want Reservation, given map[string]string, status int) (reply, effect) {
	for name, to := range map[string]*string{"room_id": &want.RoomID, "date": &want.Date, "start": &want.Start, "end": &want.End, "title": &want.Title} {
		if text, ok := given[name]; ok {
			*to = text
		}
	}
	want.People = cmp.Or(atoi(given["people"]), want.People)
	if bad := want.checkTimes(); len(bad) > 0 {
		return invalid(bad...), effect{}
	}
	room, known := roomOf(want.RoomID)
	switch {
	case !known:
		return problem(http.StatusNotFound, "room_not_found", "No existe esa sala.", field{"room_id", "no es una sala"}), effect{}
	case want.People > room.Capacity:
		return invalid(field{"people", seatsOf(room)}), effect{}
	case st.find(want.ID) < 0 && len(st.Reservations) >= mostReservations:
		return problem(http.StatusConflict, "full", "La demostración no guarda más reservas: borra alguna."), effect{}
	case st.isTaken(want):
		return problem(http.StatusConflict, "room_taken", "La sala ya está reservada en ese horario."), effect{}
	}
	want.RoomName, want.Price = room.Name, (room.Price*(minutesOf(want.End)-minutesOf(want.Start))+59)/60
	return reply{Status: status, Body: encode(want)}, effect{Put: &want}
}

// checkTimes sets an absent end to an hour after the start, within the day.
func (r *Reservation) checkTimes() []field {
	switch {
	case r.Start == "":
		return []field{{"start", "debe ser una hora HH:MM"}}
	case r.End == "":
		r.End = addMinutes(r.Start, 60)
	}
	if r.End <= r.Start {
		return []field{{"end", "debe ser posterior a start"}}
	}
	return nil
}

func deleteReservation(st *state, r request) (reply, effect) {
	at := st.find(r.id)
	if at < 0 {
		return noReservation, effect{}
	}
	return reply{Status: http.StatusNoContent}, effect{Drop: st.Reservations[at].ID}
}

var clock = regexp.MustCompile(`^([01][0-9]|2[0-3]):[0-5][0-9]$`)

func isDate(text string) bool {
	_, err := time.Parse(time.DateOnly, text)
	return err == nil
}

func isCount(text string) bool { return atoi(text) >= 1 && atoi(text) <= 500 }

// checks tests the values of requests, by name.
var checks = map[string]struct {
	passes  func(string) bool
	message string
}{
	"date":     {isDate, "debe ser una fecha AAAA-MM-DD"},
	"free_on":  {isDate, "debe ser una fecha AAAA-MM-DD"},
	"start":    {clock.MatchString, "debe ser una hora HH:MM"},
	"end":      {clock.MatchString, "debe ser una hora HH:MM"},
	"people":   {isCount, "debe ser un entero entre 1 y 500"},
	"capacity": {isCount, "debe ser un entero entre 1 y 500"},
	"room_id":  {func(text string) bool { return text != "" }, "no puede estar vacío"},
	"title":    {func(text string) bool { return len(text) <= 800 && len([]rune(text)) <= 200 }, "no puede superar 200 caracteres"},
}

// read sets the values that an action takes, and returns an error for each that is wrong.
func (r *request) read(takes string) (bad []field) {
	if takes == "" {
		return nil
	}
	members := map[string]any{}
	for name, values := range r.url.Query() {
		members[name] = values[0]
	}
	if (r.method == http.MethodPost || r.method == http.MethodPatch) && (json.Unmarshal(r.body, &members) != nil || members == nil) {
		return []field{{"body", "debe ser un solo objeto JSON"}}
	}
	r.given = map[string]string{}
	for name := range strings.FieldsSeq(takes) {
		name, required := strings.CutSuffix(name, "*")
		value := members[name]
		delete(members, name)
		text, isText := value.(string)
		if n, isNumber := value.(float64); isNumber {
			text = strconv.FormatFloat(n, 'f', -1, 64)
		}
		switch {
		case value == nil && required:
			bad = append(bad, field{name, "es obligatorio"})
		case value == nil:
		case isText == (name == "people") || !checks[name].passes(text):
			bad = append(bad, field{name, checks[name].message})
		default:
			r.given[name] = text
		}
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		bad = append(bad, field{name, "no es un dato de esta operación"})
	}
	return bad
}
