package turn

import (
	"encoding/json"
	"slices"

	"piloto/internal/chats/history"
	"piloto/internal/chats/reads"
	"piloto/internal/chats/toolcall"
	"piloto/internal/conversation"
	"piloto/internal/models/llm"
	"piloto/internal/runs/plan"
	"piloto/internal/tools/tool"
)

// trail is how a model comes to an answer, while it does: the state of its prompt, and its replies with calls. It is stored with
// the answer as its transcript. A job keeps its rounds itself.
type trail struct {
	now    string
	rounds []conversation.Round
	job    bool
}

// begin adds a reply with calls, after which so many may follow.
func (t *trail) begin(answer llm.Reply, left int) {
	r := conversation.Round{Text: answer.Text, Thought: answer.Thought, Extra: answer.Extra, From: answer.From, Left: left}
	for _, c := range answer.Calls {
		r.Calls = append(r.Calls, conversation.ToolCall{ID: c.ID, Name: c.Name, Arguments: c.Arguments, Extra: c.Extra})
	}
	t.rounds = append(t.rounds, r)
}

// answer adds the results of the calls of the last reply. What a read answered stands in its source.
func (t *trail) answer(results []string, sources []conversation.Source) {
	calls := t.rounds[len(t.rounds)-1].Calls
	for i := range calls {
		calls[i].Result = results[i]
		for _, s := range sources {
			if s.Answer != "" && (results[i] == reads.Text(s) || s.MCPID == tool.FilesID && results[i] == s.Answer) {
				calls[i].Result, calls[i].Source = "", s.ID
			}
		}
	}
}

// unknowns is the result of a call that was not made, because the answer ended.
var unknowns = toolcall.Error("", "the answer ended before this was done")

// asked is the result of a question.
var asked = toolcall.Encode(struct {
	Asked string `json:"asked"`
}{"the person reads it, with its options numbered from 1; their next message answers it"})

// waiting is the result of a proposal.
type waiting struct {
	Waits string   `json:"waits"`
	RunID string   `json:"run_id"`
	Steps []string `json:"steps"` // the ids of its steps
}

// waits is the result of the call that proposed a plan.
func waits(r plan.Run) string {
	w := waiting{Waits: "for the person's yes or no; an <event> tells what came of it", RunID: r.ID}
	for _, s := range r.Plan.Steps {
		w.Steps = append(w.Steps, s.ID.String())
	}
	return toolcall.Encode(w)
}

// proposedIn reports whether a transcript ends, as far as proposals are concerned, with the call by which the model wrote a plan
// as it waits now.
func proposedIn(past history.Past, r *plan.Run) bool {
	if r == nil || slices.Contains(past.Edited, r.ID) {
		return false
	}
	for _, m := range slices.Backward(past.Texts) {
		var w waiting
		if m.Role == llm.ToolRole && json.Unmarshal([]byte(m.Content), &w) == nil && w.Waits != "" {
			return w.RunID == r.ID && len(w.Steps) == len(r.Plan.Steps)
		}
	}
	return false
}

// transcript returns the trail of an answer, in which the calls that have no result get one; nil in a job.
func (t *trail) transcript(result string) *conversation.Transcript {
	if t.job {
		return nil
	}
	out := conversation.Transcript{Now: t.now, Rounds: slices.Clone(t.rounds)}
	if n := len(out.Rounds); n > 0 {
		last := &out.Rounds[n-1]
		last.Calls = slices.Clone(last.Calls)
		for i, c := range last.Calls {
			if c.Result == "" && c.Source == "" {
				last.Calls[i].Result, last.Left = result, 0 // no reply follows
			}
		}
	}
	return &out
}
