package process

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"piloto/internal/models/cache"
)

func TestAnswersAreKeptForADay(t *testing.T) {
	data := t.TempDir()
	a := openAnswers(data, time.Now())
	if a.Get("none") != nil {
		t.Error("an answer that nobody gave")
	}
	a.Put("0123456789ab", []byte(`{"x":1}`))
	if got := openAnswers(data, time.Now()).Get("0123456789ab"); string(got) != `{"x":1}` {
		t.Errorf("%q", got)
	}
	info, err := os.Stat(filepath.Join(data, answersFolder, "0123456789ab.json"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if got := openAnswers(data, time.Now().Add(cache.Life+time.Minute)).Get("0123456789ab"); got != nil {
		t.Errorf("it is kept for ever: %q", got)
	}
	openAnswers(filepath.Join(data, "0123456789ab.json", "x"), time.Now()).Put("k", nil) // no folder: nothing is kept, and nothing fails
}
