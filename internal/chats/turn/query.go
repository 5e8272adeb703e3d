package turn

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"

	"piloto/internal/chats/window"
	"piloto/internal/ground/locale"
	"piloto/internal/models/eligibility"
	"piloto/internal/models/llm"
	"piloto/internal/models/paid"
)

// query is what a model is asked. The calls that pay for it are given to its methods.
type query struct {
	tag locale.Tag
	log *slog.Logger

	messages []llm.Message
	answered int // index of the message that is answered: what stands before it may be dropped
	tools    []llm.Tool
	format   *llm.Format   // of the answer; nil: text and tool calls
	least    int           // tokens that the answer may have at least, whatever the assistant's are
	writing  *answerStream // nil: the answer is not streamed
	seam     *seam         // of an answer that goes on; nil: none does

	closes   bool // a closing call is held beside each call
	closeFor int  // size of its prompt, in tokens
}

// resolve chooses the model, or returns the block that keeps the turn from running.
func (q *query) resolve(calls *paid.Calls, snapshot eligibility.Snapshot) *eligibility.Block {
	snapshot.Need.Input = q.request(nil).Estimate()
	return calls.Resolve(snapshot)
}

// request returns one call of a model; nil: it is not chosen yet.
func (q *query) request(use *eligibility.Selection) llm.Request {
	r := llm.Request{Messages: q.messages, Tools: q.tools, Format: q.format}
	if use != nil {
		r.Model, r.Temperature = use.Model, use.Assistant.Temperature
		r.MaxTokens = max(use.Estimate.Output, min(q.least, use.Window/2))
	}
	switch {
	case q.writing == nil || !q.writing.shown:
	case q.seam != nil:
		r.Sink = q.seam
	default:
		r.Sink = q.writing
	}
	return r
}

// errContextFull is the error of a call that is too large for the model, although all was dropped that may be.
var errContextFull = errors.New("turn: the request is too large for the model")

// ask calls the model. An answer that was cut at its token limit is continued once. Its calls have ids that no other call of
// the conversation has.
func (q *query) ask(ctx context.Context, calls *paid.Calls) (llm.Reply, error) {
	answer, err := q.askOnce(ctx, calls)
	if err == nil && answer.Length && q.format == nil {
		answer, err = q.goOn(ctx, calls, answer)
	}
	answer.Calls = llm.Distinct(answer.Calls, q.messages)
	return answer, err
}

// askOnce calls the model. What it has no room for is dropped, and the cost of the closing call is held beside that of the
// call.
func (q *query) askOnce(ctx context.Context, calls *paid.Calls) (llm.Reply, error) {
	return calls.Ask(ctx, func() (llm.Request, error) {
		use := calls.Use
		r := q.request(use)
		kept, fits := window.Fit(r, use.Window, q.answered)
		if dropped := len(r.Messages) - len(kept); dropped > 0 {
			q.log.InfoContext(ctx, "turn.window", "turn_id", calls.Turn.ID, "model", use.Model, "window", use.Window, "dropped", dropped, "fits", fits)
		}
		if r.Messages = kept; !fits {
			return r, errContextFull
		}
		if q.closes {
			output := min(closeOutput, r.MaxTokens)
			q.closeFor = cmp.Or(q.closeFor, r.Estimate()+closeRoom)
			calls.Reserve = paid.Reserve{Input: min(q.closeFor, use.Window-output), Output: output}
		}
		return r, nil
	})
}

// closing returns the last call of a turn or of a job, without tools, whose answer and prompt have at most these numbers of tokens. What
// the model has no room for is dropped. why says what ends it.
func (q *query) closing(use *eligibility.Selection, why string, most, prompt int) (llm.Request, error) {
	r := q.request(use)
	output := min(most, r.MaxTokens)
	end := llm.Message{Role: llm.System, Content: locale.Text(q.tag, "prompt.close", "why", why)}
	r.Tools, r.MaxTokens = nil, output+end.Estimate()
	kept, fits := window.Fit(r, min(use.Window, prompt+output), q.answered)
	if !fits {
		return r, errContextFull
	}
	r.Messages, r.MaxTokens = slices.Concat(kept, []llm.Message{end}), output
	return r, nil
}

// lastCall makes a call of the chosen model, and of no other.
func lastCall(ctx context.Context, calls *paid.Calls, r llm.Request) (llm.Reply, error) {
	calls.Reserve = paid.Reserve{}
	return calls.Once(ctx, r)
}

// judges makes the next call an evaluation of the last answer.
func (q *query) judges() {
	q.tools, q.format, q.least = nil, verdictFormat(), verdictTokens
	q.messages = append(q.messages, llm.Message{Role: llm.System, Content: locale.Text(q.tag, "prompt.evaluate")})
}
