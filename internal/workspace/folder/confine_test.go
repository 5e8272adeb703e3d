//go:build linux || darwin

package folder_test

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"piloto/internal/workspace"
	"piloto/internal/workspace/folder"
)

const secret = "nobody may read this"

// outside is a folder with a canary beside the workspace.
type outside struct {
	t            *testing.T
	root, canary string
	*folder.Folder
}

func beside(t *testing.T) outside {
	dir := t.TempDir()
	o := outside{t: t, root: filepath.Join(dir, "workspace"), canary: filepath.Join(dir, "outside", "canary")}
	for _, d := range []string{o.root, filepath.Dir(o.canary)} {
		o.must(os.Mkdir(d, 0o755))
	}
	o.must(os.WriteFile(o.canary, []byte(secret), 0o644))
	o.Folder = in(t, folder.Config{Root: o.root})
	return o
}

func (o outside) must(err error) {
	o.t.Helper()
	if err != nil {
		o.t.Fatal(err)
	}
}

func (o outside) path(name string) string { return filepath.Join(o.root, filepath.FromSlash(name)) }

// put writes a file of the workspace as another program would.
func (o outside) put(name, content string) {
	o.t.Helper()
	o.must(os.MkdirAll(filepath.Dir(o.path(name)), 0o755))
	o.must(os.WriteFile(o.path(name), []byte(content), 0o644))
}

// unharmed checks the canary and its folder.
func (o outside) unharmed() {
	o.t.Helper()
	content, err := os.ReadFile(o.canary)
	if err != nil || string(content) != secret {
		o.t.Fatalf("the canary has %q, %v", content, err)
	}
	entries, err := os.ReadDir(filepath.Dir(o.canary))
	if err != nil || len(entries) != 1 {
		o.t.Fatalf("the folder outside has %v, %v", entries, err)
	}
}

// refuses tries every operation on a name.
func (o outside) refuses(name string, want ...error) {
	o.t.Helper()
	ctx := o.t.Context()
	check := func(what string, err error) {
		o.t.Helper()
		for _, w := range want {
			if errors.Is(err, w) {
				return
			}
		}
		o.t.Errorf("%s of %q: %v", what, name, err)
	}
	content, _, err := o.Read(ctx, name, "", 0, 100)
	check("read", err)
	if len(content) > 0 {
		o.t.Errorf("read %q of %q", content, name)
	}
	_, err = o.Stat(ctx, name)
	check("stat", err)
	for _, version := range []string{"", "0"} {
		_, err = o.Write(ctx, name, []byte("changed"), version)
		check("write", err)
		check("delete", o.Delete(ctx, name, version))
	}
	l, err := o.List(ctx)
	if err != nil {
		o.t.Fatal(err)
	}
	for _, f := range l.Files {
		if f.Name == name || strings.HasPrefix(f.Name, name+"/") {
			o.t.Errorf("%q is listed", f.Name)
		}
	}
	o.unharmed()
}

func TestFolderRefusesNamesThatLeadOut(t *testing.T) {
	o := beside(t)
	for _, name := range []string{
		"../outside/canary", "a/../../outside/canary", o.canary, "/proc/self/environ", "..", ".", "", "a/./../../outside/canary",
		`..\outside\canary`, "canary\x00", "../outside/canary\x00.txt", "\xc0\xae\xc0\xae/outside/canary", "..\u200b/outside/canary", "//etc/passwd",
		strings.Repeat("n", 256), strings.Repeat("😀", 300), strings.Repeat("a/", 600) + "a", "COM1", "NUL",
	} {
		o.refuses(name, workspace.ErrName)
	}
}

func TestFolderRefusesLinks(t *testing.T) {
	o := beside(t)
	o.put("inside/file", "x")
	for link, to := range map[string]string{
		"absolute":      o.canary,
		"relative":      "../outside/canary",
		"dangling":      "../outside/new",
		"proc":          "/proc/self/environ",
		"to-file":       "inside/file",
		"to-self":       "to-self",
		"out-absolute":  filepath.Dir(o.canary),
		"out-relative":  "../outside",
		"to-dir":        "inside",
		"to-root":       ".",
		"inside/up":     "..",
		"inside/beyond": "../..",
	} {
		o.must(os.Symlink(to, o.path(link)))
	}
	for _, name := range []string{
		"absolute", "relative", "dangling", "proc", "to-file", "to-self", "out-absolute/canary", "out-relative/canary", "out-relative/new", "to-dir/file", "to-dir/new",
		"to-root/inside/file", "inside/up/inside/file", "inside/beyond/outside/canary", "to-root/to-root/inside/file", "out-absolute", "to-dir",
	} {
		o.refuses(name, workspace.ErrSpecial)
	}
	if content, _, err := o.Read(t.Context(), "inside/file", "", 0, 9); err != nil || string(content) != "x" {
		t.Errorf("the file itself: %q, %v", content, err)
	}
}

func TestFolderRefusesWhatIsNoPlainFile(t *testing.T) {
	o := beside(t)
	o.put("file", "x")
	o.must(os.Link(o.canary, o.path("hard-link-out")))
	o.must(os.Link(o.path("file"), o.path("hard-link-in")))
	o.must(syscall.Mkfifo(o.path("fifo"), 0o644))
	for _, name := range []string{"hard-link-out", "hard-link-in", "file", "fifo"} {
		o.refuses(name, workspace.ErrSpecial)
	}
	o.refuses("fifo/x", workspace.ErrSpecial)
	if err := syscall.Mknod(o.path("null"), syscall.S_IFCHR|0o666, 1<<8|3); err == nil { // only root can
		o.refuses("null", workspace.ErrSpecial)
	}
	t.Chdir(o.root) // because the path of a socket is short
	l, err := net.Listen("unix", "socket")
	o.must(err)
	defer l.Close()
	o.refuses("socket", workspace.ErrSpecial)
}

