package agent

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/locale"
	"piloto/internal/models/eligibility"
)

// Errors of the registry of agents.
var (
	ErrNoAgent   = fault.New(fault.NotFound, "agent.not_found")
	ErrLoop      = fault.New(fault.Invalid, "agent.invalid")          // Fields has every problem
	ErrMoved     = fault.New(fault.Conflict, "agent.moved")           // somebody changed it meanwhile
	ErrTaken     = fault.New(fault.Conflict, "agent.taken")           // a server has the name: Args["agent"]
	ErrNotALoop  = fault.New(fault.Invalid, "agent.is_server")        // it answers delegated messages only: Args["agent"]
	ErrRouted    = fault.New(fault.Invalid, "agent.routed")           // the router answers the chat
	ErrTooMany   = fault.New(fault.Conflict, "agent.too_many")        // the account has MostLoops of its own
	ErrAsShipped = fault.New(fault.Conflict, "agent.nothing_to_undo") // a shipped one without a change
)

// Loop is an agent of kind loop: the model works in rounds under its prompt, with its tools, within its bounds.
// An absent list of tools or servers means all that the account may use; an empty one means none.
type Loop struct {
	Name         string     `json:"-"`
	Description  string     `json:"description"`
	Prompt       string     `json:"prompt,omitempty"` // "" of a shipped one: its own, in the reader's language
	Tools        []string   `json:"tools,omitzero"`   // globs over the names of toolset
	Servers      []string   `json:"servers,omitzero"` // ids of registered services
	Mode         Mode       `json:"mode"`
	MaxSteps     int        `json:"max_steps"`     // model calls
	TimeoutS     int        `json:"timeout_s"`     // seconds
	BudgetMicros int64      `json:"budget_micros"` // cost that ends it; 0: only the account's limits
	WarnMicros   int64      `json:"warn_micros"`   // cost at which a note is added; 0: none
	MaxTokens    int        `json:"max_tokens"`    // of one answer; 0: the assistant's
	Assistant    *Assistant `json:"assistant,omitempty"`
	Eval         Eval       `json:"eval"`
	Keywords     []string   `json:"keywords,omitempty"`
}

// Assistant is the model of an agent. It replaces the one of the chat's assistant.
type Assistant struct {
	Provider string `json:"provider"`
	Model    string `json:"model"`
}

// Mode says which of an agent's calls wait for a confirmation.
type Mode string

// The modes. Writes at a service are always confirmed by a person, in each of them: Yolo is for tools of a machine, and
// over services it is the same as ConfirmSensitive.
const (
	ConfirmAll       Mode = "confirm-all"       // reads are proposed, too
	ConfirmSensitive Mode = "confirm-sensitive" // reads that a person allowed run by themselves
	Yolo             Mode = "yolo"
)

// Eval says whether a successful end is judged by one more model call.
type Eval string

// The kinds of evaluation.
const (
	EvalOff   Eval = "off"
	EvalBasic Eval = "basic" // one judgement
	EvalFull  Eval = "full"  // and corrections, at most twice
)

// MayUse reports whether the agent has a tool.
func (l Loop) MayUse(tool string) bool {
	return l.Tools == nil || slices.ContainsFunc(l.Tools, func(glob string) bool { return matches(glob, tool) })
}

// MayCall reports whether the agent may use a server.
func (l Loop) MayCall(serverID string) bool {
	return l.Servers == nil || slices.Contains(l.Servers, serverID)
}

// Only returns those of some servers that the agent may use. It is never nil: none is not all.
func (l Loop) Only(servers []string) []string {
	return slices.DeleteFunc(append([]string{}, servers...), func(id string) bool { return !l.MayCall(id) })
}

// Asked returns a question about a turn that the agent answers: with its model and its bounds.
func (l Loop) Asked(q eligibility.Question) eligibility.Question {
	q.Need.Output, q.Budget = l.MaxTokens, l.BudgetMicros
	if m := l.Assistant; m != nil {
		q.Choice = &eligibility.Choice{Provider: m.Provider, Model: m.Model}
	}
	return q
}

// PromptIn returns the agent's prompt. One that is shipped and has no prompt of the account is in the language.
func (l Loop) PromptIn(tag locale.Tag) (string, error) {
	if l.Prompt != "" || !IsShipped(l.Name) {
		return l.Prompt, nil
	}
	return locale.Prompt(tag, "agent_"+l.Name, nil)
}

// DescriptionIn returns the agent's description, in the same way.
func (l Loop) DescriptionIn(tag locale.Tag) string {
	if l.Description != "" || !IsShipped(l.Name) {
		return l.Description
	}
	return locale.Text(tag, "agent.shipped."+l.Name)
}

// Change is the row of an agent's name in an account: the account's own changes of a loop, or the server that has
// the name. The zero Change means that the account has no row for it.
type Change struct {
	Name      string
	ServerID  string          // of an agent of kind server; "" for a loop
	Version   int             // rises by one with each change
	Patch     json.RawMessage // merge patch (RFC 7386) over the shipped agent of that name, or over the defaults
	By        string
	UpdatedAt time.Time

	// Unreadable means that there is no agent in the row. It is in no list, and nor is the shipped agent of its name, which
	// may do more.
	Unreadable bool
}

// LoopReader reads the changes of an account. Change returns the zero Change when there is none.
type LoopReader interface {
	AgentChange(ctx context.Context, account ids.Account, name string) (Change, error)
}

// Resolve returns a loop as an account has it: as shipped, with the account's changes over it. It returns ErrNoAgent,
// and ErrNotALoop for the name of a server.
func Resolve(ctx context.Context, r LoopReader, account ids.Account, name string) (Loop, error) {
	name = strings.ToLower(name) // a loop's name has no capital letters
	c, err := r.AgentChange(ctx, account, name)
	if err != nil {
		return Loop{}, err
	}
	return c.Loop(name)
}

// Loop returns the loop of a name with its change. It returns the same errors as Resolve.
func (c Change) Loop(name string) (Loop, error) {
	base, isShipped := shipped(name)
	switch {
	case c.ServerID != "":
		return Loop{}, ErrNotALoop.With("agent", name)
	case c.Unreadable:
		return Loop{}, ErrLoop.With("agent", name)
	case c.Version == 0 && !isShipped:
		return Loop{}, ErrNoAgent.With("agent", name)
	case c.Version == 0:
		return base, nil
	}
	l, wrong := base.merged(c.Patch)
	if len(wrong) > 0 { // it was valid when it was stored
		return Loop{}, ErrLoop.With("agent", name).At(wrong...)
	}
	return l, nil
}
