// Command assets writes the page's files (script, styles, icons) into a folder, as a distribution serves them from a
// bucket:
//
//	go run ./infra/assets -to build/page
//
// build/page/assets/VERSION/NAME is the file that the page links to as /assets/VERSION/NAME. Its content never
// changes: another content has another version.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"piloto/internal/edge/webui"
)

func main() {
	to := flag.String("to", "build/page", "the folder; what it contains is removed")
	flag.Parse()
	if err := write(*to); err != nil {
		fmt.Fprintln(os.Stderr, "assets:", err)
		os.Exit(1)
	}
}

func write(to string) error {
	if err := os.RemoveAll(filepath.Join(to, "assets")); err != nil {
		return err
	}
	for path, body := range webui.Files() {
		file := filepath.Join(to, filepath.FromSlash(strings.TrimPrefix(path, "/")))
		if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
			return err
		}
		if err := os.WriteFile(file, body, 0o600); err != nil {
			return err
		}
	}
	return nil
}
