package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"localaws/disk"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// backupAdvice is what to do about a data file that is refused.
const backupAdvice = `
  To go on from a backup:  mv %[1]s %[1]s.damaged && go run ./infra/local -restore FILE -data %[1]s`

// olderAdvice is what else can be done when only the newest commit is in doubt.
const olderAdvice = `
  To go on without it:     go run ./infra/local -accept-older -data %[1]s   (what was acknowledged last may be gone)`

// anewAdvice is how to have a folder that is empty.
const anewAdvice = `
  To begin without it:     mv %[1]s %[1]s.damaged`

// repeatAdvice is what to do about a folder whose restoring was cut off.
const repeatAdvice = `
  To do it again, from the same backup or another:  go run ./infra/local -restore FILE -data %[1]s`

// advised adds to a refusal of the data file what a person can do.
func advised(folder string, err error) error {
	folder, text := word(folder), ""
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

// word is a folder as one word of a command line, to which an ending can be put.
func word(folder string) string {
	folder = filepath.Clean(folder)
	if base := filepath.Base(folder); base == "." || base == ".." || base[0] == '-' {
		if whole, err := filepath.Abs(folder); err == nil {
			folder = whole
		}
	}
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-./+:@,=%", r)
	}
	if strings.ContainsFunc(folder, func(r rune) bool { return !plain(r) }) {
		return "'" + strings.ReplaceAll(folder, "'", `'\''`) + "'"
	}
	return folder
}

// openStore opens the data file. One that is missing where other files say that
// there was one, or will be, is not made anew.
func openStore(folder string, log *slog.Logger) (*disk.Store, error) {
	path := filepath.Join(folder, dataFile)
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(filepath.Join(folder, restoring)); err == nil {
			return nil, fmt.Errorf("%s has what a -restore has begun, and not its end: it was cut off, or goes on; nothing was changed%s",
				folder, fmt.Sprintf(repeatAdvice, word(folder)))
		}
		if _, err := os.Lstat(filepath.Join(folder, installedFile)); err == nil {
			return nil, fmt.Errorf("%s is missing, and %s is there: the folder had data; nothing was changed%s", path,
				filepath.Join(folder, installedFile), fmt.Sprintf(backupAdvice+anewAdvice, word(folder)))
		}
	}
	store, err := disk.Open(path, disk.WithLogger(log))
	if err != nil {
		return nil, advised(folder, err)
	}
	// The data file came last: of a -restore that was cut off after that, all is in place.
	if err := os.RemoveAll(filepath.Join(folder, restoring)); err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return store, nil
}

// AcceptOlder goes on from the commit before where the newest of the data file is
// damaged.
func AcceptOlder(folder string, out io.Writer) error {
	path := filepath.Join(folder, dataFile)
	if err := disk.AcceptOlder(path); err != nil {
		return advised(folder, err)
	}
	fmt.Fprintf(out, "piloto: %s goes on from the commit before; what was acknowledged after it is gone\n", path)
	return nil
}

// Backup writes all of a data folder to one file, which appears whole or not at
// all, verified, with mode 0600. A file that is there already is left alone. A
// process that is running on the folder is asked for it, and goes on meanwhile.
func Backup(ctx context.Context, folder, file string, out io.Writer) error {
	if err := backupPlace(folder, file); err != nil {
		return err
	}
	tmp, err := disk.TempFile(filepath.Dir(file), backupBegun) // and what one that was killed left goes, whatever its name was to be
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
	for _, f := range held.Files {
		fmt.Fprintf(out, "  %-24s %d bytes\n", f.Name, f.Size)
	}
	fmt.Fprintln(out, "  It holds secrets: keep it as you keep passwords.")
	return nil
}

// backupPlace refuses a file that is there already, or within the folder that it
// is to outlive.
func backupPlace(folder, file string) error {
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

// backupBegun begins the names of backups that are not in their place yet.
const backupBegun = ".piloto-backup" + unfinished

// backupWaits is how long a process that begins or stops is waited for: it has the
// data file, and does not listen.
const backupWaits = 10 * time.Second

// copyFolder writes the archive of a folder: its process does when there is one,
// or else nobody writes to it and its files are read here, which changes nothing. A
// process that ends meanwhile has it begun anew, once.
func copyFolder(ctx context.Context, folder string, to *os.File) error {
	until := time.Now().Add(backupWaits)
	for tries := 0; ; {
		store, err := disk.OpenReadOnly(filepath.Join(folder, dataFile))
		if err == nil {
			return errors.Join(writeArchive(folder, store, func() func() { return func() {} }, untilDone{ctx, to}), store.Close())
		}
		if !errors.Is(err, disk.ErrHeld) {
			return advised(folder, err)
		}
		err = requestBackup(ctx, folder, to)
		switch silent := errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ECONNREFUSED); {
		case err == nil:
			return nil
		case silent && time.Now().Before(until):
		case !silent && tries == 0 && ctx.Err() == nil:
			tries, until = 1, time.Now().Add(backupWaits)
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

// untilDone takes no more once its context has ended: what is large can be given up.
type untilDone struct {
	ctx context.Context
	to  io.Writer
}

func (u untilDone) Write(b []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.to.Write(b)
}

// publish gives a finished file its name, which no other file may have.
func publish(tmp, file string) error {
	err := os.Link(tmp, file)
	if err != nil && !errors.Is(err, fs.ErrExist) { // some disks have no links
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
