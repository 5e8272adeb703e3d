package brief

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"piloto/internal/chats/reads"
	"piloto/internal/chats/toolcall"
	"piloto/internal/ground/clip"
	"piloto/internal/ground/excerpt"
	"piloto/internal/ground/redact"
	"piloto/internal/models/llm"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/view"
)

// Bounds of the results of runs in the prompt.
const (
	resultRunes  = reads.MostTokens * 7 / 2 // of each step's answer
	outcomeRunes = 64 << 10                 // of the answers of a run together
	sentRunes    = 8 << 10                  // of each request
	pathBytes    = 512                      // of each step's path
)

// outcome is the form in which the model reads a run. It also describes a draft that ended
// without a run, and the reason.
type outcome struct {
	RunID       string        `json:"run_id"`
	Goal        string        `json:"goal"`
	Status      plan.Status   `json:"status"`
	Where       string        `json:"where,omitempty"` // of a plan that is not of this chat
	ConfirmedBy string        `json:"confirmed_by,omitempty"`
	Edited      bool          `json:"edited_by_a_person,omitempty"` // before it was confirmed
	Refused     bool          `json:"refused_by_the_person,omitempty"`
	Reason      string        `json:"reason,omitempty"`    // of the person who refused it, in their words
	Withdrawn   string        `json:"withdrawn,omitempty"` // the model's own reason for taking it back
	Error       string        `json:"error,omitempty"`
	Undoing     bool          `json:"undoing,omitempty"`
	Waits       *wait         `json:"waits,omitempty"`
	Steps       []stepOutcome `json:"steps,omitempty"` // none of a draft that nothing was run of
}

// wait describes the approval of a step that a run waits for. No chat message grants it.
type wait struct {
	Step   string `json:"step"`
	Since  string `json:"since"`
	Until  string `json:"until"`
	Reason string `json:"reason"`
}

type stepOutcome struct {
	ID      string          `json:"id"`
	Title   string          `json:"title,omitempty"`
	MCPID   string          `json:"mcp_id,omitempty"`
	Tool    string          `json:"tool,omitempty"`
	Method  string          `json:"method,omitempty"`
	Path    string          `json:"path,omitempty"`
	Sent    *sent           `json:"sent,omitempty"` // the request as it was sent, with the values of earlier answers; nil: none was
	Status  plan.StepStatus `json:"status"`
	Answer  int             `json:"answer,omitempty"`
	Headers json.RawMessage `json:"headers,omitempty"` // of a HEAD, which has no body
	Body    json.RawMessage `json:"body,omitempty"`
	Cut     []excerpt.Cut   `json:"cut,omitempty"`
	Error   string          `json:"error,omitempty"`
	Undo    plan.StepStatus `json:"undo,omitempty"`    // status of its undo
	Verdict plan.Outcome    `json:"settled,omitempty"` // the verdict of a person, when the step was in doubt
	Note    string          `json:"note,omitempty"`
}

// sent is the request of a step as it was sent.
type sent struct {
	URL  string          `json:"url"`
	Body json.RawMessage `json:"body,omitempty"`
	Cut  []excerpt.Cut   `json:"cut,omitempty"`
}

