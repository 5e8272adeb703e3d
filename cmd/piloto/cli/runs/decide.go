package runs

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"piloto/cmd/piloto/cli/console"
	"piloto/cmd/piloto/cli/ending"
	"piloto/cmd/piloto/cli/usage"
	"piloto/cmd/piloto/client"
	"piloto/internal/edge/httpapi"
	"piloto/internal/ground/visible"
	"piloto/internal/runs/plan"
)

func (g *Group) waitingCommand() *cobra.Command {
	var p usage.Page
	cmd := g.Deployment.Request(&cobra.Command{
		Use: "waiting", Short: "List what waits for a person: plans, approvals, doubts, jobs", Args: usage.None,
	}, func(ctx context.Context, c *client.Client, _ []string) error {
		got, err := client.Get[httpapi.WaitList](ctx, c, "/api/waiting", p.Query())
		if err != nil {
			return err
		}
		defer g.Con.TellNext(got.Cursor)
		var rows [][]string
		for _, w := range got.Waiting {
			id, due, digest := w.RunID, "-", "-"
			if id == "" || w.Kind == plan.WaitJob {
				id = w.JobID
			}
			if w.DueAt != nil {
				due = console.Moment(*w.DueAt)
			}
			if named := cmp.Or(w.Request, w.Digest); named != "" {
				digest = DigitsOf(named)
			}
			rows = append(rows, []string{g.Con.Text("cli.wait." + string(w.Kind)), id, w.StepID, due, digest, console.Cut(w.Title, 60)})
		}
		return g.Con.List(got, []string{"cli.kind", "cli.id", "cli.step", "cli.due", "cli.digest", "cli.title"}, rows)
	})
	p.Register(cmd)
	return cmd
}

// mostDecided is the number of decisions of one request.
const mostDecided = 50

func (g *Group) decideCommand() *cobra.Command {
	return &cobra.Command{
		Use: "decide confirm|reject|approve|refuse ID=DIGEST...", Short: "Decide about several at once, each by its own digest",
		Long: `Decide about several plans or approvals at once. Each is printed whole first, and named by its run and the first
8 digits, or more, of its digest, which of an approval is that of its request: piloto decide confirm 01ABC…=1f00ab42 01DEF…=9c31d07e`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 || len(args) > mostDecided+1 || !slices.Contains([]string{"confirm", "reject", "approve", "refuse"}, args[0]) {
				return ending.Miswritten(ending.Refusal("cli.wrong.decide", "usage", usage.Of(cmd), "most", fmt.Sprint(mostDecided)))
			}
			return g.Deployment.Connect(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				return g.decideMany(ctx, c, args[0], args[1:])
			})
		},
	}
}

func (g *Group) decideMany(ctx context.Context, c *client.Client, what string, named []string) error {
	body := httpapi.DecisionsRequest{}
	for _, n := range named {
		id, typed, _ := strings.Cut(n, "=")
		r, err := g.ReadRun(ctx, c, id)
		if err != nil {
			return err
		}
		w := g.Con.Writer(g.Con.Colour)
		item, digest := httpapi.DecisionItem{RunID: r.RunID, Digest: r.Digest, Decision: what}, r.Digest
		if what == "approve" || what == "refuse" {
			step, err := g.waitingStep(r, "")
			if err != nil {
				return err
			}
			item.StepID, item.Request, digest = step.ID, step.Approval.Digest, step.Approval.Digest
			w.Approval(r, step)
		} else {
			w.Plan(r)
		}
		if err := g.Con.Show(g.Con.ErrOut, w); err != nil {
			return err
		}
		fmt.Fprintln(g.Con.ErrOut)
		if !isShown(digest, typed) {
			return &ending.Error{Code: ending.Waits, Text: g.Con.Text("cli.decide_digest", "id", r.RunID, "digest", DigitsOf(digest))}
		}
		body.Items = append(body.Items, item)
	}
	got, err := client.Post[httpapi.DecisionsAnswer](ctx, c, "/api/decisions", body)
	if err != nil {
		return err
	}
	worst := ending.Success
	var rows [][]string
	for _, d := range got.Items {
		text := g.Con.Text("cli.decided." + d.Decision)
		if d.Problem != nil {
			worst, text = ending.Partial, fmt.Sprint(d.Problem.Detail)
		}
		rows = append(rows, []string{d.RunID, fmt.Sprint(d.Status), text})
	}
	if err := g.Con.List(got, []string{"cli.id", "cli.status", "cli.outcome"}, rows); err != nil {
		return err
	}
	return ending.Exit(worst)
}

// Action is an action on a run. With an idempotency key, a request whose answer was lost is sent again.
type Action struct{ Run, Name, key string }

