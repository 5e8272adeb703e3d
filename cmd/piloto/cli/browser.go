package cli

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"piloto/cmd/piloto/cli/reach"
	"piloto/infra/local/process"
	"piloto/internal/ground/visible"
)

// person returns the reader of the output of a start.
func (g *machineGroup) person() process.Person {
	p := process.Person{Terminal: g.con.IsTerm, Lang: g.con.Tag, Command: g.con.Name, At: g.atAddress}
	if to, err := g.deployment.Target(); err != nil || to.Origin != reach.Here {
		p.Elsewhere = true
	}
	if opener := g.opener(runtime.GOOS, isFile); opener != nil && g.con.IsTerm {
		p.Open = func(url string) { start(append(opener, url)) }
	}
	return p
}

// called returns how this command was called, as a word of a shell.
func called(name string) string { return visible.Word(strings.TrimSuffix(name, ".exe")) }

// opener returns the command that opens an address in the browser of a person who sits at this machine; nil when there
// is no sign of one: over ssh, in CI, in a container, or without a display. A person who sets PILOTO_OPEN knows better.
func (g *machineGroup) opener(system string, isFile func(string) bool) []string {
	isAsked := g.con.Getenv("PILOTO_OPEN") != ""
	for _, name := range []string{"SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY", "CI", "KUBERNETES_SERVICE_HOST", "container"} {
		if !isAsked && g.con.Getenv(name) != "" {
			return nil
		}
	}
	switch {
	case system == "darwin":
		return []string{"open"}
	case system == "windows":
		return []string{"rundll32", "url.dll,FileProtocolHandler"}
	case isAsked, g.con.Getenv("DISPLAY")+g.con.Getenv("WAYLAND_DISPLAY") != "" && !isFile("/.dockerenv") && !isFile("/run/.containerenv"):
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

// atAddress returns this command, up, as it was called and with another --addr.
func (g *machineGroup) atAddress(addr string) string {
	words, skip := []string{os.Args[0]}, false
	for _, arg := range g.con.Args {
		name, _, joined := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		switch is := name == "addr" && strings.HasPrefix(arg, "-"); {
		case skip:
			skip = false
		case is:
			skip = !joined
		default:
			words = append(words, arg)
		}
	}
	words = append(words, "--addr", addr)
	for i, w := range words {
		words[i] = visible.Word(w)
	}
	return strings.Join(words, " ")
}
