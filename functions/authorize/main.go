// Command authorize identifies the caller of a request for the API. It never denies: the handlers render refusals.
package main

import "piloto/internal/boot"

func main() { boot.StartAuthorize() }
