package agent

import (
	"cmp"
	"context"
	"log/slog"
	"strconv"
	"sync"
	"time"
)

// Breakers keeps what accounts know of their agents, for everyone who calls them.
// A write is one change of what is there now, also when many make theirs at once,
// and each verb returns the breaker as it stands after it.
type Breakers interface {
	Breaker(ctx context.Context, account, agentID string) (Breaker, error)
	Breakers(ctx context.Context, account string) ([]Breaker, error)
	// TakeProbe is Breaker.Probed: of all who try, Probe names the one who has it.
	TakeProbe(ctx context.Context, account, agentID, id string, p Policy, at time.Time) (Breaker, error)
	CountFailure(ctx context.Context, account, agentID string, c Call, p Policy, at time.Time) (Breaker, error)
	CountAnswer(ctx context.Context, account, agentID string, c Call, at time.Time) (Breaker, error)
	DropProbe(ctx context.Context, account, agentID string, c Call, at time.Time) (Breaker, error)
}

// Outcome is what the end of a call says of the agent.
type Outcome int

// The outcomes of a call.
const (
	Nothing  Outcome = iota // nothing: whoever asked went away, or it was not the agent's doing
	Answered                // it answered
	Failed                  // it did not, or nothing that could be used
)

// How long a gate waits and remembers.
const (
	slowest  = 300 * time.Millisecond // what the store may take of a call, usually
	fresh    = time.Second            // how long what is known of a breaker is relied on; of an open one, until its time
	mostHeld = 4096                   // breakers; then the gate begins to learn anew
)

// Gate lets calls of agents through, as their breakers say. What it knows is a
// second old at most, so that an agent that answers costs one read a second and
// no write. When the store is down or slow everybody is let through: a breaker
// only helps.
type Gate struct {
	Store  Breakers
	Policy Policy        // what it does not say is Usual's
	Wait   time.Duration // what the store may take of a call; 300 ms when it does not say
	Now    func() time.Time
	NewID  func(time.Time) string
	Log    *slog.Logger

	mu   sync.Mutex
	held map[entrance]known
}

// entrance names a breaker.
type entrance struct{ account, agentID string }

// known is what the gate knows of a breaker: relied on from when it was learnt
// until it is stale. reading is closed once somebody's reading of it is over.
type known struct {
	breaker     Breaker
	blind       bool // the store did not say
	from, until time.Time
	reading     chan struct{}
}

// Pass is an admitted call. Its Done must be called once, when the call is over.
// The zero Pass is that of a call that nobody counts.
type Pass struct {
	gate *Gate
	at   entrance
	call Call
	row  bool // failures were known when the call began
}

// Enter admits a call of an agent. It returns ErrOpen when the agent is not called
// for now ("retry_at" says until when, RFC 3339, and "retry_after" for how many
// seconds), and ctx's error when that ended first.
func (g *Gate) Enter(ctx context.Context, account, agentID string) (Pass, error) {
	at, p := entrance{account, agentID}, g.Policy.whole()
	b, blind, err := g.look(ctx, at)
	if err != nil || blind {
		return Pass{}, err
	}
	if b.Admits(p, g.Now()) == Probing {
		id := g.NewID(g.Now())
		b, blind = g.ask(ctx, at, "probe", func(ctx context.Context) (Breaker, error) {
			return g.Store.TakeProbe(ctx, account, agentID, id, p, g.Now())
		})
		switch {
		case blind:
			return Pass{}, nil
		case b.Probe == id:
			return Pass{gate: g, at: at, call: Call{Opens: b.Opens, Probe: id}}, nil
		}
	}
	if now := g.Now(); b.Admits(p, now) != Admitted {
		return Pass{}, refusal(b, now)
	}
	return Pass{gate: g, at: at, call: Call{Opens: b.Opens}, row: len(b.Failed) > 0}, nil
}

// refusal says until when an agent is not called.
func refusal(b Breaker, now time.Time) error {
	seconds := max(1, int64((b.RetryAt().Sub(now)+time.Second-1)/time.Second))
	return ErrOpen.With("retry_at", b.RetryAt().Format(time.RFC3339)).With("retry_after", strconv.FormatInt(seconds, 10))
}

// look returns what is known of a breaker, or that nothing is. Of all who ask at
// once one reads.
func (g *Gate) look(ctx context.Context, at entrance) (Breaker, bool, error) {
	for {
		k, mine := g.recall(at)
		switch {
		case mine:
			b, blind := g.ask(ctx, at, "read", func(ctx context.Context) (Breaker, error) {
				return g.Store.Breaker(ctx, at.account, at.agentID)
			})
			close(k.reading)
			return b, blind, nil
		case k.reading == nil:
			return k.breaker, k.blind, nil
		}
		select {
		case <-k.reading:
		case <-ctx.Done():
			return Breaker{}, false, ctx.Err()
		}
	}
}

