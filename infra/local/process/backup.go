package process

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"localaws/disk"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/visible"
)

// refusal returns an error with a sentence of this package: a key, and pairs of names and values. Who prints it says it in the
// language of the person; {why} is its cause.
func refusal(key string, pairs ...string) *fault.Error {
	f := fault.New(fault.Invalid, key)
	for i := 0; i+1 < len(pairs); i += 2 {
		f = f.With(pairs[i], pairs[i+1])
	}
	return f
}

// ofStore returns an error of the data file of a folder with a sentence that has the commands that can help.
func ofStore(folder string, err error) error {
	key := ""
	switch held := (*disk.HeldError)(nil); {
	case errors.As(err, &held):
		return refusal("data.held", "folder", folder, "pid", cmp.Or(held.PID, "?"))
	case errors.Is(err, disk.ErrHeld):
		return refusal("data.held", "folder", folder, "pid", "?")
	case errors.Is(err, disk.ErrLastCommit):
		key = "data.last_commit"
	case errors.Is(err, disk.ErrDamaged):
		key = "data.damaged"
	case errors.Is(err, disk.ErrFormat):
		key = "data.format"
	case errors.Is(err, disk.ErrNewestIsWhole):
		key = "data.whole"
	default:
		return err
	}
	return refusal(key, "folder", pathWord(folder)).Because(err)
}

// pathWord returns a folder as a path to which a suffix can be added, and which no command takes for an option.
func pathWord(folder string) string {
	folder = filepath.Clean(folder)
	if base := filepath.Base(folder); base == "." || base == ".." || base[0] == '-' {
		if whole, err := filepath.Abs(folder); err == nil {
			folder = whole
		}
	}
	return folder
}

// shellWord returns the same as one word of a command line.
func shellWord(folder string) string { return visible.Word(pathWord(folder)) }

// ofOpening is ofStore for a process that starts on the folder.
func ofOpening(folder string, err error) error {
	if held := (*disk.HeldError)(nil); errors.As(err, &held) {
		return refusal("up.held", "folder", folder, "pid", cmp.Or(held.PID, "?"))
	}
	return ofStore(folder, err)
}

// openStore opens the data file. It makes no new file when other files show that there was one, or
// that a restore is not finished.
func openStore(folder string, log *slog.Logger) (*disk.Store, error) {
	path := filepath.Join(folder, dataFile)
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(filepath.Join(folder, restoringFolder)); err == nil {
			return nil, refusal("data.restoring", "folder", pathWord(folder))
		}
		if _, err := os.Lstat(filepath.Join(folder, installedFile)); err == nil {
			return nil, refusal("data.lost", "folder", pathWord(folder), "file", path, "note", filepath.Join(folder, installedFile))
		}
		if err := keepFromGit(folder); err != nil { // before it has a secret
			return nil, err
		}
	}
	store, err := disk.Open(path, disk.WithLogger(log))
	if err != nil {
		return nil, ofOpening(folder, err)
	}
	// The data file is published last, so an interrupted restore is complete once it exists.
	if err := os.RemoveAll(filepath.Join(folder, restoringFolder)); err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return store, nil
}

// AcceptOlder goes on without the newest commit of the data file or of its log, when that is damaged. It returns the data file.
func AcceptOlder(folder string) (path string, err error) {
	if err := hasData(folder); err != nil {
		return "", err
	}
	path = filepath.Join(folder, dataFile)
	return path, ofStore(folder, disk.AcceptOlder(path))
}

// Held is the contents of a backup.
type Held struct {
	At      time.Time  // every write that was acknowledged before it is included
	Files   []HeldFile // beside the contents of files of projects and chats
	Objects int        // the number of those contents
	Size    int64      // their bytes
}

// HeldFile is a file of a backup.
type HeldFile struct {
	Name string
	Size int64 // bytes
}

// held returns the contents of the archive of a manifest.
func (m manifest) held() Held {
	h := Held{At: m.At}
	for _, f := range m.Files {
		if isObject(f.Name) {
			h.Objects, h.Size = h.Objects+1, h.Size+f.Size
			continue
		}
		h.Files = append(h.Files, HeldFile{f.Name, f.Size})
	}
	return h
}

