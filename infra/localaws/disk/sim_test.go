package disk

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
)

// simDisk is a disk for the log that forgets what was not synced. A crash may come at any operation:
// of the sectors written since the last sync of their file any may have reached the disk, in any of the
// contents that they had since; a file whose name was not synced may be there or not, and so may a file
// that was removed.
//
// bbolt writes its file itself. So the disk copies the file around each commit to it, and at a crash
// combines the last synced copy with any of the pages that were changed since.
type simDisk struct {
	mu      sync.Mutex
	r       *rand.Rand
	names   map[string]*simFile
	synced  map[string]*simFile // the names on disk
	count   int
	crashAt int // number of the operation; 0: never
	crashed bool

	path string // of the data file
	base []byte // of the data file, as it was synced last
	was  []byte // of the data file at the crash

	lost lostSync
}

// lostSync is a sync that the disk does not carry out: the fault that a test has to find.
type lostSync struct{ records, segments, names, base bool }

var errCrashed = errors.New("the machine crashed")

// simFile is one file.
type simFile struct {
	disk    *simDisk
	name    string
	content []byte           // as it is read
	onDisk  []byte           // as it was synced last
	since   map[int][][]byte // contents of each sector since
	begun   bool             // was synced before
}

// step counts an operation; an error says that the machine crashed, at this or an earlier one. The
// caller holds mu.
func (d *simDisk) step() error {
	d.count++
	if d.count == d.crashAt {
		d.crash()
	}
	if d.crashed {
		return errCrashed
	}
	return nil
}

// crash takes what the data file has now. The caller holds mu.
func (d *simDisk) crash() {
	if d.crashed {
		return
	}
	d.crashed = true
	d.was = d.base
	if d.lost.base {
		d.was = d.mixed(readBase(d.path), func(int) bool { return d.r.IntN(2) == 0 })
	}
}

// mixed returns the synced data file with some pages of a later one.
func (d *simDisk) mixed(later []byte, take func(page int) bool) []byte {
	size := os.Getpagesize()
	out := slices.Clone(later)
	clear(out)
	copy(out, d.base)
	for at := 0; at < len(later); at += size {
		if take(at / size) {
			copy(out[at:at+size], later[at:])
		}
	}
	return out
}

// readBase returns the pages of a data file that were ever used.
func readBase(path string) []byte {
	file, err := os.Open(path)
	if err != nil {
		panic(err)
	}
	defer func() { _ = file.Close() }()
	both, err := readRoots(file)
	if err != nil {
		panic(err)
	}
	b := make([]byte, int(max(both.at[0].end, both.at[1].end))*os.Getpagesize())
	if _, err := file.ReadAt(b, 0); err != nil {
		panic(err)
	}
	return b
}

// committed is called after each commit to the data file. The machine may have crashed before all
// pages were synced, or before the root page was.
func (d *simDisk) committed() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.crashed {
		return
	}
	if d.lost.base {
		_ = d.step()
		return
	}
	later := readBase(d.path)
	for _, take := range []func(page int) bool{
		func(page int) bool { return page > 1 && d.r.IntN(2) == 0 },
		func(page int) bool { return page > 1 || d.r.IntN(2) == 0 },
	} {
		if d.step() != nil {
			d.was = d.mixed(later, take)
			return
		}
	}
	d.base = later
	_ = d.step()
}

func (d *simDisk) Names() ([]string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Sorted(maps.Keys(d.names)), nil
}

func (d *simDisk) Create(name string) (logFile, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.names[name] != nil {
		return nil, fs.ErrExist
	}
	f := &simFile{disk: d, name: name, since: map[int][][]byte{}}
	err := d.step()
	d.names[name] = f
	return f, err
}

func (d *simDisk) Open(name string, _ bool) (logFile, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.names[name]
	if f == nil {
		return nil, fs.ErrNotExist
	}
	return f, nil
}

func (d *simDisk) Remove(name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.names[name] == nil {
		return fs.ErrNotExist
	}
	if err := d.step(); err != nil {
		return err
	}
	delete(d.names, name)
	return nil
}

func (d *simDisk) Sync() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.step(); err != nil {
		return err
	}
	if !d.lost.names {
		d.synced = maps.Clone(d.names)
	}
	return nil
}

