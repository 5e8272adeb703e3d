package credit

import (
	"cmp"
	"math/bits"
	"slices"
	"strconv"
	"time"

	"piloto/internal/models/llm"
)

// Hold is what a turn may use at most, taken before it asks a model. Deadline is
// when the sweep gives it back, should nobody have settled it.
type Hold struct {
	ID       string // the turn's
	Account  string
	Parts    []Part // of sessions; none when the provider costs no credits
	Micros   int64
	At       time.Time // whose day and month it counts in
	Deadline time.Time
	For      Turn // as far as it is known

	Asked bool // to be taken: it may be there although nobody was told
}

// Part is what a hold takes of one session.
type Part struct {
	SessionID string
	Until     time.Time // when the session ends
	Tokens    int
}

// Tokens is what all parts hold together.
func (h Hold) Tokens() int {
	n := 0
	for _, p := range h.Parts {
		n += p.Tokens
	}
	return n
}

// With is the hold with more of a session.
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

// Spread says what of each part was used, in their order; the last one bears
// what is beyond them all.
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

// Price is what a model costs, in micro-USD per million tokens.
type Price struct {
	Input  int64 `json:"input_micros" doc:"micro-USD per million tokens read"`
	Output int64 `json:"output_micros" doc:"micro-USD per million tokens written"`
}

// Cost is what usage costs in micro-USD, rounded up.
func (p Price) Cost(input, output int) int64 {
	return mul(input, p.Input) + mul(output, p.Output)
}

// mul is tokens times a price of a million of them, rounded up, from 0 to MaxMicros.
func mul(tokens int, price int64) int64 {
	const million = 1_000_000
	hi, lo := bits.Mul64(uint64(max(tokens, 0)), uint64(max(price, 0)))
	if hi > 0 || lo > MaxMicros*million {
		return MaxMicros
	}
	return int64((lo + million - 1) / million)
}

// The outcomes of a turn that are not a kind of reply.
const (
	OutcomeFailed   = "failed"   // we could not tell what became of it
	OutcomeReleased = "released" // it was cut off; what it held went back
	OutcomeStopped  = "stopped"  // by the person
	OutcomeBlocked  = "blocked"  // it did not run; Reason says why
)

// Turn is the record of one turn for billing and audit: what it used, or why it
// used nothing.
type Turn struct {
	ID        string        `json:"turn_id"`
	At        time.Time     `json:"at"`
	User      string        `json:"user"`
	ChatID    string        `json:"chat_id"`
	ProjectID string        `json:"project_id,omitempty"`
	RunID     string        `json:"run_id,omitempty"`
	Outcome   string        `json:"outcome"`
	Reason    string        `json:"reason,omitempty"`
	Provider  string        `json:"provider,omitempty"`
	Model     string        `json:"model,omitempty"`
	Preferred string        `json:"preferred,omitempty"` // the provider that was not used
	Because   string        `json:"because,omitempty"`   // and the reason
	Input     int           `json:"input_tokens"`
	Output    int           `json:"output_tokens"`
	Estimated bool          `json:"estimated"`
	Micros    int64         `json:"cost_micros"`
	Priced    string        `json:"priced,omitempty"` // table, override, rule or free
	Charged   int           `json:"charged_tokens"`   // of its sessions
	Attempts  []llm.Attempt `json:"attempts,omitempty"`
}

// By is what usage is added up by.
type By string

// What usage can be added up by.
const (
	ByAccount By = "account"
	ByDay     By = "day"
	ByProject By = "project"
	ByChat    By = "chat"
	ByRun     By = "run"
	ByTurn    By = "turn"
	ByModel   By = "model"
)

// Sum is the usage of one key.
type Sum struct {
	Key     string    `json:"key" doc:"the id, day or model that it is of; empty for what belongs to none"`
	Turns   int       `json:"turns"`
	Blocked int       `json:"blocked" doc:"turns that did not run"`
	Input   int       `json:"input_tokens"`
	Output  int       `json:"output_tokens"`
	Micros  int64     `json:"cost_micros"`
	Guessed int       `json:"estimated" doc:"turns whose tokens were estimated"`
	First   time.Time `json:"first_at"`
	Last    time.Time `json:"last_at"`
}

// Adder adds turns up.
type Adder struct {
	By      By
	Account string
	sums    map[string]*Sum
}

// Add counts one turn.
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
	s.Input, s.Output, s.Micros = s.Input+t.Input, s.Output+t.Output, s.Micros+t.Micros
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
	case ByModel:
		if t.Model == "" {
			return ""
		}
		return t.Provider + "/" + t.Model
	}
	return a.Account
}

// Sums returns what was added up, the costliest first.
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
