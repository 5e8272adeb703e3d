// Package check finds out what a provider's model takes and how it answers, with five small calls that are paid and
// recorded as any others: a text, a tool, two tools at once, structured output, and a stream.
//
// Invariants: a check runs only after a person asked for it (Begin), once for each time that it was asked for, and one of a
// provider at a time. Without credit or budget for all of its calls none is made. Its end changes the check alone, and only
// while it is the one that was begun: one that was deleted or replaced meanwhile changes nothing. A check whose process died
// is not running any more after Life.
package check

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"time"

	"piloto/internal/ground/ids"
	"piloto/internal/models/credit"
	"piloto/internal/models/eligibility"
	"piloto/internal/models/llm"
	"piloto/internal/models/paid"
)

// Times of a check.
const (
	QueueTime = 12 * time.Minute // until its first call: a function that is throttled begins late
	Life      = 2 * time.Minute  // of all calls together
	callTime  = 40 * time.Second // of one call
	margin    = 15 * time.Second // to write the end
)

// Outcome is the outcome of a check in its usage record.
const Outcome = "check"

// Clients returns a client of a candidate that has learned nothing yet.
type Clients interface {
	Fresh(ctx context.Context, account ids.Account, c eligibility.Candidate) (llm.Learner, error)
}

// Service makes checks.
type Service struct {
	Eligibility *eligibility.Service
	Credit      *credit.Service
	Clients     Clients
	IDs         *ids.Source
	Now         func() time.Time
	Log         *slog.Logger
}

// Asked is what a person asks to be checked. An empty model is the one that the account uses there, or the last one that was
// checked.
type Asked struct {
	Account  ids.Account
	User     string
	Provider eligibility.Provider
	Model    string
}

// Begin notes that a check was asked for, and reports whether it is a new one. While one of the provider runs, that one is
// returned. The caller has it run (Run).
func (s *Service) Begin(ctx context.Context, a Asked) (eligibility.Check, bool, error) {
	for range 3 { // another process may begin one at the same time
		settings, err := s.Eligibility.Store.Settings(ctx, a.Account)
		if err != nil {
			return eligibility.Check{}, false, err
		}
		now := s.Now()
		before, there := settings.Checks[a.Provider.Name]
		same := before.BaseURL == a.Provider.BaseURL
		if there && same && before.Running(now) {
			return before, false, nil
		}
		model := cmp.Or(a.Model, s.Eligibility.ModelAt(settings, a.Provider.Name))
		if same {
			model = cmp.Or(model, before.Model)
		}
		c := eligibility.Check{
			ID: s.IDs.New(now), Provider: a.Provider.Name, BaseURL: a.Provider.BaseURL, Status: eligibility.CheckRunning,
			At: now, User: a.User, Until: now.Add(QueueTime), Model: model,
		}
		seen := &before
		if !there {
			seen = nil
		} else if same {
			c.Models = before.Models
		}
		switch err := s.Eligibility.Store.PutCheck(ctx, a.Account, seen, c); {
		case err == nil:
			return c, true, nil
		case !errors.Is(err, eligibility.ErrMoved):
			return eligibility.Check{}, false, err
		}
	}
	return eligibility.Check{}, false, eligibility.ErrMoved
}

// Abandon ends a check that could not be started.
func (s *Service) Abandon(ctx context.Context, account ids.Account, c eligibility.Check) {
	end := c
	end.Status, end.Reason = eligibility.CheckFailed, eligibility.InternalError
	if err := s.Eligibility.Store.PutCheck(context.WithoutCancel(ctx), account, &c, end); err != nil {
		s.Log.WarnContext(ctx, "check.unabandoned", "provider", c.Provider, "error", err)
	}
}

// Begun names a check that was begun.
type Begun struct {
	Provider string
	ID       string
}

// Run makes the calls of a check that was begun, and stores what they showed. It does nothing for a check that has ended, or
// that is gone. A check whose calls were begun before is ended without any further call: its process died. An error is
// internal, and nothing was called.
func (s *Service) Run(ctx context.Context, account ids.Account, b Begun) error {
	settings, err := s.Eligibility.Store.Settings(ctx, account)
	if err != nil {
		return err
	}
	c, there := settings.Checks[b.Provider]
	if !there || c.ID != b.ID || c.Status != eligibility.CheckRunning {
		return nil
	}
	r := &running{Service: s, account: account, check: c, stored: c}
	if c.Begun {
		r.fail(eligibility.CheckInterrupted)
		return r.store(ctx)
	}
	r.check.Begun, r.check.Until = true, s.Now().Add(Life+margin)
	if err := s.Eligibility.Store.PutCheck(ctx, account, &c, r.check); err != nil {
		return ignoreMoved(err)
	}
	r.stored = r.check
	r.make(ctx)
	return r.store(context.WithoutCancel(ctx))
}

func ignoreMoved(err error) error {
	if errors.Is(err, eligibility.ErrMoved) {
		return nil
	}
	return err
}

