package tool

import (
	"fmt"
	"strings"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/locale"
)

// Problem is one fault of a call: its place (a JSON Pointer below path, query, headers or body, such as "/body/people"), a
// stable type such as "missing", and the reason, which names the expected value. The sentences of reasons are below "problem."
// in the locale files.
type Problem struct {
	Loc  string
	Type string
	Why  *fault.Error
}

// String writes the problem on one line, for a model or a log.
func (p Problem) String() string { return p.Loc + ": " + sayEnglish(p.Why) }

// Field returns the problem as a request field error.
func (p Problem) Field() fault.Field {
	var loc []any
	for _, part := range strings.Split(strings.TrimPrefix(p.Loc, "/"), "/") {
		loc = append(loc, fromToken.Replace(part))
	}
	return WrongField(p.Type, p.Why, loc...)
}

// Misfit returns ErrArguments with problems; nil for none.
func Misfit(problems []Problem) error {
	if len(problems) == 0 {
		return nil
	}
	fields := make([]fault.Field, len(problems))
	for i, p := range problems {
		fields[i] = p.Field()
	}
	return ErrArguments.At(fields...)
}

// ReasonOf returns the place and the reason of a fault of a call, as a sentence for a person.
func ReasonOf(f fault.Field) *fault.Error {
	what := f.Why
	if what == nil {
		what = Because("problem.unfit")
	}
	var names []string
	for _, l := range f.Loc {
		names = append(names, fmt.Sprint(l))
	}
	switch {
	case len(names) == 0 || !locale.Exists("problem.at."+names[0]):
		return what
	case len(names) == 1:
		return Because("problem.at."+names[0], "what", what)
	}
	return Because("problem.in."+names[0], "name", strings.Join(names[1:], "."), "what", what)
}

// WrongField returns one fault of a call, with its sentence for a model.
func WrongField(typ string, why *fault.Error, loc ...any) fault.Field {
	return fault.Field{Loc: loc, Type: typ, Msg: sayEnglish(why), Why: why}
}

// sayEnglish writes a reason for a model, which reads the cause, too.
func sayEnglish(why *fault.Error) string {
	text := locale.OfFault(why).In(locale.English)
	if why.Cause != nil {
		text += ": " + why.Cause.Error()
	}
	return text
}

// wrongArguments returns ErrArguments with one fault.
func wrongArguments(typ string, why *fault.Error, loc ...any) *fault.Error {
	return ErrArguments.At(WrongField(typ, why, loc...))
}

// Because returns the reason of a problem, with arguments from name, value pairs. A value that is a reason becomes a part of
// the sentence.
func Because(code string, pairs ...any) *fault.Error {
	why := fault.Reason(code)
	for i := 0; i+1 < len(pairs); i += 2 {
		name := pairs[i].(string) //nolint:forcetypeassert // as in locale.Say
		if inner, ok := pairs[i+1].(*fault.Error); ok {
			why = why.WithFault(name, inner)
		} else {
			why = why.With(name, fmt.Sprint(pairs[i+1]))
		}
	}
	return why
}

// Known returns the reason that lists the known names.
func Known(names []string) *fault.Error {
	const most = 12
	switch n := len(names); {
	case n == 0:
		return Because("problem.known_none")
	case n > most:
		return Because("problem.known", "names", strings.Join(names[:most], ", ")+"…")
	}
	return Because("problem.known", "names", strings.Join(names, ", "))
}
