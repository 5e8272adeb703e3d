package serve_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"localaws/disk"
	"localaws/inproc"
	"log/slog"
	"net/http"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	engine "localaws/s3"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"pgregory.net/rapid"

	"piloto/infra/local/fixture/memory"
	"piloto/internal/workspace"
	"piloto/internal/workspace/bucket"
	"piloto/internal/workspace/files"
	"piloto/internal/workspace/filetool"
	"piloto/internal/workspace/serve"
)

var (
	project = files.Place{Account: "a", Project: "p"}
	writes  = files.Options{Write: true}
	errDead = errors.New("the process died")
)

// clientOf returns a client of an engine in this process.
func clientOf(e http.Handler) *s3.Client {
	return s3.New(s3.Options{
		Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""), UsePathStyle: true,
		HTTPClient: inproc.Transport{Handler: e}, BaseEndpoint: aws.String("http://engine.test"),
	})
}

// objects die after some writes.
type objects struct {
	memory.Objects
	mu   sync.Mutex
	left int // writes until they die; negative: they do not
}

func newObjects() *objects { return &objects{left: -1} }

func (o *objects) Put(ctx context.Context, key string, content []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.left == 0 {
		return errDead
	}
	o.left--
	return o.Objects.Put(ctx, key, content)
}

// places has a store in memory for each place.
func places() func(files.Place) workspace.Store {
	var mu sync.Mutex
	all := map[files.Place]*memory.Store{}
	return func(p files.Place) workspace.Store {
		mu.Lock()
		defer mu.Unlock()
		if all[p] == nil {
			all[p] = memory.With(nil)
		}
		return all[p]
	}
}

