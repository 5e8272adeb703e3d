package process

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// entry is one member of a crafted archive.
type entry struct {
	tar.Header
	text string
}

// craftArchive writes an archive of members, with a manifest that matches them.
func craftArchive(t *testing.T, members []entry) string {
	t.Helper()
	var b bytes.Buffer
	out := tar.NewWriter(&b)
	m := manifest{Format: archiveFormat, At: time.Unix(0, 0)}
	put := func(h tar.Header, text string) {
		h.Mode, h.Size = 0o4777, int64(len(text))
		if h.Typeflag != tar.TypeReg {
			h.Size = 0
		}
		if err := out.WriteHeader(&h); err != nil {
			t.Fatalf("%q: %v", h.Name, err)
		}
		if _, err := out.Write([]byte(text)[:h.Size]); err != nil {
			t.Fatal(err)
		}
	}
	for _, e := range members {
		put(e.Header, e.text)
		sum := sha256.Sum256([]byte(e.text))
		m.Files = append(m.Files, archiveFile{e.Name, int64(len(e.text)), hex.EncodeToString(sum[:])})
	}
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	put(tar.Header{Name: manifestName, Typeflag: tar.TypeReg}, string(text))
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "b")
	if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// tree returns everything below a folder: names, kinds and modes, contents, and links.
func tree(t *testing.T, folder string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		all.WriteString(path + " " + info.Mode().String())
		switch {
		case info.Mode().IsRegular():
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			all.Write(text)
		case info.Mode()&fs.ModeSymlink != 0:
			to, _ := os.Readlink(path)
			all.WriteString(" to " + to)
		}
		all.WriteByte('\n')
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// TestRestoreWritesNothingOutsideFolder tries archives with bad names and with links, devices and
// folders, each with a manifest that matches. Each is refused before a byte is written, whether the
// folder exists or not.
func TestRestoreWritesNothingOutsideFolder(t *testing.T) {
	world := t.TempDir()
	for _, folder := range []string{"there", "beside"} {
		if err := os.Mkdir(filepath.Join(world, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	canary := filepath.Join(world, "beside", "canary")
	if err := os.WriteFile(canary, []byte("whole"), 0o600); err != nil {
		t.Fatal(err)
	}
	folder, _ := plainFolder(t)
	data, err := os.ReadFile(filepath.Join(folder, dataFile))
	if err != nil {
		t.Fatal(err)
	}
	whole := entry{tar.Header{Name: dataFile, Typeflag: tar.TypeReg}, string(data)}
	before := tree(t, world)
	try := func(t *testing.T, members ...entry) {
		t.Helper()
		file := craftArchive(t, members)
		for _, into := range []string{"there", "new"} {
			if err := restore(t.Context(), file, filepath.Join(world, into)); err == nil {
				t.Errorf("it was restored, into %s", into)
			}
			if after := tree(t, world); after != before {
				t.Fatalf("it changed what is there:\n%s\n%s", before, after)
			}
		}
	}
	for i, name := range []string{
		"..", ".", "../canary", "../beside/canary", "there/../../beside/canary", "./../beside/canary", canary, "/etc/passwd", "//x", `\x`,
		`..\beside\canary`, `C:\x`, "C:x", "token:stream", "a/b", "./token", ".hidden", ".restoring", ".restoring/token", "token\n/../x",
		strings.Repeat("n", 256), strings.Repeat("n", 5000), strings.Repeat("../", 100) + "etc/passwd", controlSocket, "x.pid", " /x", "..\u2215x/y",
		objectsFolder, "objects/x", "objects/../" + strings.Repeat("A", 26), "objects/" + strings.Repeat("a", 26), "Objects/" + strings.Repeat("A", 26),
		"objects/" + strings.Repeat("A", 26) + "/x", "/objects/" + strings.Repeat("A", 26),
	} {
		if testing.Short() && i%4 > 0 {
			continue
		}
		t.Run("called "+name[:min(len(name), 40)], func(t *testing.T) {
			try(t, whole, entry{tar.Header{Name: name, Typeflag: tar.TypeReg, Format: tar.FormatPAX}, "x"})
		})
	}
	for name, kind := range map[string]byte{
		"a symbolic link": tar.TypeSymlink, "a hard link": tar.TypeLink, "a folder": tar.TypeDir, "a FIFO": tar.TypeFifo,
		"a character device": tar.TypeChar, "a block device": tar.TypeBlock,
	} {
		for _, to := range []string{canary, "../beside/canary", "/dev/zero", dataFile} {
			if testing.Short() && to != canary {
				continue
			}
			t.Run(name+" to "+filepath.Base(to), func(t *testing.T) {
				member := entry{tar.Header{Name: "token", Typeflag: kind, Linkname: to, Devmajor: 1, Devminor: 5}, ""}
				try(t, whole, member)
				member.Name = dataFile // in the place of a required file
				try(t, member)
				try(t, member, whole) // the next write would go through it
			})
		}
	}
	t.Run("one name twice", func(t *testing.T) {
		token := entry{tar.Header{Name: "token", Typeflag: tar.TypeReg}, "x"}
		try(t, whole, token, token)
		try(t, whole, whole)
	})
	t.Run("a name with a NUL", func(t *testing.T) {
		file := craftArchive(t, []entry{whole, {tar.Header{Name: "tokenQpid", Typeflag: tar.TypeReg}, "x"}})
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, with := range []string{"token\x00pid"} { // tar ends the name there, but the manifest does not
			changed := filepath.Join(t.TempDir(), "b")
			if err := os.WriteFile(changed, bytes.ReplaceAll(text, []byte("tokenQpid"), []byte(with)), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := restore(t.Context(), changed, filepath.Join(world, "new")); err == nil || tree(t, world) != before {
				t.Errorf("%v", err)
			}
		}
	})
}

// TestRestoreNeverMergesNamesThatDifferInCase: on a disk that ignores case, the second file does
// not replace the first. Restored files are readable by their owner alone, whatever mode the
// archive gives.
func TestRestoreNeverMergesNamesThatDifferInCase(t *testing.T) {
	folder, _ := plainFolder(t)
	data, err := os.ReadFile(filepath.Join(folder, dataFile))
	if err != nil {
		t.Fatal(err)
	}
	file := craftArchive(t, []entry{
		{tar.Header{Name: dataFile, Typeflag: tar.TypeReg}, string(data)},
		{tar.Header{Name: "token", Typeflag: tar.TypeReg}, "small"},
		{tar.Header{Name: "TOKEN", Typeflag: tar.TypeReg}, "large"},
	})
	into := filepath.Join(t.TempDir(), "new")
	if err := restore(t.Context(), file, into); err != nil {
		if _, there := os.Lstat(into); there == nil {
			t.Errorf("%v, and something was left", err)
		}
		return
	}
	if files := filesIn(t, into); files["token"] != "small" || files["TOKEN"] != "large" { // filesIn checks the modes
		t.Errorf("%q", files)
	}
}
