// Package tools builds the checks and calls of tools for functions/chat, functions/router, functions/turn, functions/agent and functions/step. Only
// these and package registry link its code.
package tools

import (
	"net/http"
	"time"

	"piloto/internal/boot"
	"piloto/internal/edge/gateway"
	"piloto/internal/tools/mcp"
	"piloto/internal/tools/outbound"
	"piloto/internal/tools/schema"
	"piloto/internal/tools/tool"
)

// StartChat runs functions/chat.
func StartChat() { boot.StartHTTP(Chat) }

// StartRouter runs functions/router.
func StartRouter() { boot.StartHTTP(Router) }

// StartTurn runs functions/turn.
func StartTurn() { boot.StartTask(Turn) }

// StartAgent runs functions/agent.
func StartAgent() { boot.StartTask(Agent) }

// StartStep runs functions/step.
func StartStep() { boot.StartTask(Step) }

// Chat builds functions/chat.
func Chat(w boot.World, e boot.Environment) (http.Handler, error) { return boot.Chat(w, e, all) }

// Router builds functions/router.
func Router(w boot.World, e boot.Environment) (http.Handler, error) { return boot.Router(w, e, all) }

// Turn builds functions/turn.
func Turn(w boot.World, e boot.Environment) (gateway.Function, error) { return boot.Turn(w, e, all) }

// Agent builds functions/agent.
func Agent(w boot.World, e boot.Environment) (gateway.Function, error) { return boot.Agent(w, e, all) }

// Step builds functions/step.
func Step(w boot.World, e boot.Environment) (gateway.Function, error) { return boot.Step(w, e, all) }

var all = boot.Tools{Schemas: schema.Compiler{}, Caller: caller}

func caller(w boot.World, timeout time.Duration, bearer *outbound.Tokens) tool.Caller {
	return mcp.NewClient(mcp.Options{HTTP: w.Client(timeout), Bearer: bearer, Now: w.Now, Timeout: timeout, Patience: timeout})
}
