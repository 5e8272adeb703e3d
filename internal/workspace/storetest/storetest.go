// Package storetest holds what every workspace.Store must do. The tests of each adapter run it.
package storetest

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"

	"piloto/internal/workspace"
)

// Open returns an empty store with limits, and closes it when its test ends.
type Open func(t *testing.T, limits workspace.Limits) workspace.Store

// suite is one test with an empty store.
type suite struct {
	*testing.T
	workspace.Store
	ctx context.Context
}

// few are limits that a test reaches with a few files.
var few = workspace.Limits{Files: 5, Bytes: 100}

// Run tests a store.
func Run(t *testing.T, open Open) {
	for _, c := range []struct {
		name string
		test func(s suite)
	}{
		{"KeepsEveryContent", keepsEveryContent},
		{"KeepsItsOwnCopy", keepsItsOwnCopy},
		{"ReadsRanges", readsRanges},
		{"ChangesOnlyTheVersionGiven", changesOnlyTheVersionGiven},
		{"DoesNothingForACancelledCaller", doesNothingForACancelledCaller},
		{"ListsByNameInTheOrderOfBytes", listsInOrder},
		{"ChangesTheVersionOfTheListWithEveryChange", changesListVersion},
		{"KeepsVersions", keepsVersions},
		{"RestoresAnEarlierVersion", restoresVersion},
		{"KeepsTheNewestVersions", keepsNewestVersions},
		{"RefusesNames", refusesNames},
		{"HoldsEveryNameThatIsAllowed", holdsAllowedNames},
		{"RefusesNamesThatSomeSystemTakesForAnother", refusesClashes},
		{"RefusesAFileThatIsTooLarge", refusesTooLarge},
		{"LetsOneOfTwoWritersWin", letsOneWriterWin},
		{"LetsOneCreatorWin", letsOneCreatorWin},
		{"ShowsReadersWholeContents", showsWholeContents},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(suite{t, open(t, workspace.Limits{}), t.Context()}) })
	}
	t.Run("RefusesTooManyBytes", func(t *testing.T) { refusesTooManyBytes(suite{t, open(t, few), t.Context()}) })
	t.Run("RefusesTooManyFiles", func(t *testing.T) { refusesTooManyFiles(suite{t, open(t, few), t.Context()}) })
	t.Run("AgreesWithAModel", func(t *testing.T) { agreesWithModel(t, open) })
}

// write writes a file that must be accepted.
func (s suite) write(name, content, version string) workspace.File {
	s.Helper()
	f, err := s.Write(s.ctx, name, []byte(content), version)
	if err != nil {
		s.Fatalf("write %q: %v", name, err)
	}
	return f
}

// refused checks an error.
func (s suite) refused(what string, err, want error) {
	s.Helper()
	if !errors.Is(err, want) {
		s.Errorf("%s: %v, want %v", what, err, want)
	}
}

// holds checks the content of a file, and that its description is the same everywhere.
func (s suite) holds(want workspace.File, content []byte) {
	s.Helper()
	got, f, err := s.Read(s.ctx, want.Name, "", 0, workspace.MaxFileBytes)
	if err != nil || !bytes.Equal(got, content) || f.Version != want.Version || f.Size != int64(len(content)) {
		s.Errorf("%q has %d bytes (%v) of %+v, want %d bytes of %+v", want.Name, len(got), err, f, len(content), want)
	}
	same := func(how string, f workspace.File, err error) {
		s.Helper()
		if err != nil || f.Name != want.Name || f.Size != int64(len(content)) || f.Version != want.Version || f.At.IsZero() {
			s.Errorf("%s of %q: %+v, %v; want %+v", how, want.Name, f, err, want)
		}
	}
	f, err = s.Stat(s.ctx, want.Name)
	same("stat", f, err)
	_, f, err = s.Read(s.ctx, want.Name, want.Version, 0, 1)
	same("read of its version", f, err)
	l, err := s.List(s.ctx)
	at := slices.IndexFunc(l.Files, func(f workspace.File) bool { return f.Name == want.Name })
	if at < 0 {
		s.Fatalf("%q is not in the list: %v", want.Name, err)
	}
	same("list", l.Files[at], err)
}

func keepsEveryContent(s suite) {
	for name, content := range map[string][]byte{
		"empty":           {},
		"text.md":         []byte("Hola, ¿qué tal?\n"),
		"dir/windows.txt": []byte("\xef\xbb\xbfa\r\nb\r\n"),
		"dir/latin1.txt":  []byte("a\xf1o \xff\xfe\n"),
		"dir/sub/binary":  {0, 1, 2, 0, 255},
		"large":           bytes.Repeat([]byte("0123456789abcdef"), workspace.MaxFileBytes/16),
	} {
		f, err := s.Write(s.ctx, name, content, "")
		if err != nil {
			s.Fatalf("%s: %v", name, err)
		}
		if f.Name != name || f.Size != int64(len(content)) || f.Version == "" || f.At.IsZero() {
			s.Errorf("%s is written as %+v", name, f)
		}
		s.holds(f, content)
	}
}

