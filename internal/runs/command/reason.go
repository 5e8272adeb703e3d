package command

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"time"

	"piloto/internal/ground/ids"
	"piloto/internal/ground/locale"
	"piloto/internal/models/credit"
	"piloto/internal/models/eligibility"
	"piloto/internal/models/llm"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
)

// FailedCode is the code of a step's failure that says that its command failed.
const FailedCode = "step.command_failed"

// OutcomeCommand is the outcome of the record of a call that asked for another
// command.
const OutcomeCommand = "command"

// Store reads runs and writes what became of a step.
type Store interface {
	Run(ctx context.Context, account, id string) (plan.Run, error)
	// EndStep writes a step's state with its event and its message, when the run is
	// as it was read; plan.ErrMoved.
	EndStep(ctx context.Context, r plan.Run, st plan.StepState, rec run.Record) (plan.Run, error)
}

// Service thinks of other commands in the place of ones that failed.
//
// A model is asked once for a step, however often Reason is called, and by however
// many at once. The hold of what it may cost, which is named after the step, is
// taken before; whoever finds it taken waits for what came of it, and takes it that
// nothing did once no call can be under way any more. What came of it is written in
// the step's state before the hold is settled. So a crash in the middle costs the
// attempt and not the run: the step is tried with the command that it has. Only
// when Reason is first called again after the sweep gave the hold of such a crash
// back is a model asked a second time.
type Service struct {
	Store       Store
	Eligibility *eligibility.Service
	Credit      *credit.Service
	Models      eligibility.Models
	Retry       llm.Retry
	IDs         *ids.Source
	Now         func() time.Time
	Log         *slog.Logger
}

// Bounds of a call.
const (
	askTime     = 40 * time.Second // what all providers together may take
	settleTime  = 3 * time.Second
	mostAnswer  = 600 // tokens
	leastAnswer = 120
	outputHead  = 500 // characters of an answer that the model is shown
	outputTail  = 900
)

// asked is the error of an invocation that finds another in its call.
type asked struct{}

// Error implements error.
func (asked) Error() string { return "another invocation may still be asking" }

// TaskErrorName is the name by which the state machine tries again, later.
func (asked) TaskErrorName() string { return "Step.Throttled" }

// errThought is that another invocation was done before this one held anything.
var errThought = errors.New("command: it was thought of before")

// Reason asks a model for another command for a step whose command failed, and
// writes in the step's state what it is tried with next: the other command, or the
// same one when none can be used, with the reason in the event and in the chat.
// It does nothing when the step is not one whose command failed, or has been thought
// of before. An error is ours: call again.
func (s *Service) Reason(ctx context.Context, account, runID, stepID string) error {
	r, err := s.Store.Run(ctx, account, runID)
	if err != nil {
		return err
	}
	step, ok := r.Plan.Step(stepID)
	if !ok || !due(r, stepID) {
		return nil
	}
	a := &asking{Service: s, run: r, step: step, state: r.State(stepID), tag: locale.Tag(r.Locale)}
	a.was, _ = Of(step.Method, step.Path, a.state.Last.Body)
	a.confirmed, _ = Of(step.Method, step.Path, step.Body)
	a.Meter = eligibility.NewMeter(s.Credit, account, credit.Turn{ID: runID + ":" + stepID, At: s.Now(), User: r.User, ChatID: r.ChatID, ProjectID: r.ProjectID, RunID: r.ID, Outcome: OutcomeCommand})
	a.Always = true
	said, err := a.think(ctx)
	if err != nil { // no model was asked: what was held goes back, and the next call holds it anew
		a.release(ctx)
		if errors.Is(err, errThought) {
			return nil
		}
		return err
	}
	ctx = context.WithoutCancel(ctx)
	err = s.write(ctx, a, said)
	if err == nil {
		a.settle(ctx)
	}
	return err
}

