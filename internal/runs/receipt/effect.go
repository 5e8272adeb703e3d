package receipt

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"piloto/internal/ground/ref"
	"piloto/internal/runs/command"
	"piloto/internal/runs/plan"
)

// track is the state of an effect before an event.
type track struct {
	attempts   int
	open       bool
	ended      bool
	checked    bool
	asked      *eventData
	decision   plan.Decision
	request    string    // of the last attempt
	changed    bool      // a substitute replaced the command of the last attempt
	substitute eventData // the event of the substitute, with both commands
	replaced   bool      // a substitute replaced the command at some time
}

// checkEffects compares every event of a step with the confirmed plan.
func (v *verifier) checkEffects() {
	tracks := map[plan.EffectID]*track{}
	undoing := false
	for _, e := range v.r.Events {
		undoing = undoing || e.Type == plan.EventUndoing
		if e.StepID.IsZero() {
			continue
		}
		step, ok := v.plan.Step(e.StepID)
		if !ok {
			v.report(eventPlace(e), "%s of %s, which the plan does not have", e.Type, e.StepID)
			continue
		}
		id := e.StepID
		if id.Undo() && !undoing {
			v.report(eventPlace(e), "%s of %s before undoing began", e.Type, e.StepID)
		}
		t := tracks[id]
		if t == nil {
			t = &track{}
			tracks[id] = t
		}
		whole := tracks[plan.EffectOf(id.Step())]
		if whole == nil || id.Undo() || id.Whole() {
			whole = t
		}
		v.checkEffect(e, step, t, whole)
	}
}

// checkEffect compares an event of an effect with the earlier ones. whole is the track of the step
// that the effect is an element of, or its own track.
func (v *verifier) checkEffect(e plan.Event, step plan.Step, t, whole *track) {
	s := dataOf(e)
	if t.ended && e.Type != plan.EventStepResolved && !(t.checked && e.Type == plan.EventStepDone) {
		v.report(eventPlace(e), "%s of %s, which had ended", e.Type, e.StepID)
	}
	switch e.Type {
	case plan.EventStepStart, plan.EventStepRetry:
		v.checkStart(e, s, step, t, whole)
	case plan.EventStepDone:
		if !t.open && step.ForEach == "" && !t.checked {
			v.report(eventPlace(e), "%s is done and was not sent", e.StepID)
		}
		t.open, t.ended = false, true
	case plan.EventStepFailed, plan.EventStepDoubt, plan.EventStepSkipped:
		t.open, t.ended = false, true
	case plan.EventStepWait:
		t.open = false
	case plan.EventStepChecked:
		t.checked = true
		if s.Held == nil || *s.Held {
			t.open, t.ended = false, true
		}
	case plan.EventStepReasoned:
		t.changed, t.replaced, t.substitute = true, true, s
	case plan.EventStepAsked:
		v.checkRequest(e, s, step)
		t.asked, t.decision = &s, ""
	case plan.EventStepApproved, plan.EventStepRefused:
		v.checkDecision(e, s, t)
	}
}

func (v *verifier) checkStart(e plan.Event, s eventData, step plan.Step, t, whole *track) {
	v.checkRequest(e, s, step)
	if s.Attempt != t.attempts+1 {
		v.report(eventPlace(e), "is attempt %d of %s, after %d", s.Attempt, e.StepID, t.attempts)
	}
	if t.open && !plan.Idempotent(step.Method) {
		v.report(eventPlace(e), "%s was sent again while nobody knew what became of it", e.StepID)
	}
	if (e.Type == plan.EventStepStart) != (t.attempts == 0) {
		v.report(eventPlace(e), "%s of attempt %d", e.Type, s.Attempt)
	}
	if t.attempts > 0 && !t.changed && t.request != s.Request {
		v.report(eventPlace(e), "%s was sent again as another request", e.StepID)
	}
	if p := v.plan.Reuse; p != nil && slices.Contains(p.Steps, e.StepID) {
		v.report(eventPlace(e), "%s was sent, and has the result of an earlier run", e.StepID)
	}
	if !t.replaced && hasPlainBody(step) && s.Request != requestOf(step, s) {
		v.report(eventPlace(e), "%s was sent with another body than the plan's", e.StepID)
	}
	if t.changed && t.request != s.Request {
		v.checkSubstitute(e, s, step, t)
	}
	v.checkApproval(e, s, t, whole)
	t.attempts, t.open, t.request, t.changed = s.Attempt, true, s.Request, false
}

// checkSubstitute compares a request that has a substitute command with the event that names it,
// and with the approval that it needs.
func (v *verifier) checkSubstitute(e plan.Event, s eventData, step plan.Step, t *track) {
	if (command.Replacement{Failed: t.substitute.Was, Other: t.substitute.Now}).Asks() && t.decision != plan.Approved {
		v.report(eventPlace(e), "%s was sent with another command, and nobody had approved it", e.StepID)
	}
	step.Body = command.With(step.Body, t.substitute.Now)
	if hasPlainBody(step) && s.Request != requestOf(step, s) {
		v.report(eventPlace(e), "%s was sent with another body than that command's", e.StepID)
	}
}

