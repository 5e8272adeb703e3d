// Command conclude has the model write the conclusion of a run: the Conclude task of the state machine. On its schedule it
// finds the runs whose execution died before that.
package main

import "piloto/internal/boot"

func main() { boot.StartConclude() }
