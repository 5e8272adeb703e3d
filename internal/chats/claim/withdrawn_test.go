package claim

import "testing"

// TestAQuestionMayGiveTheWord: its answer explains what it names, where no plan is about it.
func TestAQuestionMayGiveTheWord(t *testing.T) {
	for question, text := range map[string]string{"Who approves leave?": "Leave is approved by your line manager.", "¿Por escrito?": "Sí, debe enviarse por escrito."} {
		r := NewRecord()
		r.Given(question)
		for _, a := range Read(text).Acts {
			if r.Lacks(a, false) {
				t.Errorf("%q: %+v", text, a)
			}
		}
	}
}

// TestWhatAPlanDidNotDoIsNotDone: a plan ended before it ran. What was read, or told by the person, may still be so.
func TestWhatAPlanDidNotDoIsNotDone(t *testing.T) {
	cancel := Call{Method: "DELETE", Path: "/bookings/7"}
	for _, c := range []struct {
		text, read, told string
		lacks            bool
	}{
		{"Your booking is cancelled.", `{"id":7,"status":"open"}`, "is it cancelled?", true},
		{"Your booking was cancelled.", `{"id":7,"status":"open"}`, "", true},
		{"Sí, la reserva está anulada.", "", "¿y al final se ha anulado la reserva?", true},
		{"Yes, it has been cancelled.", "", "was it cancelled, or not?", true},

		{"Your booking is cancelled.", `{"id":7,"status":"cancelled"}`, "", false},
		{"Your booking 9 is cancelled.", `{"id":9,"status":"annulled"}`, "", false},
		{"Your booking is confirmed for Friday.", `{"id":7,"state":"OK"}`, "", false},
		{"I'm sorry that your flight was cancelled.", "", "my flight was cancelled, what can I do?", false},
		{"Your flight is cancelled, so you may get a refund.", "", "My flight is cancelled. Can I get money?", false},
		{"It was already cancelled.", `{"id":7,"state":"annulled"}`, "", false},
	} {
		r, would := NewRecord(), NewRecord()
		would.Did(cancel)
		r.Ended(would)
		if c.read != "" {
			r.Read(c.read)
		}
		r.Given(c.told)
		lacks := false
		for _, a := range Read(c.text).Acts {
			lacks = lacks || r.Lacks(a, false)
		}
		if lacks != c.lacks {
			t.Errorf("%q: lacks %v; %+v", c.text, lacks, Read(c.text).Acts)
		}
	}
}

// TestAServiceMayHaveDrafts: what was removed there is no plan of ours.
func TestAServiceMayHaveDrafts(t *testing.T) {
	for text, lacks := range map[string]bool{"I've discarded the draft.": false, "He descartado el borrador.": false, "I've withdrawn the cancellation.": true} {
		r := NewRecord()
		r.Did(Call{Method: "DELETE", Path: "/mail/drafts/7"})
		if got := r.Lacks(Read(text).Acts[0], false); got != lacks {
			t.Errorf("%q: lacks %v", text, got)
		}
	}
}
