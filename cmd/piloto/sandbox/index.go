package sandbox

import (
	"bytes"
	"crypto/sha1" //nolint:gosec // the sums of git
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Git takes a masked copy, and an empty file that stands for a hidden one, for a change of the person. So commands get an
// index of git in which these files are marked as unchanged. It is the same file but for a bit and the times of entries.

// The parts of an entry of an index, before the name. The sum of the content is between the times and the flags.
const (
	entryStat  = 40      // bytes: ctime, mtime, device, inode, mode, user, group, size
	entryTaken = 1 << 15 // of the flags: git takes the file as unchanged
	entryStage = 3 << 12 // of the flags: not 0 in a conflict
	entryLong  = 1 << 14 // of the flags: there are two more bytes
	entryMeant = 1 << 13 // of the two more bytes: only the name is staged
)

// ourDevice marks an entry that has the times of a copy. Git does not compare the numbers of devices.
const ourDevice = 0x50696c6f

// maxIndex is the largest index that is read, in bytes: of about 500,000 files.
const maxIndex = 64 << 20

// An index is that of a repository, whose entries can be changed in place.
type index struct {
	raw []byte
	sum int // bytes of a sum
	at  time.Time
}

// An entry is one file of an index. Its fields are slices of the bytes of the index.
type entry struct {
	name              []byte // slashed, below the work tree, until the next entry is read
	stat, sum         []byte
	flags             []byte
	conflict, isMeant bool
}

// readIndex reads the index of a repository. It is nil if there is none, or it is not understood, or parts
// of it are in another file.
func readIndex(path string) *index {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxIndex {
		return nil
	}
	x := &index{at: info.ModTime()}
	if x.raw, err = os.ReadFile(path); err != nil || len(x.raw) < 12+sha256.Size || string(x.raw[:4]) != "DIRC" {
		return nil
	}
	for _, x.sum = range []int{sha1.Size, sha256.Size} {
		body, sum := x.raw[:len(x.raw)-x.sum], x.raw[len(x.raw)-x.sum:]
		if !bytes.Equal(sum, make([]byte, x.sum)) && !bytes.Equal(sum, x.sumOf(body)) { // index.skipHash leaves it out
			continue
		}
		if end, ok := x.each(func(entry) {}); ok {
			if isSplit(body[end:]) {
				return nil
			}
			return x
		}
	}
	return nil
}

// sumOf returns the sum of the index without its sum.
func (x *index) sumOf(body []byte) []byte {
	h := x.hash()
	_, _ = h.Write(body)
	return h.Sum(nil)
}

// hash returns the hash function of the repository.
func (x *index) hash() hash.Hash {
	if x.sum == sha1.Size {
		return sha1.New() //nolint:gosec // the sums of git
	}
	return sha256.New()
}

// isSplit reports whether the index has only the difference to another file, as its extensions say.
func isSplit(extensions []byte) bool {
	for len(extensions) >= 8 {
		size := int(binary.BigEndian.Uint32(extensions[4:]))
		if string(extensions[:4]) == "link" {
			return true
		}
		extensions = extensions[min(len(extensions), 8+size):]
	}
	return false
}

// each calls a function with the entries, and returns where they end. It is not ok if they are not understood.
func (x *index) each(do func(entry)) (end int, ok bool) {
	if len(x.raw) == 0 {
		return 0, false
	}
	raw, version := x.raw[:len(x.raw)-x.sum], binary.BigEndian.Uint32(x.raw[4:])
	if version < 2 || version > 4 {
		return 0, false
	}
	at, name := 12, []byte(nil)
	for range binary.BigEndian.Uint32(x.raw[8:]) {
		from, flagsAt := at, at+entryStat+x.sum
		if flagsAt+4 > len(raw) {
			return 0, false
		}
		e := entry{stat: raw[at : at+entryStat], sum: raw[at+entryStat : flagsAt], flags: raw[flagsAt : flagsAt+2]}
		flags := binary.BigEndian.Uint16(e.flags)
		at = flagsAt + 2
		if version > 2 && flags&entryLong != 0 {
			e.isMeant = binary.BigEndian.Uint16(raw[at:])&entryMeant != 0
			at += 2
		}
		e.conflict = flags&entryStage != 0
		kept := 0
		if version == 4 {
			less, size := offset(raw[at:])
			if size == 0 || less > len(name) {
				return 0, false
			}
			kept, at = len(name)-less, at+size
		}
		size := bytes.IndexByte(raw[at:], 0)
		if size < 0 {
			return 0, false
		}
		name = append(name[:kept], raw[at:at+size]...)
		if at += size + 1; version < 4 {
			at = from + (at-from+7)&^7
		}
		e.name = name
		do(e)
	}
	return at, at <= len(raw)
}

// offset reads a number as git writes it before a name of version 4, and returns how many bytes it has; 0: it has no end.
func offset(raw []byte) (value, size int) {
	for i, b := range raw[:min(len(raw), 5)] {
		if value = value<<7 + int(b&127); b&128 == 0 {
			return value, i + 1
		}
		value++
	}
	return 0, 0
}

// isOf reports whether git takes a file as unchanged against the entry: by its times, or by its content.
func (x *index) isOf(e entry, path string, info os.FileInfo) bool {
	times, known := statOf(info)
	if known && bytes.Equal(times[:16], e.stat[:16]) && bytes.Equal(times[20:24], e.stat[20:24]) &&
		bytes.Equal(times[36:], e.stat[36:]) && info.ModTime().Before(x.at) {
		return true
	}
	file, err := os.Open(path) //nolint:gosec // a file of the workspace
	if err != nil {
		return false
	}
	defer func() { _ = file.Close() }()
	if info.Size() > maxObeyed {
		return bytes.Equal(x.blob(io.LimitReader(file, maxSummed), info.Size()), e.sum)
	}
	content, err := io.ReadAll(io.LimitReader(file, maxObeyed))
	is := func(content []byte) bool {
		return bytes.Equal(x.blob(bytes.NewReader(content), int64(len(content))), e.sum)
	}
	return err == nil && (is(content) || is(bytes.ReplaceAll(content, []byte("\r\n"), []byte("\n"))))
}

// blob returns the sum of a content as git has it.
func (x *index) blob(content io.Reader, size int64) []byte {
	h := x.hash()
	_, _ = fmt.Fprintf(h, "blob %d\x00", size)
	_, _ = io.Copy(h, content)
	return h.Sum(nil)
}

// take marks an entry as unchanged. The times are those of its copy; nil for none.
func (e entry) take(times []byte) {
	e.flags[0] |= entryTaken >> 8
	if times != nil {
		copy(e.stat[:24], times[:24])
		copy(e.stat[28:], times[28:])
	}
	binary.BigEndian.PutUint32(e.stat[16:], ourDevice)
}

// taken reports whether git takes the file of an entry as unchanged.
func (e entry) taken() bool { return e.flags[0]&(entryTaken>>8) != 0 }

// restore makes git compare the files of entries that take has marked. It reports whether there was one.
func (x *index) restore() (found bool) {
	_, _ = x.each(func(e entry) {
		if binary.BigEndian.Uint32(e.stat[16:]) == ourDevice {
			e.flags[0] &^= entryTaken >> 8
			clear(e.stat[:24])
			clear(e.stat[28:])
			found = true
		}
	})
	return found
}

// signed returns the index with its sum.
func (x *index) signed() []byte {
	body, sum := x.raw[:len(x.raw)-x.sum], x.raw[len(x.raw)-x.sum:]
	if !bytes.Equal(sum, make([]byte, x.sum)) {
		copy(sum, x.sumOf(body))
	}
	return x.raw
}

// changeIndex changes the index at a path. No other git changes it meanwhile; if one does, or left its lock, that is fs.ErrExist,
// or of no matter if anyway is set.
func changeIndex(path string, anyway bool, change func(*index) (changed bool)) error {
	lock, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) && anyway {
		lock, err = os.CreateTemp(filepath.Dir(path), "index-")
	}
	if err != nil {
		return err
	}
	x, changed := readIndex(path), false
	info, err := os.Stat(path)
	switch {
	case err != nil:
	case x == nil:
		err = errors.ErrUnsupported
	case change(x):
		_, err = lock.Write(x.signed())
		err = errors.Join(err, lock.Chmod(info.Mode().Perm()), os.Chtimes(lock.Name(), x.at, x.at)) // git compares files that are not older
		changed = true
	}
	if err = errors.Join(err, lock.Close()); err == nil && changed {
		return os.Rename(lock.Name(), path)
	}
	return errors.Join(err, os.Remove(lock.Name()))
}

// indexed notes the index of a git folder, and the folders whose files it may have.
func (o *obeyed) indexed(folder, work string) {
	for _, name := range []string{"config", "config.worktree"} {
		for _, s := range o.options(filepath.Join(folder, name)) {
			if s.name == "core.worktree" {
				work = o.follow(folder, s.value)
			}
		}
	}
	path := filepath.Join(folder, "index")
	if o.once("index", path, work) {
		o.indexes[path] = append(o.indexes[path], work)
	}
}
