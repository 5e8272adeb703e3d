package serve_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"localaws/disk"
	engine "localaws/s3"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"piloto/infra/local/fixture/table"
	"piloto/internal/ground/ids"
	"piloto/internal/store/kept"
	"piloto/internal/workspace"
	"piloto/internal/workspace/bucket"
	"piloto/internal/workspace/files"
	"piloto/internal/workspace/serve"
)

const mb = 1 << 20

// room is a service on both engines, with bounds of 5 MB for a place and 8 MB for an account.
type room struct {
	*serve.Service
	t       *testing.T
	objects bucket.Objects
	ledger  *kept.Store
	now     time.Time

	deleted []files.Place
	open    map[string]bool
	decided map[string]bool
}

func (r *room) Deleted(context.Context, ids.Account) ([]files.Place, error) { return r.deleted, nil }

func (r *room) Open(_ context.Context, _ ids.Account, _, young time.Time) (func(string, time.Time) bool, error) {
	return func(id string, made time.Time) bool { return r.open[id] || !r.decided[id] && !made.Before(young) }, nil
}

func newRoom(t *testing.T) *room {
	dir := t.TempDir()
	store, err := disk.Open(filepath.Join(dir, "data"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	r := &room{t: t, now: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)}
	e, err := engine.Open(store, filepath.Join(dir, "objects"), engine.WithClock(func() time.Time { return r.now }))
	if err != nil {
		t.Fatal(err)
	}
	client := clientOf(e)
	if _, err := client.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String("files")}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.PutBucketVersioning(t.Context(), &s3.PutBucketVersioningInput{
		Bucket: aws.String("files"), VersioningConfiguration: &types.VersioningConfiguration{Status: types.BucketVersioningStatusEnabled},
	}); err != nil {
		t.Fatal(err)
	}
	now := func() time.Time { return r.now }
	r.objects, r.ledger = bucket.Objects{Client: client, Name: "files", Now: now}, kept.New(table.New(t))
	r.Service = serve.New(serve.Config{
		Store: func(p files.Place) workspace.Store {
			return bucket.New(bucket.Config{Client: client, Name: "files", Prefix: bucket.Prefix(p), Now: now})
		},
		Objects: r.objects, Bounds: &serve.Bounds{Place: 5 * mb, Account: 8 * mb, Ledger: r.ledger, Needs: r}, Now: now, Log: slog.New(slog.DiscardHandler),
	})
	return r
}

// put writes a megabyte, a second later than the one before, and returns its version and the names that made room.
func (r *room) put(p files.Place, name, content, version string) (string, []string, error) {
	r.now = r.now.Add(time.Second)
	f, gone, err := r.Write(r.t.Context(), p, name, []byte(content+strings.Repeat("x", mb-100)), version, files.Piece{})
	var names []string
	for _, g := range gone {
		what := fmt.Sprintf("%s %v", g.Name, g.Deleted)
		if g.Unconfirmed {
			what = g.Name + " unconfirmed"
		}
		if g.Place != p {
			what += " of " + g.Place.Project + g.Place.Chat
		}
		names = append(names, what)
	}
	return f.Version, names, err
}

func (r *room) must(p files.Place, name, content, version string) (string, string) {
	r.t.Helper()
	v, gone, err := r.put(p, name, content, version)
	if err != nil {
		r.t.Fatalf("%s: %v", name, err)
	}
	return v, strings.Join(gone, ", ")
}

// stored returns how many bytes are there.
func (r *room) stored(prefix string) (n int64) {
	r.t.Helper()
	for _, kind := range []string{"files/", "changes/", "uploads/"} {
		all, err := r.objects.Kept(r.t.Context(), kind+prefix)
		if err != nil {
			r.t.Fatal(err)
		}
		for _, k := range all {
			n += files.Cost(k.Size)
		}
	}
	return n
}

// TestTheOldestVersionsMakeRoom, with the deleted files among them, and the writer is told which.
func TestTheOldestVersionsMakeRoom(t *testing.T) {
	r := newRoom(t)
	v := ""
	for i := range 3 {
		v, _ = r.must(project, "a", fmt.Sprint(i), v)
	}
	b, _ := r.must(project, "b", "", "")
	if err := r.Store(project).Delete(t.Context(), "b", b); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"a false", "a false", "b true"} {
		if _, gone := r.must(project, fmt.Sprint("c", i), "", ""); gone != want {
			t.Errorf("%d: %q made room, want %q", i, gone, want)
		}
	}
	_, gone, err := r.put(project, "e", "", "")
	if !errors.Is(err, files.ErrKept) || len(gone) != 0 || r.stored("") > 5*mb {
		t.Errorf("present files made room: %v, %v", gone, err)
	}
	if err := r.Store(project).Delete(t.Context(), "a", v); err != nil {
		t.Fatal(err)
	}
	if _, gone := r.must(project, "e", "", ""); gone != "a true" {
		t.Errorf("after a delete: %q", gone)
	}
}

