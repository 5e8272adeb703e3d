package console

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"localaws/disk"
	"os"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"piloto/cmd/piloto/cli/ending"
	"piloto/cmd/piloto/client"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/visible"
)

// Told returns the sentence of an error for a person. An error without one is of the system, and its text is quoted.
func (con *Console) Told(err error) string {
	said := con.Worded(err).Error()
	ended, ok := errors.AsType[*ending.Error](err)
	if said != err.Error() || ok && ended.Cause == nil || errors.As(err, new(ToldText)) || errors.As(err, new(*client.Problem)) {
		return said
	}
	return con.Prose("cli.system.other", "text", visible.Lines(said))
}

// ToldText is an error that is already a sentence for a person.
type ToldText string

// Error implements error.
func (t ToldText) Error() string { return string(t) }

// Worded returns an error with its part of the domain, or of the system, as a sentence: with several, each of them.
func (con *Console) Worded(err error) error {
	if list, ok := errors.AsType[several](err); ok {
		if parts := list.Unwrap(); len(parts) > 0 && errors.Join(parts...).Error() == err.Error() {
			said := make([]string, len(parts))
			for i, part := range parts {
				said[i] = con.Worded(part).Error()
			}
			return ToldText(strings.Join(said, "\n"))
		}
	}
	if doubt, ok := errors.AsType[*client.DoubtError](err); ok {
		return reworded(err, doubt, con.Worded(doubt.Cause).Error()+"\n"+con.mayBeDone(doubt.Path))
	}
	if lost, ok := errors.AsType[*client.UnreachableError](err); ok {
		return reworded(err, lost, con.lost(lost))
	}
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return reworded(err, f, con.ofFault(f))
	}
	if open, ok := errors.AsType[*disk.OpenError](err); ok {
		key := "cli.system.open_file"
		switch {
		case open.Folder:
			key = "cli.system.open_folder"
		case !open.Plain:
			key = "cli.system.not_file"
		}
		return reworded(err, open, con.Text(key, "name", open.Path, "mode", fmt.Sprintf("%04o", open.Mode)))
	}
	if key, name, part := ofSystem(err); key != "" {
		return reworded(err, part, con.Text(key, "name", name))
	}
	return err
}

// several is an error of several (errors.Join).
type several interface {
	error
	Unwrap() []error
}

// Text returns a sentence, on whose lines no value can begin another one: every character of a value is visible. A value that stands
// in a command is as a shell takes it. Where a value has lines of its own, see Prose.
func (con *Console) Text(key string, pairs ...string) string {
	sentence, known := locale.Lookup(con.Tag, key)
	if !known { // such as that of a status of a newer deployment
		return visible.ScreenLine(key)
	}
	args := make([]string, len(pairs))
	for i, p := range pairs {
		if args[i] = p; i%2 == 1 {
			args[i] = valueIn(sentence, pairs[i-1], p)
		}
	}
	return locale.Text(con.Tag, key, append(args, con.itself()...)...)
}

// Prefix is the beginning of the keys of the words for the values of one type.
type Prefix string

// Word returns the word for a state or a kind: of a deployment of a later version, which has others, as it came.
func (con *Console) Word(of Prefix, value string) string {
	key := string(of) + value
	if _, known := locale.Lookup(con.Tag, key); !known {
		return visible.ScreenLine(value)
	}
	return con.Text(key)
}

// itself returns the names that a sentence has for this command, as words of a shell: {program}, {piloto} for the same
// deployment, and, behind the name of a command about files, {whose} for the same files.
func (con *Console) itself() []string {
	program := cmp.Or(con.Name, "piloto")
	return []string{"program", program, "piloto", strings.Join(append([]string{program}, con.Same...), " "), "whose", strings.Join(append([]string{""}, con.Whose...), " ")}
}

// Prose does the same as Text with values that have lines, which the caller makes visible.
func (con *Console) Prose(key string, pairs ...string) string {
	return locale.Text(con.Tag, key, append(pairs[:len(pairs):len(pairs)], con.itself()...)...)
}

// ofFault returns the sentence of a fault, with its values as in text.
func (con *Console) ofFault(f *fault.Error) string {
	s := locale.OfFault(f)
	sentence, _ := locale.Lookup(con.Tag, s.Key)
	for name, value := range s.Args {
		if text, ok := value.(string); ok {
			s.Args[name] = valueIn(sentence, name, text)
		}
	}
	for pair := range slices.Chunk(con.itself(), 2) {
		s.Args[pair[0]] = pair[1]
	}
	if _, given := s.Args["why"]; !given && f.Cause != nil { // a sentence that has its cause
		s.Args["why"] = visible.Lines(con.Worded(f.Cause).Error())
	}
	return s.In(con.Tag)
}

// valueIn returns the value of a placeholder of a sentence.
func valueIn(sentence, name, value string) string {
	value = visible.ScreenLine(value)
	for _, command := range commands.FindAllString(sentence, -1) {
		if strings.Contains(command, "{"+name+"}") {
			return visible.Word(value)
		}
	}
	return value
}

// commands are the parts of a sentence that a person pastes into a shell.
var commands = regexp.MustCompile(`(\{(?:piloto|program)\} |piloto |--)[^.:;(\n]*`)

// reworded returns an error with a sentence instead of the text of one part.
func reworded(err, part error, sentence string) error {
	if whole := err.Error(); strings.Contains(whole, part.Error()) {
		sentence = strings.Replace(whole, part.Error(), sentence, 1)
	}
	return ToldText(sentence)
}

// ofSystem returns the part of an error that is about a path of this machine, with the key of its sentence and the
// path. The key is "" if there is no sentence.
func ofSystem(err error) (key, name string, part error) {
	if call, ok := errors.AsType[*os.SyscallError](err); ok && call.Syscall == "getwd" {
		return "cli.system.gone", "", call
	}
	var cause error
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		part, cause, name = at, at.Err, at.Path
	} else if at, ok := errors.AsType[*os.LinkError](err); ok {
		part, cause, name = at, at.Err, at.New
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "cli.system.late", "", context.DeadlineExceeded
	}
	for _, s := range systemSentences {
		if errors.Is(cause, s.err) {
			return s.key, name, part
		}
	}
	return "", "", nil
}

var systemSentences = []struct {
	err error
	key string
}{
	{fs.ErrNotExist, "cli.system.missing"},
	{fs.ErrExist, "cli.system.exists"},
	{fs.ErrPermission, "cli.system.denied"},
	{syscall.ENOTDIR, "cli.system.not_folder"},
	{syscall.EISDIR, "cli.system.folder"},
	{syscall.ENOSPC, "cli.system.full"},
	{syscall.EROFS, "cli.system.read_only"},
	{syscall.ENAMETOOLONG, "cli.system.too_long"},
}