// Runs encodes runs as JSON lines in which no character can end a tag. Secrets in a
// service's answers are removed: a model needs none, because a later step takes a value by
// reference.
func Runs(runs []plan.Run, at time.Time) (string, error) {
	var lines []string
	for _, r := range runs {
		line, err := line(outcomeOf(r, at))
		if err != nil {
			return "", err
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n"), nil
}

// Ended is what a chat knows of a plan that ended: a person changed it after the model proposed it, or it is of the chat from which
// this one was copied.
type Ended struct{ Edited, Copied bool }

// End returns the event of the end of a plan. What a person settled since has an event of its own (Settled).
func End(r plan.Run, as Ended, at time.Time) (llm.Message, error) {
	r.Steps = slices.Clone(r.Steps)
	for i := range r.Steps {
		r.Steps[i].Resolved = nil
	}
	o := outcomeOf(r, at)
	if o.Edited = as.Edited; as.Copied {
		o.Where = "in the conversation from which this one was copied"
	}
	text, err := line(map[string]any{"plan_ended": o})
	return event(text), err
}

// Settled returns the event by which a person says whether a step in doubt was done.
func Settled(r plan.Run, st plan.StepState) llm.Message {
	what := map[string]any{"run_id": r.ID, "step": st.StepID.String(), "settled": st.Resolved.Outcome, "by": st.Resolved.By}
	if st.Resolved.Note != "" {
		what["note"] = st.Resolved.Note
	}
	return Event(map[string]any{"doubt_settled": what})
}

// Event returns an event of a chat, as a model reads it.
func Event(what map[string]any) llm.Message {
	text, err := line(what)
	if err != nil {
		return event("{}")
	}
	return event(text)
}

func event(text string) llm.Message {
	return llm.Message{Role: llm.System, Content: "<event>\n" + text + "\n</event>"}
}

// line returns a value as a line of JSON without secrets, in which no character can end a tag.
func line(v any) (string, error) {
	raw, err := json.Marshal(v)
	return redact.Text(string(raw)), err
}

// outcomeOf returns a run's outcome. A draft past its expiry counts as expired, even before that is stored.
func outcomeOf(r plan.Run, at time.Time) outcome {
	seen := view.Of(r, at)
	o := outcome{
		RunID: r.ID, Goal: r.Plan.Goal, Status: seen.Status, ConfirmedBy: r.Confirmer, Reason: r.Reason, Refused: r.Refused(),
		Undoing: seen.Undoing, Waits: waitOf(r, seen.Waits),
	}
	if r.Error != nil {
		o.Error = r.Error.Message
	}
	if r.Withdrawn != nil {
		o.Withdrawn = r.Withdrawn.Reason
	}
	if r.Confirmer == "" && (seen.Dead || seen.Draft) {
		return o
	}
	answers := 1
	for _, st := range r.Steps {
		if st.Result != nil {
			answers++
		}
	}
	for _, step := range r.Plan.Steps {
		o.Steps = append(o.Steps, stepOutcomeOf(r, step, min(resultRunes, outcomeRunes/answers)))
	}
	return o
}

// stepOutcomeOf returns a step's outcome with at most most characters of its answer.
func stepOutcomeOf(r plan.Run, step plan.Step, most int) stepOutcome {
	st := r.State(step.ID)
	so := stepOutcome{ID: step.ID.String(), Title: toolcall.OneLine(step.Title), MCPID: step.MCPID, Tool: step.Tool, Method: step.Method, Path: clip.Bytes(step.Path, pathBytes), Status: st.Status}
	if st.Attempts > 0 {
		so.MCPID, so.Path = "", "" // the address says both
		so.Sent = &sent{URL: clip.Bytes(st.Last.URL, sentRunes)}
		if body := string(st.Last.Body); body != "" && body != "null" {
			so.Sent.Body, so.Sent.Cut = reads.Shown(st.Last.Body, sentRunes)
		}
	}
	if st.Error != nil {
		so.Error = st.Error.Message
	}
	if st.Result != nil {
		so.Answer = st.Result.Status
		if len(st.Result.Body) > 0 {
			so.Body, so.Cut = reads.Shown(st.Result.Body, most)
		} else {
			so.Headers = st.Result.Answer(step.Method)
		}
	}
	if st.Resolved != nil {
		so.Verdict, so.Note = st.Resolved.Outcome, st.Resolved.Note
	}
	so.Undo = undoStatus(r, step.ID)
	return so
}

// undoStatus returns the status of a step's undos: of several, the one that needs attention
// first.
func undoStatus(r plan.Run, step plan.EffectID) plan.StepStatus {
	order := []plan.StepStatus{plan.StepInDoubt, plan.StepFailed, plan.StepRunning, plan.StepPending, plan.StepCancelled, plan.StepDone}
	var found plan.StepStatus
	for _, st := range r.Steps {
		if !st.StepID.Undo() || st.StepID.Step() != step.Step() {
			continue
		}
		if found == "" || slices.Index(order, st.Status) < slices.Index(order, found) {
			found = st.Status
		}
	}
	return found
}

// waitOf returns the first approval among the waits of a run; nil when there is none.
func waitOf(r plan.Run, waits []plan.Wait) *wait {
	for _, w := range waits {
		if w.Kind == plan.WaitApproval {
			return &wait{
				Step: w.StepID.String(), Reason: r.State(w.StepID).Approval.Reason,
				Since: w.Asked.UTC().Format(time.RFC3339), Until: w.Due.UTC().Format(time.RFC3339),
			}
		}
	}
	return nil
}

// Longest returns the length of the longest list in a JSON value, also in one that is the text of a value, as the answers of
// tools are.
func Longest(raw json.RawMessage) int {
	var value any
	if json.Unmarshal(raw, &value) != nil {
		return 0
	}
	return longestIn(value)
}

func longestIn(value any) int {
	most := 0
	switch value := value.(type) {
	case []any:
		most = len(value)
		for _, v := range value {
			most = max(most, longestIn(v))
		}
	case map[string]any:
		for _, v := range value {
			most = max(most, longestIn(v))
		}
	case string:
		if strings.HasPrefix(value, "{") || strings.HasPrefix(value, "[") {
			most = Longest(json.RawMessage(value))
		}
	}
	return most
}
