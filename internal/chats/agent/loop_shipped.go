package agent

import (
	"slices"

	"piloto/internal/chats/toolset"
)

// Bounds that an agent has where nobody sets others.
const (
	usualSteps   = 20
	usualTimeout = 10 * 60 // seconds
	buildTimeout = 60 * 60
)

// Shipped lists the names of the agents that every account has.
func Shipped() []string { return []string{"plan", "build", "resume", "review"} }

// IsShipped reports whether every account has an agent of that name.
func IsShipped(name string) bool { return slices.Contains(Shipped(), name) }

// shipped returns the agent of a name as it is shipped; else an agent with the usual bounds, and false.
func shipped(name string) (Loop, bool) {
	l := Loop{Name: name, Mode: ConfirmSensitive, MaxSteps: usualSteps, TimeoutS: usualTimeout, Eval: EvalOff}
	switch name {
	case "plan", "review":
		l.Tools = toolset.ReadOnly()
	case "build":
		l.MaxSteps, l.TimeoutS = 50, buildTimeout
	case "resume":
		l.Tools, l.MaxSteps = toolset.ReadOnly(), 15
	default:
		return l, false
	}
	return l, true
}