// hasPlainBody reports whether the body of a step contains no references.
func hasPlainBody(step plan.Step) bool {
	refs, err := ref.InJSON(step.Body)
	return err == nil && len(refs) == 0
}

// requestOf returns the request hash of a step with a plain body.
func requestOf(step plan.Step, s eventData) string {
	body, err := ref.ResolveJSON(step.Body, nil)
	if err != nil {
		return ""
	}
	return plan.RequestHash(cmp.Or(step.Tool, s.Method), plan.RequestLine(s.URL, s.Headers), body)
}

// checkApproval compares a request with the approval that it waited for.
func (v *verifier) checkApproval(e plan.Event, s eventData, t, whole *track) {
	id := e.StepID
	planned, _ := v.plan.Step(plan.EffectOf(id.Step()))
	switch {
	case whole.asked == nil && planned.Ask != nil && !planned.Ask.Maybe && !id.Undo():
		v.report(eventPlace(e), "%s was sent, and nobody had been asked", e.StepID)
	case whole.asked == nil:
	case whole.decision != plan.Approved:
		v.report(eventPlace(e), "%s was sent, and nobody had approved it", e.StepID)
	case whole == t && whole.asked.Request != s.Request:
		v.report(eventPlace(e), "%s was sent as another request than was approved", e.StepID)
	case whole != t && (id.Item() >= len(whole.asked.Requests) || whole.asked.Requests[id.Item()] != s.Request):
		v.report(eventPlace(e), "%s was sent as another request than was approved", e.StepID)
	}
}

func (v *verifier) checkDecision(e plan.Event, s eventData, t *track) {
	switch {
	case t.asked == nil:
		v.report(eventPlace(e), "%s of %s, which nobody had asked about", e.Type, e.StepID)
		return
	case t.decision != "":
		v.report(eventPlace(e), "%s of %s, which was decided", e.Type, e.StepID)
	case t.asked.Request != s.Request:
		v.report(eventPlace(e), "another request of %s was decided than was asked about", e.StepID)
	case !t.asked.Expires.IsZero() && !e.At.Before(t.asked.Expires):
		v.report(eventPlace(e), "%s of %s after its time", e.Type, e.StepID)
	case s.By == "":
		v.report(eventPlace(e), "%s of %s by nobody", e.Type, e.StepID)
	}
	t.decision = plan.Refused
	if e.Type == plan.EventStepApproved {
		t.decision = plan.Approved
		if by := v.account.confirmed; t.asked.Another && by != nil && plan.SamePerson(by.By, s.By) {
			v.report(eventPlace(e), "%s was approved by whoever confirmed, and needed another", e.StepID)
		}
	}
}

// checkRequest compares a request with the step of the plan: its method or tool, its URL, and its headers.
func (v *verifier) checkRequest(e plan.Event, s eventData, step plan.Step) {
	binding, bound := v.plan.Binding(e.StepID)
	switch {
	case !bound:
		v.report(eventPlace(e), "%s is bound to nothing", e.StepID)
	case step.ForEach != "": // one approval for all elements
		if s.URL != binding.URL(step) {
			v.report(eventPlace(e), "%s cannot lead to %s", step.Called(), s.URL)
		}
	case step.Tool != "":
		if s.URL != binding.BaseURL || cmp.Or(s.Tool, step.Tool) != step.Tool {
			v.report(eventPlace(e), "%s is the tool %s at %s, and %s at %s was called", e.StepID, step.Tool, binding.BaseURL, s.Tool, s.URL)
		}
	case s.Method != step.Method:
		v.report(eventPlace(e), "%s is a %s, and a %s was sent", e.StepID, step.Method, s.Method)
	case !binding.LeadsTo(step, s.URL):
		v.report(eventPlace(e), "%s cannot lead to %s", step.Called(), s.URL)
	case !matchesHeaders(step.Headers, s.Headers):
		v.report(eventPlace(e), "%s was sent with other headers than those of the plan", e.StepID)
	}
}

// matchesHeaders reports whether a request has the headers of its step and no other, and all plain values of them.
func matchesHeaders(planned, sent json.RawMessage) bool {
	var want map[string]json.RawMessage
	var got map[string]string
	_ = json.Unmarshal(planned, &want) // no headers means no members
	_ = json.Unmarshal(sent, &got)
	if len(want) != len(got) {
		return false
	}
	for name, raw := range want {
		value, has := got[name]
		if text, plain := plainText(raw); !has || plain && value != text {
			return false
		}
	}
	return true
}

// plainText returns the text of a value that is a number or a text without references.
func plainText(raw json.RawMessage) (string, bool) {
	var text string
	if json.Unmarshal(raw, &text) == nil && !strings.HasPrefix(string(raw), "null") {
		pieces, err := ref.Literals(text)
		return strings.Join(pieces, ""), err == nil && len(pieces) == 1
	}
	var number json.Number
	return string(raw), json.Unmarshal(raw, &number) == nil && string(raw) != "null"
}