func (f *simFile) Size() (int64, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	return int64(len(f.content)), nil
}

func (f *simFile) Close() error { return nil }

func (f *simFile) ReadAt(b []byte, at int64) (int, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	return bytes.NewReader(f.content).ReadAt(b, at)
}

func (f *simFile) WriteAt(b []byte, at int64) (int, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if f.disk.crashed {
		return 0, errCrashed
	}
	if at%sectorSize != 0 || len(b)%sectorSize != 0 {
		panic("a write of a part of a sector")
	}
	if more := int(at) + len(b) - len(f.content); more > 0 {
		f.content = append(f.content, make([]byte, more)...)
	}
	copy(f.content[at:], b)
	for i := 0; i < len(b); i += sectorSize {
		sector := (int(at) + i) / sectorSize
		f.since[sector] = append(f.since[sector], slices.Clone(b[i:i+sectorSize]))
	}
	if err := f.disk.step(); err != nil {
		return 0, err // and any part of it may be there
	}
	return len(b), nil
}

func (f *simFile) Sync() error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if err := f.disk.step(); err != nil {
		return err
	}
	lost := f.disk.lost.records && f.begun || f.disk.lost.segments && !f.begun
	f.begun = true
	if !lost {
		f.onDisk = slices.Clone(f.content)
		clear(f.since)
	}
	return nil
}

// survive returns the content after a crash.
func (f *simFile) survive(r *rand.Rand) []byte {
	out := slices.Clone(f.onDisk)
	for _, sector := range slices.Sorted(maps.Keys(f.since)) {
		contents := f.since[sector]
		pick := r.IntN(len(contents) + 1)
		if pick == len(contents) {
			continue
		}
		if more := (sector+1)*sectorSize - len(out); more > 0 {
			out = append(out, make([]byte, more)...)
		}
		copy(out[sector*sectorSize:], contents[pick])
	}
	return out
}

// restart returns the disk after a crash, with the data file in a new folder.
func (d *simDisk) restart(t testing.TB) *simDisk {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.crash()
	next := newSimDisk(t, d.r)
	names := map[string]bool{}
	for _, set := range []map[string]*simFile{d.names, d.synced} {
		for name, f := range set {
			if d.names[name] == d.synced[name] || d.r.IntN(2) == 0 {
				names[name] = true
				content := f.survive(d.r)
				next.names[name] = &simFile{disk: next, name: name, content: content, onDisk: slices.Clone(content), since: map[int][][]byte{}, begun: true}
			}
		}
	}
	next.synced = maps.Clone(next.names)
	if err := os.WriteFile(next.path, d.was, 0o600); err != nil {
		t.Fatal(err)
	}
	next.base = d.was
	return next
}

func newSimDisk(t testing.TB, r *rand.Rand) *simDisk {
	dir, err := os.MkdirTemp(simFolder(t), "")
	if err != nil {
		t.Fatal(err)
	}
	return &simDisk{r: r, names: map[string]*simFile{}, synced: map[string]*simFile{}, path: filepath.Join(dir, "data.db")}
}

var simFolders sync.Map

// simFolder returns one folder for each test.
func simFolder(t testing.TB) string {
	if dir, ok := simFolders.Load(t.Name()); ok {
		return dir.(string)
	}
	dir := scratch(t)
	simFolders.Store(t.Name(), dir)
	return dir
}

// open opens a store over the disk. Checkpoints are small and come often.
func (d *simDisk) open(inline bool) (*Store, error) {
	s, err := Open(d.path, func(s *Store) {
		s.segments.folder = d
		s.bounds = bounds{checkpoint: 6 << 10, most: 40 << 10, record: 5 << 10}
		s.hooks = hooks{inline: inline, afterCommit: d.committed}
		s.trouble.log = slog.New(slog.DiscardHandler)
	})
	if err != nil {
		return nil, err
	}
	s.db.NoSync = true // the disk decides what is there
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.base == nil {
		d.base = readBase(d.path)
	}
	return s, nil
}

// model is the contents that a store must have: keys and values of buckets.
type model map[string]map[string]string