// TestNothingGoesForAWriteThatIsRefused.
func TestNothingGoesForAWriteThatIsRefused(t *testing.T) {
	r := newRoom(t)
	v := ""
	for i := range 4 {
		v, _ = r.must(project, "a", fmt.Sprint(i), v)
	}
	before := r.stored("")
	for _, version := range []string{"", "x"} {
		if _, gone, err := r.put(project, "a", "y", version); !errors.Is(err, workspace.ErrMoved) || len(gone) > 0 {
			t.Errorf("%v, %v", gone, err)
		}
	}
	if r.stored("") != before {
		t.Error("something went")
	}
}

// TestTheBoundOfAnAccount holds over its places, and not over those of others.
func TestTheBoundOfAnAccount(t *testing.T) {
	r := newRoom(t)
	other, chat, stranger := files.Place{Account: "a", Project: "q"}, files.Place{Account: "a", Chat: "c"}, files.Place{Account: "z", Chat: "c"}
	v, _ := r.must(project, "a", "1", "")
	r.must(project, "a", "2", v)
	for i := range 3 {
		r.must(other, fmt.Sprint(i), "", "")
		r.must(chat, fmt.Sprint(i), "", "")
		r.must(stranger, fmt.Sprint(i), "", "")
	}
	_, gone, err := r.put(other, "x", "", "")
	if !errors.Is(err, files.ErrKept) || len(gone) != 0 {
		t.Errorf("%v %v", gone, err)
	}
	if n := r.stored("a/"); n > 8*mb {
		t.Errorf("%d bytes", n)
	}
}

// TestManyWritersStayInTheBound, at the same moment, of files and of pieces.
func TestManyWritersStayInTheBound(t *testing.T) {
	r := newRoom(t)
	content := []byte(strings.Repeat("x", mb-100))
	var all sync.WaitGroup
	for i := range 12 {
		all.Go(func() {
			_, _, _ = r.Write(t.Context(), project, fmt.Sprint("f", i), content, "", files.Piece{})
		})
		all.Go(func() {
			_, _, _ = r.Join(t.Context(), project, files.Piece{Upload: fmt.Sprint(i), Name: "n", Total: 2 * mb, Content: content})
		})
	}
	all.Wait()
	if n := r.stored(""); n > 5*mb || n < 4*mb {
		t.Errorf("%d bytes are there", n)
	}
	if c, err := r.ledger.Count(t.Context(), project.Scope()); err != nil || c.Held != 0 || c.Kept < r.stored("") {
		t.Errorf("%+v, %v", c, err)
	}
}

// TestPiecesReplaceEachOther: what shares a byte goes, and all when the file is written.
func TestPiecesReplaceEachOther(t *testing.T) {
	r := newRoom(t)
	join := func(from int64, content string) []byte {
		t.Helper()
		whole, _, err := r.Join(t.Context(), project, files.Piece{Upload: "u", Name: "n", From: from, Total: 6, Content: []byte(content)})
		if err != nil {
			t.Fatal(err)
		}
		return whole
	}
	join(0, "xxx")
	join(1, "yyyy")
	join(0, "abc")
	join(0, "abd")
	if whole := join(3, "def"); string(whole) != "abddef" {
		t.Errorf("%q", whole)
	}
	if n := r.stored("") / files.Cost(3); n != 2 {
		t.Errorf("%d pieces", n)
	}
	if err := r.Drop(t.Context(), project, files.Piece{Upload: "u", Name: "n", Total: 6}); err != nil || r.stored("") != 0 {
		t.Errorf("%d bytes, %v", r.stored(""), err)
	}
}

