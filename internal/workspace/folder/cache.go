package folder

import (
	"maps"
	"sync"
	"time"
)

// identity is the metadata of a file. A change of the content changes it, except within one tick of the system's clock.
type identity struct {
	device, number         uint64
	size, written, changed int64 // bytes; nanoseconds since 1970
}

// tick is longer than the tick of any file system's clock: FAT counts in steps of two seconds.
const tick = 2 * time.Second

// versions remembers the versions of files, so that a file that did not change is not read again.
type versions struct {
	mu     sync.Mutex
	byName map[string]known
}

// known is a version that was read, and when.
type known struct {
	id      identity
	version string
	at      time.Time
}

// of returns the version of a file, if it was read after the tick in which the file changed last.
func (v *versions) of(name string, id identity) (string, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	k, ok := v.byName[name]
	last := time.Unix(0, max(id.written, id.changed))
	return k.version, ok && k.id == id && k.at.Sub(last) > tick
}

// add remembers a version.
func (v *versions) add(name string, k known) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.byName == nil {
		v.byName = map[string]known{}
	}
	v.byName[name] = k
}

// keep drops the versions of all other files.
func (v *versions) keep(names map[string]bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	maps.DeleteFunc(v.byName, func(name string, _ known) bool { return !names[name] })
}
