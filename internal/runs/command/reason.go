package command

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"time"

	"piloto/internal/conversation"
	"piloto/internal/ground/clip"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/jcs"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/retry"
	"piloto/internal/models/credit"
	"piloto/internal/models/eligibility"
	"piloto/internal/models/llm"
	"piloto/internal/models/paid"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
)

// FailedCode is the failure code of a step whose command reported failure.
const FailedCode = "step.command_failed"

// OutcomeCommand is the outcome in the usage record of a call that asked for a replacement command.
const OutcomeCommand = "command"

// Store reads runs and writes the states of steps.
type Store interface {
	plan.Reader
	run.Mover
}

// Service asks a model for a command that replaces a failed one.
//
// A model is asked once for each step, however often, and from however many processes, Reason is
// called. The hold for the greatest cost has an id that is derived from the step, and is taken
// before the call. An invocation that finds the hold taken waits for the result, and assumes that
// there is none when no call can be in flight any more. The result is written to the step's state
// before the hold is settled. So a crash in between costs this attempt and not the run: the step
// repeats its present command. A model is asked a second time only when Reason is first called
// again after the sweep released the hold of such a crash.
type Service struct {
	Store Store
	Paid  *paid.Service
	IDs   *ids.Source
	Now   func() time.Time
	Log   *slog.Logger
}

// Limits of a call.
const (
	askTimeout      = 40 * time.Second // timeout of all providers together
	maxAnswerTokens = 600              // tokens
	minAnswerTokens = 120
	outputHead      = 500 // characters of a response that the model receives
	outputTail      = 900
)

// askingError is the error of an invocation while another one is in its call.
type askingError struct{}

// Error implements error.
func (askingError) Error() string { return "another invocation may still be asking" }

// TaskErrorName returns the name by which the state machine retries later.
func (askingError) TaskErrorName() string { return "Step.Throttled" }

// errReasoned means that another invocation finished before this one held credit.
var errReasoned = errors.New("command: it was thought of before")

// Reason asks a model for a replacement when the command of a step failed, and writes the command
// of the next attempt to the step's state: the replacement, or the same command when the model
// gives no acceptable one. The event and the chat hold the reason. Reason does nothing if the
// command did not fail, or if the model was already asked. An error is internal, and the call may
// be repeated.
func (s *Service) Reason(ctx context.Context, k run.Key, id plan.EffectID) error {
	r, err := s.Store.Run(ctx, k.Account, k.RunID)
	if err != nil {
		return err
	}
	step, ok := r.Plan.Step(id)
	if !ok || !isDue(r, id) {
		return nil
	}
	a := &reasoning{service: s, run: r, step: step, state: r.State(id), tag: locale.Tag(r.Locale)}
	a.was, _ = Of(withBody(step.Arguments(), a.state.Last.Body))
	a.confirmed, _ = Of(step.Arguments())
	a.calls = s.Paid.New(k.Account)
	a.calls.Session = locale.Text(a.tag, "command.session")
	a.calls.Begin(credit.Turn{ID: k.RunID + ":" + id.String(), At: s.Now(), User: r.User, ChatID: r.ChatID, ProjectID: r.ProjectID, RunID: r.ID, Outcome: OutcomeCommand, Source: credit.SourceReason})
	a.calls.Alone = a.checkDue
	result, err := a.decide(ctx)
	if err != nil { // no model was called: the hold is released, and the next invocation holds again
		if err := a.calls.Release(ctx); err != nil {
			s.Log.WarnContext(ctx, "command.unreleased", "turn_id", a.calls.Turn.ID, "error", err)
		}
		if errors.Is(err, errReasoned) {
			return nil
		}
		return err
	}
	ctx = context.WithoutCancel(ctx)
	if err := s.write(ctx, a, result); err != nil {
		return err
	}
	if err := a.calls.Settle(ctx); err != nil { // the sweep releases the hold
		turn := a.calls.Turn
		s.Log.ErrorContext(ctx, "command.unsettled", "turn_id", turn.ID, "micros", turn.Micros, "tokens", turn.Charged, "error", err)
	}
	return nil
}

// isDue reports whether a step waits for a replacement of its command.
func isDue(r plan.Run, id plan.EffectID) bool {
	st := r.State(id)
	active := r.Status == plan.Running || r.Status == plan.Waiting
	return active && id.Whole() && st.Approval == nil && !st.Status.Terminal() && !st.Last.Open && st.Command == nil && st.Error != nil && st.Error.Code == FailedCode
}

// reasoning is the reasoning about one step.
type reasoning struct {
	calls     *paid.Calls
	service   *Service
	run       plan.Run
	step      plan.Step
	state     plan.StepState
	tag       locale.Tag
	confirmed string // the command of the plan
	was       string // the failed command
}

