// Command web serves the page, its fragments and its assets, and signs people in and out.
package main

import "piloto/internal/boot/web"

func main() { web.Start() }
