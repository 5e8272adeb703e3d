package folder_test

import (
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestASecondNameThatIsTakenAwayIsNotRead: a hard link has its name for a moment, and several read it. While the system takes the name
// away, the file that it still leads to has one name already: that of the canary.
func TestASecondNameThatIsTakenAwayIsNotRead(t *testing.T) {
	o := beside(t)
	stop := repeats(func(i int) { _ = o.swapIn("target", []string{"hard", "plain"}[i%2]) })
	defer stop()
	until := time.Now().Add(3 * time.Second)
	if testing.Short() {
		until = time.Now().Add(300 * time.Millisecond)
	}
	var readers sync.WaitGroup
	var plain atomic.Int64
	for range 3 {
		readers.Go(func() {
			for time.Now().Before(until) || plain.Load() == 0 && t.Context().Err() == nil {
				content, f, err := o.Read(t.Context(), "target", "", 0, 100)
				switch {
				case err != nil:
				case string(content) != "plain" && len(content) > 0: // it may be empty before it is written
					t.Errorf("read %q of %+v", content, f)
					return
				default:
					plain.Add(1)
				}
			}
		})
	}
	readers.Wait()
}

// TestNamesThatLookTakenAway: the system says so of a file in the same words.
func TestNamesThatLookTakenAway(t *testing.T) {
	o := beside(t)
	o.put("a (deleted)", "plain")
	o.put("dir (deleted)/b", "plain")
	o.must(os.Chmod(o.path("dir (deleted)"), 0o300))
	defer func() { _ = os.Chmod(o.path("dir (deleted)"), 0o700) }()
	for _, name := range []string{"a (deleted)", "dir (deleted)/b"} {
		if content, _, err := o.Read(t.Context(), name, "", 0, 9); err != nil || string(content) != "plain" {
			t.Errorf("%s: %q, %v", name, content, err)
		}
	}
}
