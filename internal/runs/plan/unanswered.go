package plan

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"

	"piloto/internal/ground/jcs"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/meaning"
)

// Unanswered is a request that may have been done, because no answer says whether it was. Its chat keeps it until an
// answer does. Each run of the chat sends the same request with the same Idempotency-Key, so that a service that knows
// keys does it once (ADR 6).
type Unanswered struct {
	Request string   // Step.Sum
	Key     string   // the Idempotency-Key that it was sent with
	RunID   string   // the run that sent it last; "" in the list of a run
	StepID  EffectID // its effect
	Undoes  string   // the run of which it undoes an effect; "": of none
}

// Doubt names an effect with an unknown outcome. A step that sends its request again may do it twice.
type Doubt struct {
	RunID    string   `json:"run_id"`
	StepID   EffectID `json:"step_id"`
	Elements int      `json:"elements,omitempty" doc:"of a step that is done for each element: how many of them send such a request; the first of them is named"`
}

// Phrase returns the warning of a step that has such a request.
func (d Doubt) Phrase() locale.Phrase {
	if d.Elements > 0 {
		return locale.Say("run.plan_unanswered_each", "n", strconv.Itoa(d.Elements), "run", d.RunID)
	}
	return locale.Say("run.plan_unanswered", "run", d.RunID)
}

// Known has the targets and the doubt of a step of a draft, which are read before it is shown.
type Known struct {
	Targets    []Target
	Unanswered *Doubt
}

// Knowing returns the plan with the targets and doubts of its steps, in their order, in place of the earlier ones.
func (p Plan) Knowing(known []Known) Plan {
	p.Steps = slices.Clone(p.Steps)
	for i := range p.Steps {
		p.Steps[i].Targets, p.Steps[i].Unanswered = nil, nil
		if i < len(known) {
			p.Steps[i].Targets, p.Steps[i].Unanswered = known[i].Targets, known[i].Unanswered
		}
	}
	return p
}

// MayRepeat reports whether the plan marks a step as repeating an unanswered request.
func (p Plan) MayRepeat() bool {
	return slices.ContainsFunc(p.Steps, func(s Step) bool { return s.Unanswered != nil })
}

// MayBeDone reports whether the outcome of an effect is unknown: its call is under way, or it is in doubt and no person
// resolved it.
func (s StepState) MayBeDone() bool {
	return s.Last.Key != "" && (s.Last.Open || s.Status == StepInDoubt) && s.Resolved == nil
}

// Sum identifies the request of an attempt by its content: method or tool, address, headers and body, without the order of
// JSON members and of parameters. Neither the step nor its run counts.
func (s Step) Sum(a Attempt) (string, error) {
	return jcs.Sum(request{Called: cmp.Or(s.Tool, s.Method), URL: sortedURL(a.URL), Headers: a.Headers, Body: a.Body})
}

// Unanswered reports whether the effect ended, and no answer to its calls says whether it was done.
func (s StepState) Unanswered() bool {
	mayBeDone := s.Status == StepInDoubt || s.Status == StepFailed && (s.Checks > 0 || s.Lost)
	return s.Last.Key != "" && mayBeDone && !s.Answered()
}

// Answered reports whether the outcome of the effect's calls with its last key is known: it was done, a tool or a command
// reported failure, or the operation itself refused the last call. A gateway's answer is no evidence about an earlier call
// with the same key.
func (s StepState) Answered() bool {
	switch {
	case s.WasDone():
		return true
	case s.Status == StepInDoubt || s.Checks > 0 || s.Result == nil || s.Last.Open:
		return false
	case meaning.Of(s.Result.Status, false) == meaning.Done:
		return !s.Result.OfRouter()
	}
	return s.Status == StepFailed && meaning.InOwnWords(s.Result.Status, s.Result.Body)
}

// AsUnanswered returns the chat's record of an effect that is Unanswered.
func (r Run) AsUnanswered(st StepState) (Unanswered, error) {
	step, _ := r.Plan.Step(st.StepID)
	u := Unanswered{Key: st.Last.Key, RunID: r.ID, StepID: st.StepID, Undoes: r.Plan.Undoes}
	if st.StepID.Undo() {
		u.Undoes = r.ID
	}
	var err error
	u.Request, err = step.Sum(st.Last)
	return u, err
}

// Carries reports whether a key is of a request that the run sends again.
func (r Run) Carries(key string) bool {
	return slices.ContainsFunc(r.Unanswered, func(u Unanswered) bool { return u.Key == key })
}

// KeyFor returns the key of the unanswered request that an effect sends again; "" when it sends none. Each key is of one
// effect, because a plan may have the same request twice. An undo sends none: it undoes a change of its own run.
func (r Run) KeyFor(id EffectID, request string) string {
	if id.Undo() {
		return ""
	}
	twins := r.twinsOf(id)
	var free []Unanswered
	for _, u := range r.Unanswered {
		switch {
		case u.Request != request, !u.Concerns(r.Plan):
		case u.StepID == id:
			return u.Key
		case slices.ContainsFunc(twins, func(twin EffectID) bool { return u.StepID == twin }), r.sent(u.Key, id):
		default:
			free = append(free, u)
		}
	}
	position := 0
	for _, twin := range twins[:max(0, slices.Index(twins, id))] { // each takes one
		if r.State(twin).Last.Key == "" && !slices.ContainsFunc(r.Unanswered, func(u Unanswered) bool { return u.Request == request && u.StepID == twin }) {
			position++
		}
	}
	if position < len(free) {
		return free[position].Key
	}
	return ""
}

// Concerns reports whether a plan may send the request again: the undo of one run is not that of another.
func (u Unanswered) Concerns(p Plan) bool {
	return u.Undoes == "" || p.Undoes == "" || u.Undoes == p.Undoes
}

// sent reports whether another effect of the run was sent with a key.
func (r Run) sent(key string, id EffectID) bool {
	return slices.ContainsFunc(r.Steps, func(st StepState) bool { return st.StepID != id && st.Reused == "" && st.Last.Key == key })
}

// twinsOf returns the steps that are written as the step of an effect is, in the plan's order, itself among them.
func (r Run) twinsOf(id EffectID) (twins []EffectID) {
	of, _ := r.Plan.Step(id)
	for _, s := range r.Plan.Steps {
		same := s.MCPID == of.MCPID && s.Tool == of.Tool && s.Method == of.Method && s.Path == of.Path &&
			bytes.Equal(s.Query, of.Query) && bytes.Equal(s.Headers, of.Headers) && bytes.Equal(s.Body, of.Body)
		if same && r.State(s.ID).Reused == "" {
			twins = append(twins, s.ID)
		}
	}
	return twins
}
