// Package wire owns the JSON form of a message: in the answers and the exports of the API, in the events of the socket,
// and in an event of a run that has no number yet. It omits the internal fields of a message: its transcript, its writers, the
// services whose data it may have, and its position.
package wire

import (
	"time"

	"piloto/internal/conversation"
)

// Message is a message in JSON. It has the fields of conversation.Message, so that each converts to the other.
type Message struct {
	ID         string                   `json:"id"`
	Role       conversation.Role        `json:"role"`
	Kind       conversation.Kind        `json:"kind"`
	Content    string                   `json:"content"`
	RunID      string                   `json:"run_id,omitempty"`
	JobID      string                   `json:"job_id,omitempty"`
	Code       string                   `json:"code,omitempty"`
	Action     string                   `json:"action,omitempty"`
	At         time.Time                `json:"at"`
	By         *conversation.By         `json:"answered_by,omitempty"`
	Notes      []conversation.Note      `json:"notes,omitempty"`
	Sources    []conversation.Source    `json:"sources,omitempty"`
	Transcript *conversation.Transcript `json:"-"`
	Writers    []string                 `json:"-"`
	ReadFrom   []string                 `json:"-"`
	Status     conversation.Status      `json:"status,omitempty" enum:"success,partial,failed"`
	StopReason conversation.StopReason  `json:"stop_reason,omitempty" enum:"max_steps,timeout,budget_exceeded,context_full,user_interrupt,llm_error,blocked,waiting_expired,client_gone,throttled,plans_refused"`
	Asks       bool                     `json:"asks,omitempty" doc:"a question of the model: the next message of a person answers it, and confirms and refuses nothing"`
	Options    []conversation.Option    `json:"options,omitempty" doc:"of a question: answers to choose from, at most 10. The content has them as numbered lines; a person may answer with an id, with a title, or otherwise"`
	FromRunID  string                   `json:"from_run_id,omitempty"`
	Feedback   *conversation.Feedback   `json:"feedback,omitempty"`
	ReplacedBy string                   `json:"replaced_by,omitempty"`
	Seq        string                   `json:"-"`
}

// Read returns messages from their JSON form, without the fields that the form omits.
func Read(list []Message) []conversation.Message {
	out := make([]conversation.Message, len(list))
	for i, m := range list {
		out[i] = conversation.Message(m)
	}
	return out
}

// Messages returns messages as they are written.
func Messages(list []conversation.Message) []Message {
	out := make([]Message, len(list))
	for i, m := range list {
		out[i] = Message(m)
	}
	return out
}
