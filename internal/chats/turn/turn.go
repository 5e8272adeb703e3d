// Package turn owns one incoming message and all that answers it: the one
// pipeline behind every chat contract.
//
//	validate → load chat, history, servers → intent
//	  → eligibility → prompt → model and its tools
//	  → text, a draft plan, or another revision of the draft that waits
//
// or, for the router,
//
//	validate → memory, business context, agents
//	  → eligibility → prompt → a decision of the model
//	  → its response, or what an agent answers
//
// What stays true: the message of the person is stored before anything answers
// it; only the person's own words can confirm, and only a pending draft; text of
// the model, of a tool or of a document never executes anything, and no words approve
// what a run waits for. Every plan, whoever wrote it, is drafted by the same checks; an
// edit is a new revision, and the digest of the one before confirms nothing.
package turn

import (
	"encoding/json"
	"time"

	"piloto/internal/access/auth"
	"piloto/internal/chats/agent"
	"piloto/internal/conversation"
	"piloto/internal/ground/locale"
	"piloto/internal/models/eligibility"
	"piloto/internal/runs/plan"
)

// Kind says what a turn came to.
type Kind string

// The kinds of reply.
const (
	KindMessage   Kind = "message"   // the model answered
	KindPlan      Kind = "plan"      // a draft waits for its confirmation
	KindQueued    Kind = "queued"    // the draft was confirmed
	KindCancelled Kind = "cancelled" // the draft was dropped
	KindNotice    Kind = "notice"    // there is nothing to confirm, or it already runs
	KindBlocked   Kind = "blocked"   // the turn may not run
)

// Request is one message of a person.
type Request struct {
	Principal auth.Principal
	ChatID    string
	Message   string
	Seen      plan.Digest // of the plan on the person's screen, when the client says
	Locale    locale.Tag
	TraceID   string
	Session   *Session // of the Operator contract: the chat is made when absent
	Route     *Route   // of the router's contract: the same

	// Of a request that may come again: the message it is stored as, each time.
	MessageID string
	MessageAt time.Time
	MayCome   bool // again, because whoever serves it may die

	// When the person's words came, at the latest: they answer nothing that was shown
	// after it. Zero: now.
	Came time.Time

	asked bool // for an answer: automation does not decide

	// Whom a session speaks for, by what it said last; "" for nobody. It is a client's word:
	// it takes from that person what another must decide, and gives nobody anything.
	speaksFor string
}

// Session is what the Operator contract says of a chat that the client named.
type Session struct {
	UserID   string
	Summary  string
	Metadata map[string]json.RawMessage
}

// Route is what the router's contract says of its request.
type Route struct {
	Persona agent.Persona
}

// Routed is how the router answered. Agent is "" unless one did; Failure says why
// the one that was asked did not.
type Routed struct {
	Action   agent.Action
	Agent    string
	Asked    string // the agent that was chosen
	Attempts int    // calls of it
	Failures int    // those of them that it failed
	Failure  error
	Sorry    bool // the model decided nothing that could be used
	Manual   bool // a person took over: nobody else answers
}

// Reply is what a turn came to.
type Reply struct {
	Kind    Kind
	Before  []conversation.Message // what the model said before its plan's card
	Message conversation.Message
	Chat    conversation.Chat
	Run     *plan.Run
	Block   *eligibility.Block
	By      *conversation.By // the model that answered, when one did
	Routed  *Routed          // of the router
}
