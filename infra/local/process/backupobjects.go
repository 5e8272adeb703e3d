package process

import (
	"archive/tar"
	"errors"
	"io"
	"io/fs"
	"localaws/disk"
	"localaws/s3"
	"os"
	"path/filepath"
	"strings"
)

// objectsPrefix begins the names that the contents of objects have in an archive.
const objectsPrefix = objectsFolder + "/"

// isObject reports whether a name is that of a content of an object.
func isObject(name string) bool {
	content, ok := strings.CutPrefix(name, objectsPrefix)
	return ok && s3.IsContent(content)
}

// addObjects writes the contents that the data file refers to. Versions that are added meanwhile may be among them.
func (m *manifest) addObjects(out *tar.Writer, folder string, store *disk.Store) error {
	contents, err := s3.Contents(store)
	if err != nil {
		return err
	}
	for _, c := range contents {
		if err := m.addObject(out, filepath.Join(folder, objectsFolder, c.Name), c); err != nil {
			return err
		}
	}
	return nil
}

// addObject writes one content, if it is the one that was stored.
func (m *manifest) addObject(out *tar.Writer, path string, c s3.Content) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	if err := m.add(out, objectsPrefix+c.Name, c.Size, func(w io.Writer) error {
		_, err := io.CopyN(w, file, c.Size)
		return err
	}); err != nil {
		return err
	}
	if got := m.Files[len(m.Files)-1].SHA256; got != c.SHA256 {
		return refusal("backup.object", "file", path)
	}
	return nil
}

// makeObjects makes the folder of the contents for a name of one.
func makeObjects(folder, name string) error {
	if !isObject(name) {
		return nil
	}
	if err := os.Mkdir(filepath.Join(folder, objectsFolder), 0o700); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// syncObjects puts the names of the contents on the disk, if there are any.
func syncObjects(folder string) error {
	if err := syncFolder(filepath.Join(folder, objectsFolder)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// objectNames returns the names that the contents of a folder have in an archive.
func objectNames(folder string) (names []string, err error) {
	entries, err := os.ReadDir(filepath.Join(folder, objectsFolder))
	for _, e := range entries {
		names = append(names, objectsPrefix+e.Name())
	}
	return names, err
}

// checkObjects returns an error if the data file of a folder refers to a content that an archive did not have.
func checkObjects(folder string, m manifest) error {
	store, err := disk.OpenReadOnly(filepath.Join(folder, dataFile))
	if err != nil {
		return err
	}
	contents, err := s3.Contents(store)
	if err = errors.Join(err, store.Close()); err != nil {
		return err
	}
	held := map[string]archiveFile{}
	for _, f := range m.Files {
		held[f.Name] = f
	}
	for _, c := range contents {
		if want := (archiveFile{objectsPrefix + c.Name, c.Size, c.SHA256}); held[want.Name] != want {
			return refusal("archive.lacks", "name", want.Name)
		}
	}
	return nil
}
