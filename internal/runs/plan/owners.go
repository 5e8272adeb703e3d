package plan

import (
	"slices"
	"strings"
	"unicode"

	"piloto/internal/ground/fold"
)

// Owners returns the users who own a run, each once: the user who asked for it, those who wrote the
// message that its plan answers, those who changed its draft or confirmed it, the people for whom a
// session did so, and the owners of the run that it continues or repeats.
func (r Run) Owners(revisions []Revision) []string {
	users := append([]string{r.User, r.Confirmer}, r.Besides...)
	for _, rev := range revisions {
		users = append(users, rev.By)
		if rev.For != "" {
			users = append(users, rev.For)
		}
	}
	slices.Sort(users)
	return slices.Compact(users)
}

// Own reports whether a user owns the run. An owner may not give an approval that must come from
// another person.
func (r Run) Own(user string, revisions []Revision) bool {
	return slices.ContainsFunc(r.Owners(revisions), func(owner string) bool { return SamePerson(user, owner) })
}

// SamePerson reports whether two names of users may be one person's: they fold to the same text without their trailing
// punctuation, so that another spelling of a name is no other person.
func SamePerson(a, b string) bool { return a != "" && b != "" && person(a) == person(b) }

func person(name string) string {
	folded := strings.TrimSpace(fold.Text(name))
	plain := strings.TrimRightFunc(folded, func(r rune) bool { return unicode.IsPunct(r) || unicode.IsSpace(r) })
	if plain == "" { // the whole name is punctuation
		return folded
	}
	return plain
}
