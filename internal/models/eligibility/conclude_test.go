package eligibility

import "testing"

func TestNearestConclusionSettingWins(t *testing.T) {
	const on, off, none = ConcludeOn, ConcludeOff, Conclusion("")
	for _, c := range []struct {
		account, project, chat Conclusion
		want                   bool
	}{
		{none, none, none, true},
		{off, none, none, false},
		{off, on, none, true},
		{on, off, none, false},
		{on, off, on, true},
		{off, on, off, false},
		{none, none, off, false},
		{off, none, on, true},
	} {
		s := Settings{Assistants: map[string]Assistant{"": {Conclude: c.account}, "p": {Conclude: c.project}}}
		if got := s.Concludes("p", c.chat); got != c.want {
			t.Errorf("account %q, project %q, chat %q: %v", c.account, c.project, c.chat, got)
		}
	}
	if s := (Settings{Assistants: map[string]Assistant{"": {Conclude: off}, "p": {Conclude: on}}}); s.Concludes("", none) || s.Concludes("q", none) || !(Settings{}).Concludes("", none) {
		t.Error("another project's setting counts")
	}
}
