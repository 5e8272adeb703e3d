package brief

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"piloto/internal/chats/toolcall"
	"piloto/internal/ground/clip"
	"piloto/internal/ground/redact"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/view"
)

// Bounds of the results of runs in the prompt.
const (
	resultBytes  = 6 << 10  // of each step's answer
	outcomeBytes = 48 << 10 // of all answers together
	pathBytes    = 512      // of each step's path
)

// outcome is the form in which the model reads a run. It also describes a draft that ended
// without a run, and the reason.
type outcome struct {
	Goal      string        `json:"goal"`
	Status    plan.Status   `json:"status"`
	Reason    string        `json:"reason,omitempty"`    // of the person who rejected it, in their words
	Withdrawn string        `json:"withdrawn,omitempty"` // the model's own reason for taking it back
	Error     string        `json:"error,omitempty"`
	Undoing   bool          `json:"undoing,omitempty"`
	Waits     *wait         `json:"waits,omitempty"`
	Steps     []stepOutcome `json:"steps"`
}

// wait describes the approval of a step that a run waits for. No chat message grants it.
type wait struct {
	Step   string `json:"step"`
	Since  string `json:"since"`
	Until  string `json:"until"`
	Reason string `json:"reason"`
}

type stepOutcome struct {
	ID        string          `json:"id"`
	MCPID     string          `json:"mcp_id"`
	Title     string          `json:"title,omitempty"`
	Tool      string          `json:"tool,omitempty"`
	Method    string          `json:"method,omitempty"`
	Path      string          `json:"path,omitempty"`
	Status    plan.StepStatus `json:"status"`
	Answer    int             `json:"answer,omitempty"`
	Headers   json.RawMessage `json:"headers,omitempty"` // of a HEAD, which has no body
	Body      json.RawMessage `json:"body,omitempty"`
	Shortened bool            `json:"shortened,omitempty"`
	Elements  int             `json:"elements,omitempty"` // of the longest list in an answer that is shortened
	Error     string          `json:"error,omitempty"`
	Undo      plan.StepStatus `json:"undo,omitempty"`    // status of its undo
	Verdict   plan.Outcome    `json:"settled,omitempty"` // the verdict of a person, when the step was in doubt
	Note      string          `json:"note,omitempty"`
}

// bytesPerAnswer returns how many bytes of each answer are shown, so that all of them leave room
// for the conversation after a long plan with large answers.
func bytesPerAnswer(runs []plan.Run) int {
	answers := 1
	for _, r := range runs {
		for _, st := range r.Steps {
			if st.Result != nil {
				answers++
			}
		}
	}
	return min(resultBytes, outcomeBytes/answers)
}

// Runs encodes runs as JSON lines in which no character can end a tag. Secrets in a
// service's answers are removed: a model needs none, because a later step takes a value by
// reference.
func Runs(runs []plan.Run, at time.Time) (string, error) {
	var text []byte
	most := bytesPerAnswer(runs)
	for _, r := range runs {
		line, err := json.Marshal(outcomeOf(r, at, most))
		if err != nil {
			return "", err
		}
		text = append(append(text, redact.Text(string(line))...), '\n')
	}
	return string(text), nil
}

// outcomeOf returns a run's outcome with at most most bytes of each answer. A draft past its
// expiry counts as expired, even before that is stored.
func outcomeOf(r plan.Run, at time.Time, most int) outcome {
	seen := view.Of(r, at)
	o := outcome{Goal: r.Plan.Goal, Status: seen.Status, Reason: r.Reason, Undoing: seen.Undoing, Waits: waitOf(r, seen.Waits), Steps: []stepOutcome{}}
	if r.Error != nil {
		o.Error = r.Error.Message
	}
	if r.Withdrawn != nil {
		o.Withdrawn = r.Withdrawn.Reason
	}
	for _, step := range r.Plan.Steps {
		o.Steps = append(o.Steps, stepOutcomeOf(r, step, most))
	}
	return o
}

func stepOutcomeOf(r plan.Run, step plan.Step, most int) stepOutcome {
	st := r.State(step.ID)
	so := stepOutcome{ID: step.ID.String(), Title: toolcall.OneLine(step.Title), MCPID: step.MCPID, Tool: step.Tool, Method: step.Method, Path: clip.Bytes(step.Path, pathBytes), Status: st.Status}
	if st.Error != nil {
		so.Error = st.Error.Message
	}
	if st.Result != nil {
		shown := st.Result.Shortened(most)
		so.Answer, so.Body, so.Shortened = shown.Status, shown.Body, shown.Truncated || shown.Apart > 0
		if so.Shortened {
			so.Elements = Longest(st.Result.Body)
		}
	}
	if st.Resolved != nil {
		so.Verdict, so.Note = st.Resolved.Outcome, st.Resolved.Note
	}
	if st.Result != nil && len(so.Body) == 0 {
		so.Headers = st.Result.Answer(step.Method)
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
