package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"piloto/internal/ground/fault"
	"piloto/internal/tools/tool"
)

// ErrMisfit is an agent whose tool asks for what nobody has to give: Args["detail"].
var ErrMisfit = fault.New(fault.Upstream, "agent.arguments")

// Message is what an agent is told. Idempotency is the same whenever the same
// message is told again. An agent that heard it is not told it again, because it
// may have acted on it; one that was not reached, or refused it unheard, is.
type Message struct {
	Text        string
	Session     string
	Context     map[string]any
	Idempotency string
	TraceID     string
}

// Answer is what an agent said, a text for a person. Attempts, how many of them were
// the agent's failure, and Latency are of the whole, also when the error says that
// nothing came of it.
type Answer struct {
	Text     string
	Attempts int
	Failures int
	Latency  time.Duration
}

// Keys keeps the keys of servers.
type Keys interface {
	Credential(ctx context.Context, account string, s tool.Server) (tool.Credential, error)
}

// Freezer keeps which tools are others than the approved ones.
type Freezer interface {
	FreezeTool(ctx context.Context, account, serverID, seen, tool string, at time.Time) error
}

// Delegator asks agents. Rand draws from [0, d).
type Delegator struct {
	Caller   Caller
	Schemas  tool.Compiler // judges what agents are sent
	Keys     Keys
	Gate     *Gate
	Freeze   Freezer
	Attempts int           // at least 1
	Base     time.Duration // the most that is waited after the first attempt, and twice that after each further one
	Timeout  time.Duration // of all attempts at one message
	Trust    time.Duration // how old what is known of an agent's tools may be
	Now      func() time.Time
	Rand     func(time.Duration) time.Duration
	Log      *slog.Logger
}

// The bounds of a conversation with an agent.
const (
	mostAnswer = 1 << 20         // bytes of a result that are read
	least      = time.Second     // an attempt that could not have this long is not made
	fair       = 5 * time.Second // one that was out of time is the agent's failure when it had this long
	freezing   = 2 * time.Second // what noting a changed tool may take
)

// asking is one message on its way to an agent.
type asking struct {
	*Delegator
	account string
	agent   Agent
	message Message
	call    tool.Call
	began   time.Time
	made    int // attempts
	failed  int // those of them that were the agent's failure
}

// Ask tells an agent a message and returns what it says, within ctx's deadline.
// When nothing came of it the error is ErrOpen (it was not called at all),
// ErrSilent, ErrLate, ErrFailed, ErrGarbage, ErrFrozen, ErrForbidden or ErrMisfit,
// each with "agent", its name; or ctx's error when whoever asked went away.
func (d *Delegator) Ask(ctx context.Context, account string, a Agent, m Message) (Answer, error) {
	x := &asking{Delegator: d, account: account, agent: a, message: m, began: d.Now()}
	within, cancel := context.WithTimeout(ctx, d.Timeout)
	defer cancel()
	text, err := x.ask(within)
	if f := (*fault.Error)(nil); errors.As(err, &f) && strings.HasPrefix(f.Code, "agent.") {
		err = f.With("agent", a.Name)
	}
	return Answer{Text: text, Attempts: x.made, Failures: x.failed, Latency: d.Now().Sub(x.began)}, err
}

func (x *asking) ask(ctx context.Context) (string, error) {
	if err := x.prepare(ctx); err != nil {
		return "", err
	}
	var last error
	for n := 1; ; n++ {
		pass, err := x.Gate.Enter(ctx, x.account, x.agent.Server.ID)
		switch {
		case err != nil && last != nil && ctx.Err() == nil:
			return "", last // it opened: what opened it says more
		case err != nil:
			return "", err
		}
		e := x.attempt(ctx)
		if e.outcome == Failed {
			x.failed++
		}
		again := pass.Done(ctx, e.outcome)
		if e.err == nil {
			return e.text, nil
		}
		x.Log.WarnContext(ctx, "agent.attempt_failed", "session_id", x.message.Session, "agent_to_invoke", x.agent.Name,
			"attempt", n, "code", fault.Of(e.err).Code, "error", e.err)
		last = e.err
		if !again || !e.again || n >= x.Attempts || !x.pause(ctx, n, e.wait) {
			return "", x.ended(ctx, last)
		}
	}
}

// ended is the error of asking in vain: that whoever asked went away says nothing
// of the agent.
func (x *asking) ended(ctx context.Context, last error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}
	return last
}