// TestAFileInPiecesMakesRoomOnce: the writer is told which versions go, as much as the file needs, and its own pieces go before others. Nothing
// goes for a file that has no room.
func TestAFileInPiecesMakesRoomOnce(t *testing.T) {
	r := newRoom(t)
	v := ""
	for i := range 4 { // three versions, and the present one
		v, _ = r.must(project, "a", fmt.Sprint(i), v)
	}
	send := func(name string, n int) (gone []string, err error) {
		whole := strings.Repeat("y", n*mb-50_000)
		for from := 0; from < len(whole); from += mb {
			r.now = r.now.Add(time.Second)
			piece := files.Piece{Upload: name, Name: name, From: int64(from), Total: int64(len(whole)), Content: []byte(whole[from:min(from+mb, len(whole))])}
			got, went, err := r.Join(t.Context(), project, piece)
			for _, g := range went {
				gone = append(gone, g.Name)
			}
			if err != nil {
				return gone, err
			}
			if got == nil {
				continue
			}
			_, went, err = r.Write(t.Context(), project, name, got, "", piece)
			for _, g := range went {
				gone = append(gone, g.Name)
			}
			if err != nil {
				return gone, err
			}
		}
		return gone, r.Drop(t.Context(), project, files.Piece{Upload: name, Name: name, Total: int64(len(whole))})
	}
	before := r.stored("")
	if gone, err := send("large", 5); !errors.Is(err, files.ErrKept) || len(gone) > 0 || r.stored("") != before {
		t.Errorf("one that has no room: %v, %v, %d bytes of %d are left", gone, err, r.stored(""), before)
	}
	if gone, err := send("b", 3); err != nil || strings.Join(gone, ",") != "a,a" {
		t.Errorf("%v, %v", gone, err)
	}
	l, err := r.Store(project).Versions(t.Context(), "a")
	if err != nil || len(l) != 2 {
		t.Errorf("%d versions are left, %v", len(l), err)
	}
}

// TestWhatAnUndoNeedsStays, and what a draft needs; a month later it goes.
func TestWhatAnUndoNeedsStays(t *testing.T) {
	r := newRoom(t)
	v, _ := r.must(project, "a", "first\n", "")
	r.now = r.now.Add(time.Second)
	used, err := r.Use(t.Context(), project, "", []files.Call{{Name: "write_file", Arguments: json.RawMessage(`{"path":"a","content":"second\n","mode":"overwrite"}`)}}, files.Options{Write: true, AllowDelete: true})
	if err != nil || used.Set.ID == "" {
		t.Fatalf("%+v %v", used, err)
	}
	done, err := r.Apply(t.Context(), project, used.Set.ID)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		r.must(project, fmt.Sprint("b", i), "", "")
	}
	if _, gone, err := r.put(project, "c", "", ""); !errors.Is(err, files.ErrKept) || len(gone) > 0 {
		t.Fatalf("%v, %v", gone, err)
	}
	if _, _, err := r.Store(project).Read(t.Context(), "a", v, 0, 10); err != nil {
		t.Fatal(err)
	}
	b, err := r.Store(project).Stat(t.Context(), "b0")
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Store(project).Delete(t.Context(), "b0", b.Version); err != nil {
		t.Fatal(err)
	}
	if _, gone := r.must(project, "c", "", ""); gone != "b0 true" {
		t.Errorf("%q", gone)
	}
	if _, err := r.Undo(t.Context(), project, used.Set.ID, done.Done); !errors.Is(err, files.ErrKept) {
		t.Errorf("an undo without room: %v", err)
	}
	r.now = r.now.Add(31 * 24 * time.Hour)
	if _, gone := r.must(project, "d", "", ""); gone != "a false" {
		t.Errorf("a month later %q made room", gone)
	}
}

// TestRoomForChangesIsTold: for a set that is prepared, applied or undone.
func TestRoomForChangesIsTold(t *testing.T) {
	r := newRoom(t)
	v := ""
	for i := range 4 {
		v, _ = r.must(project, "v", fmt.Sprint(i), v)
	}
	content, err := json.Marshal(map[string]string{"path": "new", "content": strings.Repeat("x\n", (mb-100)/2), "mode": "overwrite"})
	must(t, err)
	used, err := r.Use(t.Context(), project, "", []files.Call{{Name: "write_file", Arguments: content}}, files.Options{Write: true})
	must(t, err)
	applied, err := r.Apply(t.Context(), project, used.Set.ID)
	must(t, err)
	r.must(project, "v", "5", v)
	for name, gone := range map[string][]files.Gone{"prepared": used.Gone, "applied": applied.Gone} {
		if len(gone) != 1 || gone[0].Name != "v" || gone[0].Place != project {
			t.Errorf("%s: %+v", name, gone)
		}
	}
}

