package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// beyond lists the executables that are still over the limit, with a limit of their own in bytes: chat, and turn as
// chat, calls models, agents and previews, validates by JSON Schema, and classifies the claims of texts with words
// and learned weights (0.15 MB); the charsets of old services need 0.1 MB, and the stores as types of their own 0.1 MB.
// The deployed executables are arm64.
var beyond = map[string]int64{
	"arm64/chat": 16_250_000, "amd64/chat": 17_750_000, "arm64/turn": 16_250_000, "amd64/turn": 17_750_000,
}

// checkSizes prints the sizes of the executables under folder (ARCH/FUNCTION/bootstrap, as `make build` builds
// them) and fails at the first over the limit.
func checkSizes(folder string, out io.Writer) error {
	files, err := filepath.Glob(filepath.Join(folder, "*", "*", "bootstrap"))
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return fmt.Errorf("no ARCH/FUNCTION/bootstrap in %s: `make build` makes them", folder)
	}
	var over error
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(folder, filepath.Dir(file))
		if err != nil {
			return err
		}
		most, note := int64(mostSize), ""
		if info.Size() > most && beyond[filepath.ToSlash(name)] > 0 {
			most, note = beyond[filepath.ToSlash(name)], fmt.Sprintf(", over the aim of %s", megabytes(most))
		}
		fmt.Fprintf(out, "%-20s %6s MB%s\n", name, megabytes(info.Size()), note)
		if info.Size() > most && over == nil {
			over = fmt.Errorf("%s has %d bytes, over %d: `go tool nm -size -sort size` says of what", name, info.Size(), most)
		}
	}
	return over
}