func (m model) String() string {
	var out bytes.Buffer
	for _, b := range slices.Sorted(maps.Keys(m)) {
		fmt.Fprintf(&out, "%q{", b)
		for _, k := range slices.Sorted(maps.Keys(m[b])) {
			fmt.Fprintf(&out, "%q:%q ", k, m[b][k])
		}
		fmt.Fprint(&out, "}")
	}
	return out.String()
}

func readModel(s *Store) (m model, err error) {
	m = model{}
	err = s.View(func(tx *Tx) error {
		for _, name := range topBuckets(tx) {
			m[name] = map[string]string{}
			if err := tx.Bucket([]byte(name)).ForEach(func(k, v []byte) error {
				m[name][string(k)] = string(v)
				return nil
			}); err != nil {
				return err
			}
		}
		return nil
	})
	return m, err
}

// change is a random write to the model, which returns the same write to a store.
func (m model) change(r *rand.Rand) func(*Tx) error {
	name := fmt.Sprint("b", r.IntN(3))
	if r.IntN(25) == 0 && m[name] != nil {
		delete(m, name)
		return func(tx *Tx) error { return tx.DeleteBucket([]byte(name)) }
	}
	if m[name] == nil {
		m[name] = map[string]string{}
	}
	type write struct{ k, v string }
	writes := make([]write, 1+r.IntN(4))
	for i := range writes {
		size := r.IntN(60)
		switch r.IntN(20) {
		case 0:
			size = r.IntN(3000)
		case 1:
			size = r.IntN(8000) // some are too large for the log
		}
		writes[i] = write{fmt.Sprint("k", r.IntN(25)), string(bytes.Repeat([]byte{byte('a' + r.IntN(26))}, size))}
		if r.IntN(4) == 0 {
			writes[i].v = "-"
			delete(m[name], writes[i].k)
			continue
		}
		m[name][writes[i].k] = writes[i].v
	}
	return func(tx *Tx) error {
		b, err := tx.CreateBucketIfNotExists([]byte(name))
		for _, w := range writes {
			if err == nil && w.v == "-" {
				err = b.Delete([]byte(w.k))
			} else if err == nil {
				err = b.Put([]byte(w.k), []byte(w.v))
			}
		}
		return err
	}
}

// simRun is one random life of a store up to a crash.
type simRun struct {
	t      *testing.T
	disk   *simDisk
	s      *Store
	m      model
	states []string // after each write
	acked  int      // the state that was acknowledged last
}

// work does random writes until the machine crashes, or there were enough.
func (w *simRun) work(steps int) {
	r := w.disk.r
	for range steps {
		var err error
		waited := true
		switch n := r.IntN(40); {
		case n == 0:
			err = w.reopen()
		case n < 4:
			err = w.s.Flush()
		default:
			write := w.m.change(r)
			w.states = append(w.states, w.m.String())
			if waited = n < 26; waited {
				err = w.s.Update(write)
			} else {
				err = w.s.UpdateAsync(write)
				w.stopFlusher()
			}
		}
		if w.disk.isCrashed() {
			return
		}
		if err != nil {
			w.t.Fatalf("without a crash: %v", err)
		}
		if waited {
			w.acked = len(w.states) - 1
		}
	}
}

// stopFlusher leaves the time of every sync to the run.
func (w *simRun) stopFlusher() {
	w.s.w.mu.Lock()
	defer w.s.w.mu.Unlock()
	if w.s.w.flusher != nil {
		w.s.w.flusher.Stop()
	}
}

func (w *simRun) reopen() error {
	err := w.s.Close()
	if err == nil && !w.disk.isCrashed() {
		w.s, err = w.disk.open(true)
	}
	return err
}

func (d *simDisk) isCrashed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.crashed
}

// check compares a store that was opened after a crash with the model.
func (w *simRun) check(s *Store) error {
	got, err := readModel(s)
	if err != nil {
		return err
	}
	if i := slices.Index(w.states[w.acked:], got.String()); i < 0 {
		return fmt.Errorf("state %d was acknowledged, %d is the last, and it has another: %.400s", w.acked, len(w.states)-1, got)
	}
	return nil
}