func service(stores func(files.Place) workspace.Store, o serve.Objects) *serve.Service {
	return serve.New(serve.Config{Store: stores, Objects: o, Now: time.Now, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
}

func call(name string, arguments map[string]any) files.Call {
	raw, _ := json.Marshal(arguments)
	return files.Call{Name: name, Arguments: raw}
}

func write(path, content string) files.Call {
	return call("write_file", map[string]any{"path": path, "content": content})
}

func mustUse(t *testing.T, s *serve.Service, set string, calls ...files.Call) files.Used {
	t.Helper()
	used, err := s.Use(t.Context(), project, set, calls, writes)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range used.Results {
		if !r.OK {
			t.Fatalf("%s: %s", calls[i].Name, r.Error)
		}
	}
	return used
}

// inBucket returns a service over the engine of S3.
func inBucket(t *testing.T) *serve.Service {
	t.Helper()
	dir := t.TempDir()
	store, err := disk.Open(filepath.Join(dir, "data"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	e, err := engine.Open(store, filepath.Join(dir, "objects"))
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
	stores := func(p files.Place) workspace.Store {
		return bucket.New(bucket.Config{Client: client, Name: "files", Prefix: bucket.Prefix(p), Now: time.Now})
	}
	return service(stores, bucket.Objects{Client: client, Name: "files", Now: time.Now})
}

// TestASetIsUsedShownAppliedAndUndone runs the whole life of a set over both stores.
func TestASetIsUsedShownAppliedAndUndone(t *testing.T) {
	for name, s := range map[string]*serve.Service{"memory": service(places(), newObjects()), "bucket": inBucket(t)} {
		t.Run(name, func(t *testing.T) {
			ctx, base := t.Context(), s.Store(project)
			if _, err := base.Write(ctx, "old.txt", []byte("one\n"), ""); err != nil {
				t.Fatal(err)
			}
			first := mustUse(t, s, "", write("new.txt", "hello\n"), write("ñ/b.bin", "x"), write("old.txt", "two\n"))
			used := mustUse(t, s, first.Set.ID, call("read_file", map[string]any{"path": "new.txt"}))
			if used.Set.ID != first.Set.ID || !strings.Contains(used.Results[0].Output, "hello") {
				t.Errorf("%+v", used)
			}
			if l, err := base.List(ctx); err != nil || len(l.Files) != 1 {
				t.Errorf("the files were changed before anybody confirmed: %+v, %v", l, err)
			}
			tree, err := s.Tree(ctx, project, first.Set.ID)
			if err != nil || !strings.Contains(tree.Names, "new.txt") {
				t.Errorf("%q, %v", tree, err)
			}
			shown, err := s.Show(ctx, project, first.Set.ID)
			if err != nil || !strings.Contains(shown.Diff, "-one\n+two\n") || len(shown.Set.Changes) != 3 {
				t.Errorf("%+v, %v", shown, err)
			}
			rest, err := s.Without(ctx, project, first.Set.ID, []string{"ñ/b.bin"})
			if err != nil || len(rest.Changes) != 2 {
				t.Fatalf("%+v, %v", rest, err)
			}
			for range 2 { // it may be repeated
				done, err := s.Apply(ctx, project, rest.ID)
				if err != nil || len(done.Done) != 2 {
					t.Fatalf("%+v, %v", done, err)
				}
				content, _, err := workspace.ReadAll(ctx, base, "old.txt", "")
				if err != nil || string(content) != "two\n" {
					t.Errorf("%q, %v", content, err)
				}
			}
			done, err := s.Apply(ctx, project, rest.ID)
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if _, err := s.Undo(ctx, project, rest.ID, done.Done); err != nil {
					t.Fatal(err)
				}
				content, _, err := workspace.ReadAll(ctx, base, "old.txt", "")
				if _, gone := base.Stat(ctx, "new.txt"); err != nil || string(content) != "one\n" || !errors.Is(gone, workspace.ErrNotFound) {
					t.Errorf("%q, %v, %v", content, err, gone)
				}
			}
			if _, err := base.Write(ctx, "new.txt", []byte("of somebody else"), ""); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Apply(ctx, project, rest.ID); !errors.Is(err, workspace.ErrMoved) {
				t.Errorf("a file that changed meanwhile: %v", err)
			}
		})
	}
}

// TestAPlaceIsCleared with its sets, and no other place is.
func TestAPlaceIsCleared(t *testing.T) {
	for name, s := range map[string]*serve.Service{"memory": service(places(), newObjects()), "bucket": inBucket(t)} {
		t.Run(name, func(t *testing.T) {
			ids := map[files.Place]string{}
			for _, p := range []files.Place{project, {Account: "a", Project: "pp"}, {Account: "a", Chat: "p"}} {
				used, err := s.Use(t.Context(), p, "", []files.Call{write("a", "x"), write("d/b", "y")}, writes)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := s.Apply(t.Context(), p, used.Set.ID); err != nil {
					t.Fatal(err)
				}
				ids[p] = used.Set.ID
			}
			for range 2 {
				if err := s.Clear(t.Context(), project); err != nil {
					t.Fatal(err)
				}
			}
			for p, id := range ids {
				want, kept := 2, error(nil)
				if p == project {
					want, kept = 0, files.ErrSet
				}
				l, err := s.Store(p).List(t.Context())
				if _, shown := s.Tree(t.Context(), p, id); err != nil || len(l.Files) != want || !errors.Is(shown, kept) {
					t.Errorf("%+v: %d files, %v, the set: %v", p, len(l.Files), err, shown)
				}
			}
		})
	}
}

func TestASetOfAnotherPlaceIsNotFound(t *testing.T) {
	s := service(places(), newObjects())
	id := mustUse(t, s, "", write("a", "x")).Set.ID
	for _, p := range []files.Place{{Account: "b", Project: "p"}, {Account: "a", Project: "q"}, {Account: "a", Chat: "p"}, {Account: "a/p", Project: "p"}} {
		for what, err := range all(t, s, p, id) {
			if !errors.Is(err, files.ErrSet) {
				t.Errorf("%s of %+v: %v", what, p, err)
			}
		}
	}
	for _, bad := range []string{"x", "../set/" + id, strings.ToUpper(id), id + "/", strings.Repeat("0", 64)} {
		for what, err := range all(t, s, project, bad) {
			if !errors.Is(err, files.ErrSet) {
				t.Errorf("%s of the set %q: %v", what, bad, err)
			}
		}
	}
}

// all calls each operation with a set.
func all(t *testing.T, s *serve.Service, p files.Place, set string) map[string]error {
	t.Helper()
	errs := map[string]error{}
	_, errs["use"] = s.Use(t.Context(), p, set, nil, writes)
	_, errs["tree"] = s.Tree(t.Context(), p, set)
	_, errs["show"] = s.Show(t.Context(), p, set)
	_, errs["without"] = s.Without(t.Context(), p, set, nil)
	_, errs["apply"] = s.Apply(t.Context(), p, set)
	_, errs["undo"] = s.Undo(t.Context(), p, set, nil)
	return errs
}

func TestADamagedSetAndAPanicAreOneError(t *testing.T) {
	for _, damage := range []string{"{", `{"changes":[]}`, `{"changes":[{"name":"b","after":"00"}]}`} {
		o := newObjects()
		s := service(places(), o)
		id := mustUse(t, s, "", write("a", "x")).Set.ID
		o.Set("changes/a/p/p/set/"+id, []byte(damage))
		for what, err := range all(t, s, project, id) {
			if !errors.Is(err, serve.ErrDamaged) {
				t.Errorf("%s of %s: %v", what, damage, err)
			}
		}
	}
	o := newObjects()
	s := service(places(), o)
	id := mustUse(t, s, "", write("a", "x")).Set.ID
	o.Set("changes/a/p/p/content/"+workspace.Sum([]byte("x")), []byte("another"))
	for what, err := range all(t, s, project, id) {
		if !errors.Is(err, serve.ErrDamaged) {
			t.Errorf("%s: %v", what, err)
		}
	}
	panics := service(func(files.Place) workspace.Store { panic("no store") }, newObjects())
	if _, err := panics.Use(t.Context(), project, "", nil, writes); !errors.Is(err, serve.ErrDamaged) {
		t.Error(err)
	}
}

func TestWhatMayNotBeUsedIsAResult(t *testing.T) {
	s := service(places(), newObjects())
	used, err := s.Use(t.Context(), project, "", []files.Call{write("a", "x"), call("run_command", nil), {Name: "read_file", Arguments: []byte(`{`)}}, files.Options{})
	if err != nil || used.Set.ID != "" || len(used.Results) != 3 {
		t.Fatalf("%+v, %v", used, err)
	}
	for i, r := range used.Results {
		if r.OK || r.Error == "" {
			t.Errorf("%d: %+v", i, r)
		}
	}
	id := mustUse(t, s, "", write("a", "x")).Set.ID
	used, err = s.Use(t.Context(), project, id, []files.Call{call("delete_file", map[string]any{"path": "a"})}, writes)
	if err != nil || used.Results[0].OK || used.Set.ID != id {
		t.Errorf("deleted without a permission: %+v, %v", used, err)
	}
	large := strings.Repeat("word ", 1<<18)
	used = mustUse(t, s, id, write("large", large), call("read_file", map[string]any{"path": "large"}))
	if n := len(used.Results[1].Output); n == 0 || n > filetool.MaxOutput {
		t.Errorf("a result of %d bytes", n)
	}
}

// TestADeathAtAnyWriteChangesNothing: a caller repeats a call after a death, with the set that it has, and comes to the
// same sets as one that never met a death.
func TestADeathAtAnyWriteChangesNothing(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		rounds := rapid.SliceOfN(rapid.SliceOfN(rapid.Custom(func(r *rapid.T) files.Call {
			name := rapid.SampledFrom([]string{"a", "b", "d/c"}).Draw(r, "name")
			if rapid.Bool().Draw(r, "delete") {
				return call("delete_file", map[string]any{"path": name})
			}
			return write(name, fmt.Sprint(rapid.IntRange(0, 5).Draw(r, "content")))
		}), 1, 3), 1, 4).Draw(r, "rounds")
		o := files.Options{Write: true, AllowDelete: true}
		stores, good, bad := places(), newObjects(), newObjects()
		want, got := "", ""
		for _, calls := range rounds {
			used, err := service(stores, good).Use(t.Context(), project, want, calls, o)
			if err != nil {
				r.Fatal(err)
			}
			for deaths := 0; ; deaths++ {
				bad.left = deaths
				again, err := service(stores, bad).Use(t.Context(), project, got, calls, o)
				if errors.Is(err, errDead) {
					bad.whole(t.Context(), r, service(stores, bad))
					continue
				}
				if err != nil || !reflect.DeepEqual(again, used) {
					r.Fatalf("after %d deaths %+v, %v, and without %+v", deaths, again, err, used)
				}
				break
			}
			want, got = used.Set.ID, used.Set.ID
		}
	})
}

// whole fails if a set that can be found cannot be used.
func (o *objects) whole(ctx context.Context, r *rapid.T, s *serve.Service) {
	keys, _ := o.List(ctx, "changes/"+project.Prefix()+"set/")
	for _, key := range keys {
		if _, err := s.Tree(ctx, project, path.Base(key)); err != nil {
			r.Fatalf("the set %s: %v", key, err)
		}
	}
}

// racing is a store in which somebody changes a file at the first write of another one.
type racing struct {
	workspace.Store
	name string
	once sync.Once
}

func (r *racing) Write(ctx context.Context, name string, content []byte, version string) (workspace.File, error) {
	r.once.Do(func() {
		f, err := r.Stat(ctx, r.name)
		if err == nil {
			_, err = r.Store.Write(ctx, r.name, []byte("of another\n"), f.Version)
		}
		if err != nil {
			panic(err)
		}
	})
	return r.Store.Write(ctx, name, content, version)
}

// TestASetIsAppliedWholeOrNotAtAll: a file changes after the first write of the set.
func TestASetIsAppliedWholeOrNotAtAll(t *testing.T) {
	base := memory.With(map[string]string{"a": "1\n", "b": "2\n", "z": "3\n"})
	o := newObjects()
	used := mustUse(t, service(func(files.Place) workspace.Store { return base }, o), "", write("a", "1\nmine\n"), write("b", "2\nmine\n"), write("n", "new\n"), write("z", "3\nmine\n"))
	raced := &racing{Store: base, name: "z"}
	s := service(func(files.Place) workspace.Store { return raced }, o)
	if _, err := s.Apply(t.Context(), project, used.Set.ID); !errors.Is(err, workspace.ErrMoved) {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"a": "1\n", "b": "2\n", "z": "of another\n"} {
		if got, _, err := workspace.ReadAll(t.Context(), base, name, ""); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if _, err := base.Stat(t.Context(), "n"); !errors.Is(err, workspace.ErrNotFound) {
		t.Errorf("n stayed: %v", err)
	}
	rest, moved, err := s.Rebase(t.Context(), project, used.Set.ID)
	if err != nil || !slices.Contains(moved, "z") {
		t.Fatalf("%v, %v", moved, err)
	}
	for _, c := range rest.Changes {
		if slices.Contains(moved, c.Name) {
			t.Errorf("%s is still in the set", c.Name)
		}
	}
}

// full is a store that takes no more than some writes.
type full struct {
	workspace.Store
	left int
}

func (f *full) Write(ctx context.Context, name string, content []byte, version string) (workspace.File, error) {
	if f.left--; f.left == -1 {
		return workspace.File{}, workspace.ErrFull
	}
	return f.Store.Write(ctx, name, content, version)
}

// TestASetThatIsRefusedInTheMiddleIsTakenBack, whatever the reason is.
func TestASetThatIsRefusedInTheMiddleIsTakenBack(t *testing.T) {
	base, o := memory.With(map[string]string{"a": "1\n"}), newObjects()
	used := mustUse(t, service(func(files.Place) workspace.Store { return base }, o), "", write("a", "2\n"), write("b", "new\n"))
	s := service(func(files.Place) workspace.Store { return &full{base, 1} }, o)
	if _, err := s.Apply(t.Context(), project, used.Set.ID); !errors.Is(err, workspace.ErrFull) {
		t.Fatal(err)
	}
	content, _, err := workspace.ReadAll(t.Context(), base, "a", "")
	if _, missing := base.Stat(t.Context(), "b"); string(content) != "1\n" || err != nil || !errors.Is(missing, workspace.ErrNotFound) {
		t.Errorf("%q, %v, %v", content, err, missing)
	}
}

// TestTheSameChangeOfSomebodyElseStays when another file of the set moved.
func TestTheSameChangeOfSomebodyElseStays(t *testing.T) {
	base, o := memory.With(map[string]string{"a": "1\n", "b": "1\n"}), newObjects()
	s := service(func(files.Place) workspace.Store { return base }, o)
	used := mustUse(t, s, "", write("a", "2\n"), write("b", "2\n"))
	for name, content := range map[string]string{"a": "2\n", "b": "of another\n"} {
		f, err := base.Stat(t.Context(), name)
		if err == nil {
			_, err = base.Write(t.Context(), name, []byte(content), f.Version)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Apply(t.Context(), project, used.Set.ID); !errors.Is(err, workspace.ErrMoved) {
		t.Fatal(err)
	}
	if content, _, err := workspace.ReadAll(t.Context(), base, "a", ""); string(content) != "2\n" || err != nil {
		t.Errorf("%q, %v", content, err)
	}
}

// TestWhatAnAttemptBeforeWroteIsTakenBack: it died after its first write, and then another file moved.
func TestWhatAnAttemptBeforeWroteIsTakenBack(t *testing.T) {
	base, o := memory.With(map[string]string{"a": "1\n", "b": "1\n"}), newObjects()
	used := mustUse(t, service(func(files.Place) workspace.Store { return base }, o), "", write("a", "2\n"), write("b", "2\n"))
	dying := service(func(files.Place) workspace.Store { return &dyingStore{base, 1} }, o)
	if _, err := dying.Apply(t.Context(), project, used.Set.ID); !errors.Is(err, errDead) {
		t.Fatal(err)
	}
	f, err := base.Stat(t.Context(), "b")
	if err == nil {
		_, err = base.Write(t.Context(), "b", []byte("of another\n"), f.Version)
	}
	if err != nil {
		t.Fatal(err)
	}
	s := service(func(files.Place) workspace.Store { return base }, o)
	if _, err := s.Apply(t.Context(), project, used.Set.ID); !errors.Is(err, workspace.ErrMoved) {
		t.Fatal(err)
	}
	if content, _, err := workspace.ReadAll(t.Context(), base, "a", ""); string(content) != "1\n" || err != nil {
		t.Errorf("%q, %v", content, err)
	}
}

// dyingStore is a store whose process dies at a write.
type dyingStore struct {
	workspace.Store
	left int
}

func (d *dyingStore) Write(ctx context.Context, name string, content []byte, version string) (workspace.File, error) {
	if d.left--; d.left < 0 {
		return workspace.File{}, errDead
	}
	return d.Store.Write(ctx, name, content, version)
}
