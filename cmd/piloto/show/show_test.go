package show_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode"

	"pgregory.net/rapid"

	_ "piloto/cmd/piloto/cli" // the sentences
	"piloto/cmd/piloto/show"
	"piloto/internal/edge/httpapi"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/visible"
	"piloto/internal/runs/plan"
	"piloto/internal/workspace/overlay"
)

func TestJSONKeepsDigitsOrderAndDuplicates(t *testing.T) {
	for in, want := range map[string]string{
		`{"z":1,"a":9007199254740993}`: "{\n  \"z\": 1,\n  \"a\": 9007199254740993\n}",
		`{"a":1,"a":1e400}`:            "{\n  \"a\": 1,\n  \"a\": 1e400\n}",
		`"a\u202eb\u001b[2J"`:          `"a⟦U+202E⟧b⟦U+001B⟧[2J"`,
		`"a\"b\\c"`:                    `"a\"b\\c"`,
		`"a\nb"`:                       `"a⟦U+000A⟧b"`,
		`not json` + "\x1b":            `not json⟦U+001B⟧`,
		`{"p\u0430y":true}`:            "{\n  \"pа⟦U+0430⟧y\": true\n}",
	} {
		if got := show.JSON(json.RawMessage(in)); got != want {
			t.Errorf("%s\n got %q\nwant %q", in, got, want)
		}
	}
}

// TestPlanIsShownWhole: nothing invisible in any text of a plan reaches the terminal, no line can be made to look as one
// of ours, and the end of a value is there.
func TestPlanIsShownWhole(t *testing.T) {
	odd := rapid.StringOf(rapid.OneOf(rapid.SampledFrom([]rune("ab \x1b[2J\n\r\t\u202e\u200b\u2066а⟦⟧${s1.body}\u00a0\x00")), rapid.Rune()))
	rapid.Check(t, func(t *rapid.T) {
		text := func(name string) string { return odd.Draw(t, name) }
		body, err := json.Marshal(map[string]string{"v": text("value") + strings.Repeat("x", rapid.IntRange(0, 4000).Draw(t, "long")) + "THE-END"})
		if err != nil {
			t.Skip("no JSON")
		}
		r := httpapi.Run{
			Goal: text("goal"), Status: plan.Draft, Digest: plan.Digest(strings.Repeat("a", 64)), ExpiresAt: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), Changing: 1,
			Steps: []httpapi.Step{{PlannedStep: httpapi.PlannedStep{
				ID: "s1", Title: text("title"), Server: text("server"), Target: "x", Base: "http://x.example/" + text("base"), Method: text("method"), Path: "/" + text("path"), Body: body, Headers: json.RawMessage(`{"If-Match":"THE-HEADER"}`),
				Media: "application/merge-patch+json", Auth: "query the-key",
				Risk: plan.Write, Needs: []string{text("needs")},
			}}},
		}
		w := &show.Writer{Tag: locale.Spanish}
		w.Plan(r)
		if !strings.Contains(w.String(), "THE-END") || !strings.Contains(w.String(), "THE-HEADER") || !strings.Contains(w.String(), "merge-patch") || !strings.Contains(w.String(), "query the-key") {
			t.Fatalf("the end is not in\n%s", w)
		}
		lines := strings.Split(w.String(), "\n")
		for _, line := range lines {
			for _, r := range line {
				if r != ' ' && !unicode.IsGraphic(r) || visible.Invisible(r) {
					t.Fatalf("%U is in %q", r, line)
				}
			}
		}
		if at := len(lines) - 2; !strings.HasSuffix(lines[at], strings.Repeat("a", 64)) {
			t.Fatalf("the last line is %q", lines[at])
		}
	})
}

// TestAStepThatMayBeDoneAlreadySaysSo: a draft says it at that step alone, as the page's card does, and of a list how many.
func TestAStepThatMayBeDoneAlreadySaysSo(t *testing.T) {
	var draft httpapi.Run
	if err := json.Unmarshal([]byte(`{"status":"draft","changing_steps":3,"steps":[
		{"id":"s1","title":"first","method":"POST","base":"http://x.example","path":"/a","risk":"write"},
		{"id":"s2","title":"second","method":"POST","base":"http://x.example","path":"/b","risk":"write","unanswered":{"run_id":"01A","step_id":"s1"}},
		{"id":"s3","title":"third","method":"POST","base":"http://x.example","path":"/c","risk":"write","unanswered":{"run_id":"01B","step_id":"s9.0","elements":7}}
	]}`), &draft); err != nil {
		t.Fatal(err)
	}
	for tag, want := range map[locale.Tag][2]string{
		locale.Spanish: {"De esta misma petición no se sabe si ya se hizo (ejecución 01A)", "(elementos: 7; ejecución 01B)"},
		locale.English: {"(run 01A)", "run 01B)"},
	} {
		w := &show.Writer{Tag: tag}
		w.Plan(draft)
		first, more, _ := strings.Cut(w.String(), "second")
		second, third, _ := strings.Cut(more, "third")
		for at, part := range []string{first, second, third} {
			for n, says := range want {
				if strings.Contains(part, says) != (at == n+1) {
					t.Errorf("%s: step %d: %q is there: %v, in\n%s", tag, at+1, says, strings.Contains(part, says), w)
				}
			}
		}
	}
}

