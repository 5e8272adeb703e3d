package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCheckSizesNamesExecutableOverLimit(t *testing.T) {
	folder := t.TempDir()
	build := func(name string, size int64) {
		file := filepath.Join(folder, "arm64", name, "bootstrap")
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(file, size); err != nil {
			t.Fatal(err)
		}
	}
	if err := checkSizes(folder, &bytes.Buffer{}); err == nil {
		t.Error("nothing was built, and nothing said so")
	}
	build("small", mostSize)
	if err := checkSizes(folder, &bytes.Buffer{}); err != nil {
		t.Error(err)
	}
	build("large", mostSize+1)
	if err := checkSizes(folder, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), filepath.Join("arm64", "large")) {
		t.Errorf("it does not name arm64/large: %v", err)
	}
}
