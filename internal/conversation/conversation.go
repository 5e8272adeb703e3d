// Package conversation owns what people and the assistant said: projects, chats
// and messages, and the part of a chat that says which run it waits for. A chat
// holds at most one pending draft and one active run; absent means absent.
package conversation

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
)

// Limits on what a person may send, in bytes.
const (
	MaxMessage = 32 << 10
	MaxTitle   = 200
	MaxContext = 16 << 10
)

// What a caller may notice.
var (
	ErrChatNotFound    = fault.New(fault.NotFound, "chat.not_found")
	ErrProjectNotFound = fault.New(fault.NotFound, "project.not_found")
)

// Project groups chats; it has a context text for the model, and the servers
// its chats may use: every active one of the account, or those listed alone.
type Project struct {
	ID        string    `json:"project_id"`
	Name      string    `json:"name"`
	Context   string    `json:"context,omitempty"`
	All       bool      `json:"all_services"`
	MCPIDs    []string  `json:"mcp_ids,omitempty"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
}

// Uses reports whether chats of the project may use the server.
func (p Project) Uses(serverID string) bool { return p.All || slices.Contains(p.MCPIDs, serverID) }

// Chat is one conversation and its state.
type Chat struct {
	ID        string    `json:"chat_id"`
	Title     string    `json:"title"`
	ProjectID string    `json:"project_id,omitempty"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`

	PendingRunID  string     `json:"pending_run_id,omitempty"`
	ActiveRunID   string     `json:"active_run_id,omitempty"`
	LastRunID     string     `json:"last_run_id,omitempty"`
	LastRunStatus string     `json:"last_run_status,omitempty"`
	LastRunTS     *time.Time `json:"last_run_ts,omitempty"`

	// Automation is when messages of this chat are answered; "" is as the
	// assistant says.
	Automation string `json:"automation,omitempty"`

	// Of a chat that a client named itself: the Operator API's session, or the
	// router's, which is one company's.
	SessionID string                     `json:"session_id,omitempty"`
	Company   int64                      `json:"id_empresa,omitempty"`
	UserID    string                     `json:"user_id,omitempty"`
	Summary   string                     `json:"context_summary,omitempty"`
	Metadata  map[string]json.RawMessage `json:"metadata,omitempty"`
}

// SessionChat is the id of the chat that a client calls sessionID. One of our
// own ids names its chat; any other name is the account's own.
func SessionChat(account, sessionID string) string {
	if ids.Valid(sessionID) {
		return sessionID
	}
	return ids.Derive("session", account, sessionID)
}

// RouterChat is the id of the chat in which the router answers sessionID for a
// company. It is no session of the Operator API, whatever the names.
func RouterChat(account string, company int64, sessionID string) string {
	return ids.Derive("router", account, strconv.FormatInt(company, 10), sessionID)
}

// Role says who speaks to the person reading.
type Role string

// The roles of a stored message.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleSystem    Role = "system"
)

// Kind says what a message is about; it chooses how it is shown.
type Kind string

// The kinds of message.
const (
	KindText     Kind = "text"     // what somebody said
	KindPlan     Kind = "plan"     // a draft was proposed; RunID names it
	KindProgress Kind = "progress" // a run went one step further
	KindFinal    Kind = "final"    // a run ended
	KindNotice   Kind = "notice"   // the system says something about itself
	KindBlocked  Kind = "blocked"  // the turn could not run; Code says why
)

// Message is one entry of a chat. At is also its place: ids sort by it.
type Message struct {
	ID      string    `json:"id"`
	Role    Role      `json:"role"`
	Kind    Kind      `json:"kind"`
	Content string    `json:"content"`
	RunID   string    `json:"run_id,omitempty"`
	Code    string    `json:"code,omitempty"`
	Action  string    `json:"action,omitempty"` // of a block: what to do next
	At      time.Time `json:"at"`
	// By is the model that wrote it, when one did.
	By *By `json:"answered_by,omitempty"`
	// Notes are what the system says under it.
	Notes []Note `json:"notes,omitempty"`

	// Seq is where the message stands in its chat: a ULID, also for the
	// messages whose id is derived (run_id#final). It is the page cursor.
	Seq string `json:"-"`
}

// Note is a line of ours under a message. The text of the model stays as it was written. Text
// says, in the language of the turn, what in it is not true.
type Note struct {
	Code string `json:"code" enum:"nothing_pending,nothing_done,not_confirmed"`
	Text string `json:"text"`
}

// The codes of notes.
const (
	NoteNothingPending = "nothing_pending" // the text poses as a plan, or asks for a confirmation, and none is behind it
	NoteNotConfirmed   = "not_confirmed"   // the card is shown again, and why the yes was not to it
	NoteNothingDone    = "nothing_done"    // the text claims an act, and no run of the chat did anything since the message
)

// By says who wrote a message, and who was preferred and why that one did not.
// Agent is the one that a message was delegated to, by the model's decision.
type By struct {
	Agent     string `json:"agent,omitempty"`
	Provider  string `json:"provider"`
	Model     string `json:"model"`
	Preferred string `json:"preferred,omitempty"` // the provider that the assistant names first
	Reason    string `json:"reason,omitempty"`    // why it was not used
	Stopped   bool   `json:"stopped,omitempty"`   // a person stopped it here
}

// FinalID is the id of the one message that says how a run ended.
func FinalID(runID string) string { return runID + "#final" }

// AnswerID is the id of the one message that answers another, when that has the id of
// a request which may come again.
func AnswerID(messageID string) string { return messageID + "#answer" }

// Title makes a chat's title of its first message: one line, at most 60
// characters, cut at a word.
func Title(message string) string {
	const most = 60
	text := strings.Join(strings.FieldsFunc(message, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r)
	}), " ")
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	cut := string(runes[:most])
	if i := strings.LastIndexByte(cut, ' '); i > most/2 {
		cut = cut[:i]
	}
	return cut + "…"
}