// prepare makes a change set of a place that writes a megabyte.
func (r *room) prepare(p files.Place, name string) string {
	r.t.Helper()
	r.now = r.now.Add(time.Second)
	content, err := json.Marshal(map[string]string{"path": name, "content": strings.Repeat(name+"\n", (mb-100)/(len(name)+1)), "mode": "overwrite"})
	if err != nil {
		r.t.Fatal(err)
	}
	used, err := r.Use(r.t.Context(), p, "", []files.Call{{Name: "write_file", Arguments: content}}, files.Options{Write: true})
	if err != nil || used.Set.ID == "" {
		r.t.Fatalf("%+v %v", used, err)
	}
	return used.Set.ID
}

// TestUnconfirmedChangesMakeRoomFirst, before any version, and the writer is told; never those that a draft, a run or a
// job has, nor those of a turn that may go on.
func TestUnconfirmedChangesMakeRoomFirst(t *testing.T) {
	r := newRoom(t)
	v, _ := r.must(project, "v", "1", "")
	r.must(project, "v", "2", v)
	r.prepare(project, "left")
	kept := r.prepare(project, "kept")
	r.open = map[string]bool{kept: true}
	if _, gone := r.must(project, "turn", "", ""); gone != "v false" {
		t.Errorf("a set of a turn that may go on: %q", gone)
	}
	r.now = r.now.Add(2 * time.Hour)
	if _, gone := r.must(project, "b", "", ""); gone != "left unconfirmed" {
		t.Errorf("%q made room", gone)
	}
	if _, gone, err := r.put(project, "c", "", ""); !errors.Is(err, files.ErrKept) || len(gone) > 0 {
		t.Errorf("a set that a draft has: %v, %v", gone, err)
	}
	if _, err := r.Show(t.Context(), project, kept); err != nil {
		t.Error(err)
	}
	r.open = nil
	if _, gone := r.must(project, "c", "", ""); gone != "kept unconfirmed" {
		t.Errorf("once the draft is discarded: %q", gone)
	}
}

// TestADeleteFreesWhatADraftChanges: a set whose file is deleted, written again or made by another cannot be applied any more.
func TestADeleteFreesWhatADraftChanges(t *testing.T) {
	for name, move := range map[string]func(r *room, v string){
		"deleted": func(r *room, v string) { must(r.t, r.Store(project).Delete(r.t.Context(), "a", v)) },
		"made again": func(r *room, v string) {
			must(r.t, r.Store(project).Delete(r.t.Context(), "a", v))
			r.must(project, "a", "3", "")
		},
	} {
		r := newRoom(t)
		v, _ := r.must(project, "a", "1", "")
		set := r.prepare(project, "a")
		r.open = map[string]bool{set: true}
		for i := range 2 {
			r.must(project, fmt.Sprint("b", i), "", "")
		}
		r.now = r.now.Add(5 * time.Minute)
		if _, _, err := r.put(project, "c", "", ""); !errors.Is(err, files.ErrKept) {
			t.Fatalf("%s: a set that can be applied: %v", name, err)
		}
		if name == "made again" { // for the third content
			b, err := r.Store(project).Stat(t.Context(), "b1")
			must(t, err)
			must(t, r.Store(project).Delete(t.Context(), "b1", b.Version))
		}
		move(r, v)
		if _, _, err := r.put(project, "c", "", ""); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if n := r.stored(""); n > 5*mb {
			t.Errorf("%s: %d bytes", name, n)
		}
	}
}