// due reports whether a step waits for another command.
func due(r plan.Run, stepID string) bool {
	st := r.State(stepID)
	active, e := r.Status == plan.Running || r.Status == plan.Waiting, plan.ParseEffect(stepID)
	return active && e.Item < 0 && !e.Undo && st.Approval == nil && !st.Status.Terminal() && !st.Last.Open && st.Command == nil && st.Error != nil && st.Error.Code == FailedCode
}

// asking is one step's call.
type asking struct {
	*Service
	eligibility.Meter
	run       plan.Run
	step      plan.Step
	state     plan.StepState
	tag       locale.Tag
	confirmed string // the command of the plan
	was       string // the one that failed
}

// outcome is what came of a call. An empty refused means that now may be run.
type outcome struct {
	now     string
	because string // a sentence
	refused string // a key of ours, or the reason of a block
}

func (a *asking) same(refused, because string) outcome {
	return outcome{now: a.was, because: because, refused: refused}
}

func (a *asking) because(key string) string { return locale.Text(a.tag, "command."+key) }

// think asks the model, or says why it is not asked.
func (a *asking) think(ctx context.Context) (outcome, error) {
	request, ok, err := a.request()
	switch {
	case err != nil:
		return outcome{}, err
	case !ok:
		a.Turn.Reason = "budget"
		return a.same("budget", a.because("budget")), nil
	}
	need := eligibility.Need{Input: request.Estimate(), Output: request.MaxTokens}
	snapshot, err := a.Eligibility.Read(ctx, eligibility.Question{Account: a.run.Account, ProjectID: a.run.ProjectID, Need: need})
	if err != nil {
		return outcome{}, err
	}
	use, block := eligibility.Resolve(snapshot, a.tag)
	if block != nil {
		return a.blocked(block), nil
	}
	answer, block, err := a.ask(ctx, use, request)
	switch {
	case errors.Is(err, credit.ErrMoved):
		return a.interrupted(ctx)
	case err != nil && len(a.Turn.Attempts) > 0: // it was asked, and is not asked again
		a.Log.WarnContext(ctx, "command.unanswered", "run_id", a.run.ID, "step_id", a.step.ID, "error", err)
		return a.same("interrupted", a.because("interrupted")), nil
	case err != nil:
		return outcome{}, err
	case block != nil:
		return a.blocked(block), nil
	}
	return a.read(answer), nil
}

// request is what the model is asked, within what the plan's ceiling leaves: without
// the command's output when there is no room for it; false when there is none at
// all.
func (a *asking) request() (llm.Request, bool, error) {
	left := a.run.Plan.Ceiling - spent(a.run)
	for _, shown := range []string{output(a.state.Result), ""} {
		prompt, err := locale.Prompt(a.tag, "command", map[string]any{
			"Goal": fenced(oneLine(a.run.Plan.Goal, 300)), "Title": fenced(oneLine(a.step.Title, 200)), "Was": fenced(excerpt(a.was)),
			"Failure": fenced(oneLine(a.state.Error.Message, 300)), "Output": fenced(shown),
		})
		if err != nil {
			return llm.Request{}, false, err
		}
		r := llm.Request{
			Messages: []llm.Message{{Role: llm.System, Content: prompt}, {Role: llm.User, Content: locale.Text(a.tag, "command.ask")}},
			Format:   format,
		}
		if r.MaxTokens = min(mostAnswer, left-r.Estimate()); r.MaxTokens >= leastAnswer {
			return r, true, nil
		}
	}
	return llm.Request{}, false, nil
}

// interrupted is the outcome when the hold is taken: nothing, once whoever took it
// cannot be asking any more.
func (a *asking) interrupted(ctx context.Context) (outcome, error) {
	kept, err := a.Service.Credit.Store.Hold(ctx, a.run.Account, a.Hold.ID)
	if err != nil && !errors.Is(err, credit.ErrSettled) {
		return outcome{}, err
	}
	if err != nil || a.Now().Before(kept.At.Add(askTime+settleTime)) {
		a.Hold.Asked = false // it is another's
		return outcome{}, asked{}
	}
	return a.same("interrupted", a.because("interrupted")), nil
}

