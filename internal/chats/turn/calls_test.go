package turn_test

import (
	"strings"
	"testing"

	"piloto/internal/models/llm"
)

// TestNoCallOfAReplyIsLost: calls with one id, or with none, are steps of their own, or the model is told. The next request
// has an id for each call.
func TestNoCallOfAReplyIsLost(t *testing.T) {
	book := func(w *world, room string) string {
		return w.request("POST", "/bookings", `,"body":{"room":"`+room+`"}`)
	}
	for name, c := range map[string]struct {
		reply func(*world) []llm.Call
		steps int    // 0: nothing is proposed
		told  string // what the model is told then
	}{
		"of one id": {func(w *world) []llm.Call {
			return []llm.Call{{ID: "mcp_request:0", Name: "mcp_request", Arguments: book(w, "a")}, {ID: "mcp_request:0", Name: "mcp_request", Arguments: book(w, "b")}}
		}, 2, ""},
		"the same three times": {func(w *world) []llm.Call {
			one := llm.Call{Name: "mcp_request", Arguments: book(w, "a")}
			return []llm.Call{one, one, one}
		}, 3, ""},
		"joined names": {func(w *world) []llm.Call {
			return []llm.Call{{Name: "lookmcp_request", Arguments: book(w, "a") + book(w, "b")}, {Name: "mcp_request", Arguments: book(w, "c")}}
		}, 0, "there is no tool"},
		"a name twice": {func(w *world) []llm.Call { return []llm.Call{{Name: "look look", Arguments: "{}{}"}} }, 0, "there is no tool"},
		"joined arguments": {func(w *world) []llm.Call {
			return []llm.Call{{Name: "mcp_request", Arguments: book(w, "a") + book(w, "b")}}
		}, 0, "more than one object"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.model.answers = []any{llm.Reply{Calls: c.reply(w)}}
			reply := w.send(t, "reserva")
			switch {
			case c.steps > 0 && (reply.Run == nil || len(reply.Run.Plan.Steps) != c.steps):
				t.Errorf("%+v", reply)
			case c.steps == 0 && (reply.Run != nil || len(w.model.asked) < 2):
				t.Errorf("%+v after %d calls", reply, len(w.model.asked))
			case c.steps == 0:
				said := ""
				for _, m := range w.model.asked[1].Messages {
					if m.Role == llm.ToolRole {
						said += m.Content
					}
				}
				if !strings.Contains(said, c.told) {
					t.Errorf("the model is told %s", said)
				}
			}
		})
	}
}

// TestRoundsMayUseOneID: a model that numbers its calls anew in each reply.
func TestRoundsMayUseOneID(t *testing.T) {
	w := newWorld(t)
	search := llm.Reply{Calls: []llm.Call{{ID: "search_tools:0", Name: "search_tools", Arguments: `{"query":"x"}`}}}
	w.model.answers = []any{search, search, search}
	w.send(t, "busca")
	seen := map[string]int{}
	for _, m := range w.model.asked[3].Messages {
		for _, c := range m.Calls {
			seen[c.ID]++
		}
		if m.Role == llm.ToolRole && seen[m.CallID] != 1 {
			t.Errorf("a result of %q", m.CallID)
		}
	}
	if len(seen) != 3 || seen["search_tools:0"] != 1 {
		t.Errorf("ids %v", seen)
	}
}
