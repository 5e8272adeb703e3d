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
	"sync"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/validation"

	"piloto/internal/ground/clip"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/locale"
	"piloto/internal/runs/plan"
)

// huma creates its errors through these two variables. They are set here, because its
// defaults repeat the offending values to the client.
//
// Casing is strict, because encoding/json accepts {"MODE": …} for "mode".
func init() {
	huma.ValidateStrictCasing = true
	huma.NewError = func(status int, _ string, _ ...error) huma.StatusError {
		return &Problem{Status: status}
	}
	huma.NewErrorWithContext = func(ctx huma.Context, status int, msg string, errs ...error) huma.StatusError {
		return problem(ctx.Context(), fromHuma(status, msg, errs))
	}
}

// fromHuma returns a fault with all errors of huma's validation, by place and type, without values.
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
				f = f.At(one) // further errors at a place follow from the first one
			}
		}
	}
	return f
}

// field returns a field error without a message; localizeFields adds it.
func field(typ string, loc ...any) fault.Field { return fault.Field{Loc: loc, Type: typ} }

var required = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^expected required property (.*) to be present$`)
})

// fieldOf parses one of huma's errors: a place such as "body.mcp_ids[2]", and an English sentence that identifies
// its type.
func fieldOf(location, message string) fault.Field {
	var loc []any
	for part := range strings.SplitSeq(location, ".") {
		name, indexes, _ := strings.Cut(part, "[")
		loc = append(loc, shortName(unmark.Replace(name)))
		for index := range strings.SplitSeq(indexes, "[") {
			if i, err := strconv.Atoi(strings.TrimSuffix(index, "]")); err == nil {
				loc = append(loc, i)
			}
		}
	}
	if m := required().FindStringSubmatch(message); m != nil {
		return field("missing", append(loc, m[1])...)
	}
	return field(typeOf(message), loc...)
}

// huma joins names to a place with "." and "[" and splits them again. A client's name that contains one of these
// would break the place of every later error, so such names are marked before huma sees them.
var (
	mark   = strings.NewReplacer(".", "\uE000", "[", "\uE001")
	unmark = strings.NewReplacer("\uE000", ".", "\uE001", "[")
)

// format is JSON. Its decoder marks the names of values that huma validates.
var format = huma.Format{
	Marshal: huma.DefaultJSONFormat.Marshal,
	Unmarshal: func(data []byte, v any) error {
		err := json.Unmarshal(data, v)
		if whole, ok := v.(*any); ok && err == nil {
			*whole = markNames(*whole)
		}
		return err
	},
}

func markNames(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, inner := range v {
			out[mark.Replace(name)] = markNames(inner)
		}
		return out
	case []any:
		for i := range v {
			v[i] = markNames(v[i])
		}
	}
	return v
}

// typeOf returns the stable type for one of huma's sentences, in pydantic's terms.
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

// shortName shortens a client's name before it is repeated in a response.
func shortName(name string) string {
	const most = 64
	return clip.Runes(strings.Map(func(r rune) rune {
		if !strconv.IsPrint(r) {
			return '\uFFFD'
		}
		return r
	}, name), most)
}

// planMessage returns the message for a fault in a plan. In English it is the domain's own text, which is written
// for models. In another language it is the message for the place and type, with {detail} replaced by the rest of
// the domain's text.
func planMessage(lang locale.Tag, one fault.Field, own string) string {
	if lang == locale.English && one.Msg != "" {
		return one.Msg
	}
	if own == "" {
		own = locale.Text(lang, "fault.plan.invalid.steps.other")
	}
	return strings.ReplaceAll(own, "{detail}", strings.TrimPrefix(one.Msg, one.Type+": "))
}

// localizeFields returns the fields of a fault with a message each: its own reason, else the text for its code, member and type,
// else the domain's text, else the text for the type.
func localizeFields(lang locale.Tag, f *fault.Error) []fault.Field {
	out := make([]fault.Field, 0, len(f.Fields))
	for _, one := range f.Fields {
		one.Loc = slices.Clone(one.Loc)
		own := ""
		for i, l := range one.Loc {
			name, ok := l.(string)
			if !ok {
				continue
			}
			one.Loc[i] = shortName(name)
			if key := "fault." + f.Code + "." + name + "." + one.Type; hasText(lang, key) {
				own = locale.Fill(lang, key, f.Args)
			}
		}
		general := ""
		if key := "fault.field." + one.Type; hasText(lang, key) {
			general = locale.Fill(lang, key, f.Args)
		}
		switch {
		case one.Why != nil && (lang != locale.English || one.Msg == ""):
			own = locale.OfFault(one.Why).In(lang)
		case f.Is(plan.ErrInvalid):
			own = planMessage(lang, one, own)
		}
		one.Msg = cmp.Or(own, one.Msg, general)
		out = append(out, one)
	}
	return out
}
