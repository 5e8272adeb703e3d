package process

import (
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
	"slices"
	"strings"
)

const (
	// restoringFolder is a folder in the data folder. It holds the files that are not in their
	// place yet.
	restoringFolder = ".restoring"
	// lostFound is a folder that a new disk contains.
	lostFound = "lost+found"
)

// Restore writes the files of a verified backup to an empty folder, whole or not at all. An
// existing folder is kept, because it may be the root of a disk. Its files are then published one
// by one, the data file last, and until then no process starts on it. An interrupted restore is
// repeated from the beginning.
func Restore(ctx context.Context, file, folder string) (h Held, err error) {
	folder, there, err := restorePlace(folder)
	if err != nil {
		return h, err
	}
	if info, err := os.Stat(file); err != nil {
		return h, err
	} else if !info.Mode().IsRegular() {
		return h, refusal("restore.no_file", "file", file)
	}
	archive, err := os.Open(file)
	if err != nil {
		return h, err
	}
	defer func() { _ = archive.Close() }()
	if _, err := verifyArchive(ctx, archive); err != nil {
		return h, refusal("restore.refused", "file", file).Because(err)
	}
	put := restoreNewFolder
	if there {
		put = restoreExistingFolder
	}
	m, err := put(ctx, archive, folder)
	if err != nil {
		return h, refusal("restore.failed", "file", file).Because(err)
	}
	return m.held(), nil
}

// restorePlace returns the folder without links, and whether it exists. The folder must be empty or
// hold only the files of an interrupted Restore.
func restorePlace(folder string) (place string, there bool, err error) {
	if place, err = filepath.Abs(folder); err != nil {
		return "", false, err
	}
	if real, err := filepath.EvalSymlinks(place); err == nil {
		place = real
	} else if !errors.Is(err, fs.ErrNotExist) {
		return "", false, err
	} else if _, err := os.Lstat(place); err == nil {
		return "", false, refusal("restore.link", "folder", place)
	}
	_, err = leftoverFiles(place)
	if errors.Is(err, fs.ErrNotExist) {
		return place, false, nil
	}
	return place, true, err
}

// leftoverFiles returns the names of the files that an interrupted Restore has published. It
// refuses a folder with any other file.
func leftoverFiles(folder string) (files []string, err error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		switch {
		case e.Name() == lostFound && e.IsDir(), e.Name() == ignoreFile:
		case e.Name() == objectsFolder && e.IsDir():
			contents, err := objectNames(folder)
			if err != nil {
				return nil, err
			}
			names = append(names, contents...)
		default:
			names = append(names, e.Name())
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	if slices.Contains(names, restoringFolder) && !slices.Contains(names, dataFile) {
		ours := isNotedFile(folder)
		others := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == restoringFolder || ours(name) })
		if len(others) == 0 {
			return slices.DeleteFunc(names, func(name string) bool { return name == restoringFolder }), nil
		}
		names = others
	}
	return nil, refusal("restore.not_empty", "folder", folder, "names", strings.Join(names, ", "))
}

// isNotedFile returns a function that reports whether a file is in the list of an interrupted
// Restore, with the same content. Restore writes that list before it publishes the first file.
func isNotedFile(folder string) func(name string) bool {
	var m manifest
	text, err := os.ReadFile(filepath.Join(folder, restoringFolder, manifestName))
	if err != nil || json.Unmarshal(text, &m) != nil {
		m.Files = nil
	}
	return func(name string) bool {
		i := slices.IndexFunc(m.Files, func(f archiveFile) bool { return f.Name == name })
		if i < 0 {
			return false
		}
		info, err := os.Lstat(filepath.Join(folder, name))
		if err != nil || !info.Mode().IsRegular() || info.Size() != m.Files[i].Size {
			return false
		}
		file, err := os.Open(filepath.Join(folder, name))
		if err != nil {
			return false
		}
		defer func() { _ = file.Close() }()
		sum := sha256.New()
		_, err = io.Copy(sum, file)
		return err == nil && hex.EncodeToString(sum.Sum(nil)) == m.Files[i].SHA256
	}
}

