package process

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"localaws/disk"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// An archive is a tar of the files of a data folder: the data file first, then those beside it, then
// the contents of objects, and the manifest last. An archive that was cut short has no manifest.
const (
	manifestName   = "manifest.json"
	archiveFormat  = 1
	maxManifest    = 128 << 20 // bytes; an object takes 150
	maxArchiveName = 255
)

type manifest struct {
	Format int           `json:"format"`
	At     time.Time     `json:"at"` // every write acknowledged before this time is included
	Files  []archiveFile `json:"files"`
}

type archiveFile struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// pauses let a backup read a consistent state while the process goes on. Each returns its end.
type pauses struct {
	secrets func() (release func()) // blocks writes of secrets
	objects func() (release func()) // lets no object expire
}

// noPauses are those of a folder without a process.
var noPauses = pauses{noPause, noPause}

func noPause() (release func()) { return func() {} }

// writeArchive writes the files of a folder as they are at one moment. The writes of secrets pause
// while the snapshot of the data file is taken and the secrets are read. A secret is
// written before the data that refers to it, and is removed after that data, so the copy has every
// secret that its data refers to. The file of the demonstration is read after that moment too,
// so it has everything that the data refers to. The same holds for the contents of objects, of which
// none is removed until the archive is written.
func writeArchive(folder string, store *disk.Store, p pauses, w io.Writer) error {
	defer p.objects()()
	release := sync.OnceFunc(p.secrets())
	defer release()
	m := manifest{Format: archiveFormat, At: time.Now().UTC()}
	out := tar.NewWriter(w)
	err := store.Snapshot(func(size int64, write func(io.Writer) error) error {
		rest, err := readRest(folder)
		release()
		if err != nil {
			return err
		}
		if err := m.add(out, dataFile, size, write); err != nil {
			return err
		}
		for _, f := range rest {
			if err := m.add(out, f.name, int64(len(f.text)), func(w io.Writer) error { _, err := w.Write(f.text); return err }); err != nil {
				return err
			}
		}
		return m.addObjects(out, folder, store)
	})
	if err != nil {
		return err
	}
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if len(text) > maxManifest {
		return refusal("backup.too_many", "n", strconv.Itoa(len(m.Files)))
	}
	last := tar.Header{Name: manifestName, Size: int64(len(text)), Mode: 0o600, ModTime: m.At, Format: tar.FormatPAX}
	if err := out.WriteHeader(&last); err != nil {
		return err
	}
	if _, err := out.Write(text); err != nil {
		return err
	}
	return out.Close()
}

// add writes one file and adds it to the manifest.
func (m *manifest) add(out *tar.Writer, name string, size int64, write func(io.Writer) error) error {
	header := tar.Header{Name: name, Size: size, Mode: 0o600, ModTime: m.At, Format: tar.FormatPAX}
	if err := out.WriteHeader(&header); err != nil {
		return err
	}
	sum := sha256.New()
	if err := write(io.MultiWriter(out, sum)); err != nil {
		return refusal("archive.member", "name", name).Because(err)
	}
	m.Files = append(m.Files, archiveFile{name, size, hex.EncodeToString(sum.Sum(nil))})
	return nil
}

type restFile struct {
	name string
	text []byte
}

// readRest reads the files beside the data file, except process files and unfinished files.
func readRest(folder string) (files []restFile, err error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		name := e.Name()
		if !isArchivable(name) || name == dataFile || name == manifestName {
			continue
		}
		info, err := os.Stat(filepath.Join(folder, name)) // follows links: the token may be a link
		if err == nil && !info.Mode().IsRegular() {
			continue
		}
		text, err := os.ReadFile(filepath.Join(folder, name))
		if errors.Is(err, fs.ErrNotExist) { // it was just replaced or removed
			continue
		}
		if err != nil {
			return nil, err
		}
		files = append(files, restFile{name, text})
	}
	return files, nil
}

// isMember reports whether an archive may have a file with this name.
func isMember(name string) bool { return isArchivable(name) || isObject(name) }

// isArchivable reports whether a file with this name may be in an archive, and so in a restored
// folder. The log of the data file is none: the archived data file has everything that is in it.
func isArchivable(name string) bool {
	return name != "" && len(name) <= maxArchiveName && name[0] != '.' && !strings.ContainsAny(name, "/\\:\x00") &&
		!strings.HasSuffix(name, ".pid") && name != controlSocket && name != objectsFolder && !disk.IsLog(dataFile, name)
}

