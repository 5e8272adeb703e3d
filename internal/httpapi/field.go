package httpapi

import (
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/validation"

	"piloto/internal/fault"
	"piloto/internal/locale"
)

// huma makes its own errors through these two variables. They are set once, here,
// because its defaults repeat the offending values to the client.
func init() {
	huma.NewError = func(status int, _ string, _ ...error) huma.StatusError {
		return &Problem{Status: status}
	}
	huma.NewErrorWithContext = func(ctx huma.Context, status int, msg string, errs ...error) huma.StatusError {
		return problem(ctx.Context(), fromHuma(status, msg, errs))
	}
}

// fromHuma returns the fault that huma's validation found: all of it, by place
// and type, without values.
func fromHuma(status int, msg string, errs []error) error {
	switch status {
	case http.StatusUnprocessableEntity, http.StatusBadRequest:
	case http.StatusRequestEntityTooLarge:
		return errTooLarge
	case http.StatusUnsupportedMediaType:
		return errMedia
	default:
		return errors.New("huma: " + msg)
	}
	f := errInvalid
	for _, err := range errs {
		var own *fault.Error
		var detail *huma.ErrorDetail
		found := []fault.Field{field("value_error", "body")}
		switch {
		case errors.As(err, &own):
			found = own.Fields
		case errors.As(err, &detail):
			found = []fault.Field{fieldOf(detail.Location, detail.Message)}
		}
		for _, one := range found {
			if !slices.ContainsFunc(f.Fields, func(f fault.Field) bool { return slices.Equal(f.Loc, one.Loc) }) {
				f = f.At(one) // what else is wrong with a place follows from the first
			}
		}
	}
	return f
}

// field returns a field error without a sentence, which localised adds.
func field(typ string, loc ...any) fault.Field { return fault.Field{Loc: loc, Type: typ} }

var (
	indexed  = regexp.MustCompile(`^([a-z_]+)\[([0-9]{1,6})\]$`)
	required = regexp.MustCompile(`^expected required property (.*) to be present$`)
)

// fieldOf reads one of huma's errors: a place such as "body.mcp_ids[2]", and an
// English sentence that stands for its type. Every body here is flat but for
// "key", so what follows the first dot is one name, even if a client wrote a dot
// in it.
func fieldOf(location, message string) fault.Field {
	where, name, _ := strings.Cut(location, ".")
	loc := []any{where}
	if inner, nested := strings.CutPrefix(name, "key."); nested {
		loc, name = append(loc, "key"), inner
	}
	if m := indexed.FindStringSubmatch(name); m != nil {
		i, _ := strconv.Atoi(m[2])
		loc = append(loc, m[1], i)
	} else if name != "" {
		loc = append(loc, shown(name))
	}
	if m := required.FindStringSubmatch(message); m != nil {
		return field("missing", append(loc, m[1])...)
	}
	return field(typeOf(message), loc...)
}

// typeOf returns the stable type of one of huma's sentences, in pydantic's words.
func typeOf(message string) string {
	switch message {
	case validation.MsgUnexpectedProperty:
		return "extra_forbidden"
	case validation.MsgExpectedString:
		return "string_type"
	case validation.MsgExpectedBoolean:
		return "bool_type"
	case validation.MsgExpectedArray:
		return "list_type"
	case validation.MsgExpectedObject:
		return "object_type"
	case "invalid integer", validation.MsgExpectedInteger:
		return "int_parsing"
	}
	for _, p := range []struct{ prefix, typ string }{
		{"expected length >=", "string_too_short"},
		{"expected length <=", "string_too_long"},
		{"expected array length <=", "too_long"},
		{"expected array length >=", "too_short"},
		{"expected value to be one of", "enum"},
		{"expected string to match pattern", "string_pattern_mismatch"},
		{"expected string to be", "string_pattern_mismatch"},
		{"expected number >=", "greater_than_equal"},
		{"expected number <=", "less_than_equal"},
		{"required ", "missing"},
	} {
		if strings.HasPrefix(message, p.prefix) {
			return p.typ
		}
	}
	return "value_error"
}

// shown bounds a name that a client made up before it is repeated to them.
func shown(name string) string {
	const most = 64
	name = strings.Map(func(r rune) rune {
		if !strconv.IsPrint(r) {
			return '\uFFFD'
		}
		return r
	}, name)
	if runes := []rune(name); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return name
}

// localised returns the fields with a sentence each, in a language.
func localised(lang locale.Tag, fields []fault.Field) []fault.Field {
	out := make([]fault.Field, 0, len(fields))
	for _, f := range fields {
		if sentence, ok := locale.Lookup(lang, "fault.field."+f.Type); ok && f.Msg == "" {
			f.Msg = sentence
		}
		out = append(out, f)
	}
	return out
}
