package credit

import (
	"cmp"
	"math/bits"
	"slices"
	"strconv"
	"time"

	"piloto/internal/ground/ids"
	"piloto/internal/models/llm"
)

// Hold is the most that a turn may use, reserved before the turn calls a model. At the deadline the sweep releases
// it, unless it was settled.
type Hold struct {
	ID       string // id of the turn
	Account  ids.Account
	Parts    []Part // parts of sessions; none when the provider costs no credits
	Micros   int64
	At       time.Time // time of the reservation, which decides the day and the month that it counts in
	Deadline time.Time
	For      Turn   // the record of the turn: its id, time, user, chat, project and run
	Limits   Limits // of spending, as they were when it was written last
	Worst    int64  // the most that a turn of its kind may cost, micro-USD: it is refused when less is left

	Nonce   string // differs between the holds that a turn takes one after another
	Version int    // how often it was written

	Asked bool // a write of it was tried: it may be stored although the response was lost
	Spent bool // its money is spent already, and only to be counted: it exists while its turn is settled
}

// Part is the tokens that a hold takes from one session.
type Part struct {
	SessionID string
	Tokens    int
}

// Same reports whether the other hold is the same write of the same hold.
func (h Hold) Same(other Hold) bool {
	return h.Nonce == other.Nonce && h.Version == other.Version && h.Micros == other.Micros && slices.Equal(h.Parts, other.Parts)
}

// Tokens returns the tokens of all parts.
func (h Hold) Tokens() int {
	n := 0
	for _, p := range h.Parts {
		n += p.Tokens
	}
	return n
}

// With returns the hold with more tokens of a session.
func (h Hold) With(more Part) Hold {
	parts := slices.Clone(h.Parts)
	at := slices.IndexFunc(parts, func(p Part) bool { return p.SessionID == more.SessionID })
	switch {
	case at >= 0:
		parts[at].Tokens += more.Tokens
	case more.Tokens > 0:
		parts = append(parts, more)
	}
	h.Parts = parts
	return h
}

// WithoutTokens returns the hold with no tokens. Its parts name the sessions that a late settlement charges.
func (h Hold) WithoutTokens() Hold {
	parts := slices.Clone(h.Parts)
	for i := range parts {
		parts[i].Tokens = 0
	}
	h.Parts = parts
	return h
}

// Spread splits the used tokens over the parts, in their order. The last part bears the excess.
func (h Hold) Spread(used int) []int {
	shares := make([]int, len(h.Parts))
	for i, p := range h.Parts {
		shares[i] = min(used, p.Tokens)
		used -= shares[i]
	}
	if len(shares) > 0 {
		shares[len(shares)-1] += used
	}
	return shares
}

// Price is the price of a model, in micro-USD per million tokens.
type Price struct {
	Input  int64 `json:"input_micros" doc:"micro-USD per million tokens read"`
	Cached int64 `json:"cached_micros,omitempty" doc:"micro-USD per million tokens that the provider read from its cache; absent: as input_micros"`
	Output int64 `json:"output_micros" doc:"micro-USD per million tokens written"`
}

// MostOf returns the highest cost of the usage in micro-USD, rounded up: nothing is read from the cache.
func (p Price) MostOf(u llm.Usage) int64 {
	return mul(u.Input, p.Input) + mul(u.Output, p.Output)
}

// CostOf returns the cost of the usage in micro-USD, rounded up. It is never above MostOf.
func (p Price) CostOf(u llm.Usage) int64 {
	highest := p.MostOf(u)
	cached := min(max(u.Cached, 0), u.Input)
	if p.Cached == 0 || cached <= 0 {
		return highest
	}
	return min(highest, mul(u.Input-cached, p.Input)+mul(cached, p.Cached)+mul(u.Output, p.Output))
}

// mul returns tokens × price / 1,000,000, rounded up, from 0 to MaxMicros.
func mul(tokens int, price int64) int64 {
	const million = 1_000_000
	hi, lo := bits.Mul64(uint64(max(tokens, 0)), uint64(max(price, 0)))
	if hi > 0 || lo > MaxMicros*million {
		return MaxMicros
	}
	return int64((lo + million - 1) / million)
}

// Outcomes of a turn that are not a kind of reply.
const (
	OutcomeFailed   = "failed"   // its result is unknown
	OutcomeReleased = "released" // it was cut off, and its hold was released
	OutcomeStopped  = "stopped"  // the person stopped it
	OutcomeBlocked  = "blocked"  // it did not run; Reason has the cause
)

// Sources of a cost: the purpose of a call of a model. A record without a source is of the first one.
const (
	SourceAgent    = "agent"    // an answer, in a turn or in a round of a job
	SourceSummary  = "summary"  // of the older messages of a chat
	SourceEval     = "eval"     // a judgement of an answer
	SourceConclude = "conclude" // the outcome of a run
	SourceReason   = "reason"   // another command for a step that failed
	SourceCheck    = "check"    // of a provider, because a person asked for it
)

