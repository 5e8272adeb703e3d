package origin

import "testing"

func TestOriginsAreComparedWithoutTheRestOfTheAddress(t *testing.T) {
	for _, c := range []struct {
		a, b, of string
		same     bool
	}{
		{"https://A.example:8443/x?q=1", "HTTPS://a.example:8443", "https://A.example:8443", true},
		{"https://user:secret@a.example/x", "https://a.example", "https://a.example", true},
		{"https://a.example", "http://a.example", "https://a.example", false},
		{"https://a.example", "https://a.example:443", "https://a.example", false},
		{"https://a.example", "https://b.example", "https://a.example", false},
		{"mailto:a@b.example", "mailto:a@b.example", "", false},
		{"", "", "", false},
		{"/x", "/x", "", false},
		{"::", "::", "", false},
	} {
		if got := Of(c.a); got != c.of {
			t.Errorf("Of(%q) = %q, want %q", c.a, got, c.of)
		}
		if Same(c.a, c.b) != c.same || Same(c.b, c.a) != c.same {
			t.Errorf("Same(%q, %q) is not %t", c.a, c.b, c.same)
		}
	}
}
