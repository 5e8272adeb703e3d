package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// beyond lists the executables with a limit of their own in bytes: 1 to 2 % over what they have, so that a small change
// breaks no build. turn links most: models, agents, the router and previews, and the words of claims and yeses. The deployed
// executables are arm64, where sections begin at 64 KB, so that a size grows by as much at once. An amd64 executable is for
// one machine.
var beyond = map[string]int64{
	"arm64/turn": 16_100_000, "arm64/chat": 15_950_000, "arm64/router": 15_500_000, "amd64/turn": 17_800_000, "amd64/chat": 17_600_000,
	"amd64/router": 17_050_000, "amd64/agent": 15_950_000, "amd64/mcp": 15_450_000,
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
