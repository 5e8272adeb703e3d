package conversation

import (
	"encoding/json"
	"unicode/utf8"
)

// mostThought bounds the bytes of a thought that is kept. A provider wants a thought with its calls, and does not read it again.
const mostThought = 8 << 10

// mostExtra bounds the bytes of the further members that are kept with a reply. They cannot be cut, because they may be signed.
const mostExtra = 16 << 10

// Transcript is how a model came to an answer: the state that its prompt had, and its replies with calls, in their order. The
// next prompts have it as it was.
type Transcript struct {
	Now    string  `json:"now,omitempty"`
	Rounds []Round `json:"rounds,omitempty"`
}

// Round is one reply of a model and the results of its calls. Thought and Extra go back with it to the model that is From;
// nobody reads them. Left is how many replies the turn had left after it.
type Round struct {
	Text    string          `json:"text,omitempty"`
	Thought string          `json:"thought,omitempty"`
	Extra   json.RawMessage `json:"extra,omitempty"`
	From    string          `json:"from,omitempty"`
	Calls   []ToolCall      `json:"calls"`
	Left    int             `json:"left,omitempty"`
}

// ToolCall is a call of a tool and its result. Source is the id of the Source of the same message whose answer is the result;
// then Result is empty.
type ToolCall struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Arguments string          `json:"arguments"`
	Extra     json.RawMessage `json:"extra,omitempty"`
	Result    string          `json:"result,omitempty"`
	Source    string          `json:"source,omitempty"`
}

// Kept returns the transcript as it is stored: thoughts that are very long are cut, and signed ones left out, because a provider
// wants them in the turn of their calls alone.
func (t *Transcript) Kept() *Transcript {
	if t == nil {
		return nil
	}
	kept := Transcript{Now: t.Now}
	for _, r := range t.Rounds {
		for len(r.Thought) > mostThought {
			at := mostThought
			for !utf8.RuneStart(r.Thought[at]) {
				at--
			}
			r.Thought = r.Thought[:at]
		}
		if len(r.Extra) > mostExtra {
			r.Extra = nil
		}
		kept.Rounds = append(kept.Rounds, r)
	}
	return &kept
}
