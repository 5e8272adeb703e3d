package cli

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"piloto/infra/local/process"
	"piloto/internal/ground/visible"
)

// person returns who reads what a start prints.
func (a *app) person() process.Person {
	p := process.Person{Terminal: a.isTerm, Lang: a.tag, Command: a.name, At: a.atAddress}
	if origin, _, err := a.target(); err != nil || origin != here {
		p.Elsewhere = true
	}
	if opener := a.opener(runtime.GOOS, isFile); opener != nil && a.isTerm {
		p.Open = func(url string) { start(append(opener, url)) }
	}
	return p
}

// called returns how this command was called, as a word of a shell.
func called(name string) string { return visible.Word(strings.TrimSuffix(name, ".exe")) }

// opener returns the command that opens an address in the browser of a person who sits at this machine; nil when there
// is no sign of one: over ssh, in CI, in a container, or without a display. A person who sets PILOTO_OPEN knows better.
func (a *app) opener(system string, isFile func(string) bool) []string {
	isAsked := a.getenv("PILOTO_OPEN") != ""
	for _, name := range []string{"SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY", "CI", "KUBERNETES_SERVICE_HOST", "container"} {
		if !isAsked && a.getenv(name) != "" {
			return nil
		}
	}
	switch {
	case system == "darwin":
		return []string{"open"}
	case system == "windows":
		return []string{"rundll32", "url.dll,FileProtocolHandler"}
	case isAsked, a.getenv("DISPLAY")+a.getenv("WAYLAND_DISPLAY") != "" && !isFile("/.dockerenv") && !isFile("/run/.containerenv"):
		return []string{"xdg-open"}
	}
	return nil
}

// start starts a program, and leaves it alone. A program that is not there is no error: the address was printed.
func start(command []string) {
	c := exec.CommandContext(context.Background(), command[0], command[1:]...) //nolint:gosec // one of opener's, with an address of this process
	setApart(c)
	if c.Start() == nil {
		go func() { _ = c.Wait() }()
	}
}

func isFile(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}
