package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

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
		fmt.Fprintf(out, "%-20s %6s MB\n", name, megabytes(info.Size()))
		if info.Size() > mostSize && over == nil {
			over = fmt.Errorf("%s has %d bytes, over %d: `go tool nm -size -sort size` says of what", name, info.Size(), mostSize)
		}
	}
	return over
}
