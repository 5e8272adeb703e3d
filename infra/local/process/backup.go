package process

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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

// backupAdvice shows the command that restores a backup when the data file is refused.
const backupAdvice = `
  To go on from a backup:  mv %[1]s %[1]s.damaged && piloto restore FILE --data %[1]s`

// olderAdvice shows the command that drops the newest commit, when only that commit is in doubt.
const olderAdvice = `
  To go on without it:     piloto accept-older --data %[1]s   (what was acknowledged last may be gone)`

// emptyAdvice shows the command that makes room for an empty folder.
const emptyAdvice = `
  To begin without it:     mv %[1]s %[1]s.damaged`

// repeatAdvice shows the command that repeats an interrupted restore.
const repeatAdvice = `
  To do it again, from the same backup or another:  piloto restore FILE --data %[1]s`

// withAdvice adds to an error of the data file the commands that can help.
func withAdvice(folder string, err error) error {
	folder, text := shellWord(folder), ""
	if errors.Is(err, disk.ErrFormat) {
		text = "\n  To go on with it:        use the version of this program that wrote it"
	}
	if errors.Is(err, disk.ErrDamaged) || errors.Is(err, disk.ErrFormat) {
		text += fmt.Sprintf(backupAdvice, folder)
	}
	if errors.Is(err, disk.ErrLastCommit) {
		text += fmt.Sprintf(olderAdvice, folder)
	}
	if text == "" {
		return err
	}
	return fmt.Errorf("%w%s", err, text)
}

// shellWord returns a folder as one word of a command line, to which a suffix can be added.
func shellWord(folder string) string {
	folder = filepath.Clean(folder)
	if base := filepath.Base(folder); base == "." || base == ".." || base[0] == '-' {
		if whole, err := filepath.Abs(folder); err == nil {
			folder = whole
		}
	}
	return visible.Word(folder)
}

// openStore opens the data file. It makes no new file when other files show that there was one, or
// that a restore is not finished.
func openStore(folder string, log *slog.Logger) (*disk.Store, error) {
	path := filepath.Join(folder, dataFile)
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(filepath.Join(folder, restoringFolder)); err == nil {
			return nil, fmt.Errorf("%s has what a restore has begun, and not its end: it was cut off, or goes on; nothing was changed%s",
				folder, fmt.Sprintf(repeatAdvice, shellWord(folder)))
		}
		if _, err := os.Lstat(filepath.Join(folder, installedFile)); err == nil {
			return nil, fmt.Errorf("%s is missing, and %s is there: the folder had data; nothing was changed%s", path,
				filepath.Join(folder, installedFile), fmt.Sprintf(backupAdvice+emptyAdvice, shellWord(folder)))
		}
		if err := keepFromGit(folder); err != nil { // before it has a secret
			return nil, err
		}
	}
	store, err := disk.Open(path, disk.WithLogger(log))
	if held := (*disk.HeldError)(nil); errors.As(err, &held) {
		return nil, fault.New(fault.Conflict, "up.held").With("folder", folder).With("pid", cmp.Or(held.PID, "?"))
	}
	if err != nil {
		return nil, withAdvice(folder, err)
	}
	// The data file is published last, so an interrupted restore is complete once it exists.
	err = os.RemoveAll(filepath.Join(folder, restoringFolder))
	if err == nil {
		err = keepFromGit(folder) // of an earlier version
	}
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return store, nil
}

// AcceptOlder goes on without the newest commit of the data file or of its log, when that is damaged.
func AcceptOlder(folder string, out io.Writer) error {
	path := filepath.Join(folder, dataFile)
	if err := disk.AcceptOlder(path); err != nil {
		return withAdvice(folder, err)
	}
	fmt.Fprintf(out, "piloto: %s goes on without its damaged commit; what was acknowledged last may be gone\n", path)
	return nil
}

// Backup writes a whole data folder to one new file with mode 0600. The file is verified, and it
// appears whole or not at all. An existing file is not replaced. When a process runs on the folder,
// Backup requests the archive from it, and the process continues.
func Backup(ctx context.Context, folder, file string, out io.Writer) error {
	if err := checkBackupPlace(folder, file); err != nil {
		return err
	}
	tmp, err := disk.TempFile(filepath.Dir(file), unfinishedBackup) // it also removes the leftovers of killed backups, for any file
	if err != nil {
		return err
	}
	defer func() { _ = tmp.Close() }()
	defer func() { _ = os.Remove(tmp.Name()) }()
	if err := copyFolder(ctx, folder, tmp); err != nil {
		return err
	}
	held, err := verifyArchive(ctx, tmp)
	if err != nil {
		return fmt.Errorf("the backup is not whole, and was not kept: %w", err)
	}
	if err := tmp.Sync(); err != nil {
		return err
	}
	if err := publish(tmp.Name(), file); err != nil {
		return err
	}
	fmt.Fprintf(out, "piloto: backup of %s in %s, verified\n", folder, file)
	objects, size := 0, int64(0)
	for _, f := range held.Files {
		if isObject(f.Name) {
			objects, size = objects+1, size+f.Size
			continue
		}
		fmt.Fprintf(out, "  %-24s %d bytes\n", f.Name, f.Size)
	}
	if objects > 0 {
		fmt.Fprintf(out, "  %-24s %d bytes, in %d contents of files\n", objectsPrefix, size, objects)
	}
	fmt.Fprintln(out, "  It holds secrets: keep it as you keep passwords.")
	return nil
}

// checkBackupPlace refuses a file that exists, or that is in the data folder.
func checkBackupPlace(folder, file string) error {
	if _, err := os.Lstat(filepath.Join(folder, dataFile)); err != nil {
		return fmt.Errorf("there is no data in %s: %w", folder, err)
	}
	if _, err := os.Lstat(file); err == nil {
		return fmt.Errorf("%s is there already, and is not replaced", file)
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
			return fmt.Errorf("%s is in the data folder: it would be lost with it", file)
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
			return withAdvice(folder, err)
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
			return fmt.Errorf("the process that has %s was asked for a backup: %w", folder, err)
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
		return fmt.Errorf("%s could not be made: %w", file, err)
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
