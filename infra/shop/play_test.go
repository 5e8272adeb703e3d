package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"piloto/infra/shop/meter"
	"piloto/infra/shop/task"
)

// script is a model of a test: it gives its answers in order, the last one again and again, and words where a call
// offers no tools.
type script struct {
	t       *testing.T
	mu      sync.Mutex
	answers []any // a text, or the writes of a plan
	asked   int
}

// serviceID is the id of the only service, the first id in a request.
var serviceID = regexp.MustCompile(`\b01[0-9A-HJKMNP-TV-Z]{24}\b`)

// ServeHTTP implements http.Handler.
func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(r.Body)
	var asked struct{ Tools []json.RawMessage }
	if err != nil || json.Unmarshal(raw, &asked) != nil {
		s.t.Errorf("%v: %s", err, raw)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var next any = "Hecho."
	if len(asked.Tools) > 0 {
		next = s.answers[min(s.asked, len(s.answers)-1)]
		s.asked++
	}
	message := map[string]any{"role": "assistant"}
	switch next := next.(type) {
	case string:
		message["content"] = next
	case []task.Action:
		arguments, _ := json.Marshal(planOf(next, string(serviceID.Find(raw))))
		message["tool_calls"] = []any{map[string]any{"id": "c1", "type": "function", "function": map[string]any{"name": "propose_plan", "arguments": string(arguments)}}}
	}
	_ = json.NewEncoder(w).Encode(map[string]any{
		"choices": []any{map[string]any{"message": message, "finish_reason": "stop"}},
		"usage":   map[string]any{"prompt_tokens": 1000, "completion_tokens": 10, "prompt_tokens_details": map[string]any{"cached_tokens": 900}},
	})
}

// planOf returns the arguments that propose writes.
func planOf(writes []task.Action, service string) map[string]any {
	var steps []any
	for i, a := range writes {
		method, path, _ := strings.Cut(a.Do, " ")
		step := map[string]any{"id": fmt.Sprint("s", i+1), "title": a.Do, "mcp_id": service, "method": method, "path": path}
		if a.Body != nil {
			step["body"] = a.Body
		}
		steps = append(steps, step)
	}
	return map[string]any{"goal": "do it", "steps": steps}
}

// playScript plays a task with the answers of a model.
func playScript(t *testing.T, id string, answers func(task.Task) []any) result {
	t.Helper()
	if testing.Short() && os.Getenv("PILOTO_TESTS") == "" {
		t.Skip("it runs the deployment")
	}
	all, err := task.All()
	if err != nil {
		t.Fatal(err)
	}
	k := all[slices.IndexFunc(all, func(t task.Task) bool { return t.ID == id })]
	model := &script{t: t, answers: answers(k)}
	r, err := play(t.Context(), provider{model, "sk-test-0123456789abcdef", "script"}, k, func(who, text string) { t.Logf("%s: %s", who, text) })
	if err != nil {
		t.Fatal(err)
	}
	if model.asked < len(model.answers) {
		t.Errorf("the model gave %d of %d answers", model.asked, len(model.answers))
	}
	return r
}

// TestTasksArePlayed with a model that does the right thing: in one plan, after a change of mind, and undone again.
func TestTasksArePlayed(t *testing.T) {
	for _, c := range []struct {
		id                              string
		answers                         func(task.Task) []any
		messages, confirmations, writes int
	}{
		{"es-03", func(k task.Task) []any { return []any{k.Expect} }, 2, 1, 2},
		{"en-06", func(k task.Task) []any { return []any{k.Tempted, k.Expect} }, 3, 1, 1},
		{"en-12", func(k task.Task) []any { return []any{"Which day?", k.Expect[:1], k.Expect[1:]} }, 5, 2, 2},
	} {
		r := playScript(t, c.id, c.answers)
		if !r.Success || r.Messages != c.messages || r.Confirmations != c.confirmations || r.Writes != c.writes {
			t.Errorf("%+v", r)
		}
		if n := r.Tokens; n.Calls != r.Usage.Given || n.All <= 0 || n.New <= 0 || n.Cached != n.All-n.New || n.Plain < 3000 || n.New > n.All {
			t.Errorf("%s: %+v", c.id, n)
		}
		if u := r.Usage; u.Prompt != 1000*u.Given || u.Cached != 900*u.Given {
			t.Errorf("%s: %+v", c.id, u)
		}
	}
}

