package webui

import (
	"encoding/json"
	"strings"
	"testing"

	"piloto/internal/ground/locale"
	"piloto/internal/runs/plan"
)

// TestACardShowsTheAddressThatIsSent: whole, with its query, and with a value that must be the same when it is sent.
func TestACardShowsTheAddressThatIsSent(t *testing.T) {
	for _, c := range []struct {
		method, path, query string
		target              plan.Target
		want                string
	}{
		{"DELETE", "/r/a%20b", "", plan.Target{}, "/r/a%20b"},
		{"DELETE", "/r/%c3%b1;@+", "q=a%20b&x=%2B", plan.Target{}, "/r/%c3%b1;@+?q=a%20b&amp;x=%2B"},
		{"DELETE", "/r/x-${s1.body.id}", "q=${s1.body.id}", plan.Target{Ref: "s1.body.id", Value: json.RawMessage(`"#W 1"`)}, `/r/x-<span class="ref" title="${s1.body.id} · `},
		{"DELETE", "/r/x-${s1.body.id}", "", plan.Target{Ref: "s1.body.id", Value: json.RawMessage(`"#W 1"`)}, `">%23W%201</span>`},
		{"DELETE", "/r/${s1.body.id}", "q=${s1.body.id}", plan.Target{Ref: "s1.body.id", Value: json.RawMessage(`7`)}, `">7</span>?q=<span class="ref" title="`},
		{"DELETE", "/r/${s1.body.id}", "", plan.Target{Ref: "s1.body.id", Value: json.RawMessage(`null`)}, `">${s1.body.id}</span>`},
		{"GET", "/r/${s1.body.id}", "", plan.Target{Ref: "s1.body.id", Value: json.RawMessage(`7`)}, `">${s1.body.id}</span>`}, // it may have another value
	} {
		s := plan.Step{ID: plan.EffectOf("s2"), Method: c.method, Path: c.path, Risk: plan.RiskOf(c.method), Targets: []plan.Target{c.target}}
		p := plan.Plan{Steps: []plan.Step{s}, Bindings: []plan.Binding{{StepID: s.ID, BaseURL: "http://x.example/v1", Query: c.query}}}
		got := newCard(plan.Run{ID: "r", Status: plan.Draft, Plan: p}, nil, locale.Spanish, noon).Steps[0]
		if !strings.Contains(string(got.Path), c.want) || !strings.HasPrefix(string(got.Path), "/v1/r/") {
			t.Errorf("%s?%s is shown as %s, want %s", c.path, c.query, got.Path, c.want)
		}
	}
}
