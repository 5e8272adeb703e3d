package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"piloto/internal/ground/ref"
)

// scope lists the values that references in one field of a step may name.
type scope struct {
	step   int
	needs  bool   // each named step becomes a need of the step
	others bool   // only steps that run before it, because of its needs
	itself bool   // also the step's own result
	item   string // why ${item} is refused here; empty: it is allowed in a for_each step
	check  bool   // only the response to the check
}

// scopeBefore returns the scope of a value that must be known before the step begins. The steps
// that it names become needs.
func (a *arranger) scopeBefore(i int) scope { return scope{step: i, needs: true} }

// scopeAfter returns the scope of a call that is sent after the step. It may not add needs to the
// step.
func (a *arranger) scopeAfter(i int) scope { return scope{step: i, others: true} }

// checkCall checks the references of a call, and its arguments.
func (a *arranger) checkCall(loc []any, c Call, use scope) {
	refs, err := ref.InText(c.Path)
	a.checkReferences(appendLoc(loc, "path"), refs, err, use)
	refs, err = ref.InJSON(c.Query)
	a.checkReferences(appendLoc(loc, "query"), refs, err, use)
	a.checkJSON(c.Query, appendLoc(loc, "query"))
	refs, err = ref.InJSON(c.Headers)
	a.checkReferences(appendLoc(loc, "headers"), refs, err, use)
	a.checkJSON(c.Headers, appendLoc(loc, "headers"))
	refs, err = ref.InJSON(c.Body)
	a.checkReferences(appendLoc(loc, "body"), refs, err, use)
	a.checkJSON(c.Body, appendLoc(loc, "body"))
}

func (a *arranger) checkReferences(loc []any, refs []ref.Reference, err error, use scope) {
	if err != nil {
		a.report("reference", err.Error(), loc...)
		return
	}
	s := &a.steps[use.step]
	for _, r := range refs {
		if why := a.refusalOf(*s, r, use); why != "" {
			a.report("reference", fmt.Sprintf("${%s} %s", r, why), loc...)
			continue
		}
		if use.needs && r.Step != ItemName && !slices.Contains(s.Needs, r.Step) {
			s.Needs = append(s.Needs, r.Step)
		}
	}
}

// refusalOf returns the reason why a reference may not stand in this field; empty when it may.
func (a *arranger) refusalOf(s Step, r ref.Reference, use scope) string {
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
	case r.Step == s.ID.Step() && !use.itself:
		return "names the step itself"
	case r.Step != s.ID.Step() && use.others && !a.runsBefore(use.step, at):
		return fmt.Sprintf("names a step that need not be done before: %s does not need it", s.ID)
	case r.Part == "headers" && a.steps[at].ForEach != "" && r.Step != s.ID.Step():
		return "names a header of a step that is done for each of a list: it has many answers"
	}
	return ""
}

// runsBefore reports whether a step runs before step i, because step i needs it, directly or
// through other steps.
func (a *arranger) runsBefore(i, earlier int) bool {
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

// ReferencedSteps lists the steps that are named by the references in a step's own call, its condition and
// its list.
func (s Step) ReferencedSteps() ([]string, error) {
	refs, err := s.Call().References()
	list, wrong := ref.InText(s.ForEach)
	refs, err = append(refs, list...), errors.Join(err, wrong)
	if s.When != nil {
		list, wrong = s.When.References()
		refs, err = append(refs, list...), errors.Join(err, wrong)
	}
	var names []string
	for _, r := range refs {
		names = append(names, r.Step)
	}
	return names, err
}

// References returns the references in what a call sends.
func (c Call) References() ([]ref.Reference, error) {
	refs, err := ref.InText(c.Path)
	for _, part := range []json.RawMessage{c.Query, c.Headers, c.Body} {
		list, wrong := ref.InJSON(part)
		refs, err = append(refs, list...), errors.Join(err, wrong)
	}
	return refs, err
}
