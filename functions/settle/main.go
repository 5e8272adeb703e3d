// Command settle starts and finishes a run: the Start and Finish tasks of the state
// machine.
package main

import "piloto/internal/boot/settle"

func main() { settle.Start() }
