package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"piloto/internal/ground/clip"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/meaning"
	"piloto/internal/ground/retry"
	"piloto/internal/tools/tool"
)

// ErrMisfit is the error when an agent's tool requires arguments that no message has:
// Args["detail"].
var ErrMisfit = fault.New(fault.Upstream, "agent.arguments")

// Message is the input of an agent. Idempotency is the same for each attempt. An agent that
// received the message does not get it again, because it may have acted on it; an agent that was
// not reached, or refused it unread, does.
type Message struct {
	Text        string
	Session     string
	Context     map[string]any
	Idempotency string
	TraceID     string
}

// Answer holds an agent's text for a person. Attempts, and Failures (the attempts that the
// agent failed), count all attempts, also when there is an error.
type Answer struct {
	Text     string
	Attempts int
	Failures int
}

// Delegator calls agents. Rand draws from [0, d).
type Delegator struct {
	Caller   tool.Caller
	Schemas  tool.Compiler // checks the arguments of agents' tools
	Keys     tool.KeyReader
	Gate     *Gate
	Freeze   tool.Freezer
	Attempts int           // at least 1
	Base     time.Duration // maximum pause after the first attempt; it doubles after each further one
	Timeout  time.Duration // of all attempts at one message
	Trust    time.Duration // maximum age of the cached list of an agent's tools
	Now      func() time.Time
	Rand     func(time.Duration) time.Duration
	Log      *slog.Logger
}

// Bounds of a call of an agent.
const (
	maxAnswer      = 1 << 20         // maximum size of a result, in bytes
	minAttempt     = time.Second     // no attempt starts with less time than this
	minFairAttempt = 5 * time.Second // a timeout counts as the agent's failure from this duration on
	freezeTime     = 2 * time.Second // timeout for recording a changed tool
)

// delegation is one message on its way to an agent.
type delegation struct {
	*Delegator
	account  ids.Account
	agent    Agent
	message  Message
	call     tool.Call
	attempts int // attempts
	failures int // attempts that the agent failed
}

// Ask sends a message to an agent and returns its answer, within ctx's deadline. Its errors are
// ErrOpen (the agent was not called), ErrSilent, ErrLate, ErrDoubt, ErrFailed, ErrGarbage,
// ErrFrozen, ErrForbidden and ErrMisfit, each with the agent's name as "agent"; or ctx's error
// when the caller cancelled.
func (d *Delegator) Ask(ctx context.Context, account ids.Account, a Agent, m Message) (Answer, error) {
	x := &delegation{Delegator: d, account: account, agent: a, message: m}
	within, cancel := context.WithTimeout(ctx, d.Timeout)
	defer cancel()
	text, err := x.ask(within)
	if f := (*fault.Error)(nil); errors.As(err, &f) && strings.HasPrefix(f.Code, "agent.") {
		err = f.With("agent", a.Name)
	}
	return Answer{Text: text, Attempts: x.attempts, Failures: x.failures}, err
}

func (x *delegation) ask(ctx context.Context) (string, error) {
	if err := x.prepare(ctx); err != nil {
		return "", err
	}
	var last error
	for n := 1; ; n++ {
		pass, err := x.Gate.Enter(ctx, x.account, x.agent.Server.ID, x.agent.Name)
		switch {
		case err != nil && last != nil && ctx.Err() == nil:
			return "", last // the breaker opened: the error that opened it is more precise
		case err != nil:
			return "", err
		}
		e := x.attempt(ctx)
		if e.outcome == Failed {
			x.failures++
		}
		again := pass.Done(ctx, e.outcome)
		if e.err == nil {
			return e.text, nil
		}
		x.Log.WarnContext(ctx, "agent.attempt_failed", "session_id", x.message.Session, "agent_to_invoke", x.agent.Name,
			"attempt", n, "code", fault.Of(e.err).Code, "error", e.err)
		last = e.err
		if !again || !e.retry || n >= x.Attempts || !x.pause(ctx, n, e.wait) {
			return "", x.contextError(ctx, x.paused(ctx, last, e.rest))
		}
	}
}

// paused notes the pause that an agent asks for, so that no later message calls it before, and returns the error with its end.
func (x *delegation) paused(ctx context.Context, err error, rest time.Duration) error {
	f, ok := errors.AsType[*fault.Error](err)
	if rest <= 0 || !ok {
		return err
	}
	return withPause(f, x.Gate.Pause(ctx, x.account, x.agent.Server.ID, rest), x.Now())
}

// contextError returns ctx's error when the caller cancelled, because that says nothing about
// the agent. Otherwise it returns the last error.
func (x *delegation) contextError(ctx context.Context, last error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}
	return last
}

// prepare builds the call that every attempt makes.
func (x *delegation) prepare(ctx context.Context) error {
	s := x.agent.Server
	for _, name := range s.Frozen {
		if name == x.agent.Chat.Name {
			return ErrFrozen
		}
	}
	arguments, err := buildArguments(x.Schemas, x.agent.Chat, x.message)
	if err != nil {
		return err
	}
	x.call = tool.Call{
		Server: s, Tool: x.agent.Chat.Name, Fingerprint: x.agent.Chat.Fingerprint, Arguments: arguments,
		Idempotency: x.message.Idempotency, TraceID: x.message.TraceID, Limit: maxAnswer, Trust: x.Trust,
	}
	if len(s.Keys) == 0 {
		return nil
	}
	if x.call.Keys, err = x.Keys.Keys(ctx, x.account, s); err != nil {
		return fmt.Errorf("agent: the keys of %s: %w", s.ID, err)
	}
	return nil
}