func keepsItsOwnCopy(s suite) {
	content := []byte("as written")
	f, err := s.Write(s.ctx, "a", content, "")
	if err != nil {
		s.Fatal(err)
	}
	content[0] = 'X'
	read, _, err := s.Read(s.ctx, "a", "", 0, 10)
	if err != nil {
		s.Fatal(err)
	}
	read[1] = 'X'
	s.holds(f, []byte("as written"))
}

func readsRanges(s suite) {
	old := s.write("a", "0123456789", "")
	now := s.write("a", "abc", old.Version)
	for _, c := range []struct {
		from, n       int64
		want, wantNow string
	}{
		{0, 4, "0123", "abc"},
		{1, 1, "1", "b"},
		{3, 4, "3456", ""},
		{8, 10, "89", ""},
		{0, 1 << 40, "0123456789", "abc"},
		{10, 1, "", ""},
		{99, 5, "", ""},
		{0, 0, "", ""},
		{-3, 2, "01", "ab"},
		{0, -1, "", ""},
	} {
		got, f, err := s.Read(s.ctx, "a", old.Version, c.from, c.n)
		if err != nil || string(got) != c.want || f.Size != 10 || f.Version != old.Version {
			s.Errorf("%d bytes from %d of an earlier version: %q of %+v, %v", c.n, c.from, got, f, err)
		}
		got, f, err = s.Read(s.ctx, "a", "", c.from, c.n)
		if err != nil || string(got) != c.wantNow || f.Size != 3 || f.Version != now.Version {
			s.Errorf("%d bytes from %d: %q of %+v, %v", c.n, c.from, got, f, err)
		}
	}
}

func doesNothingForACancelledCaller(s suite) {
	f := s.write("a", "1", "")
	ctx, cancel := context.WithCancel(s.ctx)
	cancel()
	_, err := s.List(ctx)
	s.refused("list", err, context.Canceled)
	_, err = s.Stat(ctx, "a")
	s.refused("stat", err, context.Canceled)
	_, _, err = s.Read(ctx, "a", "", 0, 1)
	s.refused("read", err, context.Canceled)
	_, err = s.Write(ctx, "a", []byte("2"), f.Version)
	s.refused("write", err, context.Canceled)
	_, err = s.Versions(ctx, "a")
	s.refused("versions", err, context.Canceled)
	s.refused("delete", s.Delete(ctx, "a", f.Version), context.Canceled)
	s.holds(f, []byte("1"))
}

func listsInOrder(s suite) {
	if l, err := s.List(s.ctx); err != nil || len(l.Files) != 0 || l.Version == "" {
		s.Errorf("an empty store: %+v, %v", l, err)
	}
	want := []string{"B", "Z/a", "a-b", "a.b", "a/b", "a/b.go", "a/c/d", "a0", "b2", "ñ", "😀"}
	for i := range want { // in another order
		s.write(want[(i*7)%len(want)], "x", "")
	}
	l, err := s.List(s.ctx)
	if err != nil {
		s.Fatal(err)
	}
	var got []string
	for _, f := range l.Files {
		got = append(got, f.Name)
	}
	if !slices.Equal(got, want) {
		s.Fatalf("listed %q, want %q", got, want)
	}
}

func changesListVersion(s suite) {
	var was string
	changed := func(what string) {
		s.Helper()
		first, err := s.List(s.ctx)
		if err != nil {
			s.Fatal(err)
		}
		if first.Version == was {
			s.Errorf("%s: the list has the version it had", what)
		}
		second, err := s.List(s.ctx)
		if err != nil || second.Version != first.Version {
			s.Errorf("%s: the version changed without a change: %v", what, err)
		}
		was = first.Version
	}
	changed("nothing")
	a := s.write("a", "1", "")
	changed("a file comes")
	a = s.write("a", "2", a.Version)
	changed("it changes to a content of the same size")
	b := s.write("b", "1", "")
	changed("another comes")
	if err := s.Delete(s.ctx, "a", a.Version); err != nil {
		s.Fatal(err)
	}
	changed("one goes")
	if err := s.Delete(s.ctx, "b", b.Version); err != nil {
		s.Fatal(err)
	}
	s.write("c", "1", "")
	changed("one goes, and one of the same content comes")
}
