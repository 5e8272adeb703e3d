package tool

import "testing"

// TestADescriptionSaysNothingTwice: of the summary and the description of a document, one often begins with the other.
func TestADescriptionSaysNothingTwice(t *testing.T) {
	for want, e := range map[string]Entry{
		"List the rooms":                       {Summary: "List the rooms", About: "List the rooms."},
		"Read a room. Its seats.":              {Summary: "Read a room", About: "Its seats."},
		"Book a room (only once)":              {Summary: "Book a room (only once)", About: "Book a room."},
		"Book a room (only once). For an hour": {Summary: "Book a room (only once)", About: "Book a room. For an hour"},
		"Book a room. Booking costs money.":    {Summary: "Book a room", About: "Booking costs money."},
	} {
		if got := e.FullDescription(); got != want {
			t.Errorf("%+v: %q", e, got)
		}
	}
}
