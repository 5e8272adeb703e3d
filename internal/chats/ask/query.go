// Package ask asks a model: the request, the answer while it is written, and its continuation where the provider cut it.
package ask

import (
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

// Tokens that are held for the closing call beside each call.
const (
	closeRoom   = 1000 // tokens of its prompt that the first prompt did not have
	CloseOutput = 400  // tokens of its answer
)

// Query is a request to a model. The calls that pay for it are given to its methods.
type Query struct {
	Locale locale.Tag
	Log    *slog.Logger

	Messages []llm.Message
	Answered int // index of the message that is answered: messages before it may be dropped
	Tools    []llm.Tool
	NoCalls  bool        // the tools may not be called: they are there because the prompt begins with them
	Format   *llm.Format // of the answer; nil: text and tool calls
	Least    int         // the fewest tokens that the answer may have, even if the assistant's limit is lower
	Writing  *Stream     // nil: the answer is not streamed
	seam     *seam       // of an answer that goes on; nil: none does
	quiet    bool        // the text of the answer is shown to nobody

	// Again bounds a call that goes on with a file, in place of the context of the answer; nil: that bounds it. The caller must
	// call the function.
	Again func() (context.Context, context.CancelFunc)

	Closes   bool // a closing call is held beside each call
	CloseFor int  // size of its prompt, in tokens; 0 before the first
}

// Resolve chooses the model, or returns the block that keeps the turn from running.
func (q *Query) Resolve(calls *paid.Calls, snapshot eligibility.Snapshot) *eligibility.Block {
	snapshot.Need.Input = q.Request(nil).Estimate()
	return calls.Resolve(snapshot)
}

// Request returns one call of a model; nil: it is not chosen yet.
func (q *Query) Request(use *eligibility.Selection) llm.Request {
	r := llm.Request{Messages: q.Messages, Tools: q.Tools, NoCalls: q.NoCalls, Format: q.Format}
	if use != nil {
		r.Model, r.Temperature = use.Model, use.Assistant.Temperature
		r.MaxTokens = max(use.Estimate.Output, min(q.Least, use.Window/4))
	}
	switch {
	case q.Writing == nil || !q.Writing.Shown:
	case q.quiet:
		r.Sink = unheard{}
	case q.seam != nil:
		r.Sink = q.seam
	default:
		r.Sink = q.Writing
	}
	return r
}

// ErrContextFull is the error of a call that is too large for the model, although all was dropped that may be.
var ErrContextFull = errors.New("ask: the request is too large for the model")

// Ask calls the model. An answer that was cut at its token limit is continued once, and a file that it writes is finished. Its
// calls have ids that no other call of the conversation has.
func (q *Query) Ask(ctx context.Context, calls *paid.Calls) (llm.Reply, error) {
	answer, err := q.askOnce(ctx, calls)
	w, writes := q.begun(answer)
	if err == nil && answer.Length && !writes && q.Format == nil {
		answer, err = q.goOn(ctx, calls, answer)
		w, writes = q.begun(answer)
	}
	if err == nil && writes {
		answer, err = q.finish(ctx, calls, answer, w)
	}
	answer.Calls = llm.Distinct(answer.Calls, q.Messages)
	return answer, err
}

// mostShortened is how often a request that the model refuses as too long is made shorter.
const mostShortened = 4

// askOnce calls the model. A request that it refuses as too long is made shorter.
func (q *Query) askOnce(ctx context.Context, calls *paid.Calls) (llm.Reply, error) {
	least := false
	for n := 0; n < mostShortened && !least; n++ {
		answer, err := q.askFitted(ctx, calls, &least)
		if llm.CauseOf(err) != llm.TooLong {
			return answer, err
		}
		q.Log.WarnContext(ctx, "turn.too_long", "turn_id", calls.Turn.ID, "model", calls.Use.Model, "window", calls.Use.Window, "error", err)
	}
	return llm.Reply{}, ErrContextFull
}

// askFitted calls the model. Messages for which it has no room are dropped, and the cost of the closing call is held
// beside that of the call. least says that nothing more may be dropped: such a request is made where a refusal has named the
// window, because the estimate of its size is from above.
func (q *Query) askFitted(ctx context.Context, calls *paid.Calls, least *bool) (llm.Reply, error) {
	return calls.Ask(ctx, func() (llm.Request, error) {
		use := calls.Use
		r := q.Request(use)
		kept, fits := window.Fit(r, windowFor(r, calls), q.Answered)
		if dropped := len(r.Messages) - len(kept); dropped > 0 {
			q.Log.InfoContext(ctx, "turn.window", "turn_id", calls.Turn.ID, "model", use.Model, "window", use.Window, "dropped", dropped, "fits", fits)
		}
		r.Messages, *least = kept, !fits
		if !fits && !use.Narrowed {
			return r, ErrContextFull
		}
		if q.Closes {
			output := min(CloseOutput, r.MaxTokens)
			q.CloseFor = max(q.CloseFor, r.Estimate()+closeRoom)
			calls.Reserve = paid.Reserve{Input: min(q.CloseFor, use.Window-output), Output: output}
		}
		return r, nil
	})
}

// sure is the part of a window that is filled when the model's own usage showed how many tokens a request has.
const sure = 0.87

// windowFor returns the window of the chosen model in the tokens of llm.Estimate, which counts about twice as many as there
// are. It is the model's own count that matters, as soon as it is known; what is too long then is refused, and made shorter.
func windowFor(r llm.Request, calls *paid.Calls) int {
	use, ratio := calls.Use, calls.CharsPerToken()
	if ratio == llm.FirstRatio {
		return use.Window
	}
	real := float64(r.MostTokens()) / ratio / sure
	return max(use.Window, int(float64(use.Window)*float64(r.Estimate())/max(1, real)))
}

// Room is how many tokens the closing call has.
type Room struct{ Answer, Prompt int }

// Closing returns the last call of a turn or of a job, which may call no tool, and fits into room. Messages for which the model
// has no room are dropped. why says why it ends.
func (q *Query) Closing(use *eligibility.Selection, why string, room Room) (llm.Request, error) {
	r := q.Request(use)
	output := min(room.Answer, r.MaxTokens)
	end := llm.Message{Role: llm.System, Content: locale.ModelText("prompt.close", "why", why)}
	r.NoCalls, r.MaxTokens = true, output+end.Estimate()
	kept, fits := window.Fit(r, min(use.Window, room.Prompt+output), q.Answered)
	if !fits {
		return r, ErrContextFull
	}
	r.Messages, r.MaxTokens = slices.Concat(kept, []llm.Message{end}), output
	return r, nil
}

// LastCall makes a call of the chosen model, and of no other.
func LastCall(ctx context.Context, calls *paid.Calls, r llm.Request) (llm.Reply, error) {
	calls.Reserve = paid.Reserve{}
	return calls.Once(ctx, r)
}