// repeats calls do again and again in the background.
func repeats(do func(i int)) (stop func()) {
	done := make(chan struct{})
	var background sync.WaitGroup
	background.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			default:
				do(i)
			}
		}
	})
	return func() {
		close(done)
		background.Wait()
	}
}

// swapIn makes a link or a copy under another name, and renames it over the name, so that the name is never free.
func (o outside) swapIn(name, kind string) error {
	other := o.path("swap-" + kind)
	_ = os.Remove(other)
	var err error
	switch kind {
	case "link":
		err = os.Symlink(o.canary, other)
	case "relative":
		err = os.Symlink("../outside/canary", other)
	case "hidden":
		err = os.Symlink(".env", other)
	case "hard":
		err = os.Link(o.canary, other)
	case "fifo":
		err = syscall.Mkfifo(other, 0o644)
	case "plain":
		err = os.WriteFile(other, []byte("plain"), 0o644)
	}
	if err != nil {
		return err
	}
	return os.Rename(other, o.path(name))
}

// TestRacingLinkNeverLeadsOut: another process swaps a file for links while it is read and written. What is read is
// never the canary, and what is written never reaches it.
func TestRacingLinkNeverLeadsOut(t *testing.T) {
	for _, kinds := range [][]string{{"plain", "link"}, {"plain", "relative"}, {"plain", "hidden"}, {"plain", "hard"}, {"plain", "fifo"}, {"plain", "link", "hard", "fifo"}} {
		t.Run(strings.Join(kinds, "-"), func(t *testing.T) {
			o := beside(t)
			o.put(".env", secret)
			stop := repeats(func(i int) { _ = o.swapIn("target", kinds[i%len(kinds)]) })
			tally := o.tries("target", iterations())
			stop()
			o.unharmed()
			t.Log(tally)
			if tally["read"] == 0 {
				t.Error("no read met the plain file: nothing was raced")
			}
		})
	}
}

// TestRacingFolderNeverLeadsOut does the same with a folder of the path.
func TestRacingFolderNeverLeadsOut(t *testing.T) {
	o := beside(t)
	o.put(".git/canary", secret) // hidden files are not reached either
	o.put("dir/canary", "plain")
	var others []string // each has the name "dir" for a moment; then it is beside the workspace again
	for _, to := range []string{filepath.Dir(o.canary), ".git", "../outside"} {
		others = append(others, o.path("../link-"+strconv.Itoa(len(others))))
		o.must(os.Symlink(to, others[len(others)-1]))
	}
	others = append(others, o.path("../fifo"))
	o.must(syscall.Mkfifo(o.path("../fifo"), 0o644))
	stop := repeats(func(i int) {
		dir, aside, other := o.path("dir"), o.path("../aside"), others[i%len(others)]
		_ = os.Rename(dir, aside)
		_ = os.Rename(other, dir)
		_ = os.Rename(dir, other)
		_ = os.Rename(aside, dir)
	})
	tally := o.tries("dir/canary", iterations())
	stop()
	o.unharmed()
	if content, err := os.ReadFile(o.path(".git/canary")); err != nil || string(content) != secret {
		t.Errorf("the hidden file has %q, %v", content, err)
	}
	t.Log(tally)
	if tally["read"] == 0 {
		t.Error("no read met the plain file: nothing was raced")
	}
}

func iterations() int {
	if testing.Short() {
		return 300
	}
	return 3000
}

// tries reads, lists, writes and deletes a name that is raced, and counts what succeeded.
func (o outside) tries(name string, n int) map[string]int {
	o.t.Helper()
	ctx := o.t.Context()
	tally := map[string]int{}
	for i := 0; i < n || tally["read"] < 10 && i < 100*n; i++ { // so that some reads meet the plain file
		content, f, err := o.Read(ctx, name, "", 0, 100)
		if err == nil {
			tally["read"]++
			if string(content) != "plain" && !bytes.HasPrefix(content, []byte("written")) {
				o.t.Fatalf("read %q of %+v", content, f)
			}
		}
		switch i % 4 {
		case 0:
			l, err := o.List(ctx)
			for _, f := range l.Files {
				if f.Size == int64(len(secret)) {
					o.t.Fatalf("listed %+v", f)
				}
			}
			if err == nil {
				tally["list"]++
			}
		case 1:
			if _, err := o.Write(ctx, name, []byte("written "+strconv.Itoa(i)), f.Version); err == nil {
				tally["write"]++
			}
		case 2:
			if o.Delete(ctx, name, f.Version) == nil {
				tally["delete"]++
			}
		}
		if i%50 == 0 {
			o.unharmed()
		}
	}
	return tally
}

func TestHiddenFilesAreNotReachedByOtherNames(t *testing.T) {
	o := beside(t)
	o.put(".env", secret)
	o.put(".git/config", secret)
	o.must(os.Symlink(".env", o.path("env.txt")))
	o.must(os.Symlink(".git", o.path("git")))
	o.refuses("env.txt", workspace.ErrSpecial)
	o.refuses("git/config", workspace.ErrSpecial)
	for _, name := range []string{".env", ".git/config", ".git/new"} {
		o.refuses(name, workspace.ErrName)
	}
	l, err := o.List(t.Context())
	if err != nil || len(l.Files) != 0 {
		t.Errorf("%+v, %v", l, err)
	}
	shown, err := workspace.Show(".env")
	o.must(err)
	open := in(t, folder.Config{Root: o.root, Shown: shown})
	if l, err = open.List(t.Context()); err != nil || fmt.Sprint(l.Files[0].Name, len(l.Files)) != ".env1" {
		t.Errorf("%+v, %v", l, err)
	}
}
