// Package agent owns delegation: who an account's agents are, what a decision
// about a message may be, when an agent may be called and how often it is tried,
// what a session remembers, and what is known of the business that is spoken for.
//
// What stays true: a decision names one of the account's active agents or none;
// an agent whose breaker is open is not called, but for one probe at a time; what
// an agent answers is text for a person, and decides nothing; a session's memory
// belongs to one account, one company and one session; and nothing that only
// helps (memory, business context, breaker) can keep a message from its answer.
package agent

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"piloto/internal/ground/fault"
	"piloto/internal/tools/tool"
)

// Why an agent gave no answer.
var (
	ErrOpen      = fault.New(fault.Unavailable, "agent.open")        // its breaker is: it is not called for now
	ErrSilent    = fault.New(fault.Upstream, "agent.unreachable")    // nothing of the message reached it
	ErrLate      = fault.New(fault.Upstream, "agent.timeout")        // it may have heard the message, and its answer did not come
	ErrFailed    = fault.New(fault.Upstream, "agent.failed")         // it answered that it could not
	ErrGarbage   = fault.New(fault.Upstream, "agent.unintelligible") // an answer without a text for a person
	ErrFrozen    = fault.New(fault.Conflict, "agent.changed")        // its tool is another than the approved one
	ErrForbidden = fault.New(fault.Upstream, "agent.unauthorized")   // it does not take our key
)

// Agent is a specialised server that messages are delegated to. Chat is its tool
// as it was approved.
type Agent struct {
	Name     string
	About    string
	Keywords []string
	Server   tool.Server
	Chat     tool.Operation
}

// Caller calls tools of Model Context Protocol servers. Its errors are
// tool.ErrNotSent (nothing reached the tool), tool.ErrLost (something may have),
// tool.ErrToolChanged (it is not the approved one, and was not called),
// tool.ErrRefusedUs and tool.ErrRequest.
type Caller interface {
	CallTool(ctx context.Context, c tool.Call) (tool.Answer, error)
}

// Persona is what a request says of the bot that speaks (document 001's config).
// More holds the members that we know no meaning of: they go to the agents.
type Persona struct {
	Company     int64
	Name        string
	Goal        string
	Personality string
	Modality    string
	Greeting    string
	Language    string // as it was written; "": nobody said
	More        map[string]json.RawMessage
}

// presets are the agents that document 001 knows: what they are for, where a
// registration says nothing of it. Keys are texts of locale.
var presets = []string{"reserva", "venta", "cita"}

// Preset reports whether there is a description for agents of that name
// (locale "agent.preset.NAME" and "agent.preset.NAME.keywords").
func Preset(name string) bool { return slices.Contains(presets, strings.ToLower(name)) }
