// Package agent implements delegation: the agents of an account, servers and loops of its model, the model's decision about a
// message, the calls of agents with retries and circuit breakers, the memory of a session, the
// router's settings and prompt, and the business context.
//
// Invariants: a decision names one of the account's active agents or none. An agent whose
// breaker is open gets at most one probe call at a time. An agent's answer is text for a person,
// and decides nothing. A session's memory belongs to one account, one company and one session. A
// failure of an optional part (memory, business context, breaker) does not prevent an answer.
package agent

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"piloto/internal/ground/fault"
	"piloto/internal/tools/tool"
)

// Errors of a call without an answer.
var (
	ErrOpen      = fault.New(fault.Unavailable, "agent.open")        // its breaker is open: it is not called for now
	ErrSilent    = fault.New(fault.Upstream, "agent.unreachable")    // the message did not reach it
	ErrLate      = fault.New(fault.Upstream, "agent.timeout")        // the message may have reached it, and no answer came
	ErrDoubt     = fault.New(fault.Upstream, "agent.in_doubt")       // it answered with an error that does not say whether it acted
	ErrFailed    = fault.New(fault.Upstream, "agent.failed")         // it answered that it did not do it
	ErrGarbage   = fault.New(fault.Upstream, "agent.unintelligible") // its answer has no text for a person
	ErrFrozen    = fault.New(fault.Conflict, "agent.changed")        // its tool differs from the approved one
	ErrForbidden = fault.New(fault.Upstream, "agent.unauthorized")   // it refused our key
)

// MayHaveActed reports whether an agent may have acted on a message although a call ended with an error: it may have
// read it, and its answer does not give the outcome.
func MayHaveActed(err error) bool {
	return errors.Is(err, ErrLate) || errors.Is(err, ErrDoubt) || errors.Is(err, ErrGarbage)
}

// Agent answers delegated messages: a specialised server, whose approved tool is Chat, or the account's model under the
// prompt of Loop.
type Agent struct {
	Loop     *Loop // nil: a server
	Name     string
	About    string
	Keywords []string
	Server   tool.Server
	Chat     tool.Operation
}

// Persona holds a request's description of the bot (the config of document 001). More holds the
// members without a meaning here: they are sent to the agents.
type Persona struct {
	Company     int64
	Name        string
	Goal        string
	Personality string
	Modality    string
	Greeting    string
	Language    string // as the request has it; "" when absent
	More        map[string]json.RawMessage
}

// presets names the agents of document 001. They have a default description, for a registration
// without one. The keys are texts of locale.
var presets = []string{"reserva", "venta", "cita"}

// Preset reports whether agents of that name have a default description (locale
// "agent.preset.NAME" and "agent.preset.NAME.keywords").
func Preset(name string) bool { return slices.Contains(presets, strings.ToLower(name)) }
