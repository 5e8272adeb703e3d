package window_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"piloto/internal/chats/window"
	"piloto/internal/models/llm"
)

// conversation is a random conversation. Each message that must stay has a text that begins with "stay".
type conversation struct {
	messages []llm.Message
	answered int
}

func draw(t *rapid.T) conversation {
	var c conversation
	n := 0
	say := func(role llm.Role, stays bool) *llm.Message {
		n++
		text := fmt.Sprintf("%d %s", n, strings.Repeat("palabra ", rapid.IntRange(0, 60).Draw(t, "words")))
		if stays {
			text = "stay " + text
		}
		c.messages = append(c.messages, llm.Message{Role: role, Content: text})
		return &c.messages[len(c.messages)-1]
	}
	round := func(complete bool) {
		m := say(llm.Assistant, !complete)
		calls := rapid.IntRange(1, 3).Draw(t, "calls")
		for i := range calls {
			m.Calls = append(m.Calls, llm.Call{ID: fmt.Sprintf("c%d-%d", n, i), Name: "look", Arguments: "{}"})
		}
		asked := m.Calls
		if !complete {
			asked = asked[:rapid.IntRange(0, calls-1).Draw(t, "results")]
		}
		for _, call := range asked {
			say(llm.ToolRole, !complete).CallID = call.ID
		}
	}
	for range rapid.IntRange(1, 3).Draw(t, "systems") {
		say(llm.System, true)
	}
	for i := range rapid.IntRange(0, 8).Draw(t, "exchanges") {
		say(llm.User, i == 0)
		for range rapid.IntRange(0, 2).Draw(t, "rounds in history") {
			round(true)
		}
		if rapid.Bool().Draw(t, "note") {
			say(llm.System, false)
		}
		say(llm.Assistant, false)
	}
	for range rapid.IntRange(0, 1).Draw(t, "now") {
		say(llm.System, true)
	}
	say(llm.User, true)
	c.answered = len(c.messages) - 1
	for range rapid.IntRange(0, 5).Draw(t, "rounds") {
		round(true)
		if rapid.Bool().Draw(t, "correction") {
			say(llm.Assistant, false)
			say(llm.System, false)
		}
	}
	if rapid.Bool().Draw(t, "a call waits") {
		round(false)
	}
	return c
}

func mustStay(list []llm.Message) []llm.Message {
	return slices.DeleteFunc(slices.Clone(list), func(m llm.Message) bool { return !strings.HasPrefix(m.Content, "stay") })
}

// TestWhatMustStayStaysAndTheRestFits: what fits is at most the window, with the longest answer; calls and results stay
// together; and nothing that would have fitted is too large only because something else was kept.
func TestWhatMustStayStaysAndTheRestFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := draw(t)
		r := llm.Request{
			Messages: c.messages, MaxTokens: rapid.IntRange(0, 500).Draw(t, "answer"),
			Tools: []llm.Tool{{Name: "look", Description: "Lee un servicio."}},
		}
		tokens := rapid.IntRange(0, 6000).Draw(t, "window")
		before := fmt.Sprintf("%+v", r.Messages)
		kept, fits := window.Fit(r, tokens, c.answered)
		if fmt.Sprintf("%+v", r.Messages) != before {
			t.Fatal("the request was changed")
		}
		least := r
		least.Messages = mustStay(c.messages)
		if got := mustStay(kept); !slices.EqualFunc(got, least.Messages, same) {
			t.Fatalf("of what must stay is left\n%+v of\n%+v", got, least.Messages)
		}
		if want := least.Estimate()+r.MaxTokens <= tokens; fits != want {
			t.Fatalf("fits: %v, and what must stay fits: %v", fits, want)
		}
		fitted := r
		fitted.Messages = kept
		if size := fitted.Estimate() + r.MaxTokens; fits && size > tokens {
			t.Fatalf("%d of %d tokens", size, tokens)
		}
		if !fits && len(kept) != len(least.Messages) {
			t.Fatal("more is sent than what must stay, and it does not fit")
		}
		checkOrder(t, c.messages, kept)
		checkCalls(t, kept)
		if whole := r.Estimate()+r.MaxTokens <= tokens; whole != (len(kept) == len(r.Messages)) && len(least.Messages) < len(r.Messages) {
			t.Fatalf("it fits whole: %v, and %d of %d messages are left", whole, len(kept), len(r.Messages))
		}
	})
}

