package tool

import (
	"maps"
	"slices"
	"strings"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/fold"
	"piloto/internal/ground/ref"
)

// ErrValue means that a path cannot be sent with the value of a reference: Args["reference"], and the fault "why". Its field
// does not show the value.
var ErrValue = fault.New(fault.Invalid, "step.path_value")

func valueError(reference, why string) error {
	return ErrValue.With("reference", reference).WithFault("why", fault.Reason(why)).At(
		WrongField("path.value", Because("problem.value", "reference", reference, "why", fault.Reason(why)), "path"))
}

// ResolvePath replaces the references in a path by their values, in the form in which they are sent. A value fills only the
// parameter in which its reference stands: all but its unreserved characters are escaped, so that it cannot add a segment, and
// the text around references stays. The error is one of package ref, ErrValue, or ErrRequest for a path that must not be sent.
func ResolvePath(template, path string, lookup ref.Lookup) (string, error) {
	return pathResolver{lookup, ref.ResolveText}.path(template, path)
}

// ResolveKnownPath does the same for the references to results that there are. The others stay.
func ResolveKnownPath(template, path string, lookup ref.Lookup) (string, error) {
	return pathResolver{lookup, ref.ResolveKnownText}.path(template, path)
}

type pathResolver struct {
	lookUp  ref.Lookup
	resolve func(text string, lookup ref.Lookup, literal, escape func(string) string) (string, error)
}

func (p pathResolver) path(template, path string) (string, error) {
	if !ref.Contains(path) {
		return path, nil
	}
	var b strings.Builder
	for i, part := range splitPath(path) {
		if i > 0 || strings.HasPrefix(path, "/") {
			b.WriteByte('/')
		}
		text, err := p.part(part)
		if err != nil {
			return "", err
		}
		b.WriteString(text)
	}
	return b.String(), p.checkPlaces(template, path, b.String())
}

// part replaces the references of one segment.
func (p pathResolver) part(part string) (string, error) {
	refs, err := ref.InText(part)
	if err != nil || len(refs) == 0 {
		return part, err
	}
	why := ""
	text, err := p.resolve(part, p.lookUp, legal, func(value string) string {
		if why == "" {
			why = valueProblem(value)
		}
		return escapeText(value, "")
	})
	if err != nil {
		return "", formError(refs, p.lookUp, err)
	}
	if why == "" {
		why = whyOf(unsafeSegment(Unescape(withoutReferences(text))))
	}
	if why != "" {
		return "", valueError("${"+culprit(refs, p.lookUp).String()+"}", why)
	}
	return text, nil
}

// formError returns ErrValue when one of some references has a value that is no text, number or boolean, or else the error.
func formError(refs []ref.Reference, lookup ref.Lookup, err error) error {
	for _, r := range refs {
		value, _, missing := ref.ValueAndLabel(r, lookup)
		switch form := strings.TrimSpace(string(value)); {
		case missing != nil:
		case form == "null":
			return valueError("${"+r.String()+"}", "step.value_empty")
		case strings.HasPrefix(form, "{"), strings.HasPrefix(form, "["):
			return valueError("${"+r.String()+"}", "step.value_form")
		}
	}
	return err
}

// culprit returns the first of some references whose value must not stand in a path by itself, or else the first.
func culprit(refs []ref.Reference, lookup ref.Lookup) ref.Reference {
	for _, r := range refs {
		value, err := ref.ResolveText("${"+r.String()+"}", lookup, nil, nil)
		if err == nil && (valueProblem(value) != "" || unsafeSegment(value) != "") {
			return r
		}
	}
	return refs[0]
}

// whyOf returns the reason of ErrValue for one of unsafeSegment, "" for none.
func whyOf(unsafe string) string {
	switch unsafe {
	case "":
		return ""
	case reasonEmpty:
		return "step.value_empty"
	case reasonDots:
		return "step.value_dots"
	case reasonSlash:
		return "step.value_slash"
	}
	return "step.value_sign"
}

// valueProblem returns the reason why a value of a result must not fill a part of a path, or "". It refuses values
// that pass the checks of every segment, but in which some receivers would see a slash, or nothing at all.
func valueProblem(value string) string {
	folded := fold.Runes([]rune(value))
	for range 3 {
		if slices.Contains(folded, '/') || slices.Contains(folded, '\\') {
			return "step.value_slash"
		}
		folded = fold.Runes(fold.Decode(folded))
	}
	seen := fold.Runes([]rune(value))
	if len(fold.Trim(folded)) > 0 && len(fold.Trim(seen)) > 0 || value == "" {
		return ""
	}
	if why := unsafeSegment(value); why != "" {
		return whyOf(why)
	}
	return "step.value_blank"
}

// emptyReference returns the first reference of a text whose value is empty.
func emptyReference(text string, lookup ref.Lookup) (ref.Reference, bool) {
	refs, err := ref.InText(text)
	if err != nil {
		return ref.Reference{}, false
	}
	for _, r := range refs {
		if value, err := ref.ResolveText("${"+r.String()+"}", lookup, nil, nil); err == nil && value == "" {
			return r, true
		}
	}
	return ref.Reference{}, false
}

// checkPlaces checks that each parameter of a resolved path equals the value of its references: in
// "{base}...{head}" a base that holds "..." would move the boundary between the two.
func (p pathResolver) checkPlaces(template, written, resolved string) error {
	before, _, ok := matchTemplate(template, written)
	after, _, still := matchTemplate(template, resolved)
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if r, empty := emptyReference(before[name], p.lookUp); empty && !still {
			return valueError("${"+r.String()+"}", "step.value_empty")
		}
	}
	if !ok || !still {
		return pathError("problem.path_other", "template", template)
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		refs, err := ref.InText(before[name])
		if err != nil || len(refs) == 0 || ref.Contains(after[name]) && strings.Contains(resolved, "${") {
			continue
		}
		want, err := ref.ResolveText(before[name], p.lookUp, nil, nil)
		if err != nil {
			return err
		}
		if after[name] != want {
			return valueError("${"+refs[0].String()+"}", "step.value_parts")
		}
	}
	return nil
}
