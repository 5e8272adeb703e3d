package demo

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
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

// isTaken reports whether another reservation of the room overlaps want.
func (st *state) isTaken(want Reservation) bool {
	return slices.ContainsFunc(st.reservations, func(r Reservation) bool {
		return r.ID != want.ID && r.RoomID == want.RoomID && r.Date == want.Date && r.Start < want.End && want.Start < r.End
	})
}

func listRooms(st *state, r request) (reply, effect) {
	q, bad := checkQuery(r.URL.Query(), "capacity", "free_on", "start", "end")
	seats := 0
	if text := q.Get("capacity"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > 500 {
			bad = append(bad, field{"capacity", "debe ser un entero entre 1 y 500"})
		}
		seats = n
	}
	want := Reservation{Date: q.Get("free_on"), Start: q.Get("start"), End: q.Get("end")}
	if want.Date == "" && want.Start+want.End != "" {
		bad = append(bad, field{"free_on", "hace falta junto con start o end"})
	}
	if want.Date != "" && want.Start+want.End == "" {
		want.Start, want.End = "00:00", "24:00"
	} else if want.Date != "" {
		bad = append(bad, want.checkTimes()...)
	}
	if want.Date != "" && !isDate(want.Date) {
		bad = append(bad, field{"free_on", "debe ser una fecha AAAA-MM-DD"})
	}
	if len(bad) > 0 {
		return invalid(bad...), effect{}
	}
	items := []Room{}
	for _, room := range rooms {
		want.RoomID = room.ID
		if room.Capacity >= seats && (want.Date == "" || !st.isTaken(want)) {
			items = append(items, room)
		}
	}
	return list(items), effect{}
}

func getRoom(_ *state, r request) (reply, effect) {
	if room, ok := roomOf(r.PathValue("room_id")); ok {
		return reply{Status: http.StatusOK, Body: encode(room)}, effect{}
	}
	return problem(http.StatusNotFound, "room_not_found", "No existe esa sala."), effect{}
}

func roomOf(id string) (Room, bool) {
	at := slices.IndexFunc(rooms, func(room Room) bool { return room.ID == id })
	if at < 0 {
		return Room{}, false
	}
	return rooms[at], true
}

func listReservations(st *state, r request) (reply, effect) {
	q, bad := checkQuery(r.URL.Query(), "date", "room_id")
	if q.Get("date") != "" && !isDate(q.Get("date")) {
		bad = append(bad, field{"date", "debe ser una fecha AAAA-MM-DD"})
	}
	if len(bad) > 0 {
		return invalid(bad...), effect{}
	}
	items := []Reservation{}
	for _, one := range st.reservations {
		if (q.Get("date") == "" || one.Date == q.Get("date")) && (q.Get("room_id") == "" || one.RoomID == q.Get("room_id")) {
			items = append(items, one)
		}
	}
	return list(items), effect{}
}

func getReservation(st *state, r request) (reply, effect) {
	if at := st.find(r.PathValue("reservation_id")); at >= 0 {
		return reply{Status: http.StatusOK, Body: encode(st.reservations[at])}, effect{}
	}
	return noReservation(), effect{}
}

func noReservation() reply {
	return problem(http.StatusNotFound, "reservation_not_found", "No existe esa reserva.")
}

// change is the body of POST and PATCH; absent members stay unchanged.
type change struct {
	RoomID *string `json:"room_id"`
	Date   *string `json:"date"`
	Start  *string `json:"start"`
	End    *string `json:"end"`
	People *int    `json:"people"`
	Title  *string `json:"title"`
}

func createReservation(st *state, r request) (reply, effect) {
	var c change
	if bad := decode(r.body, &c); bad != nil {
		return invalid(*bad), effect{}
	}
	var missing []field
	for name, absent := range map[string]bool{"room_id": c.RoomID == nil, "date": c.Date == nil, "start": c.Start == nil, "people": c.People == nil} {
		if absent {
			missing = append(missing, field{name, "es obligatorio"})
		}
	}
	if len(missing) > 0 {
		slices.SortFunc(missing, func(a, b field) int { return strings.Compare(a.Name, b.Name) })
		return invalid(missing...), effect{}
	}
	fresh := Reservation{ID: fmt.Sprintf("r-%d", st.created+1), CreatedAt: r.at}
	out, eff := st.checkReservation(c.applyTo(fresh), http.StatusCreated)
	return out, eff
}

