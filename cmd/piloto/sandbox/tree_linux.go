package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// newRoot is where the root of the sandbox is built before it becomes the root.
const newRoot = "/tmp"

// enterTree makes a tree of the mounts of an order the root of this process, and forgets the former root. Only the files
// of the order can be reached afterwards.
func (o *order) enterTree() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("private mounts: %w", err)
	}
	// All paths are opened before newRoot is covered, because one of them may be below it.
	opened := make([]int, len(o.Mounts))
	for i, m := range o.Mounts {
		fd, err := m.open()
		if err != nil {
			return fmt.Errorf("%s: %w", m.Path, err)
		}
		opened[i] = fd
	}
	held, err := o.openHeld()
	if err != nil {
		return fmt.Errorf("held folders: %w", err)
	}
	root, err := openMemory("1m", 0)
	if err != nil {
		return fmt.Errorf("root: %w", err)
	}
	if err := attach(root, newRoot); err != nil {
		return fmt.Errorf("root: %w", err)
	}
	for i, m := range o.Mounts {
		if err := m.attach(opened[i]); err != nil {
			return fmt.Errorf("%s: %w", m.Path, err)
		}
	}
	for _, l := range o.Links {
		path := filepath.Join(newRoot, l.Path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.Symlink(l.Target, path); err != nil {
			return err
		}
	}
	if err := o.hold(held); err != nil {
		return fmt.Errorf("held folders: %w", err)
	}
	if err := os.MkdirAll(filepath.Join(newRoot, homeDir), 0o700); err != nil {
		return err
	}
	if err := protect(unix.AT_FDCWD, newRoot, 0, unix.MOUNT_ATTR_RDONLY); err != nil {
		return fmt.Errorf("root: %w", err)
	}
	return pivot()
}

// heldDir is where the folders that are held are mounted. An empty folder covers it.
const heldDir = "/held"

// openHeld returns descriptors of each root of held folders and of the folders.
func (o *order) openHeld() ([]int, error) {
	var opened []int
	for _, h := range o.Held {
		for _, path := range append([]string{h.Root}, h.Folders...) {
			fd, err := openPath(path, unix.MOUNT_ATTR_RDONLY)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			opened = append(opened, fd)
		}
	}
	return opened, nil
}

// hold makes the held folders mount points, which the kernel lets nobody rename or remove, by any path. They are mounted
// in a second copy of their root that no path leads to: a mount in the root itself would be a border that no file can be
// renamed across.
func (o *order) hold(opened []int) error {
	if len(opened) == 0 {
		return nil
	}
	for i, h := range o.Held {
		path := filepath.Join(newRoot, heldDir, strconv.Itoa(i))
		if err := os.MkdirAll(path, 0o755); err != nil {
			return err
		}
		for _, folder := range append([]string{h.Root}, h.Folders...) {
			name, err := filepath.Rel(h.Root, folder)
			if err != nil {
				return err
			}
			if err := attach(opened[0], filepath.Join(path, name)); err != nil {
				return fmt.Errorf("%s: %w", folder, err)
			}
			opened = opened[1:]
		}
	}
	cover, err := openMemory("4k", unix.MOUNT_ATTR_RDONLY)
	if err != nil {
		return err
	}
	return attach(cover, filepath.Join(newRoot, heldDir))
}

// pivot makes newRoot the root, and unmounts the former one.
func pivot() error {
	if err := unix.Chdir(newRoot); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil { // the former root is now above the new one
		return fmt.Errorf("pivot: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("former root: %w", err)
	}
	return unix.Chdir("/")
}

// open returns a descriptor of a mount that is not in the tree yet.
func (m mount) open() (int, error) {
	switch m.Kind {
	case scratch:
		return openMemory(maxScratch, 0)
	case shared:
		return openMemory(maxShared, 0)
	case emptyDir:
		return openMemory("4k", unix.MOUNT_ATTR_RDONLY)
	case copied:
		return openPath(m.From, unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NODEV)
	case carried:
		return openPath(m.From, unix.MOUNT_ATTR_NODEV)
	case emptyFile:
		return openPath("/dev/null", unix.MOUNT_ATTR_RDONLY)
	case proc:
		return openNew("proc", unix.MOUNT_ATTR_NOEXEC)
	case device:
		return openPath(m.Path, unix.MOUNT_ATTR_NOEXEC)
	case writable:
		return openPath(m.Path, unix.MOUNT_ATTR_NODEV)
	}
	return openPath(m.Path, unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NODEV)
}

// attach moves an opened mount into the new tree.
func (m mount) attach(fd int) error {
	var info unix.Stat_t
	if err := unix.Fstat(fd, &info); err != nil {
		return err
	}
	path := filepath.Join(newRoot, m.Path)
	if info.Mode&unix.S_IFMT == unix.S_IFDIR {
		if err := os.MkdirAll(path, 0o755); err != nil {
			return err
		}
		return attach(fd, path)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if _, err := os.Lstat(path); os.IsNotExist(err) {
		if err := os.WriteFile(path, nil, 0o444); err != nil {
			return err
		}
	}
	return attach(fd, path)
}

// openPath copies the mount of a path, with the mounts below it, and restricts the copy.
func openPath(path string, restrictions uint64) (int, error) {
	fd, err := unix.OpenTree(unix.AT_FDCWD, path, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
	if err != nil {
		return -1, err
	}
	return fd, protect(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, restrictions)
}

// openMemory makes a file system in memory.
func openMemory(size string, restrictions uint64) (int, error) {
	return openNew("tmpfs", restrictions, "size", size, "mode", "0755", "nr_inodes", "200k")
}

// openNew makes a file system with options, which are names and values.
func openNew(kind string, restrictions uint64, options ...string) (int, error) {
	fs, err := unix.Fsopen(kind, unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, err
	}
	defer func() { _ = unix.Close(fs) }()
	for i := 0; i+1 < len(options); i += 2 {
		if err := unix.FsconfigSetString(fs, options[i], options[i+1]); err != nil {
			return -1, err
		}
	}
	if err := unix.FsconfigCreate(fs); err != nil {
		return -1, err
	}
	return unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, int(restrictions|unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV))
}

// protect adds restrictions to a mount. A program of another user never keeps that user's rights on it.
func protect(dir int, path string, flags uint, restrictions uint64) error {
	return unix.MountSetattr(dir, path, flags, &unix.MountAttr{Attr_set: restrictions | unix.MOUNT_ATTR_NOSUID})
}

// attach puts an opened mount on a path, and closes it.
func attach(fd int, path string) error {
	defer func() { _ = unix.Close(fd) }()
	return unix.MoveMount(fd, "", unix.AT_FDCWD, path, unix.MOVE_MOUNT_F_EMPTY_PATH)
}