// TestADeleteAlwaysLetsOneWrite, whatever was done with the file by plans before: what an undo needs is another copy, or the
// undo cannot be any more.
func TestADeleteAlwaysLetsOneWrite(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(r *room, v string)
		wait    time.Duration // before the place is filled
	}{
		"an edit":          {prepare: func(r *room, _ string) { r.apply("a", "write_file") }},
		"an undone edit":   {prepare: func(r *room, _ string) { r.apply("a", "write_file")() }},
		"undone long ago":  {prepare: func(r *room, _ string) { r.apply("a", "write_file")() }, wait: 3 * time.Hour},
		"a restored file":  {prepare: func(r *room, v string) { r.apply("a", "write_file"); r.restore("a", v) }},
		"restored earlier": {prepare: func(r *room, v string) { r.apply("a", "write_file"); r.restore("a", v) }, wait: 3 * time.Hour},
		"an undone delete": {prepare: func(r *room, _ string) { r.apply("a", "delete_file")() }, wait: 3 * time.Hour},
		"restored after a delete": {prepare: func(r *room, v string) {
			r.apply("a", "delete_file")
			r.restore("a", v)
		}, wait: 3 * time.Hour},
		"twice": {prepare: func(r *room, _ string) {
			r.apply("a", "write_file")()
			r.apply("a", "write_file")()
		}, wait: 3 * time.Hour},
		"a refused delete": {prepare: func(r *room, _ string) {
			id := r.use(project, "delete_file", map[string]string{"path": "a"}, "")
			id = r.use(project, "write_file", map[string]string{"path": "b", "content": "x", "mode": "overwrite"}, id)
			f, err := r.Store(project).Write(r.t.Context(), "b", []byte("other"), "")
			must(r.t, err)
			if _, err := r.Apply(r.t.Context(), project, id); !errors.Is(err, workspace.ErrMoved) {
				r.t.Fatal(err)
			}
			must(r.t, r.Store(project).Delete(r.t.Context(), "b", f.Version))
		}},
	} {
		r := newRoom(t)
		v, _ := r.must(project, "a", "1", "")
		c.prepare(r, v)
		r.now = r.now.Add(c.wait + 5*time.Minute)
		full := false
		for i := 0; i < 9 && !full; i++ {
			_, _, err := r.put(project, fmt.Sprint("f", i), "", "")
			full = errors.Is(err, files.ErrKept)
		}
		if !full {
			t.Fatalf("%s: there is room", name)
		}
		now, err := r.Store(project).Stat(t.Context(), "a")
		must(t, err)
		must(t, r.Store(project).Delete(t.Context(), "a", now.Version))
		if _, gone, err := r.put(project, "more", "", ""); err != nil {
			t.Errorf("%s: %v, %v", name, gone, err)
		}
	}
}

// TestOneOfEqualVersionsIsEnough: an undo that was done leaves the content twice, and the earlier copy makes room.
func TestOneOfEqualVersionsIsEnough(t *testing.T) {
	r := newRoom(t)
	r.must(project, "a", "1", "")
	r.apply("a", "write_file")()
	r.now = r.now.Add(3 * time.Hour)
	r.must(project, "b", "", "")
	for _, name := range []string{"c", "d"} { // first that content, then the edit
		if _, gone := r.must(project, name, "", ""); gone != "a false" {
			t.Errorf("%s: %q made room", name, gone)
		}
	}
	if _, gone, err := r.put(project, "e", "", ""); !errors.Is(err, files.ErrKept) || len(gone) > 0 {
		t.Errorf("what is present, and the content of the edit: %v, %v", gone, err)
	}
}

// TestAChainOfUndosStays: the undo of a delete brings a file back, whose edit can be undone then.
func TestAChainOfUndosStays(t *testing.T) {
	r := newRoom(t)
	v, _ := r.must(project, "a", "1", "")
	undoEdit := r.apply("a", "write_file")
	undoDelete := r.apply("a", "delete_file")
	r.now = r.now.Add(3 * time.Hour)
	r.must(project, "b", "", "")
	c, _ := r.must(project, "c", "", "")
	if _, gone, err := r.put(project, "d", "", ""); !errors.Is(err, files.ErrKept) || len(gone) > 0 {
		t.Fatalf("%v, %v", gone, err)
	}
	must(t, r.Store(project).Delete(t.Context(), "c", c))
	undoDelete()
	r.now = r.now.Add(3 * time.Hour)
	undoEdit()
	if now, err := r.Store(project).Stat(t.Context(), "a"); err != nil || now.Version != v {
		t.Errorf("%+v, %v", now, err)
	}
}

// use calls a file tool over a set, and returns the set.
func (r *room) use(p files.Place, tool string, arguments any, set string) string {
	r.t.Helper()
	raw, err := json.Marshal(arguments)
	must(r.t, err)
	used, err := r.Use(r.t.Context(), p, set, []files.Call{{Name: tool, Arguments: raw}}, files.Options{Write: true, AllowDelete: true})
	if err != nil || used.Set.ID == "" {
		r.t.Fatalf("%+v %v", used, err)
	}
	return used.Set.ID
}