// verifyArchive reads a whole archive and verifies it: each file must match the manifest, and the
// data file must open.
func verifyArchive(ctx context.Context, archive *os.File) (manifest, error) {
	return eachFile(ctx, archive, func(h *tar.Header, _ io.Reader) error {
		if h.Name != dataFile {
			return nil
		}
		at, err := archive.Seek(0, io.SeekCurrent) // the content begins here: the tar reader does not read ahead
		if err != nil {
			return err
		}
		if err := disk.VerifyCopy(io.NewSectionReader(archive, at, h.Size), h.Size); err != nil {
			return refusal("archive.data").Because(err)
		}
		return nil
	})
}

// extract writes the files of a verified archive to a new folder.
func extract(ctx context.Context, archive *os.File, folder string) (manifest, error) {
	m, err := eachFile(ctx, archive, func(h *tar.Header, content io.Reader) error {
		if err := makeObjects(folder, h.Name); err != nil {
			return err
		}
		file, err := os.OpenFile(filepath.Join(folder, h.Name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		_, err = io.Copy(contextWriter{ctx, file}, content)
		if err == nil {
			err = file.Sync()
		}
		return errors.Join(err, file.Close())
	})
	if err == nil {
		err = errors.Join(syncObjects(folder), syncFolder(folder))
	}
	return m, err
}

// eachFile passes every file of an archive to take, then compares the files with the manifest.
func eachFile(ctx context.Context, archive *os.File, take func(h *tar.Header, content io.Reader) error) (m manifest, err error) {
	if _, err := archive.Seek(0, io.SeekStart); err != nil {
		return m, err
	}
	in := tar.NewReader(archive)
	if isCompressed(archive) {
		return m, refusal("archive.compressed")
	}
	var found []archiveFile
	seen := map[string]bool{}
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return m, refusal("archive.no_manifest")
		}
		if err != nil {
			return m, refusal("archive.damaged").Because(err)
		}
		if h.Typeflag != tar.TypeReg || !isMember(h.Name) || seen[h.Name] || h.Size < 0 || isSparse(h) {
			return m, refusal("archive.strange", "name", h.Name)
		}
		seen[h.Name] = true
		if h.Name == manifestName {
			break
		}
		sum := sha256.New()
		content := io.TeeReader(in, sum)
		if err := take(h, content); err != nil {
			return m, refusal("archive.member", "name", h.Name).Because(err)
		}
		if _, err := io.Copy(contextWriter{ctx, io.Discard}, content); err != nil {
			return m, refusal("archive.member", "name", h.Name).Because(err)
		}
		found = append(found, archiveFile{h.Name, h.Size, hex.EncodeToString(sum.Sum(nil))})
	}
	if m, err = readManifest(in); err != nil {
		return m, err
	}
	if len(found) != len(m.Files) || !seen[dataFile] {
		return m, refusal("archive.incomplete", "n", strconv.Itoa(len(found)), "of", strconv.Itoa(len(m.Files)))
	}
	for i, f := range m.Files {
		if f != found[i] {
			return m, refusal("archive.changed", "name", found[i].Name)
		}
	}
	return m, nil
}

// isSparse reports whether the size of a file can be larger than its content in the archive: a few
// bytes could then fill a disk.
func isSparse(h *tar.Header) bool {
	for name := range h.PAXRecords {
		if strings.HasPrefix(name, "GNU.sparse.") {
			return true
		}
	}
	return false
}

// isCompressed reports whether a file begins like gzip, zstd, xz or bzip2.
func isCompressed(file io.ReaderAt) bool {
	head := make([]byte, 6)
	n, _ := file.ReadAt(head, 0)
	for _, begins := range []string{"\x1f\x8b", "\x28\xb5\x2f\xfd", "\xfd7zXZ\x00", "BZh"} {
		if strings.HasPrefix(string(head[:n]), begins) {
			return true
		}
	}
	return false
}

func readManifest(in io.Reader) (m manifest, err error) {
	text, err := io.ReadAll(io.LimitReader(in, maxManifest))
	if err != nil {
		return m, err
	}
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(&m); err != nil {
		return m, refusal("archive.damaged").Because(err)
	}
	if m.Format != archiveFormat {
		return m, refusal("archive.format", "format", strconv.Itoa(m.Format), "reads", strconv.Itoa(archiveFormat))
	}
	return m, nil
}