func updateReservation(st *state, r request) (reply, effect) {
	at := st.find(r.PathValue("reservation_id"))
	if at < 0 {
		return noReservation(), effect{}
	}
	var c change
	if bad := decode(r.body, &c); bad != nil {
		return invalid(*bad), effect{}
	}
	if c == (change{}) {
		return invalid(field{"body", "no cambia nada"}), effect{}
	}
	old := st.reservations[at]
	if c.Start != nil && c.End == nil {
		old.End = "" // moves with its start
	}
	return st.checkReservation(c.applyTo(old), http.StatusOK)
}

func (c change) applyTo(r Reservation) Reservation {
	for _, set := range []struct{ to, from *string }{{&r.RoomID, c.RoomID}, {&r.Date, c.Date}, {&r.Start, c.Start}, {&r.End, c.End}, {&r.Title, c.Title}} {
		if set.from != nil {
			*set.to = *set.from
		}
	}
	if c.People != nil {
		r.People = *c.People
	}
	return r
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
	case st.find(want.ID) < 0 && len(st.reservations) >= mostReservations:
		return problem(http.StatusConflict, "full", fmt.Sprintf("La demostración guarda %d reservas como mucho: borra alguna.", mostReservations)), effect{}
	case st.isTaken(want):
		return problem(http.StatusConflict, "room_taken", fmt.Sprintf("%s ya está reservada el %s en ese horario.", room.Name, want.Date)), effect{}
	}
	want.RoomName = room.Name
	return reply{Status: status, Body: encode(want)}, effect{Put: &want}
}

// checkTimes checks the times, and sets an absent end to an hour after the start, within the day.
func (r *Reservation) checkTimes() []field {
	var bad []field
	if !clock.MatchString(r.Start) {
		return []field{{"start", "debe ser una hora HH:MM"}}
	}
	if r.End == "" {
		hour, _ := strconv.Atoi(r.Start[:2])
		r.End = min(fmt.Sprintf("%02d%s", hour+1, r.Start[2:]), "23:59")
	}
	if !clock.MatchString(r.End) {
		bad = append(bad, field{"end", "debe ser una hora HH:MM"})
	} else if r.End <= r.Start {
		bad = append(bad, field{"end", "debe ser posterior a start"})
	}
	return bad
}

func deleteReservation(st *state, r request) (reply, effect) {
	at := st.find(r.PathValue("reservation_id"))
	if at < 0 {
		return noReservation(), effect{}
	}
	return reply{Status: http.StatusNoContent}, effect{Drop: st.reservations[at].ID}
}

func flaky(st *state, r request) (reply, effect) {
	var body struct {
		Failures *int `json:"failures"`
	}
	if len(bytes.TrimSpace(r.body)) > 0 {
		if bad := decode(r.body, &body); bad != nil {
			return invalid(*bad), effect{}
		}
	}
	failures := usualFlaky
	if body.Failures != nil {
		failures = *body.Failures
	}
	if failures < 0 || failures > maxFlaky {
		return invalid(field{"failures", "debe ser un entero entre 0 y 5"}), effect{}
	}
	key := "key:" + r.key
	if tried := st.attempts[key]; tried < failures {
		out := problem(http.StatusServiceUnavailable, "unavailable", fmt.Sprintf("Fallo pasajero %d de %d.", tried+1, failures))
		out.Retry = 1
		return out, effect{Attempt: key}
	}
	return reply{Status: http.StatusOK, Body: encode(map[string]int{"attempts": st.attempts[key] + 1})}, effect{Reset: key}
}

var clock = regexp.MustCompile(`^([01][0-9]|2[0-3]):[0-5][0-9]$`)

func isDate(text string) bool {
	_, err := time.Parse(time.DateOnly, text)
	return err == nil
}

// checkQuery refuses query parameters that the contract does not name.
func checkQuery(q url.Values, names ...string) (url.Values, []field) {
	var bad []field
	for name := range q {
		if !slices.Contains(names, name) {
			bad = append(bad, field{name, "no es un parámetro de esta operación"})
		}
	}
	slices.SortFunc(bad, func(a, b field) int { return strings.Compare(a.Name, b.Name) })
	return q, bad
}

// decode reads exactly one JSON object with known members into out.
func decode(body []byte, out any) *field {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	err := dec.Decode(out)
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrong) && wrong.Field != "":
		return &field{wrong.Field, "no admite un valor de tipo " + wrong.Value}
	case err != nil && strings.HasPrefix(err.Error(), "json: unknown field "):
		name, _ := strconv.Unquote(strings.TrimPrefix(err.Error(), "json: unknown field "))
		return &field{name, "no es un campo de esta operación"}
	case err != nil:
		return &field{"body", "debe ser un objeto JSON"}
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return &field{"body", "debe ser un solo objeto JSON"}
	}
	return nil
}
