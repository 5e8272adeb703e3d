package plan

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"piloto/internal/ground/jcs"
	"piloto/internal/ground/ref"
)

// Refusal is that a person refused requests, and why.
type Refusal struct {
	RunID  string
	At     time.Time
	Reason string // "": the person gave none
}

// request is one request, as far as it decides what is sent.
type request struct {
	MCPID   string          `json:"mcp_id"`
	Called  string          `json:"called"` // its method or its tool
	URL     string          `json:"url"`
	Headers json.RawMessage `json:"headers"`
	Body    json.RawMessage `json:"body"`
	ForEach string          `json:"for_each"`
	When    *ref.Condition  `json:"when"`
}

// Requests returns the SHA-256 of what a plan changes: of its requests, in any order, whatever its goal, the titles, the
// ids of its steps and the order of JSON members are. A plan that only reads has that of its reads. Undos and checks do not count.
func (p Plan) Requests() (string, error) {
	list, q := p.changes(), requests{p, map[int]string{}}
	sums := make([]string, len(list))
	for i, at := range list {
		var err error
		if sums[i], err = q.sum(at, p.Steps[at].When); err != nil {
			return "", err
		}
	}
	slices.Sort(sums)
	return jcs.Sum(sums)
}

// EachRequest returns the SHA-256 of each request of what a plan changes, whatever its condition is.
func (p Plan) EachRequest() ([]string, error) {
	var sums []string
	q := requests{p, map[int]string{}}
	for _, at := range p.changes() {
		sum, err := q.sum(at, nil)
		if err != nil {
			return nil, err
		}
		sums = append(sums, sum)
	}
	return sums, nil
}

// RequestsOf returns the sums of EachRequest that a plan has when it makes the request that waits in a step for an approval: with the
// step's references, and with their values.
func (p Plan) RequestsOf(st StepState) ([]string, error) {
	at := slices.IndexFunc(p.Steps, func(s Step) bool { return s.ID == st.StepID })
	if at < 0 || st.Approval == nil {
		return nil, nil
	}
	planned, err := requests{p, map[int]string{}}.sum(at, nil)
	if err != nil || p.Steps[at].ForEach != "" {
		return []string{planned}, err
	}
	a := st.Approval
	same, err := request{MCPID: p.Steps[at].MCPID, Called: a.Method, URL: a.URL, Headers: a.Headers, Body: a.Body}.normal()
	if err != nil {
		return nil, err
	}
	sent, err := jcs.Sum(same)
	if sent == planned {
		return []string{planned}, err
	}
	return []string{planned, sent}, err
}

// changes returns the places of the steps that change something; of all steps when none does.
func (p Plan) changes() (list []int) {
	onlyReads := !slices.ContainsFunc(p.Steps, func(s Step) bool { return s.Risk != Read })
	for i, s := range p.Steps {
		if onlyReads || s.Risk != Read {
			list = append(list, i)
		}
	}
	return list
}

// requests sums the requests of a plan.
type requests struct {
	plan  Plan
	named map[int]string // the sums of the steps to which others refer, by their places
}

// sum returns the sum of the request of a step, under a condition. A step to which it refers is named by the sum of its request.
func (q requests) sum(at int, when *ref.Condition) (string, error) {
	s := q.plan.Steps[at]
	binding, _ := q.plan.Binding(s.ID)
	same, err := request{
		MCPID: s.MCPID, Called: cmp.Or(s.Tool, s.Method), URL: binding.URL(s), Headers: s.Headers, Body: s.Body, ForEach: s.ForEach, When: when,
	}.normal()
	if err != nil {
		return "", err
	}
	raw, err := json.Marshal(same)
	if err != nil {
		return "", err
	}
	var names []string
	for i, other := range q.plan.Steps[:at] {
		for _, next := range []string{".", "["} {
			name := "${" + other.ID.Step() + next
			if !strings.Contains(string(raw), name) {
				continue
			}
			if q.named[i] == "" {
				if q.named[i], err = q.sum(i, other.When); err != nil {
					return "", err
				}
			}
			names = append(names, name, "${#"+q.named[i]+next)
		}
	}
	return jcs.Sum(json.RawMessage(strings.NewReplacer(names...).Replace(string(raw))))
}
