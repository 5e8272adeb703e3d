package business

import (
	"slices"
	"time"
)

// The studio is open from Tuesday to Saturday, in the morning and in the afternoon. A session begins at a full or half hour and ends
// before the studio closes.
var openHours = [][2]time.Duration{{10 * time.Hour, 14 * time.Hour}, {16 * time.Hour, 20 * time.Hour}}

// grid is the time between two possible beginnings.
const grid = 30 * time.Minute

// free is a time at which a session can begin.
type free struct {
	StartsAt string `json:"starts_at"`
	Places   int    `json:"places_left"`
}

// freeTimes returns the times of a local day at which a session has places.
func (s *State) freeTimes(id, date string) (any, error) {
	kind, err := s.session(id)
	if err != nil {
		return nil, err
	}
	day, err := time.ParseInLocation(time.DateOnly, date, Zone())
	if err != nil {
		return nil, invalid("date is a day such as 2027-03-12")
	}
	list := []free{}
	for _, at := range startsOf(day, kind.Minutes) {
		if left := s.left(kind, at, ""); left > 0 && at.After(Now()) {
			list = append(list, free{at.Format(time.RFC3339), left})
		}
	}
	return map[string]any{"session_id": id, "date": date, "times": list}, nil
}

// startsOf returns the times of a day at which a session of some minutes may begin.
func startsOf(day time.Time, minutes int) (list []time.Time) {
	if day.Weekday() == time.Sunday || day.Weekday() == time.Monday {
		return nil
	}
	y, m, d := day.Date()
	for _, open := range openHours {
		for from := open[0]; from+time.Duration(minutes)*time.Minute <= open[1]; from += grid {
			list = append(list, time.Date(y, m, d, 0, int(from.Minutes()), 0, 0, day.Location()))
		}
	}
	return list
}

// left returns the places that a session has at a time, without a booking.
func (s *State) left(kind *Session, at time.Time, without string) int {
	left, end := kind.Places, at.Add(time.Duration(kind.Minutes)*time.Minute)
	for _, b := range s.Bookings {
		from, err := time.Parse(time.RFC3339, b.StartsAt)
		if err == nil && b.SessionID == kind.ID && b.ID != without && from.Before(end) && at.Before(from.Add(time.Duration(kind.Minutes)*time.Minute)) {
			left -= b.People
		}
	}
	return max(left, 0)
}

func (s *State) book(b Booking) (any, error) {
	if _, err := s.customer(b.CustomerID); err != nil {
		return nil, err
	}
	b.ID = next(s.Bookings, func(b Booking) string { return b.ID }, "b-", 301)
	if err := s.place(&b); err != nil {
		return nil, err
	}
	s.Bookings = append(s.Bookings, b)
	return b, nil
}

// place checks the time and the people of a booking, and writes its time in the zone of the studio.
func (s *State) place(b *Booking) error {
	kind, err := s.session(b.SessionID)
	if err != nil {
		return err
	}
	at, err := time.Parse(time.RFC3339, b.StartsAt)
	if err != nil {
		return invalid("starts_at is a time with its offset, such as 2027-03-12T16:30:00+01:00")
	}
	at = at.In(Zone())
	switch left := s.left(kind, at, b.ID); {
	case b.People < 1:
		return invalid("people is at least 1")
	case !at.After(Now()):
		return refuse("%s is over", at.Format(time.RFC3339))
	case !slices.ContainsFunc(startsOf(at, kind.Minutes), at.Equal):
		return refuse("%s does not begin at %s in Valencia", kind.ID, at.Format("Monday 15:04"))
	case b.People > left:
		return refuse("%d places are left then", left)
	}
	b.StartsAt = at.Format(time.RFC3339)
	return nil
}

// move is the body of changeBooking.
type move struct {
	StartsAt *string `json:"starts_at"`
	People   *int    `json:"people"`
}

func (s *State) changeBooking(id string, m move) (any, error) {
	b, err := s.booking(id)
	if err != nil {
		return nil, err
	}
	changed := *b
	if m.StartsAt != nil {
		changed.StartsAt = *m.StartsAt
	}
	if m.People != nil {
		changed.People = *m.People
	}
	if err := s.place(&changed); err != nil {
		return nil, err
	}
	*b = changed
	return changed, nil
}

func (s *State) cancelBooking(id string) (any, error) {
	b, err := s.booking(id)
	if err != nil {
		return nil, err
	}
	was := *b
	s.Bookings = slices.DeleteFunc(s.Bookings, func(b Booking) bool { return b.ID == id })
	return was, nil
}
