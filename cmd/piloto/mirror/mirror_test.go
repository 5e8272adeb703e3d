package mirror_test

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"piloto/cmd/piloto/mirror"
	"piloto/infra/local/fixture/memory"
	"piloto/infra/local/fixture/storetest"
	"piloto/internal/workspace"
)

// set writes a file of any version; "-" deletes it.
func set(t *testing.T, s workspace.Store, name, content string) {
	t.Helper()
	f, _ := s.Stat(t.Context(), name)
	var err error
	if content == "-" {
		err = s.Delete(t.Context(), name, f.Version)
	} else {
		_, err = s.Write(t.Context(), name, []byte(content), f.Version)
	}
	if err != nil {
		t.Fatal(err)
	}
}

type files = map[string]string

// TestWhatIsCopied begins with a file that was copied once ("a" with "0"), and one that each side has as it is said.
func TestWhatIsCopied(t *testing.T) {
	pull := mirror.Options{Strange: true}
	for _, c := range []struct {
		name          string
		here, there   files // changes after the copy
		do            func(*mirror.Mirror, context.Context, mirror.Options) (mirror.Result, error)
		options       mirror.Options
		wantHere      files
		wantThere     files
		conflicts     string
		written, gone string
		strange       string
	}{
		{"a push of nothing new", nil, nil, (*mirror.Mirror).Push, mirror.Options{}, files{"a": "0"}, files{"a": "0"}, "", "", "", ""},
		{"a push of a change and of a new file", files{"a": "1", "b": "x"}, nil, (*mirror.Mirror).Push, mirror.Options{}, files{"a": "1", "b": "x"}, files{"a": "1", "b": "x"}, "", "a b", "", ""},
		{"a push leaves what is new there", nil, files{"a": "9", "c": "z"}, (*mirror.Mirror).Push, mirror.Options{}, files{"a": "0"}, files{"a": "9", "c": "z"}, "", "", "", ""},
		{"a push of a file that both changed", files{"a": "1", "b": "x"}, files{"a": "9"}, (*mirror.Mirror).Push, mirror.Options{}, files{"a": "1", "b": "x"}, files{"a": "9"}, "a", "", "", ""},
		{"the same by force", files{"a": "1"}, files{"a": "9"}, (*mirror.Mirror).Push, mirror.Options{Force: true}, files{"a": "1"}, files{"a": "1"}, "", "a", "", ""},
		{"both changed to the same", files{"a": "1"}, files{"a": "1"}, (*mirror.Mirror).Push, mirror.Options{}, files{"a": "1"}, files{"a": "1"}, "", "", "", ""},
		{"a push over a file that was never copied", files{"b": "x"}, files{"b": "y"}, (*mirror.Mirror).Push, mirror.Options{}, files{"a": "0", "b": "x"}, files{"a": "0", "b": "x"}, "", "b", "", ""},
		{"a push that deletes", files{"a": "-"}, files{"c": "z"}, (*mirror.Mirror).Push, mirror.Options{Delete: true}, files{}, files{"c": "z"}, "", "", "a", "c"},
		{"the same by force", files{"a": "-"}, files{"c": "z"}, (*mirror.Mirror).Push, mirror.Options{Delete: true, Force: true}, files{}, files{"c": "z"}, "", "", "a", "c"},
		{"a push that deletes, of a file that is not listed", files{"a": "-"}, nil, (*mirror.Mirror).Push, mirror.Options{Delete: true, Present: []string{"a"}}, files{}, files{"a": "0"}, "", "", "", ""},
		{"a push that would delete a change", files{"a": "-"}, files{"a": "9"}, (*mirror.Mirror).Push, mirror.Options{Delete: true}, files{}, files{"a": "9"}, "a", "", "", ""},
		{"a push without deletes", files{"a": "-"}, nil, (*mirror.Mirror).Push, mirror.Options{}, files{}, files{"a": "0"}, "", "", "", ""},
		{"a dry run", files{"a": "1"}, files{"c": "z"}, (*mirror.Mirror).Push, mirror.Options{Delete: true, DryRun: true}, files{"a": "1"}, files{"a": "0", "c": "z"}, "", "a", "", "c"},
		{"a pull", nil, files{"a": "9", "c": "z"}, (*mirror.Mirror).Pull, pull, files{"a": "9", "c": "z"}, files{"a": "9", "c": "z"}, "", "a c", "", ""},
		{"a pull leaves what was changed here alone", files{"a": "1"}, nil, (*mirror.Mirror).Pull, pull, files{"a": "1"}, files{"a": "0"}, "", "", "", ""},
		{"a pull of a file that both changed", files{"a": "1"}, files{"a": "9", "c": "z"}, (*mirror.Mirror).Pull, pull, files{"a": "1"}, files{"a": "9", "c": "z"}, "a", "", "", ""},
		{"a pull over a file that was never copied", files{"b": "x"}, files{"b": "y"}, (*mirror.Mirror).Pull, pull, files{"a": "0", "b": "x"}, files{"a": "0", "b": "y"}, "b", "", "", ""},
		{"the same by force", files{"b": "x"}, files{"b": "y"}, (*mirror.Mirror).Pull, mirror.Options{Strange: true, Force: true}, files{"a": "0", "b": "y"}, files{"a": "0", "b": "y"}, "", "b", "", ""},
		{"a pull of a file that was deleted here", files{"a": "-"}, nil, (*mirror.Mirror).Pull, pull, files{"a": "0"}, files{"a": "0"}, "", "a", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := &mirror.Mirror{Here: memory.With(files{"a": "0"}), There: memory.With(nil)}
			set(t, m.There, "other", "to make the versions differ")
			set(t, m.There, "other", "-")
			if _, err := m.Push(t.Context(), mirror.Options{}); err != nil {
				t.Fatal(err)
			}
			for _, name := range slices.Sorted(maps.Keys(c.here)) {
				set(t, m.Here, name, c.here[name])
			}
			for _, name := range slices.Sorted(maps.Keys(c.there)) {
				set(t, m.There, name, c.there[name])
			}
			kept := mirror.KeptFor(t.TempDir(), mirror.Pair{Folder: "f", Origin: "o", Place: "p"}) // the next command reads the state that this one kept
			if err := kept.Write(m.Known); err != nil {
				t.Fatal(err)
			}
			var err error
			if m.Known, err = kept.Read(); err != nil {
				t.Fatal(err)
			}
			r, err := c.do(m, t.Context(), c.options)
			if err != nil {
				t.Fatal(err)
			}
			if here, there := storetest.Contents(t, m.Here), storetest.Contents(t, m.There); !maps.Equal(here, c.wantHere) || !maps.Equal(there, c.wantThere) {
				t.Errorf("here %v, there %v", here, there)
			}
			got := fmt.Sprint(strings.Join(r.Conflicts, " "), "|", strings.Join(r.Written, " "), "|", strings.Join(r.Deleted, " "), "|", strings.Join(r.Strange, " "))
			if want := c.conflicts + "|" + c.written + "|" + c.gone + "|" + c.strange; got != want {
				t.Errorf("%s, want %s", got, want)
			}
		})
	}
}

func TestAFileThatKeepsNothingReadable(t *testing.T) {
	kept := mirror.KeptFor(filepath.Join(t.TempDir(), "deep", "er"), mirror.Pair{Folder: "f", Origin: "o", Place: "p"})
	if known, err := kept.Read(); err != nil || len(known) != 0 {
		t.Errorf("%v, %v", known, err)
	}
	if err := kept.Write(map[string]mirror.Seen{"a": {Here: "1", There: "2"}}); err != nil {
		t.Fatal(err)
	}
	if known, err := kept.Read(); err != nil || known["a"].There != "2" {
		t.Errorf("%v, %v", known, err)
	}
	if mirror.KeptFor("d", mirror.Pair{Folder: "f", Origin: "o", Place: "p"}) == mirror.KeptFor("d", mirror.Pair{Folder: "f", Origin: "o", Place: "q"}) {
		t.Error("two places keep in one file")
	}
}
