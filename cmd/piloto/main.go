// Command piloto is the whole of Piloto for one machine and for a terminal: the server of one machine, and the client
// of any deployment.
package main

import (
	"os"

	"piloto/cmd/piloto/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Getenv)) }
