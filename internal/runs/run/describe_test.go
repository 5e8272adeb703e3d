package run_test

import (
	"encoding/json"
	"strings"
	"testing"

	"piloto/internal/ground/locale"
	"piloto/internal/ground/ref"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
	"piloto/internal/tools/tool"
	"piloto/internal/workspace/overlay"
)

// A user who confirms by text sees all that may be sent, also by an undo and a check.
func TestDescribeShowsAllThatIsSent(t *testing.T) {
	call := func(method, path, body string) plan.Call {
		return plan.Call{MCPID: "m1", Method: method, Path: path, Body: json.RawMessage(body)}
	}
	check := call("GET", "/orders", "")
	check.Query = json.RawMessage(`{"memo":"${s1.body.memo}"}`)
	p := plan.Plan{
		Goal: "Pagar",
		Steps: []plan.Step{{
			ID: plan.EffectOf("s1"), Title: "Pagar", MCPID: "m1", Method: "POST", Path: "/payments", Body: json.RawMessage(`{"amount":10}`), Risk: plan.Write,
			Undo:   &plan.Undo{Call: call("POST", "/payments", `{"amount":-10000,"to":"x\u202e"}`)},
			Verify: &plan.Check{Call: check, Expect: ref.Condition{Value: "${check.status}", Is: ref.Equal, To: json.RawMessage("200")}},
		}},
		Bindings: []plan.Binding{
			{StepID: plan.EffectOf("s1"), BaseURL: "https://bank.example", Media: "application/merge-patch+json", Auth: "query token; header X-Id"},
			{StepID: plan.ParseEffect("undo:s1"), BaseURL: "https://bank.example", Media: "application/x-www-form-urlencoded"},
			{StepID: plan.ParseEffect("check:s1"), BaseURL: "https://other.example", Auth: "query other"},
		},
	}
	for _, tag := range []locale.Tag{locale.Spanish, locale.English} {
		text := run.Describe(p, nil).In(tag)
		for _, want := range []string{
			`POST https://bank.example/payments`, `{"amount":10}`, `{"amount":-10000,"to":"x\u202e"}`, `GET https://other.example/orders {"memo":"${s1.body.memo}"}`,
			"query token; header X-Id", "query other",
			locale.Text(tag, "run.plan_crossing") + " https://bank.example → https://other.example", // of the check
			"Content-Type: application/merge-patch+json", `Content-Type: application/x-www-form-urlencoded {"amount":-10000`,
		} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %s is not in\n%s", tag, want, text)
			}
		}
	}
}

// TestCrossingDataIsDescribed (guarantee I31): of a step, an undo and a check, each below its call.
func TestCrossingDataIsDescribed(t *testing.T) {
	s1, s2 := plan.EffectOf("s1"), plan.EffectOf("s2")
	call := plan.Call{Method: "GET", Path: "/x/${item.id}"}
	p := plan.Plan{Goal: "g", Steps: []plan.Step{{ID: s1, Title: "a", Method: "GET", Path: "/a"}, {
		ID: s2, Title: "b", Method: "POST", Path: "/b", Body: json.RawMessage(`["${item}"]`), ForEach: "${s1.body}", Undo: &plan.Undo{Call: call},
		Verify: &plan.Check{Call: call},
	}}}
	for id, base := range map[plan.EffectID]string{s1: "https://a.example/v1", s2: "https://b.example", plan.UndoOf(s2): "https://c.example/x", plan.CheckOf(s2): "https://a.example"} {
		p.Bindings = append(p.Bindings, plan.Binding{StepID: id, BaseURL: base})
	}
	for _, tag := range []locale.Tag{locale.Spanish, locale.English} {
		text, warns := run.Describe(p, nil).In(tag), "\n   ⚠️ "+locale.Text(tag, "run.plan_crossing")+" https://a.example → "
		undo := strings.Index(text, "https://c.example/x")
		if strings.Count(text, warns) != 2 || !strings.Contains(text[:undo], warns+"https://b.example\n") || !strings.Contains(text[undo:], warns+"https://c.example\n") {
			t.Error(text)
		}
	}
}

