package httpapi

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/validation"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/locale"
	"piloto/internal/runs/plan"
)

// huma makes its own errors through these two variables. They are set once, here,
// because its defaults repeat the offending values to the client.
//
// Casing is strict, because encoding/json takes {"MODE": …} for "mode".
func init() {
	huma.ValidateStrictCasing = true
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

var required = regexp.MustCompile(`^expected required property (.*) to be present$`)

// fieldOf reads one of huma's errors: a place such as "body.mcp_ids[2]", and an
// English sentence that stands for its type.
func fieldOf(location, message string) fault.Field {
	var loc []any
	for part := range strings.SplitSeq(location, ".") {
		name, indexes, _ := strings.Cut(part, "[")
		loc = append(loc, shown(unmark.Replace(name)))
		for index := range strings.SplitSeq(indexes, "[") {
			if i, err := strconv.Atoi(strings.TrimSuffix(index, "]")); err == nil {
				loc = append(loc, i)
			}
		}
	}
	if m := required.FindStringSubmatch(message); m != nil {
		return field("missing", append(loc, m[1])...)
	}
	return field(typeOf(message), loc...)
}

// huma joins names to a place with "." and "[", and takes a place apart by them:
// a name that has one, which only a client's can, would spoil the place of every
// error after it. Such names are marked before huma sees them.
var (
	mark   = strings.NewReplacer(".", "\uE000", "[", "\uE001")
	unmark = strings.NewReplacer("\uE000", ".", "\uE001", "[")
)

// format is JSON; what is decoded to be validated has its names marked.
var format = huma.Format{
	Marshal: huma.DefaultJSONFormat.Marshal,
	Unmarshal: func(data []byte, v any) error {
		err := json.Unmarshal(data, v)
		if whole, ok := v.(*any); ok && err == nil {
			*whole = marked(*whole)
		}
		return err
	},
}

func marked(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, inner := range v {
			out[mark.Replace(name)] = marked(inner)
		}
		return out
	case []any:
		for i := range v {
			v[i] = marked(v[i])
		}
	}
	return v
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
	case validation.MsgExpectedNumber:
		return "float_parsing"
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

// ofPlan says what is wrong with a place of a plan. The domain says it in English, for
// models, and in that language nothing says more; in another it is the sentence of
// the place and type, in which {detail} is what follows the type's name there.
func ofPlan(lang locale.Tag, one fault.Field, own string) string {
	if lang == locale.English && one.Msg != "" {
		return one.Msg
	}
	if own == "" {
		own = locale.Text(lang, "fault.plan.invalid.steps.other")
	}
	return strings.ReplaceAll(own, "{detail}", strings.TrimPrefix(one.Msg, one.Type+": "))
}

// localised returns the fields of a fault with a sentence each, in a language:
// the one that its code has for that member and type, else what the domain says,
// else the one of the type.
func localised(lang locale.Tag, f *fault.Error) []fault.Field {
	out := make([]fault.Field, 0, len(f.Fields))
	for _, one := range f.Fields {
		one.Loc = slices.Clone(one.Loc)
		var own string
		for i, l := range one.Loc {
			name, ok := l.(string)
			if !ok {
				continue
			}
			one.Loc[i] = shown(name)
			if sentence, ok := locale.Lookup(lang, "fault."+f.Code+"."+name+"."+one.Type); ok {
				own = sentence
			}
		}
		general, _ := locale.Lookup(lang, "fault.field."+one.Type)
		if f.Is(plan.ErrInvalid) {
			own = ofPlan(lang, one, own)
		}
		one.Msg = cmp.Or(own, one.Msg, general)
		out = append(out, one)
	}
	return out
}
