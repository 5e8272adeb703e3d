// Package turn stores one incoming message and produces its answer. Every chat contract uses
// this pipeline.
//
//	validate → load chat, history, servers → intent
//	  → eligibility → prompt → model and its tools
//	  → text, a draft plan, or another revision of the draft that waits
//
// or, for the router,
//
//	validate → memory, business context, agents
//	  → eligibility → prompt → a decision of the model
//	  → the model's response, or an agent's answer
//
// It also makes the rounds of a job (Round), with the same loop and a journal of its own; answers a message again (again.go);
// describes the outcome of a run (Concluder); takes a person's edit of a draft (Revise); and keeps the summary of a long chat.
//
// Invariants: the user's message is stored before the answer. Only the user's own message can
// confirm, and only a pending draft. Text of the model, of a tool or of a document never
// executes anything. No chat message grants an approval that a run waits for. Every plan passes
// the same checks, whether a model or a person wrote it. An edit is a new revision, and the
// digest of an older revision confirms nothing.
package turn

import (
	"encoding/json"
	"slices"
	"time"

	"piloto/internal/access/auth"
	"piloto/internal/chats/agent"
	"piloto/internal/conversation"
	"piloto/internal/ground/locale"
	"piloto/internal/models/eligibility"
	"piloto/internal/runs/plan"
)

// Kind names the outcome of a turn.
type Kind string

// The kinds of reply.
const (
	KindMessage   Kind = "message"   // the model answered
	KindPlan      Kind = "plan"      // a draft waits for its confirmation
	KindQueued    Kind = "queued"    // the draft was confirmed
	KindCancelled Kind = "cancelled" // the draft was dropped
	KindNotice    Kind = "notice"    // there is nothing to confirm, or it already runs
	KindBlocked   Kind = "blocked"   // the turn may not run
	KindRound     Kind = "round"     // a model answered in a round of a job
)

// Request holds one user message with its caller and its chat.
type Request struct {
	Principal auth.Principal
	ChatID    string
	Message   string
	Seen      plan.Digest // digest of the plan on the user's screen, when the client sends it
	Replaces  string      // id of the last message of the chat, which this one replaces; "" for none
	Again     bool        // of a request for an answer: to a message that has one
	Locale    locale.Tag
	TimeZone  string // of the sender, as Europe/Madrid; "": unknown
	TraceID   string
	Session   *Session // set by the Operator contract: the chat is created when it is absent
	Route     *Route   // set by the router's contract: the chat is created when it is absent

	// MessageID and MessageAt identify the stored message of a request that may be retried, so
	// that each attempt stores the same one.
	MessageID string
	MessageAt time.Time
	MayRepeat bool // the request may be retried, because its server may die

	// ReceivedAt is the latest time at which the user sent the message. A card that was shown after it
	// is not answered by the message. Zero means now.
	ReceivedAt time.Time

	asked bool  // the user asked for the answer: the automation mode does not apply
	said  bool  // the message is stored
	anew  *tail // the message that is answered once more; nil: a message that has no answer

	// speaksFor is the person for whom a session speaks, by its last request; "" for nobody. The
	// value comes from the client, so it can only take rights away: that person may not approve
	// their own step. It grants nothing.
	speaksFor string
	after     []string // the writers of the message that its message replaces
}

// writers returns the users who wrote the message of a request.
func (r Request) writers() []string {
	return slices.DeleteFunc(union(r.after, []string{r.Principal.User, r.speaksFor}), func(user string) bool { return user == "" })
}

// Session holds the attributes that the Operator contract sends for a chat that the client
// named.
type Session struct {
	UserID   string
	Customer string // the name of whom the client speaks for, if it says it
	Summary  string
	Metadata map[string]json.RawMessage
}

// Route holds the router contract's own part of a request.
type Route struct {
	Persona  agent.Persona
	Customer string // the customer's name, if the request says it
}

// Routed describes the router's answer. Agent is "" unless an agent answered. Failure is the
// error of the agent that was asked and did not answer.
type Routed struct {
	Action    agent.Action
	Agent     string
	Asked     string // the agent that the model chose
	Attempts  int    // calls of the agent
	Failures  int    // attempts that failed
	Failure   error
	Undecided bool // the model returned no usable decision
	Manual    bool // a person took the chat over: nobody else answers
}

// Reply holds the result of a turn.
type Reply struct {
	Kind    Kind
	Before  []conversation.Message // the messages before it: a draft that was taken back, and the model's texts before the card of its plan
	Message conversation.Message
	Chat    conversation.Chat
	Run     *plan.Run // that the turn proposed or decided on
	Pending *plan.Run // the draft that waits in the chat beside a text
	Block   *eligibility.Block
	By      *conversation.By // the model that answered, when one did
	Routed  *Routed          // set by the router
}

// Ending returns how the turn ended, and why it ended early; "" when it did not.
func (r Reply) Ending() (conversation.Status, conversation.StopReason) {
	switch {
	case r.Kind == KindBlocked:
		return conversation.Failed, conversation.StopBlocked
	case r.Message.Status == "":
		return conversation.Success, ""
	}
	return r.Message.Status, r.Message.StopReason
}
