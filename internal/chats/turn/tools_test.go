package turn

import (
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"piloto/internal/chats/proposal"
	"piloto/internal/chats/reads"
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
		keys := map[string][]string{toolLook: reads.Keys, toolResult: reads.ResultKeys, toolPlan: proposal.PlanKeys, toolRevise: proposal.PlanKeys}[s.Name]
		for _, name := range keys {
			if schema.Properties[name] == nil || len(keys) != len(schema.Properties) {
				t.Errorf("%s accepts %v", s.Name, keys)
			}
		}
		if s.do == nil || s.Description == "" || seen[s.Name] || !slices.Contains([]toolClass{classLook, classWrite, classAsk}, s.class) {
			t.Errorf("%q of the class %q", s.Name, s.class)
		}
		if seen[s.Name] = true; specOf(s.Name).Name != s.Name {
			t.Errorf("%s is not found", s.Name)
		}
	}
	if specOf("mcp_reques") != nil || specOf("") != nil {
		t.Error("a tool is found that is not there")
	}
}

// What a step read with HEAD are its headers. Those of other calls are not told.
func TestTheOutcomeOfAHeadHasItsHeaders(t *testing.T) {
	for method, want := range map[string]string{"HEAD": `"headers":{"Etag":"v7"}`, "DELETE": `"answer":200}`} {
		s := plan.Step{ID: plan.EffectOf("s1"), Method: method, Path: "/only"}
		r := plan.Run{Status: plan.Done, Plan: plan.Plan{Steps: []plan.Step{s}}, Steps: []plan.StepState{
			{StepID: s.ID, Status: plan.StepDone, Result: &plan.Result{Status: 200, Headers: map[string]string{"Etag": "v7"}}},
		}}
		if got, err := outcomes([]plan.Run{r}, time.Now()); err != nil || !strings.Contains(got, want) {
			t.Errorf("%s: %v, %s", method, err, got)
		}
	}
}

// TestPanicOfAnUnknownToolIsAResult: it is of no class, so nothing is proposed beside it.
func TestPanicOfAnUnknownToolIsAResult(t *testing.T) {
	for name, spec := range map[string]*toolSpec{"unknown": nil, "look": specOf(toolLook), "request": specOf(toolRequest)} {
		l, b := &loop{}, &batch{}
		l.service = &Service{Log: slog.New(slog.DiscardHandler)}
		result := l.panicked(t.Context(), toolCall{name: name, batch: b}, spec, "as the case says")
		if !strings.Contains(result, "internal error") || (b.proposals.Refused == "") != (name == "look") {
			t.Errorf("%s: %s, refused %q", name, result, b.proposals.Refused)
		}
	}
}