// Act acts on a run. It returns the run of the answer: this one, or the draft that is made of it.
func Act(ctx context.Context, c *client.Client, on Action, body any) (httpapi.Run, error) {
	call := client.Call{Method: http.MethodPost, Path: RunPath(on.Run, on.Name), Body: body, Key: on.key}
	got, err := client.Send[httpapi.RunAnswer](ctx, c, call)
	if err == nil && got.Run.RunID == "" {
		err = c.Strange(call, client.CameOther, errors.New("it answered with no run"))
	}
	return got.Run, err
}

// Edit opens the steps of a plan as JSON in the editor of the person, and proposes the text as its next revision. The
// text is kept if it is refused.
func (g *Group) Edit(ctx context.Context, c *client.Client, r httpapi.Run) (httpapi.Run, error) {
	editor := g.Con.Getenv("VISUAL")
	if editor == "" {
		editor = g.Con.Getenv("EDITOR")
	}
	if editor == "" {
		return r, ending.Miswritten(ending.Refusal("cli.wrong.no_editor"))
	}
	file, err := os.CreateTemp("", "piloto-plan-*.json") // with mode 0600
	if err != nil {
		return r, err
	}
	draft, err := json.MarshalIndent(editable(r), "", "  ")
	if err == nil {
		draft = []byte(forEditor(string(draft)))
		_, err = file.Write(append(draft, '\n'))
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return r, err
	}
	words := strings.Fields(editor)
	if len(words) == 0 {
		return r, ending.Miswritten(ending.Refusal("cli.wrong.no_editor"))
	}
	cmd := exec.CommandContext(ctx, words[0], append(words[1:], file.Name())...) //nolint:gosec // the person's own editor
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, console.Unscreened(g.Con.ErrOut), console.Unscreened(g.Con.ErrOut)
	if err := cmd.Run(); err != nil {
		return r, ending.Refusal("cli.wrong.editor", "name", editor).Because(err)
	}
	text, err := os.ReadFile(file.Name())
	if err != nil {
		return r, err
	}
	if strings.TrimSpace(string(text)) == strings.TrimSpace(string(draft)) {
		_ = os.Remove(file.Name())
		return r, nil
	}
	var body httpapi.EditRequest
	if err := json.Unmarshal(bytes.TrimPrefix(text, []byte("\ufeff")), &body); err != nil {
		return r, ending.Miswritten(console.NotJSON(file.Name(), err))
	}
	body.Digest = r.Digest
	got, err := client.Send[httpapi.RunAnswer](ctx, c, client.Call{Method: http.MethodPatch, Path: RunPath(r.RunID, "plan"), Body: body})
	if err != nil {
		return r, errors.Join(err, ending.Refusal("cli.kept", "file", file.Name()))
	}
	_ = os.Remove(file.Name())
	return got.Run, nil
}

// forEditor returns JSON as the same value in which every character is visible, and in which no text of a plan sets an editor: vim
// and emacs read settings in the first and the last lines of a file.
func forEditor(text string) string {
	return settings.ReplaceAllStringFunc(visible.Escaped(text), func(s string) string {
		return s[:len(s)-1] + fmt.Sprintf(`\u%04x`, s[len(s)-1])
	})
}

// settings are how the settings of an editor begin.
var settings = regexp.MustCompile(`(?i)\b(vim?|ex)[<=>]?[0-9]*:|-\*-|local variables:`)

// editable returns a plan as its editor takes it.
func editable(r httpapi.Run) httpapi.EditRequest {
	out := httpapi.EditRequest{Digest: r.Digest, Goal: r.Goal}
	for _, s := range r.Steps {
		needs := s.Needs
		step := httpapi.StepRequest{
			ID: s.ID, Title: s.Title, MCPID: s.MCPID, Tool: s.Tool, Method: s.Method, Path: s.Path, Query: s.Query, Headers: s.Headers, Body: s.Body,
			Needs: &needs, When: s.When, ForEach: s.ForEach, NoUndo: s.NoUndo,
		}
		if u := s.Undo; u != nil && !u.Suggested { // a suggestion will be suggested again
			call := callOf(u.Call)
			step.Undo = &call
		}
		if v := s.Verify; v != nil {
			step.Verify = &httpapi.CheckRequest{CallRequest: callOf(v.Call), Expect: v.Expect}
		}
		out.Steps = append(out.Steps, step)
	}
	return out
}

func callOf(c plan.Call) httpapi.CallRequest {
	return httpapi.CallRequest{MCPID: c.MCPID, Tool: c.Tool, Method: c.Method, Path: c.Path, Query: c.Query, Headers: c.Headers, Body: c.Body}
}
