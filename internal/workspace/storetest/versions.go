package storetest

import (
	"bytes"
	"fmt"
	"strconv"
	"sync"

	"piloto/internal/workspace"
)

func changesOnlyTheVersionGiven(s suite) {
	s.nothingIsThere()
	old := s.write("a", "1", "")
	_, err := s.Write(s.ctx, "a", []byte("2"), "")
	s.refused("a second file of one name", err, workspace.ErrMoved)
	s.holds(old, []byte("1"))
	now := s.write("a", "2", old.Version)
	if now.Version == old.Version {
		s.Errorf("two contents have one version")
	}
	_, err = s.Write(s.ctx, "a", []byte("3"), old.Version)
	s.refused("write with an earlier version", err, workspace.ErrMoved)
	s.refused("delete with an earlier version", s.Delete(s.ctx, "a", old.Version), workspace.ErrMoved)
	s.refused("delete without a version", s.Delete(s.ctx, "a", ""), workspace.ErrMoved)
	s.holds(now, []byte("2"))
	if err := s.Delete(s.ctx, "a", now.Version); err != nil {
		s.Fatal(err)
	}
	_, err = s.Stat(s.ctx, "a")
	s.refused("stat after a delete", err, workspace.ErrNotFound)
	s.refused("a second delete", s.Delete(s.ctx, "a", now.Version), workspace.ErrNotFound)
	_, err = s.Write(s.ctx, "a", []byte("3"), now.Version)
	s.refused("write with the version that was deleted", err, workspace.ErrMoved)
	s.holds(s.write("a", "3", ""), []byte("3"))
}

// nothingIsThere checks the errors of files that are not there.
func (s suite) nothingIsThere() {
	_, err := s.Write(s.ctx, "a", []byte("1"), "no-version")
	s.refused("write of a version of a file that is not there", err, workspace.ErrMoved)
	s.refused("delete of a file that is not there", s.Delete(s.ctx, "a", "no-version"), workspace.ErrNotFound)
	s.refused("the same without a version", s.Delete(s.ctx, "a", ""), workspace.ErrNotFound)
	s.write("dir/b", "x", "")
	for _, name := range []string{"a", "dir/a", "dir", "dir/b/c", "none/a"} {
		_, err = s.Stat(s.ctx, name)
		s.refused("stat of "+name, err, workspace.ErrNotFound)
		_, _, err = s.Read(s.ctx, name, "", 0, 1)
		s.refused("read of "+name, err, workspace.ErrNotFound)
		_, _, err = s.Read(s.ctx, name, "no-version", 0, 1)
		s.refused("read of a version of "+name, err, workspace.ErrNotFound)
		_, err = s.Versions(s.ctx, name)
		s.refused("versions of "+name, err, workspace.ErrNotFound)
	}
	_, _, err = s.Read(s.ctx, "dir/b", "no-version", 0, 1)
	s.refused("read of a version that is not kept", err, workspace.ErrNotFound)
}

// keeps checks the contents of the versions, the newest first.
func (s suite) keeps(name string, want ...string) {
	s.Helper()
	all, err := s.Versions(s.ctx, name)
	if err != nil || len(all) != len(want) {
		s.Fatalf("%q has %d versions (%v), want %q", name, len(all), err, want)
	}
	for i, f := range all {
		content, of, err := s.Read(s.ctx, name, f.Version, 0, workspace.MaxFileBytes)
		if err != nil || string(content) != want[i] || of.Version != f.Version || f.Size != int64(len(want[i])) || f.Name != name || f.At.IsZero() {
			s.Errorf("version %d of %q: %q of %+v (%v), want %q of %+v", i, name, content, of, err, want[i], f)
		}
	}
}

