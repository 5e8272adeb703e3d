package turn

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"piloto/internal/access/auth"
	"piloto/internal/chats/evidence"
	"piloto/internal/chats/history"
	"piloto/internal/chats/setup"
	"piloto/internal/chats/toolcall"
	"piloto/internal/conversation"
	"piloto/internal/ground/failpoint"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/sweep"
	"piloto/internal/ground/visible"
	"piloto/internal/models/credit"
	"piloto/internal/models/eligibility"
	"piloto/internal/models/llm"
	"piloto/internal/models/paid"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
)

// Bounds of a conclusion.
const (
	concludeTime   = 40 * time.Second // of all model calls, if a turn does not have more
	concludeAfter  = 15 * time.Second // of the lease, after the calls
	concludeTries  = 2                // an invocation that died is followed by one more
	concludeTokens = 600              // of the answer
	concludeBytes  = 4 << 10          // of its text
	concludeSweep  = 50               // conclusions of one sweep
	concludeShare  = 15 * time.Second // in which a sweep begins them: the last one ends before the function's time is over
)

// OutcomeConclude is the outcome in the usage record of a conclusion.
const OutcomeConclude = "conclude"

// The outcomes of a conclusion that is not written, beside the reasons of eligibility.
const (
	concludeGone    = "gone"        // the run or its chat was deleted
	concludeOff     = "off"         // it was switched off meanwhile
	concludeManual  = "manual"      // a person took the chat over
	concludeLost    = "interrupted" // both invocations died
	concludeEmpty   = "empty"       // the model wrote no text
	concludeFailed  = "failed"
	concludeWritten = "written"
)

// Concluder has the model describe the outcome of a run after it ended: the answer to the person's question, in the
// chat, after the final message. It gets no tools, so it can only write text.
//
// There is one conclusion of a run. The lease to write it is taken before a model is called, and ends with the message
// in one transaction. The lease of an invocation that died is taken once more; then the final message stands alone, as
// it does when the model may not, or cannot, write. The possible cost of a lost call is held until the sweep of credit
// releases it, as for a turn.
type Concluder struct {
	Service *Service
	Store   run.Concluder
}

// Conclude writes the conclusion of a run, if it is due. An error is internal, or says that another invocation may be
// writing it; the call may be repeated.
func (c *Concluder) Conclude(ctx context.Context, account ids.Account, runID string) error {
	s, at := c.Service, c.Service.Now()
	lease, err := c.Store.TakeConclusion(ctx, account, runID, at, s.Limits.conclusion()+concludeAfter)
	switch {
	case errors.Is(err, run.ErrConcluded):
		return nil
	case err != nil:
		return err
	}
	failpoint.Here("conclude.taken")
	w := &conclusion{service: s, lease: lease}
	outcome := concludeLost
	if lease.Tries <= concludeTries {
		if outcome, err = w.write(ctx); err != nil {
			return err
		}
	}
	failpoint.Here("conclude.written")
	return c.end(context.WithoutCancel(ctx), w, outcome)
}

// conclusion returns the bound of all model calls of a conclusion.
func (l Limits) conclusion() time.Duration { return max(concludeTime, l.Model) }

// end stores a conclusion, or that there is none, and settles the hold of its calls.
func (c *Concluder) end(ctx context.Context, w *conclusion, outcome string) error {
	s := c.Service
	err := c.Store.EndConclusion(ctx, w.lease, w.chat.Key(w.lease.Account), outcome, s.Now(), w.messages...)
	if errors.Is(err, conversation.ErrChatNotFound) { // it was deleted meanwhile
		outcome = concludeGone
		err = c.Store.EndConclusion(ctx, w.lease, w.chat.Key(w.lease.Account), outcome, s.Now())
	}
	failpoint.Here("conclude.stored")
	if w.calls != nil {
		if err := w.calls.Settle(ctx); err != nil { // the sweep of credit releases the hold
			s.Log.ErrorContext(ctx, "conclude.unsettled", "turn_id", w.calls.Turn.ID, "micros", w.calls.Turn.Micros, "error", err)
		}
	}
	if err != nil {
		return err
	}
	s.Log.InfoContext(ctx, "run.concluded", "account", w.lease.Account, "run_id", w.lease.RunID, "outcome", outcome, "tries", w.lease.Tries)
	return nil
}

// Sweep concludes the runs whose execution died before it did, and returns how many.
func (c *Concluder) Sweep(ctx context.Context) (int, error) {
	done := 0
	left := sweep.List[run.Key]{Name: "conclusions", Due: c.Store.LeftConclusions, Most: concludeSweep, Within: concludeShare, Each: c.Service.Limits.conclusion() + concludeAfter, Now: c.Service.Now, Log: c.Service.Log, Do: func(ctx context.Context, k run.Key) error {
		err := c.Conclude(ctx, k.Account, k.RunID)
		if errors.Is(err, run.ErrConcluding) { // another invocation writes it
			return nil
		}
		if err == nil {
			done++
		}
		return err
	}}
	_, err := left.Sweep(ctx)
	return done, err
}

// conclusion is one conclusion while it is written.
type conclusion struct {
	exchange
	service  *Service
	lease    run.Conclusion
	run      plan.Run
	reads    []conversation.Source // that the prompt has
	dataFrom []string              // ids of the services whose data the prompt has
	facts    evidence.Facts        // compared with its claims, besides the run
	asked    []string              // the person's messages, from the question to the end of the run
	told     []string              // what who set the model up wrote
	ended    time.Time             // of the final message
	zone     *time.Location        // in which the prompt tells the time
	messages []conversation.Message
}