// prepare makes the call that every attempt makes.
func (x *asking) prepare(ctx context.Context) error {
	s := x.agent.Server
	for _, name := range s.Frozen {
		if name == x.agent.Chat.Name {
			return ErrFrozen
		}
	}
	arguments, err := fit(x.Schemas, x.agent.Chat, x.message)
	if err != nil {
		return err
	}
	x.call = tool.Call{
		Server: s, Tool: x.agent.Chat.Name, Fingerprint: x.agent.Chat.Fingerprint, Arguments: arguments,
		Idempotency: x.message.Idempotency, TraceID: x.message.TraceID, Limit: mostAnswer, Trust: x.Trust,
	}
	if s.Key == nil {
		return nil
	}
	key, err := x.Keys.Credential(ctx, x.account, s)
	if err != nil {
		return fmt.Errorf("agent: the key of %s: %w", s.ID, err)
	}
	x.call.Key = &key
	return nil
}

// ending is how an attempt ended.
type ending struct {
	text    string
	err     error
	outcome Outcome
	again   bool          // another attempt may do better
	wait    time.Duration // that the agent asked for
}

// attempt calls the agent once.
func (x *asking) attempt(ctx context.Context) ending {
	x.made++
	began := x.Now()
	call := x.call
	if x.made > 1 { // what failed may be another tool by now
		call.Trust = 0
	}
	answer, err := x.Caller.CallTool(ctx, call)
	switch {
	case err == nil:
		return x.judge(answer)
	case errors.Is(err, tool.ErrToolChanged):
		x.freeze(ctx)
		return ending{err: ErrFrozen.Because(err)}
	case errors.Is(err, tool.ErrRefusedUs):
		// Nothing was heard; a token that was revoked is replaced by another, once.
		return ending{err: ErrForbidden.Because(err), again: x.made == 1 && call.Key != nil && call.Key.Place.In == "oauth"}
	case errors.Is(err, tool.ErrRequest):
		return ending{err: ErrMisfit.With("detail", fault.Of(err).Args["reason"]).Because(err)}
	case errors.Is(ctx.Err(), context.Canceled):
		return ending{err: ctx.Err()}
	}
	e := ending{err: unheard(err), outcome: Failed, again: errors.Is(err, tool.ErrNotSent)}
	if ctx.Err() != nil && x.Now().Sub(began) < min(fair, x.Timeout) {
		e.outcome = Nothing
	}
	return e
}

// unheard is why there is no answer to a call that nobody refused.
func unheard(err error) error {
	if errors.Is(err, tool.ErrNotSent) {
		return ErrSilent.Because(err)
	}
	switch fault.Of(err).Args["reason"] {
	case "size":
		return ErrGarbage.Because(err)
	case "status":
		return ErrFailed.Because(err)
	}
	return ErrLate.Because(err)
}

// judge says what an answer means. Only a refusal at the door is asked again: the
// agent did not hear the message.
func (x *asking) judge(a tool.Answer) ending {
	switch {
	case a.Status/100 != 2: // Failed, too: who refuses by status says more than that
		e := ending{err: ErrFailed.Because(errors.New("status " + strconv.Itoa(a.Status))), outcome: Failed}
		wait, asked := a.RetryAfter(x.Now())
		e.wait, e.again = wait, a.Status == 429 || a.Status == 503 && asked
		return e
	case a.Failed:
		return ending{err: ErrFailed.Because(errors.New(excerpt(a.Body))), outcome: Failed, again: a.Unheard} // then its tools are looked at
	}
	text, whole := speech(a.Body)
	switch {
	case text == "" || a.Truncated && !whole:
		return ending{err: ErrGarbage.Because(errors.New(excerpt(a.Body))), outcome: Failed}
	case broke(text):
		return ending{err: ErrFailed.Because(errors.New(excerpt(a.Body))), outcome: Failed}
	}
	return ending{text: text, outcome: Answered}
}

// excerpt is the beginning of what an agent said, for the log.
func excerpt(body []byte) string { return strings.ToValidUTF8(string(body[:min(len(body), 300)]), "?") }

// pause waits before the attempt after the nth, for as long as the agent asked and
// a while that is drawn; false when that attempt could not be made in time.
func (x *asking) pause(ctx context.Context, n int, asked time.Duration) bool {
	most := x.Base << (n - 1)
	if deadline, has := ctx.Deadline(); has {
		left := deadline.Sub(x.Now()) - asked - least
		if left < 0 {
			return false
		}
		most = min(most, left)
	}
	if most > 0 {
		asked += x.Rand(most)
	}
	timer := time.NewTimer(asked)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// freeze notes that the agent's tool is another than the approved one.
func (x *asking) freeze(ctx context.Context) {
	short, cancel := context.WithTimeout(context.WithoutCancel(ctx), freezing)
	defer cancel()
	s := x.agent.Server
	if err := x.Freeze.FreezeTool(short, x.account, s.ID, s.Catalogue, x.call.Tool, x.Now()); err != nil {
		x.Log.ErrorContext(ctx, "agent.not_frozen", "mcp_id", s.ID, "tool", x.call.Tool, "error", err)
	}
}
