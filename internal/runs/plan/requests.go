package plan

import (
	"cmp"
	"encoding/json"
	"net/url"
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

// request is the content of one request, without its time, its repetitions and its order.
type request struct {
	MCPID   string          `json:"mcp_id"`
	Called  string          `json:"called"` // its method or its tool
	URL     string          `json:"url"`
	Headers json.RawMessage `json:"headers"`
	Body    json.RawMessage `json:"body"`
	ForEach string          `json:"for_each"` // the list whose elements stand in it; "" when none does
}

// Requests returns the requests that a person refuses with a plan, as sets of hex SHA-256, each sorted and without repetition: those of
// its steps that change something, or of all when none does. The first set has them as they are planned; another one has
// values for references, where the plan has them (Target). Goal, titles, ids, conditions, the order of steps and of JSON
// members, undos and checks do not count.
func (p Plan) Requests() ([][]string, error) {
	planned, known, err := p.sums(nil)
	return sets(planned, known), err
}

// EachRequest returns the SHA-256 of each of those requests, as it is planned and with values. reads are results of its
// steps that were read before; nil: none.
func (p Plan) EachRequest(reads ref.Lookup) ([]string, error) {
	planned, known, err := p.sums(reads)
	return append(planned, known...), err
}

// sums returns the sums of those requests, as they are planned and with values.
func (p Plan) sums(reads ref.Lookup) (planned, known []string, err error) {
	q := newRequests(p, reads)
	for _, at := range p.changes() {
		sum, err := q.planned(at)
		if err != nil {
			return nil, nil, err
		}
		sums, err := q.known(at)
		if err != nil {
			return nil, nil, err
		}
		planned, known = append(planned, sum), append(known, sums...)
	}
	return planned, known, nil
}

// RequestsOf returns the sets of Requests of the request that waits in a step for an approval: as it is planned, and as it
// would be sent.
func (p Plan) RequestsOf(st StepState) ([][]string, error) {
	at := slices.IndexFunc(p.Steps, func(s Step) bool { return s.ID == st.StepID })
	if at < 0 || st.Approval == nil {
		return nil, nil
	}
	q := newRequests(p, nil)
	planned, err := q.planned(at)
	if err != nil {
		return nil, err
	}
	if p.Steps[at].ForEach != "" {
		elements, err := q.known(at)
		return sets([]string{planned}, elements), err
	}
	a := st.Approval
	sent, err := q.sum(request{MCPID: p.Steps[at].MCPID, Called: a.Method, URL: a.URL, Headers: a.Headers, Body: a.Body}, at)
	return sets([]string{planned}, []string{sent}), err
}

// sets returns sets of sums, each once; an empty one is none.
func sets(all ...[]string) (list [][]string) {
	for _, sums := range all {
		slices.Sort(sums)
		sums = slices.Compact(sums)
		if len(sums) > 0 && !slices.ContainsFunc(list, func(other []string) bool { return slices.Equal(sums, other) }) {
			list = append(list, sums)
		}
	}
	return list
}

// changes returns the indices of the steps that change something; of all steps when none does.
func (p Plan) changes() (list []int) {
	onlyReads := !slices.ContainsFunc(p.Steps, func(s Step) bool { return s.Risk != Read })
	for i, s := range p.Steps {
		if onlyReads || s.Risk != Read {
			list = append(list, i)
		}
	}
	return list
}

// mostElements bounds the elements of a list whose requests are compared. No step is done for more.
const mostElements = 500

// requests sums the requests of a plan.
type requests struct {
	plan  Plan
	read  ref.Lookup
	named map[int]string // the sums of the steps to which others refer, by their indices
}

func newRequests(p Plan, reads ref.Lookup) requests {
	if reads == nil {
		reads = func(string) (ref.Result, bool) { return ref.Result{}, false }
	}
	return requests{p, reads, map[int]string{}}
}

// of returns the request of a step, as it is planned. A list makes no other request of one that has nothing of its elements.
func (q requests) of(at int) (request, error) {
	s := q.plan.Steps[at]
	binding, _ := q.plan.Binding(s.ID)
	r := request{MCPID: s.MCPID, Called: cmp.Or(s.Tool, s.Method), URL: binding.URL(s), Headers: s.Headers, Body: s.Body}
	if s.ForEach == "" {
		return r, nil
	}
	names, err := r.references()
	if slices.ContainsFunc(names, func(name ref.Reference) bool { return name.Step == ItemName }) {
		r.ForEach = s.ForEach
	}
	return r, err
}

// planned returns the sum of the request of a step, with its references.
func (q requests) planned(at int) (string, error) {
	r, err := q.of(at)
	if err != nil {
		return "", err
	}
	return q.sum(r, at)
}

// known returns the sums of the request of a step with the known values of its references: one, or those of the elements of
// a list. A reference whose value does not fit stays.
func (q requests) known(at int) ([]string, error) {
	r, err := q.of(at)
	if err != nil {
		return nil, err
	}
	var sums []string
	for _, filled := range q.filled(r, at) {
		sum, err := q.sum(filled, at)
		if err != nil {
			return nil, err
		}
		sums = append(sums, sum)
	}
	return sums, nil
}

// filled returns a request of a step with values for its references.
func (q requests) filled(r request, at int) []request {
	values := q.valuesOf(q.plan.Steps[at])
	if list, err := ref.InText(r.ForEach); err == nil && len(list) == 1 {
		raw, ok := values(list[0])
		var elements []json.RawMessage
		if ok && json.Unmarshal(raw, &elements) == nil && len(elements) <= mostElements {
			r.ForEach = ""
			all := make([]request, len(elements))
			for i, element := range elements {
				all[i] = r.with(func(name ref.Reference) (json.RawMessage, bool) {
					if name.Step != ItemName {
						return values(name)
					}
					v, _, err := ref.ValueAndLabel(name, func(string) (ref.Result, bool) { return ref.Result{Body: element}, true })
					return v, err == nil
				})
			}
			return all
		}
	}
	return []request{r.with(values)}
}

// valuesOf returns the values of the references of a step: those that its card shows, else those that were read.
func (q requests) valuesOf(s Step) ref.Values {
	return func(name ref.Reference) (json.RawMessage, bool) {
		if at := slices.IndexFunc(s.Targets, func(t Target) bool { return t.Ref == name.String() }); at >= 0 {
			return s.Targets[at].Value, true
		}
		v, _, err := ref.ValueAndLabel(name, q.read)
		return v, err == nil
	}
}

// references returns the references in a request.
func (q request) references() (all []ref.Reference, err error) {
	if all, err = ref.InText(q.URL); err != nil {
		return nil, err
	}
	for _, raw := range []json.RawMessage{q.Headers, q.Body} {
		more, err := ref.InJSON(raw)
		if err != nil {
			return nil, err
		}
		all = append(all, more...)
	}
	return all, nil
}

// with returns a request with values for its references; unchanged when one does not fit.
func (q request) with(values ref.Values) request {
	filled := q
	var err error
	if filled.URL, err = ref.FillText(q.URL, values, url.PathEscape); err != nil {
		return q
	}
	if filled.Headers, err = ref.FillJSON(q.Headers, values); err != nil {
		return q
	}
	if filled.Body, err = ref.FillJSON(q.Body, values); err != nil {
		return q
	}
	return filled
}

// sum returns the sum of a request of a step. Another step to which it refers is named by the sum of its request.
func (q requests) sum(r request, at int) (string, error) {
	same, err := r.normal()
	if err != nil {
		return "", err
	}
	raw, err := json.Marshal(same)
	if err != nil {
		return "", err
	}
	var names []string
	for i, other := range q.plan.Steps {
		for _, next := range []string{".", "["} {
			name := "${" + other.ID.Step() + next
			if i == at || !strings.Contains(string(raw), name) {
				continue
			}
			if q.named[i] == "" {
				if q.named[i], err = q.planned(i); err != nil {
					return "", err
				}
			}
			names = append(names, name, "${#"+q.named[i]+next)
		}
	}
	if len(names) > 0 {
		raw = []byte(strings.NewReplacer(names...).Replace(string(raw)))
	}
	return jcs.Sum(json.RawMessage(raw))
}
