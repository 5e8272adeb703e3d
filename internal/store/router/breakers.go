package router

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"piloto/internal/chats/agent"
	"piloto/internal/ground/ids"
	"piloto/internal/live/hook"
	"piloto/internal/store/hooks"
	"piloto/internal/store/kv"
)

// An account's breakers are one partition, PK A#acct#BREAKERS, SK AGENT#id. Each change is one
// conditional write: its conditions are those of agent.Breaker, and a row without opened_at is
// closed.
//
// The times of a row's failures are attributes of their own, f1 the last. A
// failure moves them all by one in the same write that counts it; 0 is none.

const breakerSK = "AGENT#"

// breakersKept is the life of a row after its last change.
const breakersKept = 7 * 24 * time.Hour

func breakersOf(account ids.Account) string { return kv.Account(account) + "#BREAKERS" }

func breakerKey(account ids.Account, agentID string) kv.Key {
	return kv.Key{PK: breakersOf(account), SK: breakerSK + agentID}
}

type breakerRow struct {
	SK        string `dynamodbav:"SK"`
	Opens     int64  `dynamodbav:"opens"`
	OpenedAt  int64  `dynamodbav:"opened_at"`
	OpenUntil int64  `dynamodbav:"open_until"`
	Probe     string `dynamodbav:"probe"`
	ProbedAt  int64  `dynamodbav:"probed_at"`
	ProbedBy  int64  `dynamodbav:"probed_by"`
	RestUntil int64  `dynamodbav:"rest_until,omitempty"`
}

func breakerOf(it kv.Item) (agent.Breaker, error) {
	var row breakerRow
	if err := kv.Decode(it, &row); err != nil {
		return agent.Breaker{}, err
	}
	b := agent.Breaker{
		Agent: strings.TrimPrefix(row.SK, breakerSK), Opens: row.Opens,
		OpenedAt: kv.Time(row.OpenedAt), OpenUntil: kv.Time(row.OpenUntil),
		Probe: row.Probe, ProbedAt: kv.Time(row.ProbedAt), ProbedBy: kv.Time(row.ProbedBy), RestUntil: kv.Time(row.RestUntil),
	}
	for n := 1; n <= agent.MostFailures; n++ {
		ms, counted, err := kv.Int(it, string(failureName(n)))
		if err != nil {
			return agent.Breaker{}, err
		}
		if !counted || ms == 0 {
			break
		}
		b.Failed = append(b.Failed, kv.Time(ms))
	}
	return b, nil
}

// Breaker returns an agent's breaker; a closed one when there is no row.
func (s *Store) Breaker(ctx context.Context, account ids.Account, agentID string) (agent.Breaker, error) {
	row, err := s.table.Row(ctx, breakerKey(account, agentID))
	if err != nil || row == nil {
		return agent.Breaker{Agent: agentID}, err
	}
	return breakerOf(row)
}