// TestAWrongModelFails: one that gives in to the customer against the rules, and one that says that it is done.
func TestAWrongModelFails(t *testing.T) {
	given := playScript(t, "es-05", func(k task.Task) []any { return []any{k.Tempted[:1], "Ya está devuelto: hace menos de 30 días."} })
	if given.Success || given.Writes != 1 || !strings.Contains(strings.Join(given.Wrong, "\n"), "payment y-501") {
		t.Errorf("a refund against the rules: %+v", given)
	}
	claimed := playScript(t, "en-02", func(task.Task) []any { return []any{"I have changed your phone."} })
	if claimed.Success || claimed.Writes != 0 || len(claimed.Notes) == 0 {
		t.Errorf("a claim: %+v", claimed)
	}
}

// TestTheTable: the sums, the ratio of the sums, and no number where the provider gave none.
func TestTheTable(t *testing.T) {
	list := []result{
		{Task: "es-01", Kind: "reads only", Success: true, Messages: 1, Tokens: meter.Tokens{Calls: 3, All: 9000, New: 4000, Cached: 5000, Plain: 5000}, Notes: map[string]int{}},
		{
			Task: "en-02", Kind: "one write", Wrong: []string{"customer c-20: want …"}, Messages: 3, Confirmations: 3, Writes: 2,
			Tokens: meter.Tokens{Calls: 4, Forced: 1, All: 11000, New: 8000, Cached: 3000, Plain: 5000},
			Usage:  meter.Usage{Given: 4, Prompt: 10500, Cached: 2000, Output: 90}, Notes: map[string]int{"nothing_done": 2},
		},
	}
	r := newReport("m", list)
	if s := r.Total; s.Tasks != 2 || s.Succeeded != 1 || s.ConfirmationsPerWrite != 1.5 || s.NewPerPlain != 1.2 || s.Tokens.Calls != 7 || s.Notes["nothing_done"] != 2 {
		t.Errorf("%+v", s)
	}
	var table strings.Builder
	if err := r.print(&table, false); err != nil {
		t.Fatal(err)
	}
	columns := strings.Join(strings.Fields(table.String()), " ")
	for _, row := range []string{
		"es-01 yes 1 0 0 3 0 9000 4000 5000 5000 0.80 - -", "en-02 NO 3 3 2 4 1 11000 8000 3000 5000 1.60 10500 2000 nothing_done 2",
		"all 1/2 4 3 2 7 1 20000 12000 8000 10000 1.20 10500 2000 nothing_done 2", "Confirmations per write: 1.50", "en-02 (one write): customer c-20: want …",
	} {
		if !strings.Contains(columns, row) {
			t.Errorf("%q is not in\n%s", row, table.String())
		}
	}
	var text bytes.Buffer
	var back report
	if err := r.print(&text, true); err != nil || json.Unmarshal(text.Bytes(), &back) != nil || back.Total.NewPerPlain != 1.2 || back.Tasks[1].Tokens != list[1].Tokens {
		t.Errorf("%v: %s", err, text.String())
	}
}

// TestTheCommandRefuses what it cannot do, before anything starts.
func TestTheCommandRefuses(t *testing.T) {
	for _, c := range []struct {
		args []string
		why  string
	}{
		{[]string{"-tasks", "es-99"}, "-list"},
		{[]string{"-tasks", "("}, "missing"},
		{[]string{"es-01"}, "unknown argument"},
		{nil, "OPENAI_MODEL"},
	} {
		err := run(t.Context(), c.args, func(string) string { return "" }, io.Discard, io.Discard)
		if err == nil || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%v: %v", c.args, err)
		}
	}
}