// recall returns what is held of a breaker: reading is nil when that can be relied
// on. Else somebody reads it anew, and the caller does when it is theirs to.
func (g *Gate) recall(at entrance) (k known, mine bool) {
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
	g.hold(at, k)
	return k, true
}

// ask has the store say how a breaker stands, in time, whoever goes away
// meanwhile. True: it did not.
func (g *Gate) ask(ctx context.Context, at entrance, what string, f func(context.Context) (Breaker, error)) (Breaker, bool) {
	b, err := g.timed(ctx, at, what, f)
	g.learn(at, b, err != nil)
	return b, err != nil
}

// timed asks the store, for as long as it may take.
func (g *Gate) timed(ctx context.Context, at entrance, what string, f func(context.Context) (Breaker, error)) (Breaker, error) {
	short, cancel := context.WithTimeout(context.WithoutCancel(ctx), cmp.Or(g.Wait, slowest))
	defer cancel()
	b, err := f(short)
	if err != nil {
		g.Log.ErrorContext(ctx, "agent.breaker_unknown", "mcp_id", at.agentID, "asked", what, "error", err)
	}
	return b, err
}

// learn holds what the store said of a breaker. What was read before the breaker
// opened again, and comes after, is not news.
func (g *Gate) learn(at entrance, b Breaker, blind bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.Now()
	k := g.held[at]
	k.reading = nil
	if now.Before(k.until) && !k.blind && k.breaker.Opens > b.Opens {
		g.hold(at, k)
		return
	}
	k.breaker, k.blind, k.from, k.until = b, blind, now, now.Add(fresh)
	if p := g.Policy.whole(); !blind && b.Probe == "" && b.Admits(p, now) == Refused {
		k.until = b.OpenUntil
	}
	g.hold(at, k)
}

func (g *Gate) hold(at entrance, k known) {
	if _, has := g.held[at]; g.held == nil || !has && len(g.held) >= mostHeld {
		g.held = map[entrance]known{}
	}
	g.held[at] = k
}

// Done ends a call, and reports whether the agent may be called again, as far as
// is known.
func (p Pass) Done(ctx context.Context, o Outcome) (again bool) {
	g := p.gate
	if g == nil {
		return true
	}
	account, id, at := p.at.account, p.at.agentID, g.Now()
	policy := g.Policy.whole()
	var change func(context.Context) (Breaker, error)
	switch {
	case o == Failed:
		change = func(ctx context.Context) (Breaker, error) {
			return g.Store.CountFailure(ctx, account, id, p.call, policy, at)
		}
	case o == Answered && (p.call.Probe != "" || p.row || g.inRow(p.at)):
		change = func(ctx context.Context) (Breaker, error) { return g.Store.CountAnswer(ctx, account, id, p.call, at) }
	case o == Nothing && p.call.Probe != "":
		change = func(ctx context.Context) (Breaker, error) { return g.Store.DropProbe(ctx, account, id, p.call, at) }
	default:
		return true
	}
	b, err := g.timed(ctx, p.at, "count", change)
	if err != nil {
		return true // what was known stays known
	}
	g.learn(p.at, b, false)
	switch {
	case o == Failed && b.Opens == p.call.Opens+1 && b.OpenedAt.Equal(at.Truncate(time.Millisecond)):
		g.Log.WarnContext(ctx, "agent.breaker_opened", "mcp_id", id, "failures", len(b.Failed), "until", b.OpenUntil)
	case o == Answered && p.call.Probe != "" && b.OpenedAt.IsZero():
		g.Log.InfoContext(ctx, "agent.breaker_closed", "mcp_id", id)
	}
	return b.Admits(policy, g.Now()) == Admitted
}

// inRow reports whether failures are known by now.
func (g *Gate) inRow(at entrance) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.held[at].breaker.Failed) > 0
}

// Breakers returns those of an account's agents that something happened to, as
// they stand: failures too old to count are left out.
func (g *Gate) Breakers(ctx context.Context, account string) ([]Breaker, error) {
	list, err := g.Store.Breakers(ctx, account)
	for i, b := range list {
		list[i].Failed = b.Failed[:b.row(g.Policy.whole(), g.Now())]
	}
	return list, err
}