func same(a, b llm.Message) bool { return a.Content == b.Content }

func checkOrder(t *rapid.T, all, kept []llm.Message) {
	for _, m := range all {
		if len(kept) > 0 && same(m, kept[0]) {
			kept = kept[1:]
		}
	}
	if len(kept) > 0 {
		t.Fatalf("the order changed at %+v", kept[0])
	}
}

// checkCalls: every result follows its call, and only a call that must stay lacks a result.
func checkCalls(t *rapid.T, kept []llm.Message) {
	asked, answered := map[string]bool{}, map[string]bool{}
	for _, m := range kept {
		for _, c := range m.Calls {
			asked[c.ID] = true
		}
		if m.Role == llm.ToolRole {
			answered[m.CallID] = true
			if !asked[m.CallID] {
				t.Fatalf("a result without its call: %+v", m)
			}
		}
	}
	for _, m := range kept {
		for _, c := range m.Calls {
			if !answered[c.ID] && !strings.HasPrefix(m.Content, "stay") {
				t.Fatalf("a call without its result: %+v", m)
			}
		}
	}
}

// TestTheOldestGoesFirst: exchanges before rounds, and the newest of each stay longest.
func TestTheOldestGoesFirst(t *testing.T) {
	long := strings.Repeat("palabra ", 100)
	all := []llm.Message{
		{Role: llm.System, Content: "sys"},
		{Role: llm.User, Content: "u1"},
		{Role: llm.Assistant, Content: "a1" + long},
		{Role: llm.User, Content: "u2" + long},
		{Role: llm.Assistant, Content: "a2" + long},
		{Role: llm.User, Content: "u3" + long},
		{Role: llm.Assistant, Content: "a3" + long},
		{Role: llm.System, Content: "now"},
		{Role: llm.User, Content: "u4"},
		{Role: llm.Assistant, Calls: []llm.Call{{ID: "x"}}},
		{Role: llm.ToolRole, CallID: "x", Content: "rx" + long},
		{Role: llm.Assistant, Calls: []llm.Call{{ID: "y"}}},
		{Role: llm.ToolRole, CallID: "y", Content: "ry" + long},
	}
	whole := llm.Request{Messages: all}.Estimate()
	one := llm.Message{Content: long}.Estimate()
	left := func(tokens int) (names string) {
		kept, fits := window.Fit(llm.Request{Messages: all}, tokens, 8)
		for _, m := range kept {
			if names += strings.TrimSuffix(m.Content, long) + " "; len(m.Calls) > 0 {
				names += m.Calls[0].ID + " "
			}
		}
		return fmt.Sprintf("%s%v", names, fits)
	}
	for tokens, want := range map[int]string{
		whole:              "sys u1 a1 u2 a2 u3 a3 now u4  x rx  y ry true",
		whole - 1:          "sys u1 u2 a2 u3 a3 now u4  x rx  y ry true",
		whole - one - 20:   "sys u1 u3 a3 now u4  x rx  y ry true",
		whole - 4*one:      "sys u1 now u4  x rx  y ry true",
		whole - 5*one - 40: "sys u1 now u4  y ry true",
		whole - 7*one - 10: "sys u1 now u4 true",
		10:                 "sys u1 now u4 false",
	} {
		if got := left(tokens); got != want {
			t.Errorf("%d of %d tokens: %s\nand not %s", tokens, whole, got, want)
		}
	}
}