// write asks the model, and leaves the message in messages. The outcome says why there is none.
func (w *conclusion) write(ctx context.Context) (string, error) {
	s, account := w.service, w.lease.Account
	var err error
	switch w.run, err = s.Plans.Bare(ctx, account, w.lease.RunID); {
	case errors.Is(err, plan.ErrRunNotFound):
		return concludeGone, nil
	case err != nil:
		return "", err
	}
	chat, err := s.Chats.Chat(ctx, account, w.run.ChatID)
	switch {
	case errors.Is(err, conversation.ErrChatNotFound):
		return concludeGone, nil
	case err != nil:
		return "", err
	}
	w.exchange = s.exchange(Request{
		Principal: auth.Principal{Account: account, User: w.run.User}, ChatID: chat.ID, Locale: locale.Tag(w.run.Locale), TraceID: w.run.TraceID,
	}, chat)
	set, err := s.Setups.Setup(ctx, setup.Of{Account: account, ProjectID: chat.ProjectID, Agent: chat.Agent})
	if err != nil {
		return "", err
	}
	snapshot, err := s.Paid.Eligibility.Snapshot(ctx, question(account, chat), set.AI)
	switch {
	case err != nil:
		return "", err
	case !set.AI.Concludes(chat.ProjectID, eligibility.Conclusion(chat.Conclude)):
		return concludeOff, nil
	case snapshot.Automation().Mode == eligibility.Manual:
		return concludeManual, nil
	}
	if err := w.prepare(ctx, set, snapshot); err != nil {
		return "", err
	}
	return w.ask(ctx, snapshot)
}

// prepare reads the chat, and writes the prompt: the transcript as the next turn has it, and what to do at its end.
func (w *conclusion) prepare(ctx context.Context, set setup.Setup, snapshot eligibility.Snapshot) error {
	s := w.service
	l := s.dialog(w.req, w.chat).loop
	l.began, l.calls = s.Now(), w.calls
	var loads errgroup.Group
	loads.Go(func() error { return l.equip(ctx, set) })
	loads.Go(func() (err error) {
		l.past, err = s.history().Load(ctx, history.Of{Account: w.lease.Account, Chat: w.chat, RunID: w.run.ID})
		return
	})
	err := loads.Wait()
	w.told = []string{l.persona, l.project.Context, l.agent.Prompt}
	if at := slices.IndexFunc(l.past.Runs, func(r plan.Run) bool { return r.ID == w.run.ID }); at >= 0 {
		w.run = l.past.Runs[at] // with its largest results
	}
	if err != nil {
		return err
	}
	l.files.Offered = hasFiles(l.chat, l.project) // the prompt begins with the tools of a turn, and reads no file
	w.read(l.past)
	task, err := locale.ModelPrompt("conclude", map[string]any{"Goal": toolcall.OneLine(w.run.Plan.Goal), "RunID": w.run.ID})
	if err != nil {
		return err
	}
	l.past.Texts = append(l.past.Texts, llm.Message{Role: llm.User, Content: task})
	if err := l.prepare(snapshot); err != nil {
		return err
	}
	w.dataFrom, w.zone = l.dataFrom(), zone(l.req, l.past.Texts, snapshot.Assistant)
	w.query = l.query
	w.query.NoCalls = true
	return nil
}

// ask asks the model, and makes a message of its answer.
func (w *conclusion) ask(ctx context.Context, snapshot eligibility.Snapshot) (string, error) {
	w.calls.Begin(w.record())
	snapshot.Need.Output = concludeTokens
	if block := w.query.Resolve(w.calls, snapshot); block != nil {
		return w.refuse(block), nil
	}
	asking, cancel := context.WithTimeout(ctx, w.service.Limits.conclusion())
	defer cancel()
	failpoint.Here("conclude.model.before")
	answer, err := w.query.Ask(asking, w.calls)
	failpoint.Here("conclude.model.after")
	blocked, isBlock := errors.AsType[paid.Blocked](err)
	switch {
	case isBlock:
		return w.refuse(blocked.Block), nil
	case err != nil:
		w.service.Log.WarnContext(ctx, "conclude.failed", "run_id", w.run.ID, "error", err)
		w.calls.Turn.Outcome = credit.OutcomeFailed
		return concludeFailed, nil
	}
	text := strings.TrimSpace(answer.Text)
	if visible.Blank(text) { // a call of a tool that it does not have is no text
		return concludeEmpty, nil
	}
	m, err := w.message(ctx, text)
	w.messages = []conversation.Message{m}
	return concludeWritten, err
}

// refuse notes why no model writes the conclusion. A quiet line says it where somebody has to pay.
func (w *conclusion) refuse(b *eligibility.Block) string {
	w.calls.Block(b)
	if b.Reason == eligibility.InsufficientCredits || b.Reason == eligibility.BudgetExceeded {
		said := locale.Joined{Phrases: []locale.Phrase{locale.Say("conclude." + string(b.Reason)), b.Detail()}, Between: " "}
		m := w.newMessage(conversation.KindNotice, said)
		m.Role, m.Code = conversation.RoleSystem, string(b.Reason)
		w.messages = []conversation.Message{m}
	}
	return string(b.Reason)
}

// record returns the record of this try. Its hold has an id of its own, because that of a try that died may be left.
func (w *conclusion) record() credit.Turn {
	return credit.Turn{
		ID: fmt.Sprintf("%s:%s:%d", w.run.ID, OutcomeConclude, w.lease.Tries), At: w.service.Now(), User: w.run.User, ChatID: w.chat.ID,
		ProjectID: w.chat.ProjectID, RunID: w.run.ID, Outcome: OutcomeConclude, Source: credit.SourceConclude,
	}
}