// outcome is the result of the reasoning. With an empty refused, now may be run.
type outcome struct {
	now     string
	because locale.Phrase
	refused string // a key of locale, or the reason of a block
}

func (a *reasoning) keepCommand(refused string, because locale.Phrase) outcome {
	return outcome{now: a.was, because: because, refused: refused}
}

func sentence(key string) locale.Phrase { return locale.Say("command." + key) }

// decide asks the model, or returns the reason why it is not asked.
func (a *reasoning) decide(ctx context.Context) (outcome, error) {
	request, ok, err := a.request()
	switch {
	case err != nil:
		return outcome{}, err
	case !ok:
		a.calls.Turn.Reason = "budget"
		return a.keepCommand("budget", sentence("budget")), nil
	}
	need := eligibility.Need{Input: request.Estimate(), Output: request.MaxTokens}
	snapshot, err := a.service.Paid.Eligibility.Read(ctx, eligibility.Question{Account: a.run.Account, ProjectID: a.run.ProjectID, Need: need})
	if err != nil {
		return outcome{}, err
	}
	if block := a.calls.Resolve(snapshot); block != nil {
		return a.keepBlocked(block), nil
	}
	answer, err := a.ask(ctx, request)
	blocked, isBlock := errors.AsType[paid.Blocked](err)
	switch {
	case errors.Is(err, credit.ErrAlreadyWritten):
		return a.awaitOther(ctx)
	case isBlock:
		return a.keepBlocked(blocked.Block), nil
	case err != nil && len(a.calls.Turn.Attempts) > 0: // the model was called, and is not called again
		a.service.Log.WarnContext(ctx, "command.unanswered", "run_id", a.run.ID, "step_id", a.step.ID, "error", err)
		return a.keepCommand("interrupted", sentence("interrupted")), nil
	case err != nil:
		return outcome{}, err
	}
	return a.parse(answer), nil
}

// ask calls the selected model, or another one that the assistant lists.
func (a *reasoning) ask(ctx context.Context, r llm.Request) (llm.Reply, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	return a.calls.Ask(ctx, func() (llm.Request, error) {
		use, turn := a.calls.Use, &a.calls.Turn
		r.Model, r.Temperature = use.Model, use.Assistant.Temperature
		turn.Provider, turn.Model, turn.Priced = use.Provider, use.Model, string(use.Estimate.Priced)
		return r, nil
	})
}

// checkDue returns errReasoned when a previous holder finished.
func (a *reasoning) checkDue(ctx context.Context) error {
	now, err := a.service.Store.Run(ctx, a.run.Account, a.run.ID)
	if err == nil && !isDue(now, a.step.ID) {
		err = errReasoned
	}
	return err
}

// request builds the request to the model, within the rest of the plan's ceiling. If the command's
// output does not fit, it is left out. It returns false if nothing fits.
func (a *reasoning) request() (llm.Request, bool, error) {
	left := a.run.Plan.Ceiling - tokensUsed(a.run)
	for _, shown := range []string{outputOf(a.state.Result), ""} {
		prompt, err := locale.Prompt(a.tag, "command", map[string]any{
			"Goal": llm.Escape(oneLine(a.run.Plan.Goal, 300)), "Title": llm.Escape(oneLine(a.step.Title, 200)), "Was": llm.Escape(excerpt(a.was)),
			"Failure": llm.Escape(oneLine(a.state.Error.Message, 300)), "Output": llm.Escape(shown),
		})
		if err != nil {
			return llm.Request{}, false, err
		}
		r := llm.Request{
			Messages: []llm.Message{{Role: llm.System, Content: prompt}, {Role: llm.User, Content: locale.Text(a.tag, "command.ask")}},
			Format:   format,
		}
		if r.MaxTokens = min(maxAnswerTokens, left-r.Estimate()); r.MaxTokens >= minAnswerTokens {
			return r, true, nil
		}
	}
	return llm.Request{}, false, nil
}

// awaitOther returns the outcome when another invocation has the hold: none, once that invocation
// cannot be in its call any more.
func (a *reasoning) awaitOther(ctx context.Context) (outcome, error) {
	kept, err := a.service.Paid.Credit.Kept(ctx, a.calls.Hold)
	if err != nil && !errors.Is(err, credit.ErrSettled) {
		return outcome{}, err
	}
	if err != nil || a.service.Now().Before(kept.At.Add(askTimeout+paid.SettleTime)) {
		a.calls.Hold.Asked = false // the hold belongs to another invocation
		return outcome{}, askingError{}
	}
	return a.keepCommand("interrupted", sentence("interrupted")), nil
}

