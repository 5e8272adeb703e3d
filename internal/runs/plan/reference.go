package plan

import (
	"fmt"
	"slices"

	"piloto/internal/ground/ref"
)

// uses is what references in one place of a step may name.
type uses struct {
	step   int
	needs  bool   // what they name becomes a need of the step
	others bool   // steps that are done before it, by its needs
	itself bool   // the step's own result
	item   string // why the element may not be named; empty: it may, of a for_each step
	check  bool   // the answer of the check, and nothing else
}

// needed is for what must be known before the step begins: it is needed then.
func (a *arrangement) needed(i int) uses { return uses{step: i, needs: true} }

// earlier is for what is only sent afterwards, and may need nothing more than the
// step itself did.
func (a *arrangement) earlier(i int) uses { return uses{step: i, others: true} }

// call checks the references of a call, and its arguments.
func (a *arrangement) call(loc []any, c Call, use uses) {
	refs, err := ref.InText(c.Path)
	a.references(within(loc, "path"), refs, err, use)
	refs, err = ref.InJSON(c.Query)
	a.references(within(loc, "query"), refs, err, use)
	a.twice(c.Query, within(loc, "query"))
	refs, err = ref.InJSON(c.Body)
	a.references(within(loc, "body"), refs, err, use)
	a.twice(c.Body, within(loc, "body"))
}

func (a *arrangement) references(loc []any, refs []ref.Reference, err error, use uses) {
	if err != nil {
		a.say("reference", err.Error(), loc...)
		return
	}
	s := &a.steps[use.step]
	for _, r := range refs {
		if why := a.unusable(*s, r, use); why != "" {
			a.say("reference", fmt.Sprintf("${%s} %s", r, why), loc...)
			continue
		}
		if use.needs && r.Step != ItemName && !slices.Contains(s.Needs, r.Step) {
			s.Needs = append(s.Needs, r.Step)
		}
	}
}

// unusable says why a reference may not stand where it does; nothing when it may.
func (a *arrangement) unusable(s Step, r ref.Reference, use uses) string {
	if use.check != (r.Step == CheckName) {
		if use.check {
			return "is not of the check's own answer: only ${check.status} and ${check.body…} are"
		}
		return "names the answer of a check, which is known in its expect only"
	}
	if use.check {
		return ""
	}
	if r.Step == ItemName {
		if use.item == "" && s.ForEach == "" {
			return "names an element, and the step is not done for each of a list"
		}
		return use.item
	}
	at, known := a.at[r.Step]
	switch {
	case !known:
		return "names a step that is not in the plan"
	case r.Step == s.ID && !use.itself:
		return "names the step itself"
	case r.Step != s.ID && use.others && !a.before(use.step, at):
		return fmt.Sprintf("names a step that need not be done before: %s does not need it", s.ID)
	case r.Part == "headers" && a.steps[at].ForEach != "" && r.Step != s.ID:
		return "names a header of a step that is done for each of a list: it has many answers"
	}
	return ""
}

// before reports whether a step is done before step i because that needs it, or
// needs one that does.
func (a *arrangement) before(i, earlier int) bool {
	seen := make([]bool, len(a.steps))
	next := []int{i}
	for len(next) > 0 {
		i, next = next[len(next)-1], next[:len(next)-1]
		for _, n := range a.steps[i].Needs {
			at, known := a.at[n]
			if !known || seen[at] {
				continue
			}
			if at == earlier {
				return true
			}
			seen[at] = true
			next = append(next, at)
		}
	}
	return false
}

// Named lists the steps that the references of a step's own call, its condition and its
// list name.
func (s Step) Named() ([]string, error) {
	var names []string
	add := func(refs []ref.Reference, err error) error {
		for _, r := range refs {
			names = append(names, r.Step)
		}
		return err
	}
	if err := add(ref.InText(s.Path)); err != nil {
		return nil, err
	}
	if err := add(ref.InJSON(s.Query)); err != nil {
		return nil, err
	}
	if err := add(ref.InJSON(s.Body)); err != nil {
		return nil, err
	}
	if err := add(ref.InText(s.ForEach)); err != nil {
		return nil, err
	}
	if s.When != nil {
		return names, add(s.When.References())
	}
	return names, nil
}
