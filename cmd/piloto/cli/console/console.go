// Package console owns the streams of a command: sentences in the language of the person, questions, results as text or
// JSON, and the texts of errors. No text of a deployment, a model, a service or a file reaches a terminal otherwise than
// visible.
package console

import (
	"bufio"
	"bytes"
	"context"
	"embed"
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

	"piloto/cmd/piloto/cli/ending"
	"piloto/cmd/piloto/client"
	"piloto/cmd/piloto/show"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/visible"
)

// The sentences of the terminal.
//
//go:embed text
var sentences embed.FS

func init() { locale.Add(sentences) }

// Console is the streams of a command, the language and the form of its output, and how it was called.
type Console struct {
	In     *bufio.Reader
	Out    io.Writer
	ErrOut io.Writer
	Getenv func(string) string
	Name   string   // by which the person called the command; "" for piloto
	Args   []string // as they were written
	Same   []string // the flags that name the deployment, as the person gave them
	Whose  []string // the flags that name the owner of files

	Asks     bool // a person is at stdin and stderr
	Colour   bool
	IsTerm   bool // stdout is a terminal
	Tag      locale.Tag
	JSON     bool
	Quiet    bool
	Verbose  int
	Terminal atomic.Pointer[term.State] // as it was before a secret was asked for; nil: nobody asks for one
}

// Tell writes an error, if it has a text. Of a command that a signal ended (ctx) it says only which request may have been done.
func (con *Console) Tell(ctx context.Context, err error) {
	ended := ctx.Err() != nil && errors.Is(err, context.Canceled) && !errors.As(err, new(*client.DoubtError))
	if err == nil || err.Error() == "" || ended {
		return
	}
	fmt.Fprintln(con.ErrOut, "piloto:", visible.Lines(strings.TrimSpace(con.Told(err))))
}

// Language returns the language of the person: of --lang, else of the environment.
func (con *Console) Language() locale.Tag {
	for _, name := range []string{"PILOTO_LANG", "LC_ALL", "LC_MESSAGES", "LANG"} {
		if set := con.Getenv(name); set != "" {
			set, _, _ = strings.Cut(set, ".")
			return locale.Match(strings.ReplaceAll(set, "_", "-"))
		}
	}
	return locale.Spanish
}

// Writer returns a writer for a terminal; coloured says where it will be written.
func (con *Console) Writer(coloured bool) *show.Writer {
	return &show.Writer{Tag: con.Tag, Colour: coloured, Now: time.Now()}
}

// Say writes progress to stderr.
func (con *Console) Say(text string) {
	if !con.Quiet {
		fmt.Fprintln(con.ErrOut, text)
	}
}

// Report writes a sentence as progress.
func (con *Console) Report(key string, pairs ...string) { con.Say(con.Text(key, pairs...)) }

// Ask asks a person for a line. Without a person it is an error. Text typed before the question answers something else,
// so it is dropped. A signal ends the question.
func (con *Console) Ask(ctx context.Context, question string) (string, error) {
	if !con.Asks {
		return "", ErrNobody
	}
	con.forgetTyped()
	fmt.Fprint(con.ErrOut, question)
	line, err := con.ReadLine(ctx)
	if err != nil && line == "" {
		return "", err
	}
	return strings.TrimSpace(line), nil
}

// ReadLine reads a line, until ctx ends. A read that is left behind ends with the command.
func (con *Console) ReadLine(ctx context.Context) (string, error) {
	type read struct {
		line string
		err  error
	}
	done := make(chan read, 1)
	go func() {
		line, err := con.In.ReadString('\n')
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
func (con *Console) forgetTyped() {
	_, _ = con.In.Discard(con.In.Buffered())
	flushTerminal(int(os.Stdin.Fd()))
}

// ErrNobody means that no person is at the terminal.
var ErrNobody = ending.Refusal("cli.wrong.nobody")

// Secret reads a secret: from the terminal without showing it, or the first line of stdin.
func (con *Console) Secret(question string) (string, error) {
	if con.Asks {
		fmt.Fprint(con.ErrOut, question)
		if state, err := term.GetState(int(os.Stdin.Fd())); err == nil {
			con.Terminal.Store(state)
			defer con.Terminal.Store(nil)
		}
		text, err := term.ReadPassword(int(os.Stdin.Fd()))
		fmt.Fprintln(con.ErrOut)
		return strings.TrimSpace(string(text)), err
	}
	line, err := con.In.ReadString('\n')
	if line = strings.TrimSpace(line); line == "" {
		return "", errors.Join(ending.Miswritten(ending.Refusal("cli.wrong.no_secret")), IgnoreEOF(err))
	}
	return line, nil
}

// IgnoreEOF returns nil for the end of the input, and any other error.
func IgnoreEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// ReadInput reads a file, or stdin when the name is "-".
func (con *Console) ReadInput(name string, most int64) ([]byte, error) {
	var from io.Reader = con.In
	if name != "-" {
		f, err := os.Open(name) //nolint:gosec // the person names it
		if err != nil {
			return nil, ending.Miswritten(err)
		}
		defer func() { _ = f.Close() }()
		from = f
	}
	text, err := io.ReadAll(io.LimitReader(from, most+1))
	if err == nil && int64(len(text)) > most {
		err = ending.Miswritten(errFileTooBig.With("name", name).With("max", strconv.FormatInt(most, 10)))
	}
	return text, err
}

// maxFile is the largest file that a command sends as a setting, in bytes.
const maxFile = 1 << 20

// JSONFile reads a JSON file that a person wrote.
func (con *Console) JSONFile(name string) (json.RawMessage, error) {
	text, err := con.ReadInput(name, maxFile)
	if err != nil {
		return nil, err
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if !json.Valid(text) {
		return nil, ending.Miswritten(NotJSON(name, json.Unmarshal(text, new(any))))
	}
	return text, nil
}

// Again returns this command, with flags before its own, as it is pasted into a shell.
func (con *Console) Again(flags ...string) string {
	words := append([]string{os.Args[0]}, flags...)
	words = append(words, con.Args...)
	for i, w := range words {
		words[i] = visible.Word(w)
	}
	return strings.Join(words, " ")
}

// Variable is a variable of the environment.
type Variable struct{ Name, Value string }

// Over returns an environment in which the variable has this value.
func (v Variable) Over(getenv func(string) string) func(string) string {
	return func(asked string) string {
		if asked == v.Name {
			return v.Value
		}
		return getenv(asked)
	}
}

// NotJSON returns the error of a text that is no JSON, or that does not fit.
func NotJSON(name string, err error) error {
	if e, ok := errors.AsType[*json.SyntaxError](err); ok && e.Offset > 0 && e.Error() != "unexpected end of JSON input" {
		return ending.Refusal("cli.wrong.not_json_at", "name", name, "at", strconv.FormatInt(e.Offset, 10))
	}
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return ending.Refusal("cli.wrong.not_json_type", "name", name, "field", e.Field, "value", e.Value)
	}
	if errors.As(err, new(*json.SyntaxError)) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return ending.Refusal("cli.wrong.not_json_end", "name", name)
	}
	return ending.Refusal("cli.wrong.not_json", "name", name).Because(err)
}
