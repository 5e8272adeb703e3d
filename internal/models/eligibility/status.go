package eligibility

import (
	"context"
	"errors"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"piloto/internal/ground/ids"
	"piloto/internal/models/credit"
	"piloto/internal/models/llm"
)

// Limits of the history and of the health.
const (
	mostAttempts = 20 // shown
	mostTurns    = 40 // turns read to find them
	historySpan  = 7 * 24 * time.Hour
	healthLife   = 5 * time.Minute  // life of the result of a call or a probe
	rejectedLife = 10 * time.Second // of one that rejected the key: a person who asks again may have mended it at the provider
	probeTime    = 4 * time.Second
)

// Status is the state of an account's AI (GET /ai/status).
type Status struct {
	Entitled   bool     // it may use AI
	Enabled    bool     // and it is switched on
	Configured bool     // there is an assistant, and its provider has a key
	Connected  bool     // the provider answered the last real call, or the probe
	Providers  []string // providers that it may use
	Provider   string   // provider of its assistant
	Model      string
	Priced     Priced    // source of the price of its model; "" without an assistant
	CheckedAt  time.Time // time of the last result; zero: never
	Outcome    string    // "ok", or the reason of the failure
	Attempts   []llm.Attempt
}

// Status returns the state of an account's AI. It probes the provider when there is no recent result.
func (s *Service) Status(ctx context.Context, account ids.Account, history credit.TurnReader, models Models) (Status, error) {
	var snapshot Snapshot
	var attempts []llm.Attempt
	var reads errgroup.Group
	reads.Go(func() (err error) {
		snapshot, err = s.Read(ctx, Question{Account: account, Need: NominalNeed()})
		return
	})
	reads.Go(func() (err error) { attempts, err = s.attempts(ctx, account, history); return })
	if err := reads.Wait(); err != nil {
		return Status{}, err
	}
	out := Status{
		Entitled: snapshot.Entitlement.Entitled, Enabled: snapshot.Entitlement.Enabled, Attempts: attempts,
	}
	var known Health
	for _, p := range snapshot.Providers {
		if snapshot.Entitlement.Allows(p.Name) {
			out.Providers = append(out.Providers, p.Name)
		}
		if snapshot.Assistant != nil && p.Name == snapshot.Assistant.Provider {
			known = p.Health
		}
	}
	if snapshot.Assistant == nil || !snapshot.Assistant.Active {
		return out, nil
	}
	out.Provider, out.Model = snapshot.Assistant.Provider, snapshot.Assistant.Model
	c, why := snapshot.candidate(Choice{Provider: out.Provider, Model: out.Model})
	out.Priced = c.Estimate.Priced
	out.Configured = why != NoAPIKey && why != NotEntitled
	if !out.Configured {
		return out, nil
	}
	h, err := s.health(ctx, account, c, known, attempts, models)
	if err != nil {
		return out, err
	}
	out.Connected, out.CheckedAt, out.Outcome = h.Outcome == llm.OK, h.At, h.Outcome
	return out, nil
}

// health returns the result of the provider's last call, or of a new probe when that is too old. known is the
// stored result.
func (s *Service) health(ctx context.Context, account ids.Account, c Candidate, known Health, attempts []llm.Attempt, models Models) (Health, error) {
	for _, a := range attempts {
		if a.Provider == c.Provider && a.At.After(known.At) && a.At.After(known.Since) {
			known.Provider, known.At, known.Outcome = a.Provider, a.At, a.Outcome
		}
	}
	life := healthLife
	if known.Outcome == string(NoAPIKey) {
		life = rejectedLife
	}
	if s.Now().Sub(known.At) < life && !s.Now().Before(known.At) {
		return known, nil
	}
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	h := Health{Provider: c.Provider, At: s.Now(), Outcome: llm.OK}
	model, err := models.Model(ctx, account, c)
	if prober, ok := model.(llm.Prober); ok && err == nil {
		err = prober.Probe(ctx)
	}
	if err != nil {
		h.Outcome = string(ProviderUnreachable)
		if why, ok := ReasonOf(err); ok {
			h.Outcome = string(why)
		}
		h.Waiting = s.waiting(err)
		s.Log.WarnContext(ctx, "provider.probe_failed", "provider", c.Provider, "reason", h.Outcome, "error", err)
	}
	return h, s.Store.PutHealth(context.WithoutCancel(ctx), account, h)
}

// waiting returns the time before which the provider asked for no call; zero for none.
func (s *Service) waiting(err error) time.Time {
	if after, ok := llm.RetryAfter(err); ok && errors.Is(err, llm.ErrLimited) {
		return s.Now().Add(after)
	}
	return time.Time{}
}

// RecordHealth stores the result of a provider call. It ignores errors that are not the provider's.
func (s *Service) RecordHealth(ctx context.Context, account ids.Account, provider string, err error) {
	h := Health{Provider: provider, At: s.Now(), Outcome: llm.OK}
	if err != nil {
		why, ok := ReasonOf(err)
		if !ok {
			return
		}
		h.Outcome, h.Waiting = string(why), s.waiting(err)
	}
	if err := s.Store.PutHealth(context.WithoutCancel(ctx), account, h); err != nil {
		s.Log.WarnContext(ctx, "provider.health_unwritten", "provider", provider, "error", err)
	}
}

// attempts returns the newest attempts at providers, the newest first.
func (s *Service) attempts(ctx context.Context, account ids.Account, history credit.TurnReader) ([]llm.Attempt, error) {
	attempts := []llm.Attempt{}
	turns := 0
	at := s.Now()
	err := history.Turns(ctx, account, at.Add(-historySpan), at.Add(time.Hour), func(t credit.Turn) bool {
		for _, a := range slices.Backward(t.Attempts) {
			if len(attempts) < mostAttempts {
				attempts = append(attempts, a)
			}
		}
		turns++
		return turns < mostTurns && len(attempts) < mostAttempts
	})
	return attempts, err
}

// Eligibility decides for GET /ai/eligibility, before there is a message. A key that the provider rejected is reported
// as rejected until another one is set, a turn is answered with it, or a probe (Status) is answered.
func (s *Service) Eligibility(ctx context.Context, q Question) (*Selection, *Block) {
	q.Need, q.Preview = NominalNeed(), true
	return s.Decide(ctx, q)
}
