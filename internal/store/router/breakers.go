package router

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"piloto/internal/chats/agent"
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

func breakersKey(account string) string { return kv.Account(account) + "#BREAKERS" }

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
		ms, counted, err := kv.Int(it, failureName(n))
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
func (s *Store) Breaker(ctx context.Context, account, agentID string) (agent.Breaker, error) {
	row, err := s.table.Row(ctx, breakersKey(account), breakerSK+agentID)
	if err != nil || row == nil {
		return agent.Breaker{Agent: agentID}, err
	}
	return breakerOf(row)
}

// Breakers returns the breakers of an account that have a row.
func (s *Store) Breakers(ctx context.Context, account string) ([]agent.Breaker, error) {
	items, err := s.table.Read(ctx, kv.Rows(breakersKey(account), breakerSK), 0)
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

// breakerMove is one conditional write of a breaker.
type breakerMove struct {
	set, remove []string
	condition   string
	values      kv.Item
}

// TakeProbe makes the probe of an agent the caller's, when its breaker admits one
// and nobody else took it. It returns the breaker as it stands: Probe says whose
// it is.
func (s *Store) TakeProbe(ctx context.Context, account, agentID, id string, p agent.Policy, at time.Time) (agent.Breaker, error) {
	b, _, err := s.moveBreaker(ctx, account, agentID, at, breakerMove{
		set: []string{"probe = :id", "probed_at = :at", "probed_by = :by"},
		condition: "attribute_exists(opened_at) AND (open_until <= :at OR opened_at >= :open)" +
			" AND (attribute_not_exists(probe) OR probed_by <= :at OR probed_at >= :by)" +
			" AND (attribute_not_exists(rest_until) OR rest_until <= :at OR rest_until > :rest)",
		values: kv.Item{
			":id": kv.S(id), ":at": kv.N(kv.Millis(at)), ":open": kv.N(kv.Millis(at.Add(p.Open))), ":by": kv.N(kv.Millis(at.Add(p.Probe))),
			":rest": kv.N(kv.Millis(at.Add(agent.MostRest))),
		},
	})
	return b, err
}

// CountFailure counts that a call of an agent failed, and opens its breaker when
// that was a probe or one too many. It returns the breaker as it stands. Hooks are
// told of a breaker that was closed: one that a probe opens again was told.
func (s *Store) CountFailure(ctx context.Context, account, agentID string, c agent.Call, p agent.Policy, at time.Time) (agent.Breaker, error) {
	shift := []string{"f1 = :at"}
	for n := 2; n <= p.Failures; n++ {
		shift = append(shift, fmt.Sprintf("%s = if_not_exists(%s, :none)", failureName(n), failureName(n-1)))
	}
	opening := breakerMove{
		set:    append([]string{"opened_at = :at", "open_until = :until", "opens = :opens + :one"}, shift...),
		values: kv.Item{":at": kv.N(kv.Millis(at)), ":until": kv.N(kv.Millis(at.Add(p.Open))), ":one": kv.N(1), ":none": kv.N(0)},
	}
	if c.Probe != "" {
		opening.set[2] = "opens = opens + :one"
		opening.remove = probing
		opening.condition, opening.values[":probe"] = "probe = :probe", kv.S(c.Probe)
		if p.Failures < 2 {
			delete(opening.values, ":none")
		}
		b, _, err := s.moveBreaker(ctx, account, agentID, at, opening)
		return b, err
	}
	counts, full := countsFor(c), fullRow(p)
	opening.values[":opens"] = kv.N(c.Opens)
	if full == "" { // one is enough
		delete(opening.values, ":none")
		opening.condition = counts
		b, _, err := s.openBreaker(ctx, account, agentID, at, opening, c, p)
		return b, err
	}
	opening.condition = counts + " AND " + full
	opening.values[":from"], opening.values[":to"] = kv.N(kv.Millis(at.Add(-p.Window))+1), kv.N(kv.Millis(at.Add(p.Window))-1)
	counting := breakerMove{
		set: append([]string{"opens = :opens"}, shift...), condition: counts + " AND NOT (" + full + ")",
		values: without(opening.values, ":until", ":one"),
	}
	for range mostTurns { // each fails when another moved the row meanwhile
		b, moved, err := s.moveBreaker(ctx, account, agentID, at, counting)
		if !moved && err == nil && b.OpenedAt.IsZero() && b.Opens == c.Opens {
			b, moved, err = s.openBreaker(ctx, account, agentID, at, opening, c, p)
		}
		if moved || err != nil || !b.OpenedAt.IsZero() || b.Opens != c.Opens {
			return b, err
		}
	}
	return agent.Breaker{}, errRow
}

// openBreaker makes a move that opens a closed breaker, and has the hooks told in the same transaction, if they want
// it. It returns the breaker as it stands.
func (s *Store) openBreaker(ctx context.Context, account, agentID string, at time.Time, m breakerMove, c agent.Call, p agent.Policy) (agent.Breaker, bool, error) {
	message, err := hook.NewMessage(hook.BreakerOpened, at, hook.BreakerData{
		Agent: c.Name, MCPID: agentID, Failures: p.Failures, RetryAt: at.Add(p.Open).UTC().Format(time.RFC3339), Path: hook.AgentsPath,
	})
	if err != nil {
		return agent.Breaker{Agent: agentID}, false, err
	}
	told, err := hooks.Tell(ctx, s.table, account, agentID+"#"+strconv.FormatInt(c.Opens+1, 10), at, message)
	if err != nil {
		return agent.Breaker{Agent: agentID}, false, err
	}
	if len(told) == 0 {
		return s.moveBreaker(ctx, account, agentID, at, m)
	}
	err = s.table.Commit(ctx, append(told, m.write(account, agentID, at, errBreakerMoved))...)
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
func (s *Store) CountAnswer(ctx context.Context, account, agentID string, c agent.Call, at time.Time) (agent.Breaker, error) {
	move := breakerMove{remove: append([]string{"opened_at", "open_until"}, probing...), condition: "probe = :probe", values: kv.Item{":probe": kv.S(c.Probe)}}
	if c.Probe == "" {
		move.condition = "attribute_exists(PK) AND attribute_not_exists(opened_at) AND opens = :opens"
		move.values = kv.Item{":opens": kv.N(c.Opens)}
	}
	for n := range agent.MostFailures {
		move.remove = append(move.remove, failureName(n+1))
	}
	b, _, err := s.moveBreaker(ctx, account, agentID, at, move)
	return b, err
}

// DropProbe gives up the probe that a call is, and whose result says nothing of
// the agent: another may make it. It returns the breaker as it stands.
func (s *Store) DropProbe(ctx context.Context, account, agentID string, c agent.Call, at time.Time) (agent.Breaker, error) {
	b, _, err := s.moveBreaker(ctx, account, agentID, at, breakerMove{
		remove: probing, condition: "probe = :probe", values: kv.Item{":probe": kv.S(c.Probe)},
	})
	return b, err
}

// NotePause notes until when an agent asks not to be called. It returns the breaker as it stands.
func (s *Store) NotePause(ctx context.Context, account, agentID string, until, at time.Time) (agent.Breaker, error) {
	b, _, err := s.moveBreaker(ctx, account, agentID, at, breakerMove{
		set: []string{"rest_until = :until", "opens = if_not_exists(opens, :none)"}, values: kv.Item{":until": kv.N(kv.Millis(until)), ":none": kv.N(0)},
	})
	return b, err
}

// probing are the attributes of a breaker that is being probed.
var probing = []string{"probe", "probed_at", "probed_by"}

func failureName(n int) string { return "f" + strconv.Itoa(n) }

// countsFor is the condition under which the result of a call that is no probe
// counts: the breaker is closed, and did not open since the call began.
func countsFor(c agent.Call) string {
	if c.Opens == 0 {
		return "(attribute_not_exists(PK) OR attribute_not_exists(opened_at) AND opens = :opens)"
	}
	return "attribute_not_exists(opened_at) AND opens = :opens"
}

// fullRow is the condition that one more failure makes a row; "" when one alone does.
func fullRow(p agent.Policy) string {
	var all []string
	for n := 1; n < p.Failures; n++ {
		all = append(all, failureName(n)+" BETWEEN :from AND :to")
	}
	return strings.Join(all, " AND ")
}

func without(values kv.Item, names ...string) kv.Item {
	rest := kv.Item{}
	for name, v := range values {
		rest[name] = v
	}
	for _, name := range names {
		delete(rest, name)
	}
	return rest
}

// moveBreaker makes a move while its condition holds, and returns the breaker as
// it stands after that.
func (s *Store) moveBreaker(ctx context.Context, account, agentID string, at time.Time, m breakerMove) (agent.Breaker, bool, error) {
	row, moved, err := s.table.Try(ctx, m.write(account, agentID, at, nil))
	if err != nil || row == nil {
		return agent.Breaker{Agent: agentID}, false, err
	}
	b, err := breakerOf(row)
	return b, moved && err == nil, err
}

// write returns a move as a write.
func (m breakerMove) write(account, agentID string, at time.Time, otherwise error) kv.Write {
	change := "SET " + strings.Join(append([]string{"#ttl = :ttl"}, m.set...), ", ")
	if len(m.remove) > 0 {
		change += " REMOVE " + strings.Join(m.remove, ", ")
	}
	values := without(m.values)
	values[":ttl"] = kv.N(at.Add(breakersKept).Unix())
	return kv.Update(breakersKey(account), breakerSK+agentID, change, m.condition, values, otherwise).Named("#ttl", "ttl")
}
