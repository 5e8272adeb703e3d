package sandbox

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// An order is the work of the first process of the sandbox.
type order struct {
	Shell  string
	Args   []string // of the shell, beginning with its name
	Dir    string
	Env    []string
	Mounts []mount // sorted by path, so that a folder precedes the mounts below it
	Links  []link

	Held []held
}

// held are folders that cannot be renamed or removed, the inner ones first, in a folder that can be written.
type held struct {
	Root    string
	Folders []string
}

// A kind of mount says where its content is from, and who may write it.
type kind int

const (
	readable  kind = iota // the path of the machine, which can be read
	writable              // the path of the machine, which can be read and written
	device                // the device of the machine
	scratch               // a new folder in memory, which can be written
	shared                // the same, for shared memory
	copied                // another file, which can be read
	carried               // another file, which can be read and written
	emptyFile             // nothing
	emptyDir              // nothing
	proc                  // the processes of the sandbox
)

// A mount is a path that exists in the sandbox.
type mount struct {
	Path string
	Kind kind
	From string // of a copy: the file that stands there
}

// A link is a symbolic link of the machine that exists in the sandbox too.
type link struct{ Path, Target string }

// A report is the message of the first process of the sandbox at its end.
type report struct {
	Step  string        // the step that failed, or ""
	Errno syscall.Errno // of that step, or 0
	Text  string        // the error of that step
	Code  int           // the exit code of the line
	Ended bool          // a signal ended the line: Code is 128 + the signal
}

// homeDir and tempDir are HOME and TMPDIR in the sandbox. They are in memory.
const (
	tempDir = "/tmp"
	homeDir = "/tmp/home"
)

// systemDirs hold programs and libraries.
var systemDirs = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store"}

// systemFiles are the files of /etc that programs need and that hold no secret. /etc/ssl/private and /etc/shadow are
// not among them.
var systemFiles = []string{
	"alternatives", "ca-certificates", "ca-certificates.conf", "crypto-policies", "debian_version", "fonts", "group",
	"host.conf", "hosts", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "locale.alias", "locale.conf", "localtime",
	"mime.types", "nsswitch.conf", "os-release", "passwd", "pki/ca-trust", "pki/tls/certs", "protocols", "services",
	"ssl/certs", "ssl/openssl.cnf", "terminfo", "timezone",
}

// devices are the devices that hold no data of the person.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}

// newOrder returns the order for a command. copies are those of c.
func newOrder(c Command, sh shell, copies map[string]string) order {
	o := order{
		Shell: sh.path, Args: c.arguments(sh), Dir: c.Dir, Env: c.environment(homeDir, tempDir),
		Mounts: []mount{{Path: "/proc", Kind: proc}, {Path: tempDir, Kind: scratch}, {Path: "/dev/shm", Kind: shared}},
		Links: []link{
			{"/dev/fd", "/proc/self/fd"},
			{"/dev/stdin", "/proc/self/fd/0"},
			{"/dev/stdout", "/proc/self/fd/1"},
			{"/dev/stderr", "/proc/self/fd/2"},
		},
	}
	for _, path := range systemDirs {
		o.addSystem(path)
	}
	for _, name := range systemFiles {
		o.addSystem("/etc/" + name)
	}
	o.add(device, devices...)
	o.add(readable, c.ReadOnly...)
	o.add(writable, c.Workspace)
	o.add(writable, c.Write...)
	if git := filepath.Join(c.Workspace, ".git"); exists(git) && !slices.Contains(c.Write, git) {
		o.add(readable, git)
	}
	for _, name := range c.Hidden {
		o.hide(filepath.Join(c.Workspace, filepath.FromSlash(name)), copies[""])
	}
	for name, from := range copies {
		path := name // of an index
		if !filepath.IsAbs(name) {
			path = filepath.Join(c.Workspace, filepath.FromSlash(name))
		}
		if real, err := filepath.EvalSymlinks(path); name != "" && err == nil && real == path {
			how := copied
			if c.carries(name) {
				how = carried
			}
			o.Mounts = append(o.Mounts, mount{Path: path, Kind: how, From: from})
		}
	}
	o.sortMounts()
	o.listHeld()
	return o
}

// listHeld lists the folders above each mount in a folder that can be written. A mount goes along when a folder above it gets
// another name, and its path is free then.
func (o *order) listHeld() {
	for _, m := range o.Mounts { // a folder precedes its content
		info, err := os.Stat(m.Path)
		if m.Kind == writable && err == nil && info.IsDir() && !slices.ContainsFunc(o.Held, func(h held) bool { return isWithin(m.Path, h.Root) }) {
			o.Held = append(o.Held, held{Root: m.Path})
		}
	}
	for i, h := range o.Held {
		above := map[string]bool{}
		for _, m := range o.Mounts {
			if m.Kind == emptyFile || m.Kind == copied || m.Kind == carried || m.Path == h.Root || !isWithin(m.Path, h.Root) {
				continue
			}
			for folder := filepath.Dir(m.Path); folder != h.Root; folder = filepath.Dir(folder) {
				above[folder] = true
			}
		}
		o.Held[i].Folders = slices.Sorted(maps.Keys(above))
		slices.Reverse(o.Held[i].Folders)
	}
	o.Held = slices.DeleteFunc(o.Held, func(h held) bool { return len(h.Folders) == 0 })
}

// sortMounts puts each folder before the mounts below it. It removes the mounts below a folder that is shown empty.
func (o *order) sortMounts() {
	slices.SortStableFunc(o.Mounts, func(a, b mount) int { return strings.Compare(a.Path, b.Path) })
	var empty []string
	o.Mounts = slices.DeleteFunc(o.Mounts, func(m mount) bool {
		below := slices.ContainsFunc(empty, func(folder string) bool { return m.Path != folder && isWithin(m.Path, folder) })
		if m.Kind == emptyDir && !below {
			empty = append(empty, m.Path)
		}
		return below
	})
}

func (o *order) add(k kind, paths ...string) {
	for _, path := range paths {
		o.Mounts = append(o.Mounts, mount{Path: path, Kind: k})
	}
}

// addSystem adds a path of the system as it is: a link stays one.
func (o *order) addSystem(path string) {
	info, err := os.Lstat(path)
	if err != nil {
		return
	}
	if info.Mode()&os.ModeSymlink == 0 {
		o.add(readable, path)
		return
	}
	if target, err := os.Readlink(path); err == nil {
		o.Links = append(o.Links, link{path, target})
	}
}

// hide makes a path of the workspace empty. A file of text or bytes becomes the empty one, because git compares no device
// with its entry. A symbolic link is left: its target is hidden under its own name, or does not exist in the sandbox.
func (o *order) hide(path, empty string) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil || real != path {
		return
	}
	info, err := os.Lstat(path)
	switch {
	case err != nil:
	case info.IsDir():
		o.add(emptyDir, path)
	case info.Mode().IsRegular() && empty != "":
		o.Mounts = append(o.Mounts, mount{Path: path, Kind: copied, From: empty})
	default:
		o.add(emptyFile, path)
	}
}