// attemptResult is the result of an attempt.
type attemptResult struct {
	text    string
	err     error
	outcome Outcome
	retry   bool          // another attempt may succeed
	wait    time.Duration // pause that the agent asked for
	rest    time.Duration // the same, where it says that it did nothing, and without the limit of an attempt
}

// attempt calls the agent once.
func (x *delegation) attempt(ctx context.Context) attemptResult {
	x.attempts++
	began := x.Now()
	call := x.call
	if x.attempts > 1 { // the tool may have changed since the failure
		call.Trust = 0
	}
	answer, err := x.Caller.CallTool(ctx, call)
	switch {
	case err == nil:
		return x.resultOf(answer)
	case errors.Is(err, tool.ErrToolChanged):
		x.freeze(ctx)
		return attemptResult{err: ErrFrozen.Because(err)}
	case errors.Is(err, tool.ErrUnauthorized), errors.Is(err, tool.ErrSignIn):
		// The agent did not read the message. A revoked token is replaced once.
		return attemptResult{err: ErrForbidden.Because(err), retry: x.attempts == 1 && call.Keys.Exchanged()}
	case errors.Is(err, tool.ErrRequest):
		return attemptResult{err: ErrMisfit.With("detail", fault.Of(err).Args["reason"]).Because(err)}
	case errors.Is(ctx.Err(), context.Canceled):
		return attemptResult{err: ctx.Err()}
	}
	e := attemptResult{err: transportError(err), outcome: Failed, retry: errors.Is(err, tool.ErrNotSent)}
	e.wait, _ = tool.WaitOf(err)
	if e.retry {
		e.rest = e.wait
	}
	if ctx.Err() != nil && x.Now().Sub(began) < min(minFairAttempt, x.Timeout) {
		e.outcome = Nothing
	}
	return e
}

// transportError returns the error of a call that was not refused and has no answer.
func transportError(err error) error {
	if errors.Is(err, tool.ErrNotSent) {
		return ErrSilent.Because(err)
	}
	if fault.Of(err).Args["reason"] == "size" || tool.CameOf(err) != "" {
		return ErrGarbage.Because(err)
	}
	return ErrLate.Because(err)
}

// resultOf evaluates an answer. Only a refusal from before the agent read the message is
// retried. A refusal of the tool, by its code, is one: the next attempt reads the tools again.
func (x *delegation) resultOf(a tool.Answer) attemptResult {
	m, wait := a.Meaning()
	why := errors.New("status " + strconv.Itoa(a.Status) + ": " + excerpt(a.Body))
	switch {
	case m == meaning.Unknown && (meaning.Redirects(a.Status) || !x.agent.Server.ErrorsReject()):
		return attemptResult{err: ErrDoubt.Because(why), outcome: Failed}
	case m == meaning.Later:
		return attemptResult{err: ErrFailed.Because(why), outcome: Failed, retry: true, wait: wait, rest: a.Wait}
	case m != meaning.Done:
		return attemptResult{err: ErrFailed.Because(why), outcome: Failed, retry: m == meaning.Refused && a.Code != "", wait: wait}
	case a.Failed:
		return attemptResult{err: ErrFailed.Because(why), outcome: Failed}
	}
	text, whole := resultText(a.Body)
	switch {
	case text == "" || a.Truncated && !whole:
		return attemptResult{err: ErrGarbage.Because(errors.New(excerpt(a.Body))), outcome: Failed}
	case isWorkflowError(text): // some of its steps may be done
		return attemptResult{err: ErrDoubt.Because(errors.New(excerpt(a.Body))), outcome: Failed}
	}
	return attemptResult{text: text, outcome: Answered}
}

// excerpt returns the beginning of an agent's answer, for the log.
func excerpt(body []byte) string { return clip.Bytes(strings.ToValidUTF8(string(body), "?"), 300) }

// pause waits after the nth attempt, for the time that the agent asked and a random time. It
// returns false when the next attempt would start too late.
func (x *delegation) pause(ctx context.Context, n int, asked time.Duration) bool {
	most := x.Base << (n - 1)
	if deadline, has := ctx.Deadline(); has {
		left := deadline.Sub(x.Now()) - asked - minAttempt
		if left < 0 {
			return false
		}
		most = min(most, left)
	}
	if most > 0 {
		asked += x.Rand(most)
	}
	return retry.Wait(ctx, asked) == nil
}

// freeze records that the agent's tool differs from the approved one.
func (x *delegation) freeze(ctx context.Context) {
	short, cancel := context.WithTimeout(context.WithoutCancel(ctx), freezeTime)
	defer cancel()
	s := x.agent.Server
	if err := x.Freeze.FreezeTool(short, x.account, s.ID, s.Catalogue, x.call.Tool, x.Now()); err != nil {
		x.Log.ErrorContext(ctx, "agent.not_frozen", "mcp_id", s.ID, "tool", x.call.Tool, "error", err)
	}
}
