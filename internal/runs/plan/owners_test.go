package plan

import "testing"

// TestSamePersonHoweverTheNameIsWritten: a name in other letter case, accents, width, invisible characters or with other
// punctuation at its end is the same person's; another name is not.
func TestSamePersonHoweverTheNameIsWritten(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"ana", "ana", true},
		{"ana", "ana.", true},
		{"ana", "Ana", true},
		{"ana", "ána", true},
		{"ana", " ana ", true},
		{"ana", "ana…", true},
		{"ana", "ana。", true},
		{"ana", "ａｎａ", true},
		{"ana", "an\u200ba", true},
		{"ana", "ana!?", true},
		{"ana", "ana .", true},
		{"ana", "ana·", true},
		{"José Ñ", "jose n", true},
		{"ana@x.example", "ANA@x.example.", true},
		{"...", "...", true},
		{"ana", "anna", false},
		{"ana", "ana1", false},
		{"ana.b", "anab", false},
		{"ana-b", "ana", false},
		{"ana", "", false},
		{"", "", false},
		{"...", "ana", false},
		{"...", "", false},
		{"ana@x.example", "ana@y.example", false},
	} {
		if got := SamePerson(c.a, c.b); got != c.same {
			t.Errorf("%q and %q: %v", c.a, c.b, got)
		}
		if got := SamePerson(c.b, c.a); got != c.same {
			t.Errorf("%q and %q: %v", c.b, c.a, got)
		}
	}
}
