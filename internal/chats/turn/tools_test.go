package turn

import (
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"piloto/internal/chats/proposal"
	"piloto/internal/chats/reads"
	"piloto/internal/chats/toolset"
	"piloto/internal/models/llm"
	"piloto/internal/runs/plan"
)

// TestEveryToolIsWholeAndOfOneClass: a turn can offer it, and call it.
func TestEveryToolIsWholeAndOfOneClass(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range toolTable {
		var schema struct {
			Type       string         `json:"type"`
			Properties map[string]any `json:"properties"`
			Required   []string       `json:"required"`
			Additional *bool          `json:"additionalProperties"`
		}
		if err := json.Unmarshal(s.Parameters, &schema); err != nil || schema.Type != "object" || len(schema.Properties) == 0 || schema.Additional == nil || *schema.Additional {
			t.Errorf("%s: %v, %+v", s.Name, err, schema)
		}
		for _, name := range schema.Required {
			if schema.Properties[name] == nil {
				t.Errorf("%s requires %s, which it does not have", s.Name, name)
			}
		}
		if s.Name == toolset.Look { // tool and body are offered where a server has named tools
			if err := json.Unmarshal(withToolNames([]llm.Tool{s.Tool})[0].Parameters, &schema); err != nil {
				t.Fatal(err)
			}
		}
		keys := map[string][]string{toolset.Look: reads.Keys, toolset.Result: reads.ResultKeys, toolset.Plan: proposal.PlanKeys, toolset.Revise: proposal.PlanKeys}[s.Name]
		keys = slices.DeleteFunc(slices.Clone(keys), func(name string) bool { return name == "arguments" }) // the earlier word for body
		for _, name := range keys {
			if schema.Properties[name] == nil || len(keys) != len(schema.Properties) {
				t.Errorf("%s accepts %v", s.Name, keys)
			}
		}
		if s.do == nil || s.Description == "" || seen[s.Name] || specOf(s.Name).class == "" {
			t.Errorf("%q has no text, no work or no class", s.Name)
		}
		if seen[s.Name] = true; specOf(s.Name).Name != s.Name {
			t.Errorf("%s is not found", s.Name)
		}
	}
	if specOf("mcp_reques") != nil || specOf("") != nil {
		t.Error("a tool is found that is not there")
	}
}

// TestPanicOfAnUnknownToolIsAResult: it is of no class, so nothing is proposed beside it.
func TestPanicOfAnUnknownToolIsAResult(t *testing.T) {
	for name, spec := range map[string]*toolSpec{"unknown": nil, "look": specOf(toolset.Look), "request": specOf(toolset.Request)} {
		l, b := &loop{}, &batch{}
		l.service = &Service{Log: slog.New(slog.DiscardHandler)}
		result := l.panicked(t.Context(), toolCall{name: name, batch: b}, spec, "as the case says")
		if !strings.Contains(result, "internal error") || (b.proposals.Refused == "") != (name == "look") {
			t.Errorf("%s: %s, refused %q", name, result, b.proposals.Refused)
		}
	}
}

// TestADoubtOfAListIsOfItsElements: the step itself stays in doubt when a person said of each what became of it.
func TestADoubtOfAListIsOfItsElements(t *testing.T) {
	s1 := plan.EffectOf("s1")
	one := plan.StepState{StepID: plan.ItemOf(s1, 0), Status: plan.StepInDoubt}
	r := plan.Run{
		Status: plan.InDoubt, Plan: plan.Plan{Steps: []plan.Step{{ID: s1, Title: "Avisar", Method: "POST", Risk: plan.Write, ForEach: "${s0.body}"}}},
		Steps: []plan.StepState{{StepID: s1, Status: plan.StepInDoubt, Expanded: true, Items: 1}, one},
	}
	if got := inDoubt(r); !slices.Equal(got, []string{"Avisar (1)"}) {
		t.Errorf("%q", got)
	}
	one.Resolved = &plan.Resolution{Outcome: plan.OutcomeNotDone}
	if got := inDoubt(r.With(one)); got != nil {
		t.Errorf("resolved: %q", got)
	}
}
