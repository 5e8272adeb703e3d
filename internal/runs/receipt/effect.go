package receipt

import (
	"cmp"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"piloto/internal/ground/ref"
	"piloto/internal/runs/command"
	"piloto/internal/runs/plan"
)

// track is what was seen of an effect up to an event.
type track struct {
	attempts int
	open     bool
	ended    bool
	checked  bool
	asked    *said
	decision plan.Decision
	request  string // of the last attempt
	changed  bool   // another command took the place of the last one
	other    said   // which, and of which
	replaced bool   // or had before
}

// effects holds every event of a step to the plan that was confirmed.
func (v *verifier) effects() {
	tracks := map[string]*track{}
	undoing := false
	for _, e := range v.r.Events {
		undoing = undoing || e.Type == plan.EventUndoing
		if e.StepID == "" {
			continue
		}
		step, ok := v.plan.Step(e.StepID)
		if !ok {
			v.say(at(e), "%s of %s, which the plan does not have", e.Type, e.StepID)
			continue
		}
		id := plan.ParseEffect(e.StepID)
		if id.Undo && !undoing {
			v.say(at(e), "%s of %s before undoing began", e.Type, e.StepID)
		}
		t := tracks[e.StepID]
		if t == nil {
			t = &track{}
			tracks[e.StepID] = t
		}
		whole := tracks[id.Step]
		if whole == nil || id.Undo || id.Item < 0 {
			whole = t
		}
		v.effect(e, step, t, whole)
	}
}