// TestCrossingDataIsWarnedOfInTheTerminal (guarantee I31): of a step, an undo and a check, wherever a person decides.
func TestCrossingDataIsWarnedOfInTheTerminal(t *testing.T) {
	const quiet = `"method":"GET","path":"/x","base_url":"http://b.example"`
	for name, parts := range map[string][3]string{
		"nothing":   {},
		"the step":  {`,"body":{"secret":"${s1.body.token}"}`},
		"the undo":  {"", `,"body":{"secret":"${s1.body.token}"}`},
		"the check": {"", "", `,"query":{"secret":"${s1.body.token}"}`},
	} {
		var run httpapi.Run
		if err := json.Unmarshal([]byte(`{"status":"draft","steps":[
			{"id":"s1","title":"first","method":"GET","base_url":"http://a.example/v1","path":"/a","risk":"read"},
			{"id":"s2","title":"second",`+quiet+`,"risk":"write"`+parts[0]+`,"approval":{"method":"POST","url":"http://b.example/x"},
				"undo":{`+quiet+parts[1]+`},"verify":{`+quiet+parts[2]+`,"expect":{"value":"${check.status}","is":"present"}}}
		]}`), &run); err != nil {
			t.Fatal(err)
		}
		for tag, text := range map[locale.Tag]string{
			locale.Spanish: "Envía a otro servicio datos que devuelva uno anterior: http://a.example → http://b.example\n",
			locale.English: "Sends data from one service to another: http://a.example → http://b.example\n",
		} {
			for form, write := range map[string]func(*show.Writer){
				"the plan":     func(w *show.Writer) { w.Plan(run) },
				"the run":      func(w *show.Writer) { w.Run(run) },
				"the approval": func(w *show.Writer) { w.Approval(run, run.Steps[1]) },
			} {
				w, want := &show.Writer{Tag: tag}, 0
				write(w)
				if name == "the step" || form == "the plan" && name != "nothing" {
					want = 1
				}
				if got := strings.Count(w.String(), text); got != want {
					t.Errorf("%s in %s, %s: %d times, not %d, in\n%s", name, form, tag, got, want, w)
				}
			}
		}
	}
}

// TestChangesOfFilesAreShownAsADiff, with every character visible.
func TestChangesOfFilesAreShownAsADiff(t *testing.T) {
	body, err := json.Marshal(plan.ChangesBody{Set: "x", Changes: []overlay.Change{{Name: "a\u202e.txt", Before: "1", After: "2", Added: 1, Removed: 1}}, Diff: "--- a/a\n+++ b/a\n@@ -1,2 +1 @@\n-uno\n--- x\n+\tdos\x1b[2J\n"})
	if err != nil {
		t.Fatal(err)
	}
	step := httpapi.Step{
		PlannedStep: httpapi.PlannedStep{ID: "s1", MCPID: "files", Tool: "apply_changes", Method: "PUT", Base: "files:", Body: body},
		Status:      plan.StepDone, Sent: &httpapi.Sent{URL: "files:"},
		Result:   &plan.Result{Status: 200, Body: json.RawMessage(`{"files":1,"done":[{"name":"a.txt","version":"2"}]}`)},
		Approval: &httpapi.StepApproval{Method: "PUT", URL: "files:", Body: body},
	}
	run := httpapi.Run{Steps: []httpapi.Step{step}}
	for name, write := range map[string]func(*show.Writer){
		"the plan":     func(w *show.Writer) { w.Plan(run) },
		"the run":      func(w *show.Writer) { w.Run(run) },
		"the approval": func(w *show.Writer) { w.Approval(run, step) },
	} {
		w := &show.Writer{Tag: locale.Spanish, Colour: true}
		write(w)
		for _, want := range []string{"a⟦U+202E⟧.txt (+1 −1)", "--- a/a\n", "\x1b[31m--- x\x1b[0m", "\x1b[31m-uno\x1b[0m", "\x1b[32m+    dos⟦U+001B⟧[2J\x1b[0m"} {
			if !strings.Contains(w.String(), want) {
				t.Errorf("%s: %q is not in\n%s", name, want, w)
			}
		}
		for _, raw := range []string{`"set"`, `"version"`, "files:"} {
			if strings.Contains(w.String(), raw) {
				t.Errorf("%s: %s is in\n%s", name, raw, w)
			}
		}
	}
}

// TestAPlanSaysWhatAnIDIs: the object, described by its service, with the word of the document.
func TestAPlanSaysWhatAnIDIs(t *testing.T) {
	var draft httpapi.Run
	if err := json.Unmarshal([]byte(`{"status":"draft","steps":[{"id":"s1","title":"Book","method":"POST","base":"http://x.example","path":"/r","risk":"write"}],"taken":[
		{"step_id":"s1","where":"body.room","value":"sur","label":"South Room","service":"Rooms","called":"GET /rooms","at":"2026-01-01T00:00:00Z",
			"about":[{"name":"name","value":"South Room"},{"name":"price_per_hour","value":24},{"name":"free_from","value":"09:00"}],"names":[{"name":"price_per_hour","label":"Price per hour"}]},
		{"step_id":"s2","where":"body.room","value":"norte","label":"North Room","service":"Rooms","called":"GET /rooms","at":"2026-01-01T00:00:00Z"}]}`), &draft); err != nil {
		t.Fatal(err)
	}
	w := &show.Writer{Tag: locale.English}
	w.Plan(draft)
	if got := w.String(); !strings.Contains(got, "South Room · Price per hour 24 · free from 09:00\n") || strings.Contains(got, "North Room") {
		t.Error(got)
	}
}
