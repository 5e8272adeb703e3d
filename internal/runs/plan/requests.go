package plan

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"piloto/internal/ground/jcs"
	"piloto/internal/ground/ref"
)

// Refusal is that a person refused a draft. The zero Refusal is none.
type Refusal struct {
	RunID string
	At    time.Time
}

// request is one step, as far as it decides what is sent.
type request struct {
	Call
	ForEach string         `json:"for_each"`
	When    *ref.Condition `json:"when"`
}

// Requests returns the SHA-256 of what a plan changes: of its requests, in any order, whatever its goal, the titles, the
// ids of its steps and the order of JSON members are. A plan that only reads has that of its reads. Undos and checks do not count.
func (p Plan) Requests() (string, error) {
	var names []string
	for i, s := range p.Steps {
		for _, next := range []string{".", "["} {
			names = append(names, "${"+s.ID.Step()+next, "${#"+strconv.Itoa(i)+next)
		}
	}
	steps := slices.DeleteFunc(slices.Clone(p.Steps), func(s Step) bool { return s.Risk == Read })
	if len(steps) == 0 {
		steps = p.Steps
	}
	sums := make([]string, len(steps))
	for i, s := range steps {
		raw, err := json.Marshal(request{Call{s.MCPID, s.Tool, s.Method, s.Path, s.Query, s.Body, s.Headers}, s.ForEach, s.When})
		if err != nil {
			return "", err
		}
		if sums[i], err = jcs.Sum(json.RawMessage(strings.NewReplacer(names...).Replace(string(raw)))); err != nil {
			return "", err
		}
	}
	slices.Sort(sums)
	return jcs.Sum(sums)
}
