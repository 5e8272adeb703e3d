package turn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"piloto/internal/chats/agent"
	"piloto/internal/chats/ask"
	"piloto/internal/chats/toolcall"
	"piloto/internal/conversation"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/visible"
	"piloto/internal/models/credit"
	"piloto/internal/models/llm"
)

// Bounds of an evaluation.
const (
	sureEnough    = 0.8 // confidence under which an answer is partial
	mostCorrected = 2   // answers that the model writes anew, with EvalFull
	mostIssues    = 3   // in the note
	verdictTokens = 600 // that a verdict has at least, however short the answers of the agent are to be
)

// verdict is the model's judgement of its own answer.
type verdict struct {
	Completed  *bool    `json:"completed"`
	Confidence *float64 `json:"confidence"`
	Issues     []string `json:"issues"`
	Suggestion string   `json:"suggestion"`
}

// partial reports whether the answer leaves the request undone. The zero verdict, of nobody, says nothing.
func (v verdict) partial() bool {
	return v.Completed != nil && (!*v.Completed || *v.Confidence < sureEnough)
}

// verdictFormat is the schema of a verdict.
func verdictFormat() *llm.Format {
	return &llm.Format{Name: "evaluation", Schema: json.RawMessage(`{"type":"object","properties":{` +
		`"completed":{"type":"boolean"},"confidence":{"type":"number"},"issues":{"type":"array","items":{"type":"string"}},"suggestion":{"type":"string"}},` +
		`"required":["completed","confidence","issues","suggestion"],"additionalProperties":false}`)}
}

// corrects judges a text that would be the answer, when the agent's is judged. It reports whether the model is to answer
// again: the prompt names the missing parts. An evaluation that fails leaves the answer as it is.
func (d *dialog) corrects(ctx context.Context, text string) bool {
	evaluates := d.loop.agent.Eval == agent.EvalBasic || d.loop.agent.Eval == agent.EvalFull
	if !evaluates || visible.Blank(text) || d.loop.reconsiders(ctx, text) {
		return false
	}
	d.verdict = verdict{}
	v, err := d.judge(ctx, text)
	if err != nil {
		d.service.Log.WarnContext(ctx, "turn.not_evaluated", "chat_id", d.loop.chat.ID, "error", err)
		return false
	}
	d.verdict = v
	if d.loop.agent.Eval != agent.EvalFull || !v.partial() || d.corrected >= mostCorrected {
		return false
	}
	d.corrected++
	d.loop.query.Messages = append(d.loop.query.Messages,
		llm.Message{Role: llm.Assistant, Content: text},
		correction(v))
	return true
}

// judge asks the model for its verdict, without tools. Its text is not shown. The cost has a record of its own, and
// counts in the limit of the turn.
func (d *dialog) judge(ctx context.Context, text string) (v verdict, err error) {
	q, calls := d.loop.query, d.loop.calls.Apart(d.service.record(d.loop.req, d.loop.chat, credit.SourceEval))
	calls.Beside = d.loop.calls.Turn.Micros + d.loop.calls.Beside
	q.Writing, q.Closes = nil, false
	q.Messages = append(slices.Clone(q.Messages), llm.Message{Role: llm.Assistant, Content: text})
	askToJudge(&q)
	answer, err := q.Ask(ctx, calls)
	d.service.settle(ctx, calls, nil, Reply{Kind: KindMessage}, err)
	d.loop.calls.Beside += calls.Turn.Micros
	if err != nil {
		return v, err
	}
	return readVerdict(answer.Text)
}

// askToJudge makes the next call an evaluation of the last answer.
func askToJudge(q *ask.Query) {
	q.Tools, q.Format, q.Least = nil, verdictFormat(), verdictTokens
	q.Messages = append(q.Messages, llm.Message{Role: llm.System, Content: locale.ModelText("prompt.evaluate")})
}

// readVerdict reads a verdict as a model wrote it.
func readVerdict(text string) (v verdict, err error) {
	raw, err := toolcall.LastObject(text, "completed")
	if err != nil {
		return v, err
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		return verdict{}, fmt.Errorf("turn: read a verdict: %w", err)
	}
	if v.Completed == nil || v.Confidence == nil {
		return verdict{}, errors.New("turn: a verdict without completed or confidence")
	}
	if *v.Confidence < 0 || *v.Confidence > 1 { // of which scale is not known
		return verdict{}, fmt.Errorf("turn: a verdict with a confidence of %v", *v.Confidence)
	}
	return v, nil
}

// note returns the note that the answer may not be complete, when the verdict says so.
func (v verdict) note(req Request) []conversation.Note {
	if !v.partial() {
		return nil
	}
	var issues []string
	for _, i := range v.Issues[:min(len(v.Issues), mostIssues)] {
		issues = append(issues, toolcall.OneLine(i))
	}
	key := "note.partial"
	if len(issues) == 0 {
		key = "note.partial_only"
	}
	return []conversation.Note{req.note(conversation.NotePartial, key, "issues", strings.Join(issues, "; "))}
}
