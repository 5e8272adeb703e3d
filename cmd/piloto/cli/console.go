package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/term"

	"piloto/cmd/piloto/client"
	"piloto/cmd/piloto/show"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/visible"
)

// console is the streams of a command, the language and the form of its output, and how it was called.
type console struct {
	in     *bufio.Reader
	out    io.Writer
	errOut io.Writer
	getenv func(string) string
	name   string   // by which the person called the command; "" for piloto
	args   []string // as they were written
	same   []string // the flags that name the deployment, as the person gave them
	whose  []string // the flags that name the owner of files

	asks     bool // a person is at stdin and stderr
	colour   bool
	isTerm   bool // stdout is a terminal
	tag      locale.Tag
	json     bool
	quiet    bool
	verbose  int
	terminal atomic.Pointer[term.State] // as it was before a secret was asked for; nil: nobody asks for one
}

// tell writes an error, if it has a text. Of a command that a signal ended (ctx) it says only which request may have been done.
func (con *console) tell(ctx context.Context, err error) {
	ended := ctx.Err() != nil && errors.Is(err, context.Canceled) && !errors.As(err, new(*client.DoubtError))
	if err == nil || err.Error() == "" || ended {
		return
	}
	fmt.Fprintln(con.errOut, "piloto:", visible.Lines(strings.TrimSpace(con.told(err))))
}

// language returns the language of the person: of --lang, else of the environment.
func (con *console) language() locale.Tag {
	for _, name := range []string{"PILOTO_LANG", "LC_ALL", "LC_MESSAGES", "LANG"} {
		if set := con.getenv(name); set != "" {
			set, _, _ = strings.Cut(set, ".")
			return locale.Match(strings.ReplaceAll(set, "_", "-"))
		}
	}
	return locale.Spanish
}

// writer returns a writer for a terminal; coloured says where it will be written.
func (con *console) writer(coloured bool) *show.Writer {
	return &show.Writer{Tag: con.tag, Colour: coloured, Now: time.Now()}
}

// say writes progress to stderr.
func (con *console) say(text string) {
	if !con.quiet {
		fmt.Fprintln(con.errOut, text)
	}
}

// report writes a sentence as progress.
func (con *console) report(key string, pairs ...string) { con.say(con.text(key, pairs...)) }

// ask asks a person for a line. Without a person it is an error. Text typed before the question answers something else,
// so it is dropped. A signal ends the question.
func (con *console) ask(ctx context.Context, question string) (string, error) {
	if !con.asks {
		return "", errNobody
	}
	con.forgetTyped()
	fmt.Fprint(con.errOut, question)
	line, err := con.readLine(ctx)
	if err != nil && line == "" {
		return "", err
	}
	return strings.TrimSpace(line), nil
}

// readLine reads a line, until ctx ends. A read that is left behind ends with the command.
func (con *console) readLine(ctx context.Context) (string, error) {
	type read struct {
		line string
		err  error
	}
	done := make(chan read, 1)
	go func() {
		line, err := con.in.ReadString('\n')
		done <- read{line, err}
	}()
	select {
	case r := <-done:
		return r.line, r.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// forgetTyped drops the typed text that was not read yet, because it answered no question.
func (con *console) forgetTyped() {
	_, _ = con.in.Discard(con.in.Buffered())
	flushTerminal(int(os.Stdin.Fd()))
}

var errNobody = refusal("cli.wrong.nobody")

// secret reads a secret: from the terminal without showing it, or the first line of stdin.
func (con *console) secret(question string) (string, error) {
	if con.asks {
		fmt.Fprint(con.errOut, question)
		if state, err := term.GetState(int(os.Stdin.Fd())); err == nil {
			con.terminal.Store(state)
			defer con.terminal.Store(nil)
		}
		text, err := term.ReadPassword(int(os.Stdin.Fd()))
		fmt.Fprintln(con.errOut)
		return strings.TrimSpace(string(text)), err
	}
	line, err := con.in.ReadString('\n')
	if line = strings.TrimSpace(line); line == "" {
		return "", errors.Join(usage(refusal("cli.wrong.no_secret")), ignoreEOF(err))
	}
	return line, nil
}

func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// readInput reads a file, or stdin when the name is "-".
func (con *console) readInput(name string, most int64) ([]byte, error) {
	var from io.Reader = con.in
	if name != "-" {
		f, err := os.Open(name) //nolint:gosec // the person names it
		if err != nil {
			return nil, usage(err)
		}
		defer func() { _ = f.Close() }()
		from = f
	}
	text, err := io.ReadAll(io.LimitReader(from, most+1))
	if err == nil && int64(len(text)) > most {
		err = usage(errFileTooBig.With("name", name).With("max", strconv.FormatInt(most, 10)))
	}
	return text, err
}

// maxFile is the largest file that a command sends as a setting, in bytes.
const maxFile = 1 << 20

// jsonFile reads a JSON file that a person wrote.
func (con *console) jsonFile(name string) (json.RawMessage, error) {
	text, err := con.readInput(name, maxFile)
	if err != nil {
		return nil, err
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if !json.Valid(text) {
		return nil, usage(notJSON(name, json.Unmarshal(text, new(any))))
	}
	return text, nil
}

// again returns this command, with flags before its own, as it is pasted into a shell.
func (con *console) again(flags ...string) string {
	words := append([]string{os.Args[0]}, flags...)
	words = append(words, con.args...)
	for i, w := range words {
		words[i] = visible.Word(w)
	}
	return strings.Join(words, " ")
}

// variable is a variable of the environment.
type variable struct{ name, value string }

// over returns an environment in which the variable has this value.
func (v variable) over(getenv func(string) string) func(string) string {
	return func(asked string) string {
		if asked == v.name {
			return v.value
		}
		return getenv(asked)
	}
}

// notJSON returns the error of a text that is no JSON, or that does not fit.
func notJSON(name string, err error) error {
	if e, ok := errors.AsType[*json.SyntaxError](err); ok && e.Offset > 0 && e.Error() != "unexpected end of JSON input" {
		return refusal("cli.wrong.not_json_at", "name", name, "at", strconv.FormatInt(e.Offset, 10))
	}
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return refusal("cli.wrong.not_json_type", "name", name, "field", e.Field, "value", e.Value)
	}
	if errors.As(err, new(*json.SyntaxError)) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return refusal("cli.wrong.not_json_end", "name", name)
	}
	return refusal("cli.wrong.not_json", "name", name).Because(err)
}