// effect holds one event of an effect to those before it. whole is the track of the
// step that the effect is an element of, or its own.
func (v *verifier) effect(e plan.Event, step plan.Step, t, whole *track) {
	s := read(e)
	if t.ended && e.Type != plan.EventStepSettled && !(t.checked && e.Type == plan.EventStepDone) {
		v.say(at(e), "%s of %s, which had ended", e.Type, e.StepID)
	}
	switch e.Type {
	case plan.EventStepStart, plan.EventStepRetry:
		v.started(e, s, step, t, whole)
	case plan.EventStepDone:
		if !t.open && step.ForEach == "" && !t.checked {
			v.say(at(e), "%s is done and was not sent", e.StepID)
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
		t.changed, t.replaced, t.other = true, true, s
	case plan.EventStepAsked:
		v.sendable(e, s, step)
		t.asked, t.decision = &s, ""
	case plan.EventStepApproved, plan.EventStepRefused:
		v.decided(e, s, t)
	}
}

func (v *verifier) started(e plan.Event, s said, step plan.Step, t, whole *track) {
	v.sendable(e, s, step)
	if s.Attempt != t.attempts+1 {
		v.say(at(e), "is attempt %d of %s, after %d", s.Attempt, e.StepID, t.attempts)
	}
	if t.open && !plan.Idempotent(step.Method) {
		v.say(at(e), "%s was sent again while nobody knew what became of it", e.StepID)
	}
	if (e.Type == plan.EventStepStart) != (t.attempts == 0) {
		v.say(at(e), "%s of attempt %d", e.Type, s.Attempt)
	}
	if t.attempts > 0 && !t.changed && t.request != s.Request {
		v.say(at(e), "%s was sent again as another request", e.StepID)
	}
	if p := v.plan.Reuse; p != nil && slices.Contains(p.Steps, e.StepID) {
		v.say(at(e), "%s was sent, and has the result of an earlier run", e.StepID)
	}
	if !t.replaced && plainBody(step) && s.Request != requestOf(step, s) {
		v.say(at(e), "%s was sent with another body than the plan's", e.StepID)
	}
	if t.changed && t.request != s.Request {
		v.substituted(e, s, step, t)
	}
	v.approved(e, s, t, whole)
	t.attempts, t.open, t.request, t.changed = s.Attempt, true, s.Request, false
}

// substituted holds a request with another command to the event that says which, and to
// the approval that it needs.
func (v *verifier) substituted(e plan.Event, s said, step plan.Step, t *track) {
	if command.Asks(t.other.Was, t.other.Now) && t.decision != plan.Approved {
		v.say(at(e), "%s was sent with another command, and nobody had approved it", e.StepID)
	}
	step.Body = command.With(step.Body, t.other.Now)
	if plainBody(step) && s.Request != requestOf(step, s) {
		v.say(at(e), "%s was sent with another body than that command's", e.StepID)
	}
}

// plainBody reports whether the plan says all of what a step sends.
func plainBody(step plan.Step) bool {
	refs, err := ref.InJSON(step.Body)
	return err == nil && len(refs) == 0
}

// requestOf names the request of a step whose body is plain.
func requestOf(step plan.Step, s said) string {
	body, err := ref.ResolveJSON(step.Body, nil)
	if err != nil {
		return ""
	}
	return plan.RequestHash(cmp.Or(step.Tool, s.Method), s.URL, body)
}

// approved holds what was sent to the approval that it waited for.
func (v *verifier) approved(e plan.Event, s said, t, whole *track) {
	id := plan.ParseEffect(e.StepID)
	planned, _ := v.plan.Step(id.Step)
	switch {
	case whole.asked == nil && planned.Ask != nil && !planned.Ask.Maybe && !id.Undo:
		v.say(at(e), "%s was sent, and nobody had been asked", e.StepID)
	case whole.asked == nil:
	case whole.decision != plan.Approved:
		v.say(at(e), "%s was sent, and nobody had approved it", e.StepID)
	case whole == t && whole.asked.Request != s.Request:
		v.say(at(e), "%s was sent as another request than was approved", e.StepID)
	case whole != t && (id.Item >= len(whole.asked.Requests) || whole.asked.Requests[id.Item] != s.Request):
		v.say(at(e), "%s was sent as another request than was approved", e.StepID)
	}
}

func (v *verifier) decided(e plan.Event, s said, t *track) {
	switch {
	case t.asked == nil:
		v.say(at(e), "%s of %s, which nobody had asked about", e.Type, e.StepID)
		return
	case t.decision != "":
		v.say(at(e), "%s of %s, which was decided", e.Type, e.StepID)
	case t.asked.Request != s.Request:
		v.say(at(e), "another request of %s was decided than was asked about", e.StepID)
	case !t.asked.Expires.IsZero() && !e.At.Before(t.asked.Expires):
		v.say(at(e), "%s of %s after its time", e.Type, e.StepID)
	case s.By == "":
		v.say(at(e), "%s of %s by nobody", e.Type, e.StepID)
	}
	t.decision = plan.Refused
	if e.Type == plan.EventStepApproved {
		t.decision = plan.Approved
		if by := v.account.confirmed; t.asked.Another && by != nil && by.By == s.By {
			v.say(at(e), "%s was approved by whoever confirmed, and needed another", e.StepID)
		}
	}
}

// sendable holds a request to the step of the plan: its method or tool, and its URL.
func (v *verifier) sendable(e plan.Event, s said, step plan.Step) {
	binding, bound := v.plan.Binding(e.StepID)
	switch {
	case !bound:
		v.say(at(e), "%s is bound to nothing", e.StepID)
	case step.ForEach != "": // asked for all elements at once
		if whole := binding.BaseURL + step.Path; step.Tool == "" && s.URL != whole || step.Tool != "" && s.URL != binding.BaseURL {
			v.say(at(e), "%s cannot lead to %s", step.Called(), s.URL)
		}
	case step.Tool != "":
		if s.URL != binding.BaseURL || cmp.Or(s.Tool, step.Tool) != step.Tool {
			v.say(at(e), "%s is the tool %s at %s, and %s at %s was called", e.StepID, step.Tool, binding.BaseURL, s.Tool, s.URL)
		}
	case s.Method != step.Method:
		v.say(at(e), "%s is a %s, and a %s was sent", e.StepID, step.Method, s.Method)
	case !leads(binding.BaseURL, step, s.URL):
		v.say(at(e), "%s cannot lead to %s", step.Called(), s.URL)
	}
}

// leads reports whether a step can lead to a URL: the base as it is bound, then each
// segment of the path with any text for its references, then only parameters of its
// query, those that are plain texts or numbers as they are.
func leads(base string, step plan.Step, raw string) bool {
	rest, ok := strings.CutPrefix(raw, base)
	if !ok {
		return false
	}
	path, query, _ := strings.Cut(rest, "?")
	pieces, err := ref.Literals(step.Path)
	if err != nil {
		return false
	}
	const any = "\x00"
	want := strings.Split(strings.TrimSuffix(strings.Join(pieces, any), "/"), "/")
	got := strings.Split(strings.TrimSuffix(path, "/"), "/")
	if len(want) != len(got) {
		return false
	}
	for i := range want {
		if !fits(strings.Split(unescape(want[i]), any), unescape(got[i])) {
			return false
		}
	}
	return asks(step.Query, query)
}

// fits reports whether a text is the pieces with any texts between them.
func fits(pieces []string, text string) bool {
	text, ok := strings.CutPrefix(text, pieces[0])
	if !ok || len(pieces) == 1 {
		return ok && text == ""
	}
	for _, p := range pieces[1 : len(pieces)-1] {
		if _, text, ok = strings.Cut(text, p); !ok {
			return false
		}
	}
	return strings.HasSuffix(text, pieces[len(pieces)-1])
}

func unescape(s string) string {
	if plain, err := url.PathUnescape(s); err == nil {
		return plain
	}
	return s
}

// asks reports whether a query asks for no more than the step's, and for what that
// says plainly.
func asks(planned json.RawMessage, query string) bool {
	sent, err := url.ParseQuery(query)
	if err != nil {
		return false
	}
	var want map[string]json.RawMessage
	_ = json.Unmarshal(planned, &want) // no query, no members
	for name := range sent {
		base, _, _ := strings.Cut(name, "[")
		if _, direct := want[name]; !direct && want[base] == nil && !spread(want, name) {
			return false
		}
	}
	for name, raw := range want {
		text, plain := plainly(raw)
		as := func(s string) bool { return s == text || ref.Same(json.RawMessage(s), raw) }
		if plain && !slices.ContainsFunc(sent[name], as) {
			return false
		}
	}
	return true
}

// spread reports whether a parameter can be a member of an object that is written
// as parameters of its own (style form, explode).
func spread(want map[string]json.RawMessage, name string) bool {
	for _, raw := range want {
		var object map[string]json.RawMessage
		var text string
		if json.Unmarshal(raw, &object) == nil && object[name] != nil || json.Unmarshal(raw, &text) == nil && ref.Whole(text) {
			return true
		}
	}
	return false
}

// plainly is the text of a value that is a text without references, or a number.
func plainly(raw json.RawMessage) (string, bool) {
	var text string
	if json.Unmarshal(raw, &text) == nil && !strings.HasPrefix(string(raw), "null") {
		pieces, err := ref.Literals(text)
		return strings.Join(pieces, ""), err == nil && len(pieces) == 1
	}
	var number json.Number
	return string(raw), json.Unmarshal(raw, &number) == nil && string(raw) != "null"
}