func (a *reasoning) keepBlocked(b *eligibility.Block) outcome {
	a.calls.Block(b)
	return a.keepCommand(string(b.Reason), locale.Say("command.unasked", "reason", b.Message()))
}

// tokensUsed returns the number of tokens that the run has used of its ceiling.
func tokensUsed(r plan.Run) int {
	n := 0
	for _, st := range r.Steps {
		if st.Command != nil {
			n += st.Command.Tokens
		}
	}
	return n
}

var format = &llm.Format{Name: "other_command", Schema: json.RawMessage(
	`{"type":"object","properties":{"command":{"type":"string"},"because":{"type":"string"}},"required":["command","because"],"additionalProperties":false}`)}

// parse returns the command in a response, if it may be run.
func (a *reasoning) parse(answer llm.Reply) outcome {
	from, to := strings.IndexByte(answer.Text, '{'), strings.LastIndexByte(answer.Text, '}')
	var parsed struct {
		Command *string `json:"command"`
		Because string  `json:"because"`
	}
	if answer.Cut || from < 0 || to < from || json.Unmarshal([]byte(answer.Text[from:to+1]), &parsed) != nil || parsed.Command == nil {
		return a.keepCommand("unusable", sentence("unusable"))
	}
	now := strings.TrimSpace(*parsed.Command)
	if why := (Replacement{a.confirmed, a.was, now}).Refused(); why != "" {
		return a.keepCommand(why, sentence(why))
	}
	if because := oneLine(parsed.Because, 300); because != "" {
		return outcome{now: now, because: locale.Verbatim(because)}
	}
	return outcome{now: now, because: sentence("no_reason")}
}

// write writes the command of the next attempt, unless another invocation wrote it first.
func (s *Service) write(ctx context.Context, a *reasoning, result outcome) error {
	return retry.Do(ctx, func() error {
		r, err := s.Store.Run(ctx, a.run.Account, a.run.ID)
		if err != nil {
			return err
		}
		if !isDue(r, a.step.ID) {
			return nil
		}
		at, st := s.Now(), r.State(a.step.ID)
		tokens, because := a.calls.Turn.Input+a.calls.Turn.Output, r.Text(result.because)
		asks := result.refused == "" && Replacement{Failed: a.was, Other: result.now}.Asks()
		st.Command = &plan.Command{Was: a.was, Now: result.now, Because: because, Tokens: tokens, Asked: true, Asks: asks}
		st.UpdatedAt = at
		data := map[string]any{"was": a.was, "now": result.now, "because": because, "provider": a.calls.Turn.Provider, "model": a.calls.Turn.Model, "tokens": tokens, "asks": asks}
		key := "command.retried"
		if result.refused != "" {
			data["refused"], key = result.refused, "command.repeated"
		}
		rec := run.Record{At: at, Type: plan.EventStepReasoned, StepID: a.step.ID, Data: data}
		if !asks { // otherwise the approval request posts it
			rec.Messages = a.messages(r, key, at, "now", Line(result.now), "because", because)
		}
		_, err = s.Store.MoveRun(ctx, r, run.Move{Record: rec, State: &st})
		if err == nil {
			s.Log.InfoContext(ctx, "command.reasoned", "run_id", r.ID, "step_id", a.step.ID, "refused", result.refused,
				"provider", a.calls.Turn.Provider, "model", a.calls.Turn.Model, "tokens", tokens)
		}
		return err
	})
}

// messages returns the chat's message about the step.
func (a *reasoning) messages(r plan.Run, key string, at time.Time, more ...any) []conversation.Message {
	args := append([]any{"at", r.Plan.Place(a.step.ID), "n", len(r.Plan.Steps), "title", a.step.Title}, more...)
	return []conversation.Message{run.Message(a.service.IDs, r, conversation.KindProgress, at, a.tag, locale.Say(key, args...))}
}

// excerpt returns the beginning and the end of a text.
func excerpt(s string) string {
	return clip.Middle(strings.ToValidUTF8(s, ""), outputHead, func(int) string { return "\n…\n" }, outputTail)
}

// outputOf returns the part of a command's output that the model receives.
func outputOf(res *plan.Result) string {
	if res == nil {
		return ""
	}
	var value any
	if json.Unmarshal(res.Body, &value) != nil {
		return excerpt(string(res.Body))
	}
	if text, ok := value.(string); ok {
		return excerpt(text)
	}
	raw, err := jcs.Marshal(value) // the text itself, without its escapes
	if err != nil {
		raw = res.Body
	}
	return excerpt(string(raw))
}