// Sources of a price that is not the provider's own, so that a cost is an estimate.
const (
	PricedByList = "list" // the list price of the model, at another provider
	PricedByRule = "rule" // no table has the model: the highest known price
)

// Turn is the record of one turn for billing and audit: its usage, or the reason why it used nothing.
type Turn struct {
	ID        string        `json:"turn_id"`
	At        time.Time     `json:"at"`
	User      string        `json:"user"`
	ChatID    string        `json:"chat_id"`
	ProjectID string        `json:"project_id,omitempty"`
	RunID     string        `json:"run_id,omitempty"`
	Outcome   string        `json:"outcome"`
	Source    string        `json:"source,omitempty"` // "": SourceAgent
	Reason    string        `json:"reason,omitempty"`
	Provider  string        `json:"provider,omitempty"`
	Model     string        `json:"model,omitempty"`
	Preferred string        `json:"preferred,omitempty"` // the preferred provider, when another was used
	Because   string        `json:"because,omitempty"`   // the reason for that
	Input     int           `json:"input_tokens"`
	Cached    int           `json:"cached_tokens,omitempty"` // of Input, read from a provider's cache
	Output    int           `json:"output_tokens"`
	Estimated bool          `json:"estimated"`
	Micros    int64         `json:"cost_micros"`
	Priced    string        `json:"priced,omitempty"` // source of the price: table, override, list, rule or free
	Charged   int           `json:"charged_tokens"`   // tokens charged to its sessions
	Attempts  []llm.Attempt `json:"attempts,omitempty"`
}

// By is the key that usage is grouped by.
type By string

// Keys that usage can be grouped by.
const (
	ByAccount By = "account"
	ByDay     By = "day"
	ByProject By = "project"
	ByChat    By = "chat"
	ByRun     By = "run"
	ByTurn    By = "turn"
	ByModel   By = "model"
	BySource  By = "source"
)

// Sum is the usage of one group.
type Sum struct {
	Key     string    `json:"key" doc:"the id, day or model that it is of; empty for what belongs to none"`
	Turns   int       `json:"turns"`
	Blocked int       `json:"blocked" doc:"turns that did not run"`
	Input   int       `json:"input_tokens"`
	New     int       `json:"new_tokens" doc:"of input_tokens: what providers read anew"`
	Cached  int       `json:"cached_tokens" doc:"of input_tokens: what providers read from their cache"`
	Output  int       `json:"output_tokens"`
	Micros  int64     `json:"cost_micros"`
	Guessed int       `json:"estimated" doc:"turns whose tokens were estimated"`
	Listed  int       `json:"list_priced" doc:"turns whose cost is an estimate: by the list price of the model, or by the highest known one"`
	First   time.Time `json:"first_at"`
	Last    time.Time `json:"last_at"`
}

// Adder groups turns and sums their usage.
type Adder struct {
	By      By
	Account ids.Account
	sums    map[string]*Sum
}

// Add adds one turn.
func (a *Adder) Add(t Turn) {
	if a.sums == nil {
		a.sums = map[string]*Sum{}
	}
	key := a.key(t)
	s, ok := a.sums[key]
	if !ok {
		s = &Sum{Key: key, First: t.At, Last: t.At}
		a.sums[key] = s
	}
	s.Turns++
	if t.Outcome == OutcomeBlocked {
		s.Blocked++
	}
	if t.Estimated {
		s.Guessed++
	}
	if t.Priced == PricedByList || t.Priced == PricedByRule {
		s.Listed++
	}
	s.Input, s.Cached, s.Output, s.Micros = s.Input+t.Input, s.Cached+t.Cached, s.Output+t.Output, s.Micros+t.Micros
	s.New += max(0, t.Input-t.Cached)
	if t.At.Before(s.First) {
		s.First = t.At
	}
	if t.At.After(s.Last) {
		s.Last = t.At
	}
}

func (a *Adder) key(t Turn) string {
	switch a.By {
	case ByDay:
		return Day(t.At)
	case ByProject:
		return t.ProjectID
	case ByChat:
		return t.ChatID
	case ByRun:
		return t.RunID
	case ByTurn:
		return t.ID
	case BySource:
		return cmp.Or(t.Source, SourceAgent)
	case ByModel:
		if t.Model == "" {
			return ""
		}
		return t.Provider + "/" + t.Model
	}
	return string(a.Account)
}

// Sums returns the groups, the most expensive first.
func (a *Adder) Sums() []Sum {
	list := make([]Sum, 0, len(a.sums))
	for _, s := range a.sums {
		list = append(list, *s)
	}
	slices.SortFunc(list, func(x, y Sum) int {
		return cmp.Or(cmp.Compare(y.Micros, x.Micros), cmp.Compare(y.Input+y.Output, x.Input+x.Output), cmp.Compare(y.Turns, x.Turns), cmp.Compare(x.Key, y.Key))
	})
	return list
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
