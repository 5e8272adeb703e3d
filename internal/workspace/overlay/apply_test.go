package overlay_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"piloto/infra/local/fixture/memory"
	"piloto/infra/local/fixture/storetest"
	"piloto/internal/ground/fault"
	"piloto/internal/workspace"
	"piloto/internal/workspace/overlay"
)

// breaking is a store whose process dies at one change: before it, or after it when its answer is lost.
type breaking struct {
	workspace.Store
	at    int
	after bool
}

var errDied = errors.New("died")

func (b *breaking) Write(ctx context.Context, name string, content []byte, version string) (workspace.File, error) {
	if b.at--; b.at == 0 && !b.after {
		return workspace.File{}, errDied
	}
	f, err := b.Store.Write(ctx, name, content, version)
	if b.at == 0 {
		return workspace.File{}, errDied
	}
	return f, err
}

func (b *breaking) Delete(ctx context.Context, name, version string) error {
	if b.at--; b.at == 0 && !b.after {
		return errDied
	}
	err := b.Store.Delete(ctx, name, version)
	if b.at == 0 {
		return errDied
	}
	return err
}

var start = map[string]string{"a": "1\n", "b": "2\n", "dir/c": "3\n", "dir/d": "4\n", "keep": "5\n"}

// changed returns a base, and a set that changes, makes and deletes files, and makes a file in the place of a folder.
func changed(t testing.TB) (*memory.Store, overlay.Set) {
	base := memory.With(start)
	v := over(t, base, overlay.Set{})
	put(t, v, "a", "1\none\n")
	remove(t, v, "b")
	remove(t, v, "dir/c")
	remove(t, v, "dir/d")
	put(t, v, "dir", "now a file\n")
	put(t, v, "x/y", "new\n")
	return base, v.Changes()
}

var end = map[string]string{"a": "1\none\n", "dir": "now a file\n", "keep": "5\n", "x/y": "new\n"}

func TestApplyAfterADeathAtEachChangeEndsTheSame(t *testing.T) {
	for _, after := range []bool{false, true} {
		for at := 1; at <= 6; at++ {
			base, set := changed(t)
			done, err := overlay.Apply(t.Context(), &breaking{base, at, after}, set)
			if !errors.Is(err, errDied) || len(done) != at-1 {
				t.Fatalf("%d: %v, %v", at, done, err)
			}
			for _, d := range done {
				if f, err := base.Stat(t.Context(), d.Name); f.Version != d.Version || err != nil && d.Version != "" {
					t.Errorf("%d: %v was not done: %v", at, d, err)
				}
			}
			for range 2 { // the second time there is nothing left to do
				done, err = overlay.Apply(t.Context(), base, set)
				if err != nil || len(done) != len(set.Changes) {
					t.Errorf("%d: repeated: %v, %v", at, done, err)
				}
			}
			if diff := cmp.Diff(end, storetest.Contents(t, base)); diff != "" {
				t.Errorf("%d: %s", at, diff)
			}
			back, err := overlay.Undo(t.Context(), base, set, done)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := overlay.Apply(t.Context(), base, back); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(start, storetest.Contents(t, base)); diff != "" {
				t.Errorf("%d: undone: %s", at, diff)
			}
		}
	}
}

