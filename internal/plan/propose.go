package plan

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"piloto/internal/fault"
	"piloto/internal/ref"
)

// Proposal is a plan as somebody wrote it, before anything was checked.
type Proposal struct {
	Goal  string         `json:"goal"`
	Steps []ProposedStep `json:"steps"`
}

// ProposedStep is one step of a proposal. Needs that are absent mean the step
// before: steps are in order unless they say otherwise.
type ProposedStep struct {
	ID     string          `json:"id"`
	Title  string          `json:"title"`
	MCPID  string          `json:"mcp_id"`
	Tool   string          `json:"tool,omitempty"`
	Method string          `json:"method"`
	Path   string          `json:"path"`
	Query  json.RawMessage `json:"query,omitempty"`
	Body   json.RawMessage `json:"body,omitempty"`
	Needs  *[]string       `json:"needs,omitempty"`

	When    *ref.Condition `json:"when,omitempty"`
	ForEach string         `json:"for_each,omitempty"`
	Undo    *Call          `json:"undo,omitempty"`
	Verify  *Check         `json:"verify,omitempty"`
}

var stepID = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,31}$`)

// Arrange checks the shape of a proposal and returns its steps with ids, needs
// and risks filled in; what a step's reference names is among its needs. The
// second result lists everything that is wrong with it, each with its place.
func Arrange(p Proposal) ([]Step, []fault.Field) {
	if len(p.Steps) == 0 {
		return nil, []fault.Field{problem("missing", "a plan needs at least one step", "steps")}
	}
	if len(p.Steps) > MaxSteps {
		return nil, []fault.Field{problem("too_long", fmt.Sprintf("a plan has at most %d steps", MaxSteps), "steps")}
	}
	steps := make([]Step, len(p.Steps))
	var wrong []fault.Field
	at := map[string]int{}
	for i, s := range p.Steps {
		if s.ID == "" {
			s.ID = "s" + strconv.Itoa(i+1)
		}
		if !stepID.MatchString(s.ID) {
			wrong = append(wrong, problem("invalid", "an id is a letter followed by up to 31 letters, digits, - or _", "steps", i, "id"))
		} else if _, twice := at[s.ID]; twice {
			wrong = append(wrong, problem("duplicate", fmt.Sprintf("the id %q stands twice", s.ID), "steps", i, "id"))
		}
		at[s.ID] = i
		steps[i] = Step{
			ID: s.ID, Title: cut(s.Title, MaxTitle), MCPID: s.MCPID, Tool: s.Tool, Method: strings.ToUpper(s.Method),
			Path: s.Path, Query: s.Query, Body: s.Body, Needs: defaultNeeds(steps, i, s.Needs),
		}
		if steps[i].Title == "" {
			steps[i].Title = cut(steps[i].Called(), MaxTitle)
		}
		steps[i].Risk = RiskOf(steps[i].Method)
	}
	for i := range steps {
		wrong = append(wrong, addReferences(&steps[i], i, at)...)
		wrong = append(wrong, checkNeeds(&steps[i], i, at)...)
	}
	if len(wrong) == 0 {
		if _, err := Waves(steps); err != nil {
			wrong = append(wrong, problem("cycle", err.Error(), "steps"))
		}
	}
	return steps, wrong
}

func defaultNeeds(steps []Step, i int, needs *[]string) []string {
	switch {
	case needs != nil:
		return append([]string{}, *needs...)
	case i == 0:
		return []string{}
	}
	return []string{steps[i-1].ID}
}

func addReferences(s *Step, i int, at map[string]int) []fault.Field {
	var wrong []fault.Field
	add := func(field string, refs []ref.Reference, err error) {
		if err != nil {
			wrong = append(wrong, problem("reference", err.Error(), "steps", i, field))
			return
		}
		for _, r := range refs {
			switch _, known := at[r.Step]; {
			case !known:
				wrong = append(wrong, problem("reference", fmt.Sprintf("${%s} names a step that is not in the plan", r), "steps", i, field))
			case r.Step == s.ID:
				wrong = append(wrong, problem("reference", fmt.Sprintf("${%s} names the step itself", r), "steps", i, field))
			case !slices.Contains(s.Needs, r.Step):
				s.Needs = append(s.Needs, r.Step)
			}
		}
	}
	refs, err := ref.InText(s.Path)
	add("path", refs, err)
	refs, err = ref.InJSON(s.Query)
	add("query", refs, err)
	refs, err = ref.InJSON(s.Body)
	add("body", refs, err)
	return wrong
}

func checkNeeds(s *Step, i int, at map[string]int) []fault.Field {
	var wrong []fault.Field
	for _, n := range s.Needs {
		if _, known := at[n]; !known {
			wrong = append(wrong, problem("unknown", fmt.Sprintf("needs %q, which is not in the plan", n), "steps", i, "needs"))
		} else if n == s.ID {
			wrong = append(wrong, problem("cycle", "a step cannot need itself", "steps", i, "needs"))
		}
	}
	slices.Sort(s.Needs)
	s.Needs = slices.Compact(s.Needs)
	return wrong
}

// Waves returns the ids of the steps in the order they may run: all of a wave
// at once, a wave after the one before it, at most MaxParallel to a wave.
func Waves(steps []Step) ([][]string, error) {
	done := map[string]bool{}
	var waves [][]string
	for len(done) < len(steps) {
		var wave []string
		for _, s := range steps {
			ready := !done[s.ID] && len(wave) < MaxParallel
			for _, n := range s.Needs {
				ready = ready && done[n]
			}
			if ready {
				wave = append(wave, s.ID)
			}
		}
		if len(wave) == 0 {
			return nil, fmt.Errorf("the steps need each other in a circle")
		}
		for _, id := range wave {
			done[id] = true
		}
		waves = append(waves, wave)
	}
	return waves, nil
}

func problem(typ, msg string, loc ...any) fault.Field {
	return fault.Field{Loc: loc, Msg: msg, Type: typ}
}

// Line makes a text one line: what a goal or a title says stands where a person
// reads what will be done, and must not pose as another line of it, nor turn the
// direction of what follows.
func Line(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == utf8.RuneError:
			return -1
		}
		return r
	}, s)
	return strings.Join(strings.Fields(s), " ")
}

func cut(s string, most int) string {
	s = Line(s)
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return s
}
