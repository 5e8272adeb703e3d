package llm_test

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"piloto/internal/models/llm"
)

// TestEachCallHasAnIDOfItsOwn: in the answer and in the conversation before it, whatever ids the provider gave, and a call
// that has one keeps it. The same calls get the same ids again.
func TestEachCallHasAnIDOfItsOwn(t *testing.T) {
	some := rapid.SampledFrom([]string{"", "a", "b", "mcp_request:0", "c00010000", "c00020001"})
	draw := func(t *rapid.T, name string) (calls []llm.Call) {
		for i, id := range rapid.SliceOfN(some, 0, 6).Draw(t, name) {
			calls = append(calls, llm.Call{ID: id, Name: "look", Arguments: fmt.Sprint(i)})
		}
		return calls
	}
	made := regexp.MustCompile(`^c\d{8}$`)
	rapid.Check(t, func(t *rapid.T) {
		var conversation []llm.Message
		taken := map[string]bool{}
		for round := range rapid.IntRange(1, 4).Draw(t, "rounds") {
			calls := draw(t, fmt.Sprint("round ", round))
			got := llm.Distinct(calls, conversation)
			if d := cmp.Diff(got, llm.Distinct(calls, conversation)); d != "" {
				t.Fatal(d)
			}
			for i, c := range got {
				was := calls[i]
				if c.ID == "" || taken[c.ID] || c.Name != was.Name || c.Arguments != was.Arguments {
					t.Fatalf("%+v became %+v, beside %v", was, c, taken)
				}
				if c.ID != was.ID && (was.ID != "" && !taken[was.ID] || !made.MatchString(c.ID)) {
					t.Fatalf("%q became %q", was.ID, c.ID)
				}
				taken[c.ID] = true
			}
			conversation = append(conversation, llm.Message{Role: llm.Assistant, Calls: got})
		}
	})
}