// running is a check whose calls are made.
type running struct {
	*Service
	account ids.Account
	check   eligibility.Check // with what was found up to now
	stored  eligibility.Check // as it was stored last
	calls   *paid.Calls
	client  llm.Learner
	window  int   // as the provider's list says it; 0: it does not
	called  bool  // the provider was asked
	health  error // how it answered the first call
}

// fail ends the check for a reason.
func (r *running) fail(why eligibility.Reason) {
	r.check.Status, r.check.Reason = eligibility.CheckFailed, why
}

// block ends the check because its calls cannot be made, with what was missing.
func (r *running) block(b *eligibility.Block) {
	r.fail(b.Reason)
	if short := (eligibility.Short{Passed: b.Passed, Balance: b.CreditBalance, Missing: b.Missing}); short != (eligibility.Short{}) {
		r.check.Short = &short
	}
}

// store writes the end of the check, if it is the one that was begun, and then the provider's health.
func (r *running) store(ctx context.Context) error {
	r.check.Until = r.Now()
	err := r.Eligibility.Store.PutCheck(ctx, r.account, &r.stored, r.check)
	if errors.Is(err, eligibility.ErrMoved) {
		r.Log.InfoContext(ctx, "check.gone", "provider", r.check.Provider)
		return nil
	}
	if err == nil && r.called {
		r.Eligibility.RecordHealth(ctx, r.account, r.check.Provider, r.health)
	}
	return err
}

// make makes the calls, and records what they cost.
func (r *running) make(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, Life)
	defer cancel()
	client := &oneClient{}
	service := &paid.Service{Eligibility: r.Eligibility, Credit: r.Credit, Models: client, Retry: llm.Retry{Most: 1, Now: r.Now}, Log: r.Log}
	r.calls = service.New(r.account)
	r.calls.Begin(credit.Turn{ID: r.check.ID, At: r.Now(), User: r.check.User, Outcome: Outcome, Source: credit.SourceCheck})
	if r.choose(ctx, client) {
		r.callAll(ctx)
	}
	r.check.Micros = r.calls.Turn.Micros
	if r.check.Status == eligibility.CheckFailed && !r.called {
		r.calls.Block(eligibility.Refuse(r.check.Reason, r.check.Provider))
	}
	if err := r.calls.Settle(ctx); err != nil { // the sweep releases the hold
		r.Log.ErrorContext(ctx, "check.unsettled", "turn_id", r.check.ID, "micros", r.check.Micros, "error", err)
	}
}

// choose finds the model and its client, within the account's credit and limits for all calls. It reports whether the calls
// may be made.
func (r *running) choose(ctx context.Context, client *oneClient) bool {
	if !r.resolve(ctx) {
		return false
	}
	var err error
	if r.client, err = r.Clients.Fresh(ctx, r.account, r.calls.Use.Candidate); err != nil {
		r.fail(reasonOf(err))
		return false
	}
	client.Learner = r.client
	listed, err := r.client.List(ctx)
	switch {
	case errors.Is(err, llm.ErrNoKey):
		r.called, r.health = true, err
		r.fail(eligibility.NoAPIKey)
		return false
	case r.check.Model == "" && (len(listed) != 1 || !eligibility.IsModelName(listed[0].ID)):
		r.fail(eligibility.CheckNoModel)
		return false
	case r.check.Model == "":
		if r.check.Model = listed[0].ID; !r.resolve(ctx) {
			return false
		}
	}
	if at := slices.IndexFunc(listed, func(m llm.Listed) bool { return m.ID == strings.TrimPrefix(r.check.Model, "models/") }); at >= 0 {
		r.window = listed[at].Window
	}
	return true
}

// resolve decides whether the calls may be made, and by whom they are paid. The model that is checked makes them,
// and not an assistant.
func (r *running) resolve(ctx context.Context) bool {
	need := eligibility.Need{}
	for _, p := range requests(r.check.Model) {
		need.Input, need.Output = need.Input+p.request.Estimate()+continued, need.Output+p.request.MaxTokens
	}
	snapshot, err := r.Eligibility.Read(ctx, eligibility.Question{Account: r.account, Need: need, Assistant: &eligibility.Assistant{
		Active: true, Provider: r.check.Provider, Model: r.check.Model, MaxTokens: need.Output, Automation: eligibility.Automation{Mode: eligibility.Automatic},
	}})
	if err != nil {
		r.Log.ErrorContext(ctx, "check.unread", "provider", r.check.Provider, "error", err)
		r.fail(eligibility.InternalError)
		return false
	}
	if block := r.calls.Resolve(snapshot); block != nil {
		r.block(block)
		return false
	}
	if r.calls.Use.BaseURL != r.check.BaseURL { // it was moved since the check was asked for
		r.fail(eligibility.CheckInterrupted)
		return false
	}
	return true
}

// oneClient gives the calls of one check the same client, so that each learns from those before it.
type oneClient struct{ llm.Learner }

// Model implements eligibility.Models.
func (c *oneClient) Model(context.Context, ids.Account, eligibility.Candidate) (llm.Model, error) {
	return c.Learner, nil
}

func reasonOf(err error) eligibility.Reason {
	if why, ok := eligibility.ReasonOf(err); ok {
		return why
	}
	return eligibility.InternalError
}
