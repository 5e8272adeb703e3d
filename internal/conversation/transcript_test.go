package conversation_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"piloto/internal/conversation"
)

// TestLongThoughtsAreNotKept: a thought is cut between characters, and what may be signed is left out whole.
func TestLongThoughtsAreNotKept(t *testing.T) {
	short, long := json.RawMessage(`{"a":"b"}`), json.RawMessage(`{"a":"`+strings.Repeat("b", 20<<10)+`"}`)
	thought := strings.Repeat("año", 10<<10)
	was := &conversation.Transcript{Rounds: []conversation.Round{
		{Thought: thought, Extra: long, Calls: []conversation.ToolCall{{ID: "1", Extra: short}}}, {Thought: "x", Extra: short, From: "m"},
	}}
	kept := was.Kept().Rounds
	if got := kept[0].Thought; len(got) > 8<<10 || len(got) < 8<<10-4 || !utf8.ValidString(got) || kept[0].Extra != nil || string(kept[0].Calls[0].Extra) != string(short) {
		t.Errorf("%d bytes of a thought, %d of the rest", len(got), len(kept[0].Extra))
	}
	if kept[1].Thought != "x" || string(kept[1].Extra) != string(short) || kept[1].From != "m" || was.Rounds[0].Extra == nil {
		t.Errorf("%+v", kept[1])
	}
}
