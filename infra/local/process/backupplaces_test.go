package process

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"localaws/disk"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestBackupRefusesFileInDataFolder tries every depth and other names of the folder.
func TestBackupRefusesFileInDataFolder(t *testing.T) {
	folder, _ := filledFolder(t)
	deep := filepath.Join(folder, "a", "b")
	if err := os.MkdirAll(deep, 0o700); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "elsewhere")
	if err := os.Symlink(deep, link); err != nil {
		t.Fatal(err)
	}
	for _, place := range []string{deep, link, filepath.Join(folder, ".")} {
		if err := backup(t.Context(), folder, filepath.Join(place, "x")); err == nil || !strings.Contains(said(err), "in the data folder") {
			t.Errorf("%s: %v", place, err)
		}
	}
}

// TestBackupFollowsLinks holds for a token file that is a link.
func TestBackupFollowsLinks(t *testing.T) {
	folder, files := filledFolder(t)
	elsewhere := filepath.Join(t.TempDir(), "token")
	if err := os.Rename(filepath.Join(folder, "token"), elsewhere); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, filepath.Join(folder, "token")); err != nil {
		t.Fatal(err)
	}
	restored := backUpAndRestore(t, folder)
	if got := filesIn(t, restored); got["token"] != files["token"] {
		t.Errorf("the token of the copy is %q, and was %q", got["token"], files["token"])
	}
}

// TestRestoreFollowsLink restores to the target of the link, which may be empty.
func TestRestoreFollowsLink(t *testing.T) {
	folder, _ := filledFolder(t)
	file := filepath.Join(t.TempDir(), "b")
	if err := backup(t.Context(), folder, file); err != nil {
		t.Fatal(err)
	}
	target, links := t.TempDir(), t.TempDir()
	for _, link := range [][2]string{{target, "full"}, {filepath.Join(links, "nowhere"), "none"}} {
		if err := os.Symlink(link[0], filepath.Join(links, link[1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := restore(t.Context(), file, filepath.Join(links, "full")); err != nil {
		t.Fatal(err)
	}
	if err := disk.Verify(filepath.Join(target, dataFile)); err != nil {
		t.Error(err)
	}
	if err := restore(t.Context(), file, filepath.Join(links, "none")); err == nil || !strings.Contains(said(err), "leads nowhere") {
		t.Error(err)
	}
}

// TestRestoreRefusesNonBackup tries a compressed file, no file, and a file with a false size. It
// also checks that a cancelled context stops the reading.
func TestRestoreRefusesNonBackup(t *testing.T) {
	folder, _ := filledFolder(t)
	places := t.TempDir()
	file := filepath.Join(places, "b")
	if err := backup(t.Context(), folder, file); err != nil {
		t.Fatal(err)
	}
	write := func(name string, fill func(w io.Writer)) string {
		var b bytes.Buffer
		fill(&b)
		path := filepath.Join(places, name)
		if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	zipped := write("b.gz", func(w io.Writer) {
		text, _ := os.ReadFile(file)
		z := gzip.NewWriter(w)
		_, _ = z.Write(text)
		_ = z.Close()
	})
	large := write("sparse", func(w io.Writer) { // an extended header, and a file as large as a disk
		pax := func(name, value string) string {
			line := " " + name + "=" + value + "\n"
			n := len(line) + 2
			return strconv.Itoa(n) + line
		}
		records := pax("GNU.sparse.major", "1") + pax("GNU.sparse.minor", "0") + pax("GNU.sparse.name", "token") + pax("GNU.sparse.realsize", "9999999999")
		block := func(name string, kind byte, content string) {
			h := make([]byte, 512)
			copy(h, name)
			copy(h[100:], "0000600\x000000000\x000000000\x00")
			copy(h[124:], fmt.Sprintf("%011o\x0000000000000\x00", len(content)))
			copy(h[148:], "        ")
			h[156] = kind
			copy(h[257:], "ustar\x0000")
			sum := 0
			for _, c := range h {
				sum += int(c)
			}
			copy(h[148:], fmt.Sprintf("%06o\x00 ", sum))
			_, _ = w.Write(h)
			_, _ = io.WriteString(w, content+strings.Repeat("\x00", (512-len(content)%512)%512))
		}
		block("x", 'x', records)
		block("GNUSparseFile.0/token", '0', "0\n"+strings.Repeat("\x00", 510))
	})
	stopped, stop := context.WithCancel(t.Context())
	stop()
	for name, x := range map[string]struct {
		ctx        context.Context
		file, says string
	}{
		"compressed": {t.Context(), zipped, "gunzip"},
		"a folder":   {t.Context(), places, "is no file"},
		"sparse":     {t.Context(), large, "it holds “token”"},
		"stopped":    {stopped, file, context.Canceled.Error()},
	} {
		into := filepath.Join(places, "into")
		if err := restore(x.ctx, x.file, into); err == nil || !strings.Contains(said(err), x.says) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Lstat(into); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: there is something: %v", name, err)
		}
	}
	if err := backup(stopped, folder, filepath.Join(places, "another")); !errors.Is(err, context.Canceled) {
		t.Errorf("a backup that is stopped: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(places, ".*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// TestAFolderOfACommandIsAPath to which a suffix can be added, and no option.
func TestAFolderOfACommandIsAPath(t *testing.T) {
	for folder, want := range map[string]string{
		".piloto": ".piloto", ".piloto/": ".piloto", "/srv/a//b/": "/srv/a/b",
		"/srv/my data": "'/srv/my data'", "it's": `'it'\''s'`, "$HOME;x": "'$HOME;x'", "ñ": "ñ",
	} {
		if got := shellWord(folder); got != want {
			t.Errorf("%s: %s, want %s", folder, got, want)
		}
	}
	for _, folder := range []string{".", "..", "-rf"} {
		if got := shellWord(folder); !strings.HasPrefix(strings.Trim(got, "'"), "/") {
			t.Errorf("%s: %s", folder, got)
		}
	}
}
