package ref

import (
	"strings"
	"unicode"
)

// Named is a member of a request or of an answer, with its label in the document of the service; Label is "" when the document
// has no short one.
type Named struct {
	Name  string `json:"name"`
	Label string `json:"label,omitempty"`
}

// Called returns the text for the name of a member, such as "address city" for one inside another: the labels that the
// document has, and the words of each part without a label. has reports whether there is a label.
func Called(names []Named, name string, words func(part string) string) (called string, has bool) {
	var parts []string
	for name = strings.TrimSpace(name); name != ""; name = strings.TrimSpace(name) {
		label, rest := labelOf(names, name)
		if label == "" {
			part, after, _ := strings.Cut(name, " ")
			label, rest = words(part), after
		} else {
			has = true
		}
		parts, name = append(parts, label), rest
	}
	return strings.Join(parts, " "), has
}

func labelOf(names []Named, name string) (label, rest string) {
	for _, n := range names {
		if after, ok := strings.CutPrefix(name, n.Name); ok && n.Label != "" && (after == "" || after[0] == ' ') {
			return n.Label, after
		}
	}
	return "", name
}

// NamedIn returns the members that have a label and stand in an answer, which is JSON.
func NamedIn(names []Named, answer string) (list []Named) {
	for _, n := range names {
		if n.Label != "" && strings.Contains(answer, `"`+n.Name+`"`) {
			list = append(list, n)
		}
	}
	return list
}

// Words returns the words of a name: "roomId" and "room_id" are "room id".
func Words(name string) string {
	var b strings.Builder
	var last rune
	for _, r := range name {
		switch {
		case r == '_' || r == '-' || r == '.':
			r = ' '
		case unicode.IsUpper(r) && (unicode.IsLower(last) || unicode.IsDigit(last)):
			b.WriteByte(' ')
		}
		b.WriteRune(unicode.ToLower(r))
		last = r
	}
	return strings.Join(strings.Fields(b.String()), " ")
}