// Breakers returns the breakers of an account that have a row.
func (s *Store) Breakers(ctx context.Context, account ids.Account) ([]agent.Breaker, error) {
	items, err := s.table.Read(ctx, kv.Rows(breakersOf(account), breakerSK), 0)
	if err != nil {
		return nil, err
	}
	list := make([]agent.Breaker, len(items))
	for i, it := range items {
		if list[i], err = breakerOf(it); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// move returns an update of a breaker, whose row lives on.
func move(account ids.Account, agentID string, at time.Time) kv.Write {
	return kv.Update(breakerKey(account, agentID)).Set("ttl", at.Add(breakersKept).Unix()).Else(errBreakerMoved)
}

// TakeProbe makes the probe of an agent the caller's, when its breaker admits one
// and nobody else took it. It returns the breaker as it stands: Probe says whose
// it is.
func (s *Store) TakeProbe(ctx context.Context, account ids.Account, agentID, id string, p agent.Policy, at time.Time) (agent.Breaker, error) {
	by := at.Add(p.Probe)
	w := move(account, agentID, at).Set("probe", id).Set("probed_at", at).Set("probed_by", by).If(
		kv.Exists("opened_at"), kv.Any(kv.AtMost("open_until", at), kv.AtLeast("opened_at", at.Add(p.Open))),
		kv.Any(kv.Missing("probe"), kv.AtMost("probed_by", at), kv.AtLeast("probed_at", by)),
		kv.Any(kv.Missing("rest_until"), kv.AtMost("rest_until", at), kv.Greater("rest_until", at.Add(agent.MostRest))),
	)
	b, _, err := s.moveBreaker(ctx, agentID, w)
	return b, err
}

// CountFailure counts a failed call of an agent, and opens its breaker when that was a probe or one too many. It returns
// the breaker as it stands. A breaker that was closed has a notification; one that a probe opens again had it before.
func (s *Store) CountFailure(ctx context.Context, account ids.Account, agentID string, c agent.Call, p agent.Policy, at time.Time) (agent.Breaker, error) {
	failed := move(account, agentID, at).Set("f1", at)
	for n := 2; n <= p.Failures; n++ {
		failed = failed.Set(failureName(n), failureName(n-1).IfMissing(0))
	}
	opening := failed.Set("opened_at", at).Set("open_until", at.Add(p.Open)).Add("opens", 1)
	if c.Probe != "" {
		b, _, err := s.moveBreaker(ctx, agentID, opening.Remove(probing...).If(kv.Is("probe", c.Probe)))
		return b, err
	}
	opening, failed = opening.If(countsFor(c)), failed.If(countsFor(c))
	if p.Failures < 2 { // one is enough
		b, _, err := s.openBreaker(ctx, account, agentID, at, opening, c, p)
		return b, err
	}
	full := fullRow(p, at)
	opening, counting := opening.If(full), failed.Set("opens", c.Opens).If(kv.Not(full))
	for range mostTurns { // each fails when another moved the row meanwhile
		b, moved, err := s.moveBreaker(ctx, agentID, counting)
		if !moved && err == nil && b.OpenedAt.IsZero() && b.Opens == c.Opens {
			b, moved, err = s.openBreaker(ctx, account, agentID, at, opening, c, p)
		}
		if moved || err != nil || !b.OpenedAt.IsZero() || b.Opens != c.Opens {
			return b, err
		}
	}
	return agent.Breaker{}, errRow
}

// openBreaker makes a move that opens a closed breaker, with its notification in the same transaction, if a hook wants it.
// It returns the breaker as it stands.
func (s *Store) openBreaker(ctx context.Context, account ids.Account, agentID string, at time.Time, w kv.Write, c agent.Call, p agent.Policy) (agent.Breaker, bool, error) {
	message, err := hook.NewMessage(hook.BreakerOpened, at, hook.BreakerData{
		Agent: c.Name, MCPID: agentID, Failures: p.Failures, RetryAt: at.Add(p.Open).UTC().Format(time.RFC3339), Path: hook.AgentsPath,
	})
	if err != nil {
		return agent.Breaker{Agent: agentID}, false, err
	}
	outbox, err := hooks.Tell(ctx, s.table, account, agentID+"#"+strconv.FormatInt(c.Opens+1, 10), at, message)
	if err != nil {
		return agent.Breaker{Agent: agentID}, false, err
	}
	if len(outbox) == 0 {
		return s.moveBreaker(ctx, agentID, w)
	}
	err = s.table.Commit(ctx, append(outbox, w)...)
	moved := err == nil
	if err != nil && !errors.Is(err, errBreakerMoved) {
		return agent.Breaker{Agent: agentID}, false, err
	}
	b, err := s.Breaker(ctx, account, agentID)
	return b, moved, err
}

var errBreakerMoved = errors.New("store: the breaker changed after it was read")

// mostTurns is how often a count is tried; it has to meet an answer between its
// two writes to be needed twice.
const mostTurns = 8

var errRow = errors.New("store: the row of an agent's failures moved at every try")

// CountAnswer notes that a call of an agent was answered: that ends a row of
// failures, and a probe closes its breaker. It returns the breaker as it stands.
func (s *Store) CountAnswer(ctx context.Context, account ids.Account, agentID string, c agent.Call, at time.Time) (agent.Breaker, error) {
	w := move(account, agentID, at).Remove("opened_at", "open_until").Remove(probing...)
	for n := range agent.MostFailures {
		w = w.Remove(failureName(n + 1))
	}
	if c.Probe == "" {
		w = w.If(kv.Missing("opened_at"), kv.Is("opens", c.Opens))
	} else {
		w = w.If(kv.Is("probe", c.Probe))
	}
	b, _, err := s.moveBreaker(ctx, agentID, w)
	return b, err
}

// DropProbe gives up the probe that a call is, and whose result says nothing of
// the agent: another may make it. It returns the breaker as it stands.
func (s *Store) DropProbe(ctx context.Context, account ids.Account, agentID string, c agent.Call, at time.Time) (agent.Breaker, error) {
	b, _, err := s.moveBreaker(ctx, agentID, move(account, agentID, at).Remove(probing...).If(kv.Is("probe", c.Probe)))
	return b, err
}

// NotePause notes until when an agent asks not to be called. It returns the breaker as it stands.
func (s *Store) NotePause(ctx context.Context, account ids.Account, agentID string, until, at time.Time) (agent.Breaker, error) {
	b, _, err := s.moveBreaker(ctx, agentID, move(account, agentID, at).Set("rest_until", until).Add("opens", 0))
	return b, err
}

// probing are the attributes of a breaker that is being probed.
var probing = []kv.Path{"probe", "probed_at", "probed_by"}

func failureName(n int) kv.Path { return kv.Path("f" + strconv.Itoa(n)) }

// countsFor is the condition of a non-probe result: it counts only while the breaker is closed, and if the breaker did not
// open since the call began.
func countsFor(c agent.Call) kv.Condition {
	closed := kv.All(kv.Missing("opened_at"), kv.Is("opens", c.Opens))
	if c.Opens == 0 {
		return kv.Any(kv.Missing("PK"), closed)
	}
	return closed
}

// fullRow is the condition that one more failure makes a row.
func fullRow(p agent.Policy, at time.Time) kv.Condition {
	var all []kv.Condition
	for n := 1; n < p.Failures; n++ {
		all = append(all, kv.Between(failureName(n), kv.Millis(at.Add(-p.Window))+1, kv.Millis(at.Add(p.Window))-1))
	}
	return kv.All(all...)
}

// moveBreaker makes a move while its condition holds, and returns the breaker as
// it stands after that.
func (s *Store) moveBreaker(ctx context.Context, agentID string, w kv.Write) (agent.Breaker, bool, error) {
	row, moved, err := s.table.Try(ctx, w)
	if err != nil || row == nil {
		return agent.Breaker{Agent: agentID}, false, err
	}
	b, err := breakerOf(row)
	return b, moved && err == nil, err
}
