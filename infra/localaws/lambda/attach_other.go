//go:build !unix

package lambda

import "os/exec"

const attached = false

// attach does nothing on systems without process groups and parent signals.
func attach(*exec.Cmd) {}
