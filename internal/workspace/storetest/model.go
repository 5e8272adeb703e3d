package storetest

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"piloto/internal/workspace"
)

// kept is one content of a file of the model.
type kept struct {
	version string
	content []byte
}

// model says what a store must answer.
type model struct {
	store   workspace.Store
	t       *testing.T
	present map[string]kept
	all     map[string][]kept // also of files that were deleted, the oldest first
}

// The draws are few, so that names clash and contents come back.
var (
	modelNames    = rapid.SampledFrom([]string{"a", "A", "a/b", "b/c", "b/C", "B/d", "d/e/f", "d/e", "ñ", "d/e/g", "..", ".env"})
	modelContents = rapid.SampledFrom([]string{"", "1", "2", "one line\n", "\xff\x00", "two\r\nlines"})
)

// agreesWithModel makes random changes, and compares each answer with the model.
func agreesWithModel(t *testing.T, open Open) {
	rapid.Check(t, func(r *rapid.T) {
		m := &model{store: open(t, workspace.Limits{}), t: t, present: map[string]kept{}, all: map[string][]kept{}}
		r.Repeat(map[string]func(*rapid.T){
			"write":  m.write,
			"delete": m.delete,
			"read":   m.read,
			"":       m.compare,
		})
	})
}

// version draws the present version of a file, an earlier one, or none.
func (m *model) version(r *rapid.T, name string) string {
	if rapid.Bool().Draw(r, "present") {
		return m.present[name].version
	}
	versions := []string{"", "other"}
	for _, k := range m.all[name] {
		versions = append(versions, k.version)
	}
	return rapid.SampledFrom(versions).Draw(r, "version")
}

// refusal returns the error that a write must have, or nil.
func (m *model) refusal(name, version string) error {
	if (workspace.Shown{}).Check(name) != nil {
		return workspace.ErrName
	}
	if m.present[name].version != version {
		return workspace.ErrMoved
	}
	for other := range m.present {
		if version == "" && workspace.CheckNew(name, other) != nil {
			return workspace.ErrName
		}
	}
	return nil
}

func (m *model) write(r *rapid.T) {
	name := modelNames.Draw(r, "name")
	content := []byte(modelContents.Draw(r, "content"))
	version := m.version(r, name)
	f, err := m.store.Write(m.t.Context(), name, content, version)
	if want := m.refusal(name, version); want != nil || err != nil {
		if !errors.Is(err, want) {
			r.Fatalf("write %q: %v, want %v", name, err, want)
		}
		return
	}
	if f.Name != name || f.Size != int64(len(content)) {
		r.Fatalf("write %q: %+v", name, f)
	}
	if i := slices.IndexFunc(m.all[name], func(k kept) bool { return k.version == f.Version }); i >= 0 && !bytes.Equal(m.all[name][i].content, content) {
		r.Fatalf("two contents of %q have the version %q", name, f.Version)
	}
	k := kept{f.Version, content}
	m.present[name] = k
	m.all[name] = append(m.all[name], k)
}

func (m *model) delete(r *rapid.T) {
	name := modelNames.Draw(r, "name")
	version := m.version(r, name)
	now, there := m.present[name]
	var want error
	switch {
	case (workspace.Shown{}).Check(name) != nil:
		want = workspace.ErrName
	case !there:
		want = workspace.ErrNotFound
	case now.version != version:
		want = workspace.ErrMoved
	}
	if err := m.store.Delete(m.t.Context(), name, version); !errors.Is(err, want) {
		r.Fatalf("delete %q: %v, want %v", name, err, want)
	}
	if want == nil {
		delete(m.present, name)
	}
}

// read reads a range of the present version or of an earlier one.
func (m *model) read(r *rapid.T) {
	if len(m.all) == 0 {
		return
	}
	name := rapid.SampledFrom(slices.Sorted(maps.Keys(m.all))).Draw(r, "name")
	k := rapid.SampledFrom(m.all[name]).Draw(r, "kept")
	from := rapid.Int64Range(0, 12).Draw(r, "from")
	n := rapid.Int64Range(0, 12).Draw(r, "n")
	got, f, err := m.store.Read(m.t.Context(), name, k.version, from, n)
	want := k.content[min(from, int64(len(k.content))):]
	want = want[:min(n, int64(len(want)))]
	if err != nil || !bytes.Equal(got, want) || f.Version != k.version || f.Size != int64(len(k.content)) {
		r.Fatalf("%d bytes from %d of version %q of %q: %q of %+v, %v; want %q", n, from, k.version, name, got, f, err, want)
	}
}

// compare compares the list, and the versions of each file.
func (m *model) compare(r *rapid.T) {
	l, err := m.store.List(m.t.Context())
	if err != nil {
		r.Fatal(err)
	}
	names := slices.Sorted(maps.Keys(m.present))
	if len(l.Files) != len(names) {
		r.Fatalf("listed %+v, want %q", l.Files, names)
	}
	for i, f := range l.Files {
		if want := m.present[names[i]]; f.Name != names[i] || f.Version != want.version || f.Size != int64(len(want.content)) {
			r.Fatalf("listed %+v, want %q of version %q", f, names[i], want.version)
		}
	}
	for name, all := range m.all {
		m.compareVersions(r, name, all)
	}
}

// compareVersions compares contents where they are met first, the newest first: a store may keep a content that came
// back once or twice.
func (m *model) compareVersions(r *rapid.T, name string, all []kept) {
	if len(all) > workspace.MaxVersions {
		return // the oldest may be gone
	}
	files, err := m.store.Versions(m.t.Context(), name)
	if err != nil {
		r.Fatalf("versions of %q: %v", name, err)
	}
	var got, want []string
	for _, f := range files {
		content, _, err := m.store.Read(m.t.Context(), name, f.Version, 0, workspace.MaxFileBytes)
		if err != nil {
			r.Fatalf("version %q of %q: %v", f.Version, name, err)
		}
		got = addOnce(got, string(content))
	}
	for _, k := range slices.Backward(all) {
		want = addOnce(want, string(k.content))
	}
	if !slices.Equal(got, want) {
		r.Fatalf("versions of %q: %q, want %q", name, got, want)
	}
}

func addOnce(to []string, s string) []string {
	if slices.Contains(to, s) {
		return to
	}
	return append(to, s)
}