// Backup writes a whole data folder to one new file with mode 0600. The file is verified, and it
// appears whole or not at all. An existing file is not replaced. When a process runs on the folder,
// Backup requests the archive from it, and the process continues.
func Backup(ctx context.Context, folder, file string) (h Held, err error) {
	if err := checkBackupPlace(folder, file); err != nil {
		return h, err
	}
	tmp, err := disk.TempFile(filepath.Dir(file), unfinishedBackup) // it also removes the leftovers of killed backups, for any file
	if err != nil {
		return h, err
	}
	defer func() { _ = tmp.Close() }()
	defer func() { _ = os.Remove(tmp.Name()) }()
	if err := copyFolder(ctx, folder, tmp); err != nil {
		return h, err
	}
	m, err := verifyArchive(ctx, tmp)
	if err != nil {
		return h, refusal("backup.not_whole").Because(err)
	}
	if err := tmp.Sync(); err != nil {
		return h, err
	}
	return m.held(), publish(tmp.Name(), file)
}

// hasData refuses a folder without a data file.
func hasData(folder string) error {
	_, err := os.Lstat(filepath.Join(folder, dataFile))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return refusal("data.none", "folder", folder)
	}
	return err
}

// checkBackupPlace refuses a file that exists, or that is in the data folder.
func checkBackupPlace(folder, file string) error {
	if err := hasData(folder); err != nil {
		return err
	}
	if _, err := os.Lstat(file); err == nil {
		return refusal("backup.exists", "file", file)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	data, err := os.Stat(folder)
	if err != nil {
		return err
	}
	within, err := filepath.Abs(filepath.Dir(file))
	if err == nil {
		within, err = filepath.EvalSymlinks(within)
	}
	if err != nil {
		return err
	}
	for ; ; within = filepath.Dir(within) {
		if info, err := os.Stat(within); err == nil && os.SameFile(info, data) {
			return refusal("backup.inside", "file", file)
		}
		if within == filepath.Dir(within) {
			return nil
		}
	}
}

// unfinishedBackup is the prefix of the names of unfinished backups.
const unfinishedBackup = ".piloto-backup" + unfinishedMark

// backupTimeout limits the wait for a process that is starting or stopping: it holds the data file
// but does not listen.
const backupTimeout = 10 * time.Second

// copyFolder writes the archive of a folder. The process of the folder writes it when there is one.
// Otherwise the files are read here, and nothing is changed. When the process ends in between, the
// archive is written again, once.
func copyFolder(ctx context.Context, folder string, to *os.File) error {
	until := time.Now().Add(backupTimeout)
	for tries := 0; ; {
		store, err := disk.OpenReadOnly(filepath.Join(folder, dataFile))
		if err == nil {
			return errors.Join(writeArchive(folder, store, noPauses, contextWriter{ctx, to}), store.Close())
		}
		if !errors.Is(err, disk.ErrHeld) {
			return ofStore(folder, err)
		}
		err = requestBackup(ctx, folder, to)
		switch silent := errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ECONNREFUSED); {
		case err == nil:
			return nil
		case silent && time.Now().Before(until):
		case !silent && tries == 0 && ctx.Err() == nil:
			tries, until = 1, time.Now().Add(backupTimeout)
			if _, seekErr := to.Seek(0, io.SeekStart); errors.Join(seekErr, to.Truncate(0)) != nil {
				return errors.Join(err, seekErr)
			}
		default:
			return refusal("backup.process", "folder", folder).Because(err)
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// contextWriter fails after its context has ended, so that a large copy can be cancelled.
type contextWriter struct {
	ctx context.Context
	to  io.Writer
}

func (u contextWriter) Write(b []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.to.Write(b)
}

// publish moves a finished file to its name. It fails when a file with that name exists.
func publish(tmp, file string) error {
	err := os.Link(tmp, file)
	if err != nil && !errors.Is(err, fs.ErrExist) { // some disks have no hard links
		if _, err = os.Lstat(file); errors.Is(err, fs.ErrNotExist) {
			err = os.Rename(tmp, file)
		} else if err == nil {
			err = fs.ErrExist
		}
	}
	if err != nil {
		return refusal("backup.not_made", "file", file).Because(err)
	}
	return syncFolder(filepath.Dir(file))
}

func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
