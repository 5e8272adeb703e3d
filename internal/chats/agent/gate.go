package agent

import (
	"cmp"
	"context"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
)

// Breakers stores the breakers of accounts' agents, shared by all processes. Each write is an
// atomic change of the stored breaker, also with concurrent writers, and returns the changed
// breaker.
type Breakers interface {
	Breaker(ctx context.Context, account ids.Account, agentID string) (Breaker, error)
	BreakerLister
	// TakeProbe applies Breaker.Probed. Of concurrent callers, Probe names the one that has the
	// probe.
	TakeProbe(ctx context.Context, account ids.Account, agentID, id string, p Policy, at time.Time) (Breaker, error)
	// CountFailure applies Breaker.AfterFailure. The same write queues a notification for hooks when a closed breaker opens.
	CountFailure(ctx context.Context, account ids.Account, agentID string, c Call, p Policy, at time.Time) (Breaker, error)
	CountAnswer(ctx context.Context, account ids.Account, agentID string, c Call, at time.Time) (Breaker, error)
	DropProbe(ctx context.Context, account ids.Account, agentID string, c Call, at time.Time) (Breaker, error)
	// NotePause applies Breaker.AfterPause.
	NotePause(ctx context.Context, account ids.Account, agentID string, until, at time.Time) (Breaker, error)
}

// BreakerLister lists the breakers of an account's agents. An agent without failures has none.
type BreakerLister interface {
	Breakers(ctx context.Context, account ids.Account) ([]Breaker, error)
}

// Outcome is the verdict of a call on the agent.
type Outcome int

// The outcomes of a call.
const (
	Nothing  Outcome = iota // no verdict: the caller cancelled, or the agent was not the cause
	Answered                // the agent answered
	Failed                  // the agent gave no answer, or an unusable one
)

// Bounds of a gate's waits and of its cache.
const (
	storeWait = 300 * time.Millisecond // default timeout of the store
	cacheTime = time.Second            // how long a cached breaker is valid; an open one until its time
	maxCached = 4096                   // breakers; a full cache is cleared
)

// Gate admits calls of agents by their breakers. Its cache is at most a second old, so that an
// agent that answers costs one read a second and no write. When the store is down or slow, every
// call is admitted: a breaker is optional.
type Gate struct {
	Store  Breakers
	Policy Policy        // unset members are Usual's
	Wait   time.Duration // timeout of the store; 0: 300 ms
	Now    func() time.Time
	NewID  func(time.Time) string
	Log    *slog.Logger

	mu   sync.Mutex
	held map[breakerKey]cachedBreaker
}

// breakerKey identifies a breaker.
type breakerKey struct {
	account ids.Account
	agentID string
}

// cachedBreaker is a cached breaker, valid between from and until. reading is closed when a
// running read is over.
type cachedBreaker struct {
	breaker     Breaker
	unknown     bool // the store did not answer
	from, until time.Time
	reading     chan struct{}
}

// Pass is an admitted call. The caller must call Done once, at the end of the call. The zero
// Pass is a call that is not counted.
type Pass struct {
	gate        *Gate
	at          breakerKey
	call        Call
	hadFailures bool // failures were known at the start of the call
}

// Enter admits a call of an agent, which has an id and a name. It returns ErrOpen when the agent is not called for now
// ("retry_at" has the time, RFC 3339, and "retry_after" the seconds), and ctx's error when ctx
// ended first.
func (g *Gate) Enter(ctx context.Context, account ids.Account, agentID, name string) (Pass, error) {
	at, p := breakerKey{account, agentID}, g.Policy.withDefaults()
	b, blind, err := g.load(ctx, at)
	if err != nil || blind {
		return Pass{}, err
	}
	if b.Admits(p, g.Now()) == Probing {
		id := g.NewID(g.Now())
		b, blind = g.query(ctx, at, "probe", func(ctx context.Context) (Breaker, error) {
			return g.Store.TakeProbe(ctx, account, agentID, id, p, g.Now())
		})
		switch {
		case blind:
			return Pass{}, nil
		case b.Probe == id:
			return Pass{gate: g, at: at, call: Call{Opens: b.Opens, Probe: id, Name: name}}, nil
		}
	}
	if now := g.Now(); b.Admits(p, now) != Admitted {
		return Pass{}, refusal(b, now)
	}
	return Pass{gate: g, at: at, call: Call{Opens: b.Opens, Name: name}, hadFailures: len(b.Failed) > 0}, nil
}

// refusal returns ErrOpen with the time of the next call. An agent that asked for it has "minutes", too.
func refusal(b Breaker, now time.Time) error {
	if b.Rests(now) {
		return withPause(ErrOpen, b.RetryAt(), now)
	}
	return withTime(ErrOpen, b.RetryAt(), now)
}

// withTime returns an error with the time of the next call.
func withTime(err *fault.Error, at, now time.Time) *fault.Error {
	seconds := max(1, int64((at.Sub(now)+time.Second-1)/time.Second))
	return err.With("retry_at", at.UTC().Format(time.RFC3339)).With("retry_after", strconv.FormatInt(seconds, 10))
}

// withPause returns an error of an agent that asked for a pause: a customer is told the minutes.
func withPause(err *fault.Error, at, now time.Time) *fault.Error {
	minutes := max(1, int64((at.Sub(now)+time.Minute-1)/time.Minute))
	return withTime(err, at, now).With("minutes", strconv.FormatInt(minutes, 10))
}

