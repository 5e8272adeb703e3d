package demo

import (
	"encoding/json"
	"errors"
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
	CreatedAt time.Time `json:"created_at"`
}

// rooms are in order of size: the first that fits is the smallest.
var rooms = []Room{
	{"cabina", "Cabina", 2, 1, []string{"videollamada"}},
	{"este", "Sala Este", 4, 2, []string{"pizarra"}},
	{"norte", "Sala Norte", 6, 1, []string{"pantalla", "pizarra"}},
	{"sur", "Sala Sur", 8, 1, []string{"pantalla", "videollamada"}},
	{"oeste", "Sala Oeste", 12, 2, []string{"proyector", "pizarra"}},
	{"auditorio", "Auditorio", 40, 0, []string{"proyector", "megafonía"}},
}

func roomOf(id string) (Room, bool) {
	at := slices.IndexFunc(rooms, func(room Room) bool { return room.ID == id })
	if at < 0 {
		return Room{}, false
	}
	return rooms[at], true
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
	q, bad := r.url.Query(), checkNames(r.url.Query(), "no es un parámetro de esta operación", "capacity", "free_on", "start", "end")
	want := Reservation{Date: q.Get("free_on"), Start: q.Get("start"), End: q.Get("end"), People: 1}
	if text := q.Get("capacity"); text != "" {
		want.People, _ = strconv.Atoi(text)
	}
	if want.People < 1 || want.People > 500 {
		bad = append(bad, field{"capacity", "debe ser un entero entre 1 y 500"})
	}
	switch {
	case want.Date == "" && want.Start+want.End != "":
		bad = append(bad, field{"free_on", "hace falta junto con start o end"})
	case want.Date != "" && !isDate(want.Date):
		bad = append(bad, field{"free_on", "debe ser una fecha AAAA-MM-DD"})
	case want.Start+want.End == "":
		want.Start, want.End = "00:00", "24:00"
	default:
		bad = append(bad, want.checkTimes()...)
	}
	if len(bad) > 0 {
		return invalid(bad...), effect{}
	}
	return list(st.free(want)), effect{}
}

func getRoom(_ *state, r request) (reply, effect) {
	if room, ok := roomOf(r.id); ok {
		return reply{Status: http.StatusOK, Body: encode(room)}, effect{}
	}
	return problem(http.StatusNotFound, "room_not_found", "No existe esa sala."), effect{}
}

func listReservations(st *state, r request) (reply, effect) {
	q, bad := r.url.Query(), checkNames(r.url.Query(), "no es un parámetro de esta operación", "date", "room_id")
	date, room := q.Get("date"), q.Get("room_id")
	if date != "" && !isDate(date) {
		bad = append(bad, field{"date", "debe ser una fecha AAAA-MM-DD"})
	}
	if len(bad) > 0 {
		return invalid(bad...), effect{}
	}
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
	want := Reservation{ID: fmt.Sprintf("r-%d", st.Created+1), CreatedAt: r.at}
	given, bad := decode(r.body, &want, "room_id", "date", "start", "end", "people", "title")
	if len(bad) > 0 {
		return invalid(bad...), effect{}
	}
	for _, name := range []string{"date", "people", "room_id", "start"} {
		if !given[name] {
			bad = append(bad, field{name, "es obligatorio"})
		}
	}
	if len(bad) > 0 {
		return invalid(bad...), effect{}
	}
	return st.checkReservation(want, http.StatusCreated)
}

func updateReservation(st *state, r request) (reply, effect) {
	at := st.find(r.id)
	if at < 0 {
		return noReservation, effect{}
	}
	want := st.Reservations[at]
	want.End = ""
	given, bad := decode(r.body, &want, "room_id", "date", "start", "end", "people", "title")
	switch {
	case len(bad) > 0:
		return invalid(bad...), effect{}
	case len(given) == 0:
		return invalid(field{"body", "no cambia nada"}), effect{}
	case !given["start"] && !given["end"]: // the end moves with the start only
		want.End = st.Reservations[at].End
	}
	return st.checkReservation(want, http.StatusOK)
}

// checkReservation checks a new or changed reservation and returns it as the effect.
func (st *state) checkReservation(want Reservation, status int) (reply, effect) {
	bad := want.checkTimes()
	if !isDate(want.Date) {
		bad = append(bad, field{"date", "debe ser una fecha AAAA-MM-DD"})
	}
	if want.People < 1 || want.People > 500 {
		bad = append(bad, field{"people", "debe ser un entero entre 1 y 500"})
	}
	if len(want.Title) > 800 || len([]rune(want.Title)) > 200 {
		bad = append(bad, field{"title", "no puede superar 200 caracteres"})
	}
	if len(bad) > 0 {
		return invalid(bad...), effect{}
	}
	room, known := roomOf(want.RoomID)
	switch {
	case !known:
		return problem(http.StatusNotFound, "room_not_found", "No existe esa sala.", field{"room_id", "no es una sala"}), effect{}
	case want.People > room.Capacity:
		return invalid(field{"people", fmt.Sprintf("%s tiene %d plazas", room.Name, room.Capacity)}), effect{}
	case st.find(want.ID) < 0 && len(st.Reservations) >= mostReservations:
		return problem(http.StatusConflict, "full", fmt.Sprintf("La demostración guarda %d reservas como mucho: borra alguna.", mostReservations)), effect{}
	case st.isTaken(want):
		return problem(http.StatusConflict, "room_taken", fmt.Sprintf("%s ya está reservada el %s en ese horario.", room.Name, want.Date)), effect{}
	}
	want.RoomName = room.Name
	return reply{Status: status, Body: encode(want)}, effect{Put: &want}
}

// checkTimes checks the times, and sets an absent end to an hour after the start, within the day.
func (r *Reservation) checkTimes() []field {
	if !clock.MatchString(r.Start) {
		return []field{{"start", "debe ser una hora HH:MM"}}
	}
	if r.End == "" {
		r.End = addMinutes(r.Start, 60)
	}
	if !clock.MatchString(r.End) {
		return []field{{"end", "debe ser una hora HH:MM"}}
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

// checkNames refuses members that the contract does not name.
func checkNames[V any](members map[string]V, message string, names ...string) []field {
	var bad []field
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if !slices.Contains(names, name) {
			bad = append(bad, field{name, message})
		}
	}
	return bad
}

// decode reads one JSON object into out, and returns the names of its members that are not null.
func decode(body []byte, out any, names ...string) (map[string]bool, []field) {
	var members map[string]json.RawMessage
	if json.Unmarshal(body, &members) != nil || members == nil {
		return nil, []field{{"body", "debe ser un solo objeto JSON"}}
	}
	if bad := checkNames(members, "no es un campo de esta operación", names...); len(bad) > 0 {
		return nil, bad
	}
	var wrong *json.UnmarshalTypeError
	if errors.As(json.Unmarshal(body, out), &wrong) {
		return nil, []field{{wrong.Field, "no admite un valor de tipo " + wrong.Value}}
	}
	given := map[string]bool{}
	for name, value := range members {
		if strings.TrimSpace(string(value)) != "null" {
			given[name] = true
		}
	}
	return given, nil
}
