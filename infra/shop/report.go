package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"piloto/infra/shop/meter"
)

// report is the table of several tasks.
type report struct {
	Model string   `json:"model"`
	Tasks []result `json:"tasks"`
	Total total    `json:"total"`
}

// total is the sum of tasks.
type total struct {
	Tasks                 int            `json:"tasks"`
	Succeeded             int            `json:"succeeded"`
	Messages              int            `json:"messages"`
	Confirmations         int            `json:"confirmations"`
	Writes                int            `json:"writes"`
	ConfirmationsPerWrite float64        `json:"confirmations_per_write"`
	Tokens                meter.Tokens   `json:"tokens"`
	NewPerPlain           float64        `json:"new_per_plain"`
	Usage                 meter.Usage    `json:"usage"`
	Notes                 map[string]int `json:"notes"`
}

// newReport sums the tasks up.
func newReport(model string, tasks []result) report {
	sum := total{Tasks: len(tasks), Notes: map[string]int{}}
	for _, r := range tasks {
		if r.Success {
			sum.Succeeded++
		}
		sum.Messages += r.Messages
		sum.Confirmations += r.Confirmations
		sum.Writes += r.Writes
		sum.Tokens, sum.Usage = sum.Tokens.Plus(r.Tokens), sum.Usage.Plus(r.Usage)
		for code, n := range r.Notes {
			sum.Notes[code] += n
		}
	}
	sum.NewPerPlain = sum.Tokens.Ratio()
	if sum.Writes > 0 {
		sum.ConfirmationsPerWrite = float64(sum.Confirmations) / float64(sum.Writes)
	}
	return report{model, tasks, sum}
}

// print writes the report, as JSON or as a table for people.
func (r report) print(out io.Writer, asJSON bool) error {
	if asJSON {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(r)
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "task\tright\tmessages\tconfirmed\twrites\tcalls\tforced\tprompt\tnew\tcached\tplain\tnew/plain\tprovider's prompt\tcached\t  notes")
	for _, t := range r.Tasks {
		row(w, t, map[bool]string{true: "yes", false: "NO"}[t.Success])
	}
	s := r.Total
	all := result{Task: "all", Messages: s.Messages, Confirmations: s.Confirmations, Writes: s.Writes, Tokens: s.Tokens, Usage: s.Usage, Notes: s.Notes}
	row(w, all, fmt.Sprintf("%d/%d", s.Succeeded, s.Tasks))
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(out, "\nModel: %s. Confirmations per write: %.2f. Prompts are counted in characters / 4; \"new\" is what no earlier call of the conversation began with.\n", r.Model, s.ConfirmationsPerWrite)
	for _, t := range r.Tasks {
		for _, why := range t.Wrong {
			fmt.Fprintf(out, "%s (%s): %s\n", t.Task, t.Kind, why)
		}
	}
	return nil
}

// row writes a line of the table.
func row(w io.Writer, r result, right string) {
	prompt, cached := "-", "-"
	if r.Usage.Given > 0 {
		prompt, cached = fmt.Sprint(r.Usage.Prompt), fmt.Sprint(r.Usage.Cached)
	}
	var codes []string
	for _, code := range slices.Sorted(maps.Keys(r.Notes)) {
		codes = append(codes, fmt.Sprintf("%s %d", code, r.Notes[code]))
	}
	t := r.Tokens
	fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%.2f\t%s\t%s\t  %s\n", r.Task, right, r.Messages, r.Confirmations, r.Writes,
		t.Calls, t.Forced, t.All, t.New, t.Cached, t.Plain, t.Ratio(), prompt, cached, strings.Join(codes, ", "))
}