func (a *asking) blocked(b *eligibility.Block) outcome {
	a.Turn.Outcome, a.Turn.Reason = credit.OutcomeBlocked, string(b.Reason)
	if a.Turn.Provider == "" {
		a.Turn.Provider = b.Provider
	}
	return a.same(string(b.Reason), locale.Text(a.tag, "command.unasked", "reason", b.Message))
}

// spent is how many tokens the run has used of its ceiling.
func spent(r plan.Run) int {
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

// read takes the other command from an answer, when it may be run.
func (a *asking) read(answer llm.Reply) outcome {
	from, to := strings.IndexByte(answer.Text, '{'), strings.LastIndexByte(answer.Text, '}')
	var said struct {
		Command *string `json:"command"`
		Because string  `json:"because"`
	}
	if answer.Cut || from < 0 || to < from || json.Unmarshal([]byte(answer.Text[from:to+1]), &said) != nil || said.Command == nil {
		return a.same("unusable", a.because("unusable"))
	}
	now := strings.TrimSpace(*said.Command)
	if why := Accept(a.confirmed, a.was, now); why != "" {
		return a.same(why, a.because(why))
	}
	because := oneLine(said.Because, 300)
	if because == "" {
		because = a.because("no_reason")
	}
	return outcome{now: now, because: because}
}

// write notes what the step is tried with next, unless somebody noted it first.
func (s *Service) write(ctx context.Context, a *asking, said outcome) error {
	return run.Retry(ctx, func() error {
		r, err := s.Store.Run(ctx, a.run.Account, a.run.ID)
		if err != nil {
			return err
		}
		if !due(r, a.step.ID) {
			return nil
		}
		at, st := s.Now(), r.State(a.step.ID)
		tokens := a.Turn.Input + a.Turn.Output
		asks := said.refused == "" && Asks(a.was, said.now)
		st.Command = &plan.Command{Was: a.was, Now: said.now, Because: said.because, Tokens: tokens, Asked: true, Asks: asks}
		st.UpdatedAt = at
		data := map[string]any{"was": a.was, "now": said.now, "because": said.because, "provider": a.Turn.Provider, "model": a.Turn.Model, "tokens": tokens, "asks": asks}
		key := "command.retried"
		if said.refused != "" {
			data["refused"], key = said.refused, "command.repeated"
		}
		rec := run.Record{At: at, Type: plan.EventStepReasoned, StepID: a.step.ID, Data: data}
		if !asks { // else the wait for an approval tells of it
			rec.Messages = a.say(r, key, at, "now", Line(said.now), "because", said.because)
		}
		_, err = s.Store.EndStep(ctx, r, st, rec)
		if err == nil {
			s.Log.InfoContext(ctx, "command.reasoned", "run_id", r.ID, "step_id", a.step.ID, "refused", said.refused,
				"provider", a.Turn.Provider, "model", a.Turn.Model, "tokens", tokens)
		}
		return err
	})
}

// place is where a step stands in its plan, from 1.
func place(p plan.Plan, stepID string) string {
	for i, s := range p.Steps {
		if s.ID == plan.ParseEffect(stepID).Step {
			return itoa(i + 1)
		}
	}
	return "1"
}

// excerpt is the beginning and the end of a text.
func excerpt(s string) string {
	runes := []rune(strings.ToValidUTF8(s, ""))
	if len(runes) <= outputHead+outputTail {
		return string(runes)
	}
	return string(runes[:outputHead]) + "\n…\n" + string(runes[len(runes)-outputTail:])
}

// output is what a command answered, as far as a model is shown it.
func output(res *plan.Result) string {
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
	raw, err := marshal(value) // what it says, and not how that was escaped
	if err != nil {
		raw = res.Body
	}
	return excerpt(string(raw))
}

// fenced makes a text safe between two tags of the prompt.
func fenced(s string) string {
	return strings.NewReplacer("<", "‹", ">", "›").Replace(strings.TrimSpace(s))
}