// A path or a value that ends in invisible characters is distinguishable from the one without them.
func TestDescribeShowsInvisibleCharacters(t *testing.T) {
	for _, r := range []rune{'\u034f', '\u115f', '\u1160', '\u17b4', '\u2800', '\u3164', '\uffa0', '\ufe0f', 0x16fe4, 0x1d159, 0xe0100, 0xe0041, '\u200b', '\u202e', '\u2028', '\u00a0'} {
		odd := "1" + string(r)
		value := json.RawMessage(`{"to":"` + odd + `"}`)
		p := plan.Plan{
			Goal: "Borrar",
			Steps: []plan.Step{{
				ID: plan.EffectOf("s1"), Title: "Borrar", MCPID: "m1", Method: "DELETE", Path: "/orders/" + odd, Query: value, Body: value, ForEach: "${s0.body." + odd + "}",
				Undo:   &plan.Undo{Call: plan.Call{MCPID: "m1", Method: "POST", Path: "/orders/" + odd, Query: value, Body: value}},
				Verify: &plan.Check{Call: plan.Call{MCPID: "m1", Method: "GET", Path: "/orders/" + odd}, Expect: ref.Condition{Value: "${check.status}", Is: ref.Equal, To: json.RawMessage("404")}},
				When:   &ref.Condition{Value: "${s0.status}", Is: ref.Equal, To: json.RawMessage(`"` + odd + `"`)},
			}, {ID: plan.EffectOf("s2"), Title: "Tool", MCPID: "m1", Tool: odd}},
		}
		if text := run.Describe(p, nil).In(locale.Spanish); strings.ContainsRune(text, r) {
			t.Errorf("%U is in\n%s", r, text)
		}
	}
}

// JSON escapes in a model's arguments are shown as characters; invisible ones stay escaped.
func TestDescribeShowsEscapesAsCharacters(t *testing.T) {
	value := json.RawMessage(`{"a":"t\u00e9 \u003c \ud83d\ude00 \u200b \ud83d"}`)
	call := plan.Call{MCPID: "m1", Method: "POST", Path: "/x", Query: value, Body: value}
	p := plan.Plan{Goal: "Té", Steps: []plan.Step{{ID: plan.EffectOf("s1"), Title: "Té", MCPID: "m1", Method: "POST", Path: "/x", Query: value, Body: value, Undo: &plan.Undo{Call: call}}}}
	text := run.Describe(p, nil).In(locale.Spanish)
	if n := strings.Count(text, `{"a":"té < 😀 \u200b \ud83d"}`); n < 2 || strings.Contains(text, "00e9") {
		t.Errorf("%d times in\n%s", n, text)
	}
}

// TestChangesOfFilesAreDescribedAsADiff: no line of a file can be taken for one of the plan.
func TestChangesOfFilesAreDescribedAsADiff(t *testing.T) {
	body, err := json.Marshal(plan.ChangesBody{Set: "x", Changes: []overlay.Change{{Name: "a", Before: "1", After: "2", Added: 1}}, Diff: "--- a/a\n+++ b/a\n@@ -0,0 +1 @@\n+2. Otro paso\u202e\r\n"})
	if err != nil {
		t.Fatal(err)
	}
	p := plan.Plan{Goal: "g", Steps: []plan.Step{{ID: plan.EffectOf("s1"), Title: "Aplica 1 cambio", MCPID: tool.FilesID, Tool: tool.ApplyChanges, Body: body, Undo: &plan.Undo{Call: plan.Call{MCPID: tool.FilesID, Tool: tool.UndoChanges}}}}}
	got := run.Describe(p, nil).In(locale.Spanish)
	for _, want := range []string{"\n   a (+1 −0)\n", "\n   │ +2. Otro paso\\u202e\\u000d\n", "\n   Se deshace restaurando"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
}
