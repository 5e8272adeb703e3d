package process

import (
	"cmp"
	"context"
	"embed"
	"fmt"
	"io"
	"path/filepath"
	"strconv"

	"piloto/internal/ground/locale"
)

// The sentences that a start prints.
//
//go:embed text
var sentences embed.FS

func init() { locale.Add(sentences) }

// Person is the reader of the output of Serve. The zero Person is nobody: a log keeps the output, and others read it.
type Person struct {
	Terminal  bool             // the output goes to a terminal
	Lang      locale.Tag       // "": Spanish
	Command   string           // how this command is called there, as a word of a shell; "": piloto
	Elsewhere bool             // commands go to another deployment unless they are told --at here
	Open      func(url string) // opens a page in a browser; nil: there is none

	// At returns the command of the person, with another address to listen at; nil: piloto up.
	At func(addr string) string
}

// DefaultData is the data folder of a command that names none.
const DefaultData = ".piloto"

// text returns a sentence in the language of the person.
func (p Person) text(key string, pairs ...string) string {
	return locale.Text(cmp.Or(p.Lang, locale.Spanish), key, pairs...)
}

// command returns a command line, with the data folder where it is needed.
func (p *Process) command(arguments string) string {
	line := cmp.Or(p.Person.Command, "piloto") + " " + arguments
	if p.Data != DefaultData {
		line += " --data " + shellWord(p.Data)
	}
	return line
}

// greet prints that the process is ready, how to sign in, and the next step, and opens the page.
func (p *Process) greet(ctx context.Context, out io.Writer, token, file string) error {
	p.log.InfoContext(ctx, "process.ready", "origin", p.origin, "data", p.Data)
	say := func(key string, pairs ...string) { fmt.Fprintln(out, p.Person.text("up."+key, pairs...)) }
	if p.Person.Terminal {
		say("ready", "origin", p.origin)
	} else {
		fmt.Fprintf(out, "piloto ready on %s\n\n", p.origin) // programs read this line
	}
	if err := p.sayHowToSignIn(ctx, say, token, file); err != nil {
		return err
	}
	model, base := p.provider()
	answers := p.Settings.usesDemoModel() || p.Settings.Key != "" || p.Settings.needsNoKey() || p.Settings.usesGroqOnly()
	switch {
	case p.Settings.usesDemoModel():
		say("model.demo")
	case !answers:
		say("model.none")
	default:
		say("model", "model", model, "url", base)
	}
	if p.functions.lambdas != nil {
		say("lambda", "n", strconv.Itoa(len(p.functions.lambdas.pools)))
	}
	if p.AWS != "" {
		say("engines", "address", p.AWS)
	}
	say("data", "folder", p.Data, "log", filepath.Join(p.Data, LogFile))
	if !OnThisMachine(p.Addr) {
		say("exposed")
	}
	arguments := "send"
	if p.Person.Elsewhere {
		arguments += " --at here"
	}
	switch send := p.command(arguments); {
	case p.Settings.Demo:
		say("try.demo", "send", send)
	case answers:
		say("try", "send", send)
	default:
		say("try.none")
	}
	return nil
}

// sayHowToSignIn prints a code only to a terminal, because systemd, Docker and CI keep the output of a program, and
// others read it. The browser gets a code of its own, which is valid for a minute.
func (p *Process) sayHowToSignIn(ctx context.Context, say func(key string, pairs ...string), token, file string) error {
	url := p.origin
	if p.Person.Terminal {
		var err error
		if url, err = p.signInURL(ctx, token, codeLife); err != nil {
			return err
		}
	}
	switch {
	case !p.Person.Terminal:
		say("open.log", "url", url, "command", p.command("open"))
	case p.Person.Open == nil || !p.Settings.Browse:
		say("open", "url", url, "command", p.command("open"))
	default:
		once, err := p.signInURL(ctx, token, openedLife)
		if err != nil {
			return err
		}
		p.Person.Open(once)
		say("open.opened", "url", url, "command", p.command("open"))
	}
	if file == "" {
		say("token.set")
	} else {
		say("token", "file", file)
	}
	return nil
}
