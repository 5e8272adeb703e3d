package client

import "testing"

func TestTheZoneOfTheMachineIsOneWithAName(t *testing.T) {
	for _, c := range []struct{ set, link, want string }{
		{"", "/usr/share/zoneinfo/Europe/Madrid", "Europe/Madrid"},
		{"", "../usr/share/zoneinfo/Asia/Kolkata", "Asia/Kolkata"},
		{":America/Lima", "/usr/share/zoneinfo/Europe/Madrid", "America/Lima"},
		{"CET-1CEST", "/usr/share/zoneinfo/Europe/Madrid", ""},
		{"Local", "", ""},
		{"", "/etc/somewhere", ""},
		{"", "", ""},
	} {
		if got := zoneOf(c.set, c.link); got != c.want {
			t.Errorf("%q %q: %q, want %q", c.set, c.link, got, c.want)
		}
	}
}
