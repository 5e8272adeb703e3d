//go:build !unix

package main

import "os/exec"

// together returns a function that ends a command.
func together(c *exec.Cmd) (stop func()) { return func() { _ = c.Process.Kill() } }
