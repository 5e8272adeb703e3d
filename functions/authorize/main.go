// Command authorize tells the API who is asking. It identifies and never denies: the
// handlers render refusals.
package main

import "piloto/internal/boot"

func main() { boot.StartAuthorize() }