// apply writes half a megabyte to a file of the project by a set, or deletes the file, and returns the undo.
func (r *room) apply(name, tool string) (undo func()) {
	r.t.Helper()
	r.now = r.now.Add(time.Second)
	arguments := map[string]string{"path": name}
	if tool == "write_file" {
		arguments["content"], arguments["mode"] = strings.Repeat(name+"\n", mb/2/(len(name)+1)), "overwrite"
	}
	id := r.use(project, tool, arguments, "")
	r.now = r.now.Add(time.Second)
	done, err := r.Apply(r.t.Context(), project, id)
	must(r.t, err)
	return func() {
		r.t.Helper()
		r.now = r.now.Add(time.Second)
		_, err := r.Undo(r.t.Context(), project, id, done.Done)
		must(r.t, err)
	}
}

// restore writes an earlier version of a file of the project again.
func (r *room) restore(name, version string) {
	r.t.Helper()
	r.now = r.now.Add(time.Second)
	store := r.Store(project)
	content, _, err := store.Read(r.t.Context(), name, version, 0, 2*mb)
	must(r.t, err)
	now, err := store.Stat(r.t.Context(), name)
	if !errors.Is(err, workspace.ErrNotFound) {
		must(r.t, err)
	}
	_, err = store.Write(r.t.Context(), name, content, now.Version)
	must(r.t, err)
}

// TestADecidedDraftFreesItsSetAtOnce, although it is young.
func TestADecidedDraftFreesItsSetAtOnce(t *testing.T) {
	r := newRoom(t)
	set := r.prepare(project, "set")
	for i := range 3 {
		r.must(project, fmt.Sprint(i), "", "")
	}
	r.now = r.now.Add(5 * time.Minute)
	if _, _, err := r.put(project, "c", "", ""); !errors.Is(err, files.ErrKept) {
		t.Fatal(err)
	}
	r.decided = map[string]bool{set: true}
	if _, gone := r.must(project, "c", "", ""); gone != "set unconfirmed" {
		t.Errorf("%q made room", gone)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestWhatWasDeletedWithItsPlaceMakesRoom before the sweep comes, with its sets and present files; nobody misses it.
func TestWhatWasDeletedWithItsPlaceMakesRoom(t *testing.T) {
	r := newRoom(t)
	dead, other := files.Place{Account: "a", Project: "dead"}, files.Place{Account: "a", Project: "other"}
	for i := range 3 {
		r.must(dead, fmt.Sprint(i), "", "")
	}
	r.open = map[string]bool{r.prepare(dead, "set"): true}
	for i := range 3 {
		r.must(other, fmt.Sprint(i), "", "")
	}
	if _, _, err := r.put(project, "a", "", ""); !errors.Is(err, files.ErrKept) {
		t.Fatal(err)
	}
	r.deleted = []files.Place{dead}
	for i := range 4 {
		if _, gone := r.must(project, fmt.Sprint(i), "", ""); gone != "" {
			t.Errorf("%q made room", gone)
		}
	}
	if _, _, err := r.put(project, "more", "", ""); !errors.Is(err, files.ErrKept) {
		t.Error(err)
	}
}

// TestTheOwnPlaceMakesRoomFirst at the bound of the account, also with versions that are younger than those of others.
func TestTheOwnPlaceMakesRoomFirst(t *testing.T) {
	r := newRoom(t)
	other := files.Place{Account: "a", Project: "other"}
	v, _ := r.must(other, "theirs", "1", "")
	v, _ = r.must(other, "theirs", "2", v)
	r.must(other, "theirs", "3", v)
	v, _ = r.must(project, "ours", "1", "")
	r.must(project, "ours", "2", v)
	r.must(project, "a", "", "")
	r.must(other, "b", "", "")
	for i, want := range []string{"ours false", "theirs false of other"} {
		if _, gone := r.must(project, fmt.Sprint("c", i), "", ""); gone != want {
			t.Errorf("%d: %q made room, want %q", i, gone, want)
		}
	}
}

// TestACountIsMadeAgain: what the rules of the bucket removed, and what a writer that died held.
func TestACountIsMadeAgain(t *testing.T) {
	r := newRoom(t)
	r.must(project, "a", "", "")
	if ok, err := r.ledger.Hold(t.Context(), map[files.Scope]int64{project.Scope(): 5 * mb}, 3*mb-64<<10, r.now.Add(time.Minute)); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if _, _, err := r.put(project, "b", "", ""); err != nil {
		t.Error(err)
	}
	if _, _, err := r.put(project, "c", "", ""); !errors.Is(err, files.ErrKept) {
		t.Errorf("what is held was not counted: %v", err)
	}
	r.now = r.now.Add(3 * time.Minute)
	r.must(project, "c", "", "")
}