// Pause notes that an agent asks not to be called for a while, at most MostRest, and returns until when.
func (g *Gate) Pause(ctx context.Context, account ids.Account, agentID string, pause time.Duration) time.Time {
	now := g.Now()
	until := now.Add(min(pause, MostRest)).Truncate(time.Millisecond)
	at := breakerKey{account, agentID}
	if b, err := g.queryStore(ctx, at, "pause", func(ctx context.Context) (Breaker, error) {
		return g.Store.NotePause(ctx, account, agentID, until, now)
	}); err == nil {
		g.update(at, b, false)
	}
	return until
}

// load returns a breaker, or true when the store did not answer. Of concurrent callers, one
// reads the store.
func (g *Gate) load(ctx context.Context, at breakerKey) (Breaker, bool, error) {
	for {
		k, mine := g.lookUpCache(at)
		switch {
		case mine:
			b, blind := g.query(ctx, at, "read", func(ctx context.Context) (Breaker, error) {
				return g.Store.Breaker(ctx, at.account, at.agentID)
			})
			close(k.reading)
			return b, blind, nil
		case k.reading == nil:
			return k.breaker, k.unknown, nil
		}
		select {
		case <-k.reading:
		case <-ctx.Done():
			return Breaker{}, false, ctx.Err()
		}
	}
}

// lookUpCache returns the cached breaker; reading is nil when it is valid. Otherwise a read is
// running, and mine reports that the caller has to do it.
func (g *Gate) lookUpCache(at breakerKey) (k cachedBreaker, mine bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.Now()
	k = g.held[at]
	switch {
	case !now.Before(k.from) && now.Before(k.until):
		k.reading = nil
		return k, false
	case k.reading != nil:
		return k, false
	}
	k.reading = make(chan struct{})
	g.put(at, k)
	return k, true
}

// query reads or changes a breaker in the store and caches the result, also when the caller
// cancels. It returns true when the store did not answer.
func (g *Gate) query(ctx context.Context, at breakerKey, what string, f func(context.Context) (Breaker, error)) (Breaker, bool) {
	b, err := g.queryStore(ctx, at, what, f)
	g.update(at, b, err != nil)
	return b, err != nil
}

// queryStore calls the store, within its timeout.
func (g *Gate) queryStore(ctx context.Context, at breakerKey, what string, f func(context.Context) (Breaker, error)) (Breaker, error) {
	short, cancel := context.WithTimeout(context.WithoutCancel(ctx), cmp.Or(g.Wait, storeWait))
	defer cancel()
	b, err := f(short)
	if err != nil {
		g.Log.ErrorContext(ctx, "agent.breaker_unknown", "mcp_id", at.agentID, "asked", what, "error", err)
	}
	return b, err
}

// update caches the store's answer. It ignores an answer from before the breaker last opened.
func (g *Gate) update(at breakerKey, b Breaker, blind bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.Now()
	k := g.held[at]
	k.reading = nil
	if now.Before(k.until) && !k.unknown && k.breaker.Opens > b.Opens {
		g.put(at, k)
		return
	}
	k.breaker, k.unknown, k.from, k.until = b, blind, now, now.Add(cacheTime)
	if p := g.Policy.withDefaults(); !blind && b.Probe == "" && b.Admits(p, now) == Refused {
		k.until = b.RetryAt()
	}
	g.put(at, k)
}

func (g *Gate) put(at breakerKey, k cachedBreaker) {
	if _, has := g.held[at]; g.held == nil || !has && len(g.held) >= maxCached {
		g.held = map[breakerKey]cachedBreaker{}
	}
	g.held[at] = k
}

// Done ends a call, and reports whether the agent may be called again, by the known state.
func (p Pass) Done(ctx context.Context, o Outcome) (again bool) {
	g := p.gate
	if g == nil {
		return true
	}
	account, id, at := p.at.account, p.at.agentID, g.Now()
	policy := g.Policy.withDefaults()
	var change func(context.Context) (Breaker, error)
	switch {
	case o == Failed:
		change = func(ctx context.Context) (Breaker, error) {
			return g.Store.CountFailure(ctx, account, id, p.call, policy, at)
		}
	case o == Answered && (p.call.Probe != "" || p.hadFailures || g.hasFailures(p.at)):
		change = func(ctx context.Context) (Breaker, error) { return g.Store.CountAnswer(ctx, account, id, p.call, at) }
	case o == Nothing && p.call.Probe != "":
		change = func(ctx context.Context) (Breaker, error) { return g.Store.DropProbe(ctx, account, id, p.call, at) }
	default:
		return true
	}
	b, err := g.queryStore(ctx, p.at, "count", change)
	if err != nil {
		return true // the cached breaker stays
	}
	g.update(p.at, b, false)
	switch {
	case o == Failed && b.Opens == p.call.Opens+1 && b.OpenedAt.Equal(at.Truncate(time.Millisecond)):
		g.Log.WarnContext(ctx, "agent.breaker_opened", "mcp_id", id, "failures", len(b.Failed), "until", b.OpenUntil)
	case o == Answered && p.call.Probe != "" && b.OpenedAt.IsZero():
		g.Log.InfoContext(ctx, "agent.breaker_closed", "mcp_id", id)
	}
	return b.Admits(policy, g.Now()) == Admitted
}

// hasFailures reports whether the cached breaker has failures.
func (g *Gate) hasFailures(at breakerKey) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.held[at].breaker.Failed) > 0
}

// Breakers returns the stored breakers of an account's agents, without failures that are too old
// to count.
func (g *Gate) Breakers(ctx context.Context, account ids.Account) ([]Breaker, error) {
	list, err := g.Store.Breakers(ctx, account)
	for i, b := range list {
		list[i].Failed = b.Failed[:b.failuresInRow(g.Policy.withDefaults(), g.Now())]
	}
	return list, err
}
