package outbound

import (
	"testing"

	"golang.org/x/text/encoding/charmap"
)

func TestCharsetsAreThoseOfTheLibrary(t *testing.T) {
	for b := range 256 {
		if got, want := windows1252(byte(b)), charmap.Windows1252.DecodeByte(byte(b)); got != want {
			t.Errorf("Windows 1252: %#x is %q, want %q", b, got, want)
		}
		if got, want := latin9(byte(b)), charmap.ISO8859_15.DecodeByte(byte(b)); got != want {
			t.Errorf("ISO 8859-15: %#x is %q, want %q", b, got, want)
		}
	}
}
