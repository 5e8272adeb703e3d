//go:build !linux

package console

// flushTerminal does nothing: outside Linux, a line that the terminal kept before the question can answer it.
func flushTerminal(int) {}