func keepsVersions(s suite) {
	a := s.write("dir/a", "one", "")
	s.keeps("dir/a", "one")
	a = s.write("dir/a", "two", a.Version)
	a = s.write("dir/a", "", a.Version)
	s.keeps("dir/a", "", "two", "one")
	b := s.write("b", "of b", "")
	if err := s.Delete(s.ctx, "dir/a", a.Version); err != nil {
		s.Fatal(err)
	}
	s.keeps("dir/a", "", "two", "one")
	s.keeps("b", "of b")
	_, _, err := s.Read(s.ctx, "dir/a", b.Version, 0, 10)
	s.refused("read of a version of another file", err, workspace.ErrNotFound)
	s.write("dir/a", "four", "")
	s.keeps("dir/a", "four", "", "two", "one")
}

func restoresVersion(s suite) {
	first := s.write("a", "one", "")
	second := s.write("a", "two", first.Version)
	if err := s.Delete(s.ctx, "a", second.Version); err != nil {
		s.Fatal(err)
	}
	content, _, err := s.Read(s.ctx, "a", first.Version, 0, workspace.MaxFileBytes)
	if err != nil {
		s.Fatal(err)
	}
	s.holds(s.write("a", string(content), ""), []byte("one"))
	if content, _, err := s.Read(s.ctx, "a", second.Version, 0, 10); err != nil || string(content) != "two" {
		s.Errorf("the version that was deleted: %q, %v", content, err)
	}
}

func keepsNewestVersions(s suite) {
	var f workspace.File
	var want []string
	for i := range workspace.MaxVersions + 4 {
		content := "content " + strconv.Itoa(i)
		f = s.write("a", content, f.Version)
		want = append([]string{content}, want...)
	}
	s.keeps("a", want[:workspace.MaxVersions]...)
}

// race calls do several times at once, and returns what succeeded. All others must have found that the file moved.
func (s suite) race(do func(i int) (workspace.File, error)) (winners []int, file workspace.File) {
	s.Helper()
	const racers = 8
	files, errs := make([]workspace.File, racers), make([]error, racers)
	start := make(chan struct{})
	var all sync.WaitGroup
	for i := range racers {
		all.Go(func() {
			<-start
			files[i], errs[i] = do(i)
		})
	}
	close(start)
	all.Wait()
	for i, err := range errs {
		if err == nil {
			winners, file = append(winners, i), files[i]
			continue
		}
		s.refused("a writer that came later", err, workspace.ErrMoved)
	}
	return winners, file
}

func letsOneWriterWin(s suite) {
	f := s.write("a", "start", "")
	for round := range 20 {
		content := func(i int) []byte { return fmt.Appendf(nil, "round %d of writer %d", round, i) }
		winners, won := s.race(func(i int) (workspace.File, error) { return s.Write(s.ctx, "a", content(i), f.Version) })
		if len(winners) != 1 {
			s.Fatalf("writers %v won with one version", winners)
		}
		s.holds(won, content(winners[0]))
		f = won
	}
}

func letsOneCreatorWin(s suite) {
	for round := range 20 {
		name := "dir" + strconv.Itoa(round) + "/sub/new"
		content := func(i int) []byte { return fmt.Appendf(nil, "of writer %d", i) }
		winners, won := s.race(func(i int) (workspace.File, error) { return s.Write(s.ctx, name, content(i), "") })
		if len(winners) != 1 {
			s.Fatalf("writers %v made one file", winners)
		}
		s.holds(won, content(winners[0]))
	}
}

// showsWholeContents reads while another writes.
func showsWholeContents(s suite) {
	const rounds, size = 30, 100_000
	content := func(i int) []byte { return bytes.Repeat([]byte{'a' + byte(i%26)}, size) }
	f, err := s.Write(s.ctx, "a", content(0), "")
	if err != nil {
		s.Fatal(err)
	}
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for {
				got, of, err := s.Read(s.ctx, "a", "", 0, size)
				if err != nil || len(got) != size || !bytes.Equal(got, bytes.Repeat(got[:1], size)) || of.Size != size {
					s.Errorf("read %d bytes of %+v, %v", len(got), of, err)
					return
				}
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	for i := 1; i <= rounds && err == nil; i++ {
		f, err = s.Write(s.ctx, "a", content(i), f.Version)
	}
	close(done)
	readers.Wait()
	if err != nil {
		s.Fatal(err)
	}
	s.holds(f, content(rounds))
}
