package console

import (
	"io"
	"os"
	"strconv"
	"syscall"

	"piloto/internal/ground/fault"
)

// Errors of a file of this machine that cannot be read as one.
var (
	errNoFile     = fault.New(fault.Invalid, "cli.file.special")    // Args["name"]
	errFileTooBig = fault.New(fault.TooLarge, "cli.file.too_large") // Args["name"], Args["max"]: bytes
)

// ReadPlain reads a plain file of at most so many bytes. Anything else could keep the command waiting, such as a FIFO, or
// has no end, such as a device.
func ReadPlain(file string, most int64) ([]byte, error) {
	if info, err := os.Stat(file); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() { // to open a device may already change it
		return nil, errNoFile.With("name", file)
	}
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0) //nolint:gosec // the person names it
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() { // another process replaced it
		return nil, errNoFile.With("name", file)
	}
	content, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(content)) > most {
		err = errFileTooBig.With("name", file).With("max", strconv.FormatInt(most, 10))
	}
	return content, err
}
