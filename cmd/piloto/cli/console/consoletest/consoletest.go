// Package consoletest makes consoles for tests.
package consoletest

import (
	"bufio"
	"strings"

	"piloto/cmd/piloto/cli/console"
)

// New returns a console with an environment and an input, and its stdout and stderr.
func New(env map[string]string, in string) (con *console.Console, out, errOut *strings.Builder) {
	out, errOut = &strings.Builder{}, &strings.Builder{}
	return &console.Console{
		In: bufio.NewReader(strings.NewReader(in)), Out: out, ErrOut: errOut, Getenv: func(name string) string { return env[name] },
	}, out, errOut
}