// restoreNewFolder makes a folder that does not exist: beside its place first, and then under its
// name.
func restoreNewFolder(ctx context.Context, archive *os.File, folder string) (m manifest, err error) {
	if err := os.MkdirAll(filepath.Dir(folder), 0o700); err != nil {
		return m, err
	}
	tmp, err := disk.TempFolder(filepath.Dir(folder), "."+filepath.Base(folder)+".restoring-")
	if err != nil {
		return m, err
	}
	defer func() { _ = tmp.Close() }()
	defer func() { _ = os.RemoveAll(tmp.Name()) }()
	if err := keepFromGit(tmp.Name()); err != nil {
		return m, err
	}
	if m, err = unpack(ctx, archive, tmp.Name()); err != nil {
		return m, err
	}
	if err := os.Rename(tmp.Name(), folder); err != nil {
		return m, err
	}
	return m, syncFolder(filepath.Dir(folder))
}

// unpack extracts an archive and verifies the data file again on disk.
func unpack(ctx context.Context, archive *os.File, folder string) (manifest, error) {
	m, err := extract(ctx, archive, folder)
	if err == nil {
		err = disk.Verify(filepath.Join(folder, dataFile))
	}
	if err == nil {
		err = checkObjects(folder, m)
	}
	if err == nil {
		err = checkArchived(ctx, folder)
	}
	return m, err
}

// restoreExistingFolder fills an existing folder.
func restoreExistingFolder(ctx context.Context, archive *os.File, folder string) (m manifest, err error) {
	whole, err := os.Open(folder)
	if err != nil {
		return m, err
	}
	defer func() { _ = whole.Close() }()
	if err := disk.Claim(whole); errors.Is(err, disk.ErrClaimed) {
		return m, refusal("restore.busy", "folder", folder).Because(err)
	}
	files, err := leftoverFiles(folder) // checked again, because it was not claimed before
	if err == nil {
		err = undoRestore(folder, files)
	}
	if err != nil {
		return m, err
	}
	parts := filepath.Join(folder, restoringFolder)
	if err := os.Mkdir(parts, 0o700); err != nil {
		return m, err
	}
	if err := keepFromGit(parts); err != nil {
		return m, err
	}
	if m, err = unpack(ctx, archive, parts); err == nil {
		err = writeFileList(parts, m)
	}
	if err == nil {
		err = keepFromGit(folder)
	}
	var put []string
	for _, name := range publishOrder(m) {
		if err != nil {
			break
		}
		if err = makeObjects(folder, name); err != nil {
			break
		}
		if err = publish(filepath.Join(parts, name), filepath.Join(folder, name)); !errors.Is(err, fs.ErrExist) {
			put = append(put, name)
		}
	}
	if err != nil {
		return m, errors.Join(err, undoRestore(folder, put))
	}
	return m, errors.Join(os.RemoveAll(parts), syncFolder(folder))
}

// undoRestore removes the published files first and the others last: as long as any of them exists,
// the list identifies them.
func undoRestore(folder string, files []string) error {
	var errs []error
	for _, name := range files {
		if err := os.Remove(filepath.Join(folder, name)); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(folder, objectsFolder)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return errors.Join(syncFolder(folder), os.RemoveAll(filepath.Join(folder, restoringFolder)))
}

// writeFileList writes the list of the files that will be published.
func writeFileList(folder string, m manifest) error {
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return writeAtomically(filepath.Join(folder, manifestName), string(text))
}

// publishOrder returns the names of an archive's files with the data file last.
func publishOrder(m manifest) (names []string) {
	for _, f := range m.Files {
		if f.Name != dataFile {
			names = append(names, f.Name)
		}
	}
	if len(m.Files) > 0 {
		names = append(names, dataFile)
	}
	return names
}
