package process

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReceiptKeyIsMadeOnceAndPrivate(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "data")
	start := func() error {
		p, err := Open(t.Context(), Options{Data: folder, Template: "../../../template.yaml", Log: io.Discard}, Settings{}, "http://127.0.0.1:1")
		if err != nil {
			return err
		}
		for _, fn := range p.template.Functions {
			if got := p.deployment.Environment[fn.ID]["RECEIPT_KEY"]; (got != "") != (fn.Name == "lifecycle" || fn.Name == "sweep") {
				t.Errorf("%s is told of the key: %q", fn.Name, got)
			}
		}
		if err := rotateKey(folder); err == nil {
			t.Error("the key of a process that runs was replaced")
		}
		return p.Close()
	}
	if err := start(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(folder, receiptKeyFile)
	first, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if err := start(); err != nil {
		t.Fatal(err)
	}
	if again, err := os.ReadFile(file); err != nil || !bytes.Equal(first, again) {
		t.Errorf("it is another: %v", err)
	}
	for name, c := range map[string]struct {
		spoil func() error
		want  string
	}{
		"others can read it": {func() error { return os.Chmod(file, 0o640) }, "chmod 600 "},
		"it is a link":       {func() error { return replaceByLink(file) }, "is not a plain file"},
		"it is damaged":      {func() error { return os.WriteFile(file, first[:len(first)/2], 0o600) }, "is damaged"},
		"it is empty":        {func() error { return os.WriteFile(file, nil, 0o600) }, "is damaged"},
	} {
		if err := c.spoil(); err != nil {
			t.Fatal(err)
		}
		if err := start(); err == nil || !strings.Contains(said(err), c.want) || strings.Contains(said(err), string(first[40:60])) {
			t.Errorf("%s: %v", name, err)
		}
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, first, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := rotateKey(folder); err != nil {
		t.Fatal(err)
	}
	rotated, err := os.ReadFile(file)
	if err != nil || bytes.Equal(first, rotated) {
		t.Errorf("after it was rotated: %v", err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if err := start(); err != nil {
		t.Error(err)
	}
	if err := rotateKey(filepath.Join(folder, "none")); err == nil {
		t.Error("the key of no folder was replaced")
	}
}

// replaceByLink replaces a file by a link to it.
func replaceByLink(file string) error {
	if err := os.Rename(file, file+".elsewhere"); err != nil {
		return err
	}
	return os.Symlink(file+".elsewhere", file)
}
