package conversation

import (
	"encoding/json"
	"time"

	"piloto/internal/ground/excerpt"
	"piloto/internal/ground/ref"
)

// Source is a read that was made for an answer, without a confirmation: the request to a service, and its answer.
type Source struct {
	ID      string    `json:"id"` // "l1", in the order of the reads of a turn
	MCPID   string    `json:"mcp_id"`
	Service string    `json:"service"`
	Tool    string    `json:"tool,omitempty"`
	Method  string    `json:"method,omitempty"`
	URL     string    `json:"url"` // as sent, without the service's key
	Status  int       `json:"status,omitempty"`
	At      time.Time `json:"at"`
	// RequestHash and AnswerHash are SHA-256 in hexadecimal digits: of the request as a step's is, and of the whole
	// answer as it was received.
	RequestHash string `json:"request_hash"`
	AnswerHash  string `json:"answer_hash,omitempty"`
	Bytes       int    `json:"bytes,omitempty"` // of the whole answer
	// Answer is the part of the answer that the model read; Cut says that it is not all of it.
	Answer string        `json:"answer,omitempty"`
	Cut    bool          `json:"cut,omitempty"`
	Cuts   []excerpt.Cut `json:"cuts,omitempty" doc:"the lists, maps and texts of it that were cut, and how much of each is here"`
	// Names are the members of the answer that the document of the service gives a title.
	Names []ref.Named `json:"names,omitempty"`
	Error string      `json:"error,omitempty"` // why there is no answer
	// Call is the read, as the tool mcp_request takes it: {mcp_id, method, path, query} or {mcp_id, tool, body}.
	Call json.RawMessage `json:"call,omitempty"`
}

// Called names the request of a read: the method and the address, or the tool.
func (s Source) Called() string {
	if s.Tool != "" {
		return s.Tool
	}
	return s.Method + " " + s.URL
}
