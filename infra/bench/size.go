package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// beyond are the executables that the limit is still an aim for, and what they may not
// grow over, in bytes: chat, and turn as chat, talks to models, agents and previews, judges by JSON Schema,
// and reads what texts claim, by words and learned weights (0.3 MB); the charsets of old services are
// 0.1 MB. What deploys is arm64.
var beyond = map[string]int64{
	"arm64/chat": 16_300_000, "amd64/chat": 17_750_000, "arm64/turn": 16_300_000, "amd64/turn": 17_750_000, "amd64/mcp": 15_950_000,
}

// checkSizes says how big the executables under folder are (ARCH/FUNCTION/bootstrap,
// as `make build` makes them) and fails at the first that is over the limit.
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
