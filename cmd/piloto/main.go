// Command piloto is the whole of Piloto for one machine and for a terminal: the server of one machine, and the client
// of any deployment.
package main

import (
	"os"

	"piloto/cmd/piloto/cli"
	"piloto/cmd/piloto/sandbox"
)

func main() {
	sandbox.Main() // in a sandbox it is the first process, and does not return
	os.Exit(cli.Main(os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, os.Getenv))
}