func TestUndoTakesBackWhatWasDoneOnly(t *testing.T) {
	base, set := changed(t)
	done, _ := overlay.Apply(t.Context(), &breaking{base, 4, false}, set)
	back, err := overlay.Undo(t.Context(), base, set, done)
	if err != nil || len(back.Changes) != 3 {
		t.Fatalf("%+v, %v", back, err)
	}
	if _, err := overlay.Apply(t.Context(), base, back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(start, storetest.Contents(t, base)); diff != "" {
		t.Error(diff)
	}
}

func TestUndoRefusesFilesThatMovedSince(t *testing.T) {
	base, set := changed(t)
	done, err := overlay.Apply(t.Context(), base, set)
	if err != nil {
		t.Fatal(err)
	}
	back, err := overlay.Undo(t.Context(), base, set, done)
	if err != nil {
		t.Fatal(err)
	}
	put(t, base, "x/y", "of a person\n")
	was := storetest.Contents(t, base)
	if _, err := overlay.Apply(t.Context(), base, back); !errors.Is(err, workspace.ErrMoved) || fault.Of(err).Args["name"] != "x/y" {
		t.Errorf("%v", err)
	}
	if diff := cmp.Diff(was, storetest.Contents(t, base)); diff != "" {
		t.Error(diff)
	}
}

func TestMovedFilesStopASetBeforeItsFirstWrite(t *testing.T) {
	base, set := changed(t)
	put(t, base, "a", "of another\n")
	put(t, base, "x/y", "of another\n")
	was := storetest.Contents(t, base)
	done, err := overlay.Apply(t.Context(), base, set)
	if !errors.Is(err, workspace.ErrMoved) || fault.Of(err).Args["name"] != "a, x/y" || len(done) != 0 {
		t.Errorf("%v, %v", done, err)
	}
	if diff := cmp.Diff(was, storetest.Contents(t, base)); diff != "" {
		t.Errorf("something was written: %s", diff)
	}
	if _, err := overlay.Diff(t.Context(), base, set); err != nil {
		t.Errorf("the diff from the earlier versions: %v", err)
	}
	v := over(t, base, set.Without("a", "x/y")) // the model reads what is there now, and changes it again
	put(t, v, "a", storetest.Contents(t, v)["a"]+"one\n")
	if _, err := overlay.Apply(t.Context(), base, v.Changes()); err != nil {
		t.Error(err)
	}
	want := map[string]string{"a": "of another\none\n", "dir": "now a file\n", "keep": "5\n", "x/y": "of another\n"}
	if diff := cmp.Diff(want, storetest.Contents(t, base)); diff != "" {
		t.Error(diff)
	}
}

func TestOfTwoSetsForOneFileOneIsApplied(t *testing.T) {
	for range 50 {
		base := memory.With(map[string]string{"a": "1\n"})
		var sets []overlay.Set
		for i := range 4 {
			v := over(t, base, overlay.Set{})
			put(t, v, "a", fmt.Sprintf("of %d\n", i))
			sets = append(sets, v.Changes())
		}
		var wg sync.WaitGroup
		begin := make(chan struct{})
		errs := make([]error, len(sets))
		for i, s := range sets {
			wg.Go(func() {
				<-begin
				_, errs[i] = overlay.Apply(t.Context(), base, s)
			})
		}
		close(begin)
		wg.Wait()
		won := slices.IndexFunc(errs, func(err error) bool { return err == nil })
		for i, err := range errs {
			if i != won && !errors.Is(err, workspace.ErrMoved) {
				t.Errorf("%d: %v", i, err)
			}
		}
		if won < 0 || storetest.Contents(t, base)["a"] != fmt.Sprintf("of %d\n", won) {
			t.Errorf("%v, %v", errs, storetest.Contents(t, base))
		}
	}
}

func TestDiffOfAVersionThatIsNotKeptIsMoved(t *testing.T) {
	base, set := changed(t)
	other := memory.With(nil)
	if _, err := overlay.Diff(t.Context(), other, set); !errors.Is(err, workspace.ErrMoved) {
		t.Error(err)
	}
	if _, err := overlay.Undo(t.Context(), other, set, []overlay.Done{{Name: "a"}}); !errors.Is(err, workspace.ErrMoved) {
		t.Error(err)
	}
	if _, err := overlay.Diff(t.Context(), base, set); err != nil {
		t.Error(err)
	}
}

// TestOverlayIsAStore makes the same changes over a base and in a store: each has the same outcome, and after Apply
// the base is as the store. In between, the overlay is stored and made again.
func TestOverlayIsAStore(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		files := rapid.MapOf(rapid.SampledFrom([]string{"a", "b/c", "d"}), rapid.SampledFrom([]string{"", "1\n", "1\n2"})).Draw(r, "files")
		base, plain := memory.With(files), memory.With(files)
		v := over(t, base, overlay.Set{})
		for range rapid.IntRange(1, 20).Draw(r, "changes") {
			name := rapid.SampledFrom([]string{"a", "b", "b/c", "b/d", "d", "D", "e", "../x"}).Draw(r, "name")
			content := []byte(rapid.SampledFrom([]string{"", "1\n", "1\n2", "x\n1\n", "\x00"}).Draw(r, "content"))
			there, _ := v.Stat(t.Context(), name)
			same, _ := plain.Stat(t.Context(), name)
			if rapid.IntRange(0, 5).Draw(r, "stale") == 0 {
				there.Version, same.Version = "stale", "stale"
			}
			var one, two error
			if rapid.IntRange(0, 2).Draw(r, "kind") == 0 {
				one, two = v.Delete(t.Context(), name, there.Version), plain.Delete(t.Context(), name, same.Version)
			} else {
				_, one = v.Write(t.Context(), name, content, there.Version)
				_, two = plain.Write(t.Context(), name, content, same.Version)
			}
			if (one == nil) != (two == nil) {
				r.Fatalf("%s: over the base %v, in the store %v", name, one, two)
			}
			if rapid.IntRange(0, 4).Draw(r, "restart") == 0 {
				v = over(t, base, v.Changes())
			}
		}
		want := storetest.Contents(t, plain)
		if diff := cmp.Diff(want, storetest.Contents(t, v)); diff != "" {
			r.Fatalf("before: %s", diff)
		}
		at := rapid.IntRange(1, 5).Draw(r, "dies at")
		set := v.Changes()
		_, err := overlay.Apply(t.Context(), &breaking{base, at, rapid.Bool().Draw(r, "after")}, set)
		if err != nil && !errors.Is(err, errDied) {
			r.Fatal(err)
		}
		done, err := overlay.Apply(t.Context(), base, set)
		if err != nil {
			r.Fatal(err)
		}
		if diff := cmp.Diff(want, storetest.Contents(t, base)); diff != "" {
			r.Fatalf("after: %s", diff)
		}
		back, err := overlay.Undo(t.Context(), base, set, done)
		if err == nil {
			_, err = overlay.Apply(t.Context(), base, back)
		}
		if err != nil {
			r.Fatal(err)
		}
		if diff := cmp.Diff(storetest.Contents(t, memory.With(files)), storetest.Contents(t, base)); diff != "" {
			r.Fatalf("undone: %s", diff)
		}
	})
}

// twice sends each change twice, as a client does that lost the first answer. It returns the second one.
type twice struct{ workspace.Store }

func (s twice) Write(ctx context.Context, name string, content []byte, version string) (workspace.File, error) {
	_, _ = s.Store.Write(ctx, name, content, version)
	return s.Store.Write(ctx, name, content, version)
}

func (s twice) Delete(ctx context.Context, name, version string) error {
	_ = s.Store.Delete(ctx, name, version)
	return s.Store.Delete(ctx, name, version)
}

func TestApplySeesThatAChangeWithALostAnswerIsDone(t *testing.T) {
	base, set := changed(t)
	done, err := overlay.Apply(t.Context(), twice{base}, set)
	if err != nil || len(done) != len(set.Changes) {
		t.Errorf("%v, %v", done, err)
	}
	if diff := cmp.Diff(end, storetest.Contents(t, base)); diff != "" {
		t.Error(diff)
	}
}
