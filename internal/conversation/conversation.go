// Package conversation defines projects, chats and messages, and the lease to answer a message.
// A chat holds at most one pending draft and one active run.
package conversation

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"piloto/internal/ground/clip"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/locale"
)

// MaxMessage is the most bytes of a user's message.
const MaxMessage = 32 << 10

// Errors of reading chats and projects.
var (
	ErrChatNotFound    = fault.New(fault.NotFound, "chat.not_found")
	ErrProjectNotFound = fault.New(fault.NotFound, "project.not_found")
)

// Project groups chats. It has a context text for the model, and the servers that its chats may
// use: every active one of the account, or only the listed ones.
type Project struct {
	ID        string    `json:"project_id"`
	Name      string    `json:"name"`
	Context   string    `json:"context,omitempty"`
	All       bool      `json:"all_services"`
	MCPIDs    []string  `json:"mcp_ids,omitempty"`
	Files     bool      `json:"files,omitempty" doc:"it has files, or had some"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
}

// Uses reports whether chats of the project may use the server.
func (p Project) Uses(serverID string) bool { return p.All || slices.Contains(p.MCPIDs, serverID) }

// Key names a chat of an account.
type Key struct {
	Account ids.Account
	ChatID  string
}

// Chat is one stored conversation with its state.
type Chat struct {
	ID        string    `json:"chat_id"`
	Title     string    `json:"title"`
	ProjectID string    `json:"project_id,omitempty"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`

	Pinned   bool `json:"pinned,omitempty"`   // it stands before the others
	Archived bool `json:"archived,omitempty"` // it is in no list but that of the archived ones; never pinned, too
	Files    bool `json:"files,omitempty"`    // it has files of its own, or had some

	PendingRunID  string     `json:"pending_run_id,omitempty"`
	ActiveRunID   string     `json:"active_run_id,omitempty"`
	LastRunID     string     `json:"last_run_id,omitempty"`
	LastRunStatus string     `json:"last_run_status,omitempty"`
	LastRunTS     *time.Time `json:"last_run_ts,omitempty"`

	// AskingJobID is the job that asked last in the chat. The next message of a person answers it while it waits for that.
	AskingJobID string `json:"asking_job_id,omitempty"`
	// Automation is the mode that sets when messages are answered; "" means the assistant's
	// mode.
	Automation string `json:"automation,omitempty"`
	// Agent is the name of the agent that answers, of kind loop; "" means the assistant alone.
	Agent string `json:"agent,omitempty"`

	// Conclude says whether the model writes a conclusion of each run of the chat: "on" or "off"; "" means as the
	// assistant says.
	Conclude string `json:"conclude,omitempty" enum:"on,off"`

	// BranchedFrom is where a chat was copied from; nil: it is no branch.
	BranchedFrom *Origin `json:"branched_from,omitempty"`

	// Attributes of a chat that a client named: a session of the Operator API, or of the router,
	// which belongs to one company.
	SessionID string                     `json:"session_id,omitempty"`
	Company   int64                      `json:"id_empresa,omitempty"`
	UserID    string                     `json:"user_id,omitempty"`
	Summary   string                     `json:"context_summary,omitempty"`
	Metadata  map[string]json.RawMessage `json:"metadata,omitempty"`
}

// Key returns the key of the chat in its account.
func (c Chat) Key(account ids.Account) Key { return Key{Account: account, ChatID: c.ID} }

// The values of Conclude.
const (
	ConcludeOn  = "on"
	ConcludeOff = "off"
)

// SessionChat returns the ID of the chat of a client's session. A ULID is the ID of a chat
// itself; any other name belongs to the account.
func SessionChat(account ids.Account, sessionID string) string {
	if ids.Valid(sessionID) {
		return sessionID
	}
	return ids.Derive("session", string(account), sessionID)
}

// RouterChat returns the ID of the chat of a router's session for a company. It never equals the
// ID of an Operator session.
func RouterChat(account ids.Account, company int64, sessionID string) string {
	return ids.Derive("router", string(account), strconv.FormatInt(company, 10), sessionID)
}

// Role is the author of a message.
type Role string

// The roles of a stored message.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleSystem    Role = "system"
)

// Kind is the subject of a message; it decides how the message is shown.
type Kind string

// The kinds of message.
const (
	KindText     Kind = "text"     // text of a user or the assistant
	KindPlan     Kind = "plan"     // a draft was proposed; RunID has its run
	KindProgress Kind = "progress" // a run advanced by one step
	KindFinal    Kind = "final"    // a run ended
	KindNotice   Kind = "notice"   // a text of the system
	KindBlocked  Kind = "blocked"  // the turn could not run; Code has the reason

	KindConclusion Kind = "conclusion" // the model's account of the outcome of a run
)

// Message is one entry of a chat. At also gives its position, because IDs sort by time.
type Message struct {
	ID      string
	Role    Role
	Kind    Kind
	Content string
	RunID   string
	JobID   string // the job that it began (then it has its id), asks for, answers or ends
	Code    string
	Action  string // of a block: the next step for the user
	At      time.Time
	// By is the model that wrote the message, if any.
	By *By
	// Notes are the system's lines beside the message. SplitNotes separates those that stand above it.
	Notes []Note
	// Sources are the reads that were made for the message.
	Sources []Source
	// Transcript is how a model came to it; nil: no model did, or it made no call.
	Transcript *Transcript
	// Writers are the users who wrote it: the sender, the person for whom a session sent it, and the writers of the
	// messages that it replaced. Messages of the assistant and of the system have none.
	Writers []string
	// ReadFrom are the ids of the services whose data the model's prompt had, so that the text may have it, too.
	ReadFrom []string
	// Status is how an answer ended, and StopReason why it ended early. Absent means success.
	Status     Status
	StopReason StopReason

	// Asks says that a model asked it with its tool: any next message of the person answers it and confirms nothing.
	// Options are the answers to choose from, which its text has as numbered lines.
	Asks    bool
	Options []Option

	// FromRunID is, in a branch, the run of the chat that it came from. Nothing in the branch decides on it.
	FromRunID string
	// Feedback is a person's comment on it, if any.
	Feedback *Feedback

	// ReplacedBy is the id of the message, or of the answer, that replaced this one. A prompt, a summary and a search leave it out.
	ReplacedBy string

	// Seq is the position of the message in its chat: a ULID, also for messages with a derived
	// ID (run_id#final). It is the page cursor.
	Seq string
}

// Status is how an answer ended.
type Status string

// The statuses of an answer.
const (
	Success Status = "success"
	Partial Status = "partial" // it ended early, with an interim result
	Failed  Status = "failed"  // it came to nothing
)

// StopReason is why an answer ended before the model was done; "" when it was.
type StopReason string

// The reasons to stop.
const (
	StopSteps   StopReason = "max_steps"
	StopTime    StopReason = "timeout"
	StopBudget  StopReason = "budget_exceeded" // also of credits
	StopContext StopReason = "context_full"    // the messages that must stay in the prompt are larger than the model's window
	StopPerson  StopReason = "user_interrupt"
	StopModel   StopReason = "llm_error"       // no model answered, or its answers could not be used
	StopBlocked StopReason = "blocked"         // the turn did not run
	StopExpired StopReason = "waiting_expired" // nobody decided in time on the plan or question for which it waited
	StopClient  StopReason = "client_gone"     // the client that carries out its calls is gone
	StopNoRoom  StopReason = "throttled"       // the server had no room for it for hours
	StopRefused StopReason = "plans_refused"   // a person refused one plan of a job after the other
)

// Summary replaces the older messages of a chat in prompts. It is data, as they are.
type Summary struct {
	Until string // position (Seq) of the last message that it covers; "" when there is no summary
	Text  string
	Read  []string // ids of the servers whose data the messages may have
	At    time.Time
}

// Note is a line of the system beside a message. The text of the model stays unchanged. Text states a fact in the
// language of the turn.
type Note struct {
	Code string `json:"code" enum:"nothing_pending,nothing_done,not_confirmed,cost,partial,not_in_results,in_doubt,rule_denied,made_room,no_tools,cut_short,filtered"`
	Text string `json:"text"`
}

// The codes of notes.
const (
	NoteNothingPending = "nothing_pending" // the text poses as a plan, or asks for a confirmation, and none is behind it
	NoteNotConfirmed   = "not_confirmed"   // the card is shown again, with the reason why the yes did not count
	NotePartial        = "partial"         // the evaluation of the answer says that it does not do all that was asked
	NoteCost           = "cost"            // the answer cost more than its agent's warning
	NoteNothingDone    = "nothing_done"    // the text claims an act, and no run of the chat did anything since the message
	NoteInDoubt        = "in_doubt"        // the text claims an act, and nobody knows whether it took effect
	NoteRuleDenied     = "rule_denied"     // a rule of the account denied a call that the model wanted
	NoteNoTools        = "no_tools"        // the model takes no tools: it can only talk
	NoteCutShort       = "cut_short"       // the answer ended at the most tokens that it may have
	NoteFiltered       = "filtered"        // the provider's filter ended the answer
	NoteMadeRoom       = "made_room"       // older data was removed to make room for the proposed changes of files
	NoteNotInResults   = "not_in_results"  // figures of the text stand neither in the results nor in the question
)

// Contradicts reports whether the note says that the text beside it is not so, or not known to be.
func (n Note) Contradicts() bool {
	switch n.Code {
	case NoteNothingPending, NoteNothingDone, NoteInDoubt, NoteNotInResults:
		return true
	}
	return false
}

// Warning returns a note that contradicts a text, as the line that stands above it.
func (n Note) Warning() locale.Phrase {
	return locale.Say("note.warning", "note", clip.LineWithout(n.Text, nil))
}

// SplitNotes returns the notes that contradict the message, which are read before it, and the others, which follow it.
func (m Message) SplitNotes() (above, below []Note) {
	for _, n := range m.Notes {
		if n.Contradicts() {
			above = append(above, n)
		} else {
			below = append(below, n)
		}
	}
	return above, below
}

// By names the model that wrote a message, with the preferred provider and the reason why it was
// not used. Agent is the agent that answered, by the model's decision.
type By struct {
	Agent     string `json:"agent,omitempty"`
	Provider  string `json:"provider"`
	Model     string `json:"model"`
	Preferred string `json:"preferred,omitempty"` // the provider that the assistant names first
	Reason    string `json:"reason,omitempty"`    // why it was not used
	Stopped   bool   `json:"stopped,omitempty"`   // a person stopped the answer
}

// FinalID returns the ID of the one message about the end of a run.
func FinalID(runID string) string { return runID + "#final" }

// ConclusionID returns the ID of the only conclusion of a run.
func ConclusionID(runID string) string { return runID + "#conclusion" }

// AnswerID returns the ID of the one answer to a message, when the message has the ID of a
// request that may be retried.
func AnswerID(messageID string) string { return messageID + "#answer" }

// Title returns a chat's title from its first message: one line, at most 60 characters, cut at a
// word.
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
