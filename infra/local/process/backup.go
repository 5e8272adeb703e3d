package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"piloto/infra/local/disk"
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

// advised adds to a refusal of the data file what a person can do.
func advised(folder string, err error) error {
	folder, text := word(folder), ""
	if errors.Is(err, disk.ErrDamaged) || errors.Is(err, disk.ErrFormat) {
		text = fmt.Sprintf(backupAdvice, folder)
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
// there was one is not made anew.
func openStore(folder string) (*disk.Store, error) {
	path := filepath.Join(folder, dataFile)
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(filepath.Join(folder, installedFile)); err == nil {
			return nil, fmt.Errorf("%s is missing, and %s is there: the folder had data; nothing was changed%s", path,
				filepath.Join(folder, installedFile), fmt.Sprintf(backupAdvice+anewAdvice, word(folder)))
		}
	}
	store, err := disk.Open(path)
	if err != nil {
		return nil, advised(folder, err)
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
	tmp, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+unfinished) // with mode 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(tmp.Name()) }()
	defer func() { _ = tmp.Close() }()
	if err := copyFolder(ctx, folder, tmp); err != nil {
		return err
	}
	held, err := verifyArchive(ctx, tmp)
	if err != nil {
		return fmt.Errorf("the backup is not whole, and was not kept: %w", err)
	}
	if err := errors.Join(tmp.Sync(), tmp.Close()); err != nil {
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

// copyFolder writes the archive of a folder: its process does when there is one,
// or else nobody writes to it and its files are read here.
func copyFolder(ctx context.Context, folder string, w io.Writer) error {
	store, err := openStore(folder)
	if errors.Is(err, disk.ErrHeld) {
		if err := requestBackup(ctx, folder, w); err != nil {
			return fmt.Errorf("the process that has %s was asked for a backup: %w", folder, err)
		}
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(writeArchive(folder, store, func() func() { return func() {} }, untilDone{ctx, w}), store.Close())
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

// Restore puts what a backup holds into a folder that has nothing, whole or not
// at all, after it has verified it.
func Restore(ctx context.Context, file, folder string, out io.Writer) error {
	folder, err := restorePlace(folder)
	if err != nil {
		return err
	}
	if info, err := os.Stat(file); err != nil {
		return err
	} else if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is no file: a backup is", file)
	}
	archive, err := os.Open(file)
	if err != nil {
		return err
	}
	defer func() { _ = archive.Close() }()
	if _, err := verifyArchive(ctx, archive); err != nil {
		return fmt.Errorf("%s cannot be restored, and nothing was changed: %w", file, err)
	}
	if err := os.MkdirAll(filepath.Dir(folder), 0o700); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(filepath.Dir(folder), "."+filepath.Base(folder)+".restoring-") // with mode 0700
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	held, err := extract(ctx, archive, tmp)
	if err == nil {
		err = disk.Verify(filepath.Join(tmp, dataFile)) // once more, as the disk has it
	}
	if err == nil { // an empty one makes way; one that has something by now does not
		if err = os.Remove(folder); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	if err == nil {
		err = os.Rename(tmp, folder)
	}
	if err == nil {
		err = syncFolder(filepath.Dir(folder))
	}
	if err != nil {
		return fmt.Errorf("%s could not be restored, and nothing was changed: %w", file, err)
	}
	fmt.Fprintf(out, "piloto: %s has what %s held of %s\n", folder, file, held.At.Local().Format("2006-01-02 15:04:05"))
	fmt.Fprintln(out, "  Runs that were under way then go on when it is started. Never start it beside the")
	fmt.Fprintln(out, "  deployment that it was copied from: both would send the requests of those runs.")
	return nil
}

// restorePlace is the folder itself, wherever links lead; it has nothing, or is not there.
func restorePlace(folder string) (string, error) {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(folder); err == nil {
		folder = real
	} else if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	} else if _, err := os.Lstat(folder); err == nil {
		return "", fmt.Errorf("%s is a link that leads nowhere", folder)
	}
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if len(entries) > 0 {
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return "", fmt.Errorf("%s is not empty, and nothing in it is replaced: it has %s; move it away, or name another folder with -data", folder, strings.Join(names, ", "))
	}
	return folder, nil
}

func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
