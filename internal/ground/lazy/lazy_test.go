package lazy_test

import (
	"maps"
	"testing"

	"piloto/internal/ground/lazy"
)

func TestWordsAreThoseOfTheList(t *testing.T) {
	set := lazy.Words("one two\n\t three")()
	if want := map[string]bool{"one": true, "two": true, "three": true}; !maps.Equal(set, want) {
		t.Errorf("%v, want %v", set, want)
	}
}

func TestPatternIsMadeWhenItIsFirstUsed(t *testing.T) {
	wrong := lazy.Pattern("(")
	defer func() {
		if recover() == nil {
			t.Error("a pattern that is not valid was used")
		}
	}()
	wrong()
}