// crashOnce runs a store up to one crash, and returns what is wrong after it.
func crashOnce(t *testing.T, seed uint64, lost lostSync) (err error) {
	r := rand.New(rand.NewPCG(seed, 99))
	w := &simRun{t: t, disk: newSimDisk(t, r), m: model{}}
	w.states = []string{w.m.String()}
	w.disk.lost = lost
	if w.s, err = w.disk.open(true); err != nil {
		t.Fatal(err)
	}
	w.disk.crashAt = 1 + r.IntN(160)
	w.work(60)
	disk := w.disk.restart(t)
	_ = w.s.Close()
	defer func() { _ = os.RemoveAll(filepath.Dir(w.disk.path)) }()
	for range r.IntN(3) { // and again, while it recovers or soon after
		disk.crashAt = 1 + r.IntN(8)
		if s, err := disk.open(true); err == nil {
			for range r.IntN(3) {
				_ = s.Update(func(tx *Tx) error {
					_, err := tx.CreateBucketIfNotExists([]byte("later"))
					return errors.Join(err, tx.DeleteBucket([]byte("later")))
				})
			}
			old := disk
			disk = old.restart(t)
			_ = s.Close()
			_ = os.RemoveAll(filepath.Dir(old.path))
			continue
		} else if !disk.isCrashed() {
			return err
		}
		old := disk
		disk = old.restart(t)
		_ = os.RemoveAll(filepath.Dir(old.path))
	}
	defer func() { _ = os.RemoveAll(filepath.Dir(disk.path)) }()
	s, err := disk.open(true)
	if err != nil {
		return err
	}
	err = w.check(s)
	if err == nil {
		err = s.Update(put("goes on", "x"))
	}
	return errors.Join(err, s.Close())
}

// TestCrashLosesNothingAcknowledged crashes a simulated machine at thousands of moments.
func TestCrashLosesNothingAcknowledged(t *testing.T) {
	runs := uint64(2000)
	if testing.Short() || raced {
		runs = 400
	}
	if testing.Short() && raced {
		runs = 100
	}
	for seed := range runs {
		if err := crashOnce(t, seed, lostSync{}); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

// TestLostSyncIsFound: the simulation finds each sync that is left out.
func TestLostSyncIsFound(t *testing.T) {
	for what, lost := range map[string]lostSync{
		"of a record":       {records: true},
		"of a new segment":  {segments: true},
		"of a name":         {names: true},
		"of the checkpoint": {base: true},
	} {
		t.Run(what, func(t *testing.T) {
			for seed := range uint64(500) {
				if err := crashOnce(t, seed, lost); err != nil {
					t.Logf("seed %d: %.200v", seed, err)
					return
				}
			}
			t.Error("it was not found")
		})
	}
}

// TestCrashUnderConcurrentWriters: each writer counts in a key of its own, while checkpoints run beside
// them.
func TestCrashUnderConcurrentWriters(t *testing.T) {
	runs := uint64(300)
	if testing.Short() || raced {
		runs = 40
	}
	for seed := range runs {
		r := rand.New(rand.NewPCG(seed, 98))
		disk := newSimDisk(t, r)
		s, err := disk.open(false)
		if err != nil {
			t.Fatal(err)
		}
		disk.mu.Lock()
		disk.crashAt = 10 + r.IntN(200)
		disk.mu.Unlock()
		const writers = 4
		var issued, acked [writers]int
		var group sync.WaitGroup
		for w := range writers {
			group.Go(func() {
				for n := 1; n <= 40; n++ {
					issued[w] = n
					write := s.Update
					if n%3 == 0 {
						write = s.UpdateAsync
					}
					err := write(put(fmt.Sprint(w), fmt.Sprintf("%d %0200d", n, 0)))
					if disk.isCrashed() {
						return
					}
					if err != nil {
						t.Error(err)
						return
					}
					if n%3 != 0 {
						acked[w] = n
					}
				}
			})
		}
		group.Wait()
		next := disk.restart(t)
		_ = s.Close()
		again, err := next.open(false)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for w := range writers {
			n := 0
			_, _ = fmt.Sscan(get(t, again, fmt.Sprint(w)), &n)
			if n < acked[w] || n > issued[w] {
				t.Errorf("seed %d: writer %d has %d, acknowledged %d of %d", seed, w, n, acked[w], issued[w])
			}
		}
		_ = again.Close()
		_ = os.RemoveAll(filepath.Dir(disk.path))
		_ = os.RemoveAll(filepath.Dir(next.path))
	}
}
